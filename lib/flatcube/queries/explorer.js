// @ts-check
/**
 * The race of the testers: three tests ask a hidden function for its degree, query by query.
 *
 * State: { family: of the hidden function, n: its variables,
 *   degree: the size of the sets   (families "sparse", "subset", "conjunction", else 0),
 *   terms: the number of sets   (family "sparse", else 0), noise: of the answers, tolerance: of the tests, trials,
 *   seed, tester: the one that is magnified, clock: queries asked by each, or null when the race is over }.
 * Points, blocks and directions are masks: bit i−1 stands for x_i, a one for −1. Random numbers are hashed counters;
 * explorer.py computes the same.
 */
import {
  accept,
  bounds,
  connect,
  counts,
  format,
  h,
  options,
  popcount,
  put,
  select,
  slider,
  words,
} from "../classroom/explorers/kit.js";

/**
 * @typedef {{ family: string, n: number, degree: number, terms: number, noise: number, tolerance: number,
 *     trials: number, seed: number, tester: string, clock: number | null }} State
 */
/**
 * @typedef {{ degree: number, number: number, start: number, base: number, directions: number[], values: number[],
 *     statistic: number, found: boolean }} Trial
 */

const LAST = 6; // the highest degree that is tested
const REAL = ["sparse", "mean"];
const ROUNDING = 1e-9; // what a tolerance of 0 allows for
const TESTERS = options("tester");
const DOES = /** @type {Record<string, string>} */ ({
  blocks: "flips d + 1 random blocks",
  axes: "flips d + 1 random bits",
  gf2: "multiplies along d + 1 directions",
});
const REFUSAL = "needs values −1 and +1";

// ---------------------------------------------------------------------------------------------- numbers by chance

/** @type {(limit: number, next: () => number) => number} */
const below = (limit, next) => Math.floor((next() * limit) / 2 ** 32);

/** Different indices below n, in random order. @type {(n: number, count: number, next: () => number) => number[]} */
function choose(n, count, next) {
  const deck = Array.from({ length: n }, (_, i) => i);
  for (let j = 0; j < count; j++) {
    const k = j + below(n - j, next);
    [deck[j], deck[k]] = [deck[k], deck[j]];
  }
  return deck.slice(0, count);
}

/**
 * A base point and r directions.
 * @type {(tester: string, n: number, r: number, next: () => number) => { base: number, directions: number[] }}
 */
function draw(tester, n, r, next) {
  const point = () => next() >>> (32 - n);
  const base = point();
  if (tester === "gf2") return { base, directions: Array.from({ length: r }, point) };
  if (tester === "axes") return { base, directions: choose(n, r, next).map((i) => 1 << i) };
  const directions = Array(r).fill(0);
  for (let i = 0; i < n; i++) {
    const label = below(r + 1, next); // 0: in no block
    if (label) directions[label - 1] |= 1 << i;
  }
  return { base, directions };
}

// ---------------------------------------------------------------------------------------------- the hidden function

/**
 * Different sets of one size with weights in eighths.
 * @type {(n: number, size: number, count: number, next: () => number) => Map<number, number>}
 */
function components(n, size, count, next) {
  const found = new Map();
  while (found.size < count) {
    const set = choose(n, size, next).reduce((sum, i) => sum | (1 << i), 0);
    const weight = (1 + below(16, next)) / 8;
    if (!found.has(set)) found.set(set, weight);
  }
  return found;
}

/** The hidden function on points, without noise. @type {(state: State) => (point: number) => number} */
function hidden({ family, n, degree, terms, seed }) {
  const next = words(seed, 0);
  if (family === "sparse") {
    const parts = [...components(n, degree, terms, next)];
    return (point) => parts.reduce((sum, [set, weight]) => sum + (popcount(point & set) % 2 ? 0 : weight), 0);
  }
  const set = choose(n, degree, next).reduce((sum, i) => sum | (1 << i), 0);
  const sign = (/** @type {boolean} */ truth) => (truth ? -1 : 1);
  const functions = /** @type {Record<string, (point: number) => number>} */ ({
    subset: (point) => sign(popcount(point & set) % 2 === 1),
    conjunction: (point) => sign((point & set) === set),
    parity: (point) => sign(popcount(point) % 2 === 1),
    majority: (point) => sign(2 * popcount(point) > n),
    mean: (point) => (n - 2 * popcount(point)) / n,
  });
  return functions[family];
}

/** @type {(state: State) => number} */
const degreeOf = ({ family, n, degree }) => degree || (family === "mean" ? 1 : n);

/** The degree as a polynomial over GF(2); null if f is not Boolean. @type {(state: State) => number | null} */
function algebraicDegree({ family, n, degree }) {
  if (REAL.includes(family)) return null;
  if (family !== "majority") return family === "conjunction" ? degree : 1;
  let top = 0; // symmetric: a monomial of size k adds up the levels whose bits are among k's
  for (let k = 0; k <= n; k++) {
    let odd = 0;
    for (let j = 0; j <= k; j++) if ((j & k) === j && 2 * j > n) odd ^= 1;
    if (odd) top = k;
  }
  return top;
}

// ---------------------------------------------------------------------------------------------- the race

/** All trials of one test, up to its verdict. @type {(state: State, tester: string, lane: number) => Trial[]} */
function run(state, tester, lane) {
  const trials = /** @type {Trial[]} */ ([]);
  if (tester === "gf2" && REAL.includes(state.family)) return trials;
  const { n, noise } = state;
  const next = words(state.seed, lane);
  const error = words(state.seed, lane + 3);
  const f = hidden(state);
  const ask = noise ? (/** @type {number} */ point) => f(point) + noise * ((2 * error()) / 2 ** 32 - 1) : f;
  let start = 0;
  for (let degree = 0; degree <= LAST; degree++) {
    let found = false;
    for (let number = 1; number <= state.trials && !found; number++) {
      const { base, directions } = draw(tester, n, degree + 1, next);
      const values = Array.from({ length: 2 << degree }, (_, y) => ask(base ^ flips(directions, y)));
      const statistic = measure(tester, values);
      found = tester === "gf2" ? statistic < 0 : Math.abs(statistic) > (state.tolerance || ROUNDING);
      trials.push({ degree, number, start, base, directions, values, statistic, found });
      start += values.length;
    }
    if (!found) break;
  }
  return trials;
}

/** The variables that query y flips. @type {(directions: number[], y: number) => number} */
const flips = (directions, y) => directions.reduce((sum, direction, j) => ((y >> j) & 1 ? sum ^ direction : sum), 0);

/**
 * The mean with alternating signs, or the product of the signs.
 * @type {(tester: string, values: number[]) => number}
 */
function measure(tester, values) {
  if (tester === "gf2") return values.reduce((product, value) => (value < 0 ? -product : product), 1);
  return values.reduce((sum, value, y) => (popcount(y) % 2 ? sum - value : sum + value), 0) / values.length;
}

/** @type {(trials: Trial[]) => number} */
const total = (trials) => trials.reduce((sum, trial) => sum + trial.values.length, 0);

/** @type {(state: State) => Record<string, Trial[]>} */
const race = (state) => Object.fromEntries(TESTERS.map(([tester], at) => [tester, run(state, tester, at + 1)]));

/**
 * What a test has said about each degree after `clock` queries.
 * @type {(trials: Trial[], clock: number, needed: number) => { degree: number, outcome: string, done: Trial[] }[]}
 */
function rows(trials, clock, needed) {
  const started = trials.filter((trial) => trial.start < clock);
  return [...new Set(started.map((trial) => trial.degree))].map((degree) => {
    const done = started.filter((trial) => trial.degree === degree && trial.start + trial.values.length <= clock);
    const outcome = done.at(-1)?.found ? "rejected" : done.length === needed ? "accepted" : "testing";
    return { degree, outcome, done };
  });
}

/** @type {(outcome: string, degree: number, truth: number, kind: string) => string} */
function verdict(outcome, degree, truth, kind) {
  if (outcome === "rejected" && degree === LAST)
    return `rejects even degree ≤ ${LAST}: ${truth > LAST ? "right" : "wrong"}${kind}`;
  if (outcome === "accepted")
    return `accepts degree ≤ ${degree}: ${degree === truth ? "right" : degree < truth ? "too low" : "too high"}${kind}`;
  return `testing degree ≤ ${degree + Number(outcome === "rejected")}`;
}

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const all = /** @type {State} */ (accept(given));
  const [degree, terms] = [counts("degree", all) ? all.degree : 0, counts("terms", all) ? all.terms : 0];
  const state = { ...all, degree, terms };
  return state.clock !== null && state.clock >= Math.max(...Object.values(remembered(state)).map(total))
    ? { ...state, clock: null }
    : state;
}

let memory = /** @type {[string, Record<string, Trial[]>]} */ (["", {}]);
/** The race of a state; moving the clock does not run it again. @type {(state: State) => Record<string, Trial[]>} */
function remembered(state) {
  const key = JSON.stringify({ ...state, tester: "", clock: 0 });
  if (memory[0] !== key) memory = [key, race(state)];
  return memory[1];
}

// ---------------------------------------------------------------------------------------------- the page

const TICK = 60;
const PACE = 1.1; // of the running race: milliseconds, and how much the clock grows in each

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  let timer = 0;
  let end = 0;

  /**
   * Everything but the clock and the magnifying glass starts a new race, shown at its end.
   * @type {(patch: Partial<State>) => void}
   */
  const restart = (patch) => {
    stop();
    explorer.change({ clock: null, ...patch });
  };
  const family = select({
    label: "Hidden function",
    choices: options("family"),
    onChange: (choice) => restart({ family: choice, degree: state.degree || 3, terms: state.terms || 3 }),
  });
  const size = slider({ label: "Variables n", ...bounds("n"), onInput: (n) => restart({ n }) });
  const degree = slider({
    label: "Bits in a set",
    ...bounds("degree"),
    onInput: (value) => restart({ degree: value }),
  });
  const terms = slider({
    label: "Number of parities",
    ...bounds("terms"),
    onInput: (value) => restart({ terms: value }),
  });
  const noise = select({
    label: "Noise in the answers",
    choices: options("noise"),
    onChange: (value) => restart({ noise: Number(value) }),
  });
  const tolerance = select({
    label: "Tolerance of the tests",
    choices: options("tolerance"),
    onChange: (value) => restart({ tolerance: Number(value) }),
  });
  const trials = slider({
    label: "Trials until a test accepts",
    ...bounds("trials"),
    onInput: (value) => restart({ trials: value }),
  });
  const seed = slider({ label: "Seed", ...bounds("seed"), onInput: (value) => restart({ seed: value }) });
  const clock = slider({
    label: "Queries asked by each test",
    min: 0,
    max: 1,
    onInput: (value) => {
      stop();
      explorer.change({ clock: value });
    },
  });
  const glass = select({
    label: "Look closely at",
    choices: options("tester"),
    onChange: (tester) => explorer.change({ tester }),
  });
  const button = h(
    "button",
    { type: "button", class: "fx-button", click: () => (timer ? stop() : start()) },
    "Run the race",
  );
  const truth = h("dd");
  const algebraic = h("dd");
  const lanes = Object.fromEntries(
    TESTERS.map(([key, name]) => {
      const said = h("p", { class: "fx-said" });
      const asked = h("b");
      const list = h("div", { class: "fx-heats" });
      const root = h(
        "div",
        { class: "fx-lane" },
        h("p", { class: "fx-tester" }, name),
        h("p", { class: "fx-does" }, DOES[key]),
        said,
        h("p", { class: "fx-cost" }, asked, " queries"),
        list,
      );
      return [key, { root, said, asked, list }];
    }),
  );
  const close = h("div", { class: "fx-glass" });

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, family.root, degree.root, terms.root),
      h(
        "details",
        { class: "fx-more" },
        h("summary", {}, "Length, noise and chance"),
        h("div", { class: "fx-controls" }, size.root, noise.root, tolerance.root, trials.root, seed.root),
      ),
      h(
        "dl",
        { class: "fx-facts fx-space" },
        h("div", {}, h("dt", {}, "degree of f"), truth),
        h("div", {}, h("dt", {}, "degree over GF(2)"), algebraic),
      ),
      h("div", { class: "fx-clock" }, button, clock.root),
      h("div", { class: "fx-lanes" }, ...Object.values(lanes).map((lane) => lane.root)),
      h(
        "p",
        { class: "fx-key" },
        h("span", {}, dot(false), "a trial that found nothing"),
        h("span", {}, dot(true), "a trial that rejects"),
      ),
      h("div", { class: "fx-controls fx-space fx-peek" }, glass.root),
      close,
    ),
  );

  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = "Run the race";
  }

  function start() {
    explorer.change({ clock: 0 });
    button.textContent = "Stop";
    timer = window.setInterval(() => {
      const now = state.clock ?? end;
      if (now >= end) return stop();
      explorer.change({ clock: Math.min(end, Math.max(now + 1, Math.ceil(now * PACE))) });
      if (state.clock === null) stop();
    }, TICK);
  }

  /** @type {(now: number) => void} */
  function showControls(now) {
    const { n } = state;
    const goal = algebraicDegree(state);
    family.show(state.family);
    size.show(n);
    degree.root.hidden = !counts("degree", state);
    terms.root.hidden = !counts("terms", state);
    if (state.degree) degree.show(state.degree, { key: "degree" });
    if (state.terms) terms.show(state.terms, { key: "terms" });
    noise.show(String(state.noise));
    tolerance.show(String(state.tolerance));
    trials.show(state.trials, { key: "trials" });
    seed.show(state.seed, { key: "seed" });
    clock.show(now, { max: end, key: "clock" });
    glass.show(state.tester);
    put(truth, "truth", degreeOf(state));
    put(algebraic, "gf2", goal ?? 0, goal === null ? "none" : undefined);
    if (goal === null) delete algebraic.dataset.number;
  }

  /** @type {(tester: string, all: Trial[], now: number) => void} */
  function showLane(tester, all, now) {
    const { said, asked, list } = lanes[tester];
    const shown = rows(all, now, state.trials);
    const last = shown.at(-1);
    const own = tester === "gf2" ? algebraicDegree(state) : null; // a test is judged by the degree that it measures
    const truth = own ?? degreeOf(state);
    const kind = own === null ? "" : " modulo 2";
    const words = all.length ? verdict(last?.outcome ?? "testing", last?.degree ?? 0, truth, kind) : REFUSAL;
    said.dataset.value = `${tester}:verdict`;
    said.dataset.look = words.includes(": right") ? "right" : /: (too|wrong)/.test(words) ? "wrong" : "open";
    said.textContent = words;
    put(asked, `${tester}:queries`, Math.min(now, total(all)));
    list.replaceChildren(
      ...shown.map(({ degree, outcome, done }) =>
        h(
          "div",
          { class: "fx-heat" },
          h("span", {}, `degree ≤ ${degree}`),
          h("span", { class: "fx-outcome", "data-value": `${tester}:${degree}` }, outcome),
          h(
            "div",
            { class: "fx-dots", "aria-hidden": "true" },
            ...done.map((trial, k) => {
              const mark = dot(trial.found);
              mark.dataset.value = `${tester}:${degree}:${k}`;
              mark.dataset.number = String(trial.statistic);
              return mark;
            }),
          ),
        ),
      ),
    );
  }

  /** @type {(all: Trial[], now: number) => void} */
  function showGlass(all, now) {
    const left = Math.min(now, total(all));
    const trial = all.find(({ start, values }) => left > start && left <= start + values.length);
    if (!trial)
      return close.replaceChildren(
        h(
          "p",
          {},
          all.length
            ? "No query yet: move the slider, or run the race."
            : "This test reads signs only, and f takes other values.",
        ),
      );
    const { tester, n } = state;
    const query = left - trial.start;
    const seen = trial.values.slice(0, query);
    const flipped = flips(trial.directions, query - 1);
    const number = (/** @type {string} */ key, /** @type {number} */ value) => {
      const node = h("b");
      put(node, `now:${key}`, value);
      return node;
    };
    const block = (/** @type {number} */ i) =>
      tester === "gf2" ? "" : String(trial.directions.findIndex((direction) => (direction >> i) & 1) + 1 || "");
    const sum = format(
      measure(tester, [...seen, ...Array(trial.values.length - query).fill(tester === "gf2" ? 1 : 0)]),
    );
    const done = query === trial.values.length;
    close.replaceChildren(
      h(
        "p",
        {},
        "Degree ≤ ",
        number("degree", trial.degree),
        ", trial ",
        number("trial", trial.number),
        `, query `,
        number("query", query),
        ` of ${trial.values.length}. `,
        `This query flips ${popcount(flipped)} of the ${n} bits of a random point.`,
      ),
      h(
        "div",
        { class: "fx-bits", "aria-hidden": "true" },
        ...Array.from({ length: n }, (_, i) =>
          h("span", { "data-look": (flipped >> i) & 1 ? "flipped" : "kept" }, block(i)),
        ),
      ),
      h(
        "p",
        { class: "fx-title fx-space" },
        tester === "gf2" ? "The signs of the answers so far" : "The answers so far, with alternating signs in front",
      ),
      h(
        "div",
        { class: "fx-replies", "data-look": trial.values.length > 16 ? "many" : "few" },
        ...seen.map((value, y) => {
          const sign = tester !== "gf2" && popcount(y) % 2 ? "−" : tester === "gf2" ? "" : "+";
          const cell = h("span", {}, h("i", {}, sign));
          const text = h("span", { "data-value": `v:${y}`, "data-number": value }, format(value, 2));
          cell.append(text);
          return cell;
        }),
      ),
      h(
        "p",
        { class: "fx-sentence" },
        tester === "gf2"
          ? `Their product ${done ? "is" : "so far is"} ${sum}`
          : `Their mean ${done ? "is" : "so far, counting the missing ones as zero, is"} ${sum}`,
        done ? (trial.found ? ": the degree is higher." : ": no objection.") : ".",
      ),
    );
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const all = remembered(state);
    end = Math.max(...Object.values(all).map(total));
    const now = state.clock ?? end;
    showControls(now);
    for (const [tester] of TESTERS) showLane(tester, all[tester], now);
    showGlass(all[state.tester], now);
  });
  const leave = explorer.start();
  return () => {
    stop();
    leave();
  };
}

/** @type {(found: boolean) => any} */
const dot = (found) => h("span", { class: "fx-dot", "data-look": found ? "found" : "nothing" });

export default { render };
