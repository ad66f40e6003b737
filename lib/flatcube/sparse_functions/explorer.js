// @ts-check
/**
 * Success at a hidden AND over examples and length, and single runs of a hidden parity.
 *
 * State: { T, m: length and number of examples of the chosen cell, bits, seed: the chosen run of a parity }.
 * What is drawn are the results of data/sparse_and.csv and data/sparse_parity.csv.
 */
import { accept, attributes, axes, connect, h, put, select, stored, svg } from "../classroom/explorers/kit.js";

/** @typedef {{ T: number, m: number, bits: number, seed: number }} State */
/** @typedef {{ bits: number, seed: number, left: number, reached: number, every: number, errors: number[] }} Run */

const CELLS = /** @type {[number, number, number, number][]} */ (stored.cells);
const CRITICAL = /** @type {[number, number, number, number, number][]} */ (stored.critical);
const [NAME, INTERCEPT, SLOPE] = /** @type {[string, number, number]} */ (stored.law);
const RUNS = /** @type {Run[]} */ (
  stored.runs.map((/** @type {any} */ [bits, seed, left, reached, every, errors]) => ({
    bits,
    seed,
    left,
    reached,
    every,
    errors,
  }))
);
const LAWS = /** @type {Record<string, (T: number) => number>} */ ({
  "log T": Math.log,
  "√T": Math.sqrt,
  T: (T) => T,
});
const WIDE = 440;
const TALL = 360;
const EDGE = { left: 44, right: 20, top: 12, bottom: 44 };
const FRAME = { wide: WIDE, tall: TALL, ...EDGE };

/** The different values, in order. @type {(list: number[]) => number[]} */
const distinct = (list) => [...new Set(list)].sort((a, b) => a - b);
const LENGTHS = distinct(CELLS.map(([T]) => T));
const TOP = 20 * Math.ceil((Math.max(...CELLS.map(([, m]) => m)) + 10) / 20);
/** @type {(T: number) => number[]} */
const sizes = (T) => distinct(CELLS.filter(([length]) => length === T).map(([, m]) => m));
/** @type {(bits: number) => Run[]} */
const group = (bits) => RUNS.filter((run) => run.bits === bits);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = accept(given);
  const check = (/** @type {string} */ key, /** @type {number[]} */ allowed) => {
    if (!allowed.includes(state[key]))
      throw new Error(`${key}: expected one of ${allowed.join(", ")}, got ${state[key]}`);
  };
  check("T", LENGTHS);
  check("m", sizes(state.T));
  check("bits", distinct(RUNS.map(({ bits }) => bits)));
  check(
    "seed",
    group(state.bits).map(({ seed }) => seed),
  );
  return state;
}

const inner = WIDE - EDGE.left - EDGE.right;
const high = TALL - EDGE.top - EDGE.bottom;
/** Where a length stands, on a logarithmic axis with room at both ends. @type {(T: number) => number} */
const across = (T) => {
  const [low, most] = [LENGTHS[0] / 1.4, LENGTHS[LENGTHS.length - 1] * 1.4].map(Math.log);
  return EDGE.left + (inner * (Math.log(T) - low)) / (most - low);
};
/** @type {(m: number) => number} */
const up = (m) => EDGE.top + high * (1 - m / TOP);
/** @type {(error: number) => number} */
const fall = (error) => EDGE.top + high * (1 - Math.min(error, 0.6) / 0.6);
/** @type {(points: [number, number][]) => string} */
const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  /**
   * Change a choice, and the one that depends on it to the nearest there is.
   * @type {(patch: Partial<State>) => void}
   */
  const choose = (patch) => {
    const next = { ...state, ...patch };
    const near = sizes(next.T);
    if (!near.includes(next.m)) next.m = near.reduce((a, b) => (Math.abs(b - next.m) < Math.abs(a - next.m) ? b : a));
    if (!group(next.bits).some(({ seed }) => seed === next.seed)) next.seed = group(next.bits)[0].seed;
    explorer.change(next);
  };
  const menu = (/** @type {string} */ label, /** @type {keyof State} */ key) => {
    const made = select({ label, choices: [], onChange: (text) => choose({ [key]: Number(text) }) });
    let offered = "";
    return {
      root: made.root,
      show(/** @type {number[]} */ list) {
        if (offered !== (offered = list.join())) made.offer(list.map((one) => [String(one), String(one)]));
        made.show(String(state[key]));
      },
    };
  };
  const menus = {
    T: menu("AND: bits T", "T"),
    m: menu("AND: examples m", "m"),
    bits: menu("Parity: bits T", "bits"),
    seed: menu("Parity: network", "seed"),
  };
  const cells = CELLS.map(([T, m, trials, successes]) =>
    svg("circle", {
      cx: across(T),
      cy: up(m),
      r: 8,
      "fill-opacity": successes / trials,
      click: () => choose({ T, m }),
    }),
  );
  const steps = Array.from(
    { length: 41 },
    (_, k) => LENGTHS[0] * (LENGTHS[LENGTHS.length - 1] / LENGTHS[0]) ** (k / 40),
  );
  const map = svg(
    "svg",
    { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` },
    axes(
      FRAME,
      [0, TOP / 4, TOP / 2, (3 * TOP) / 4, TOP].map((m) => [up(m), String(m)]),
      LENGTHS.map((T) => [across(T), String(T)]),
      "bits T",
    ),
    svg("path", { class: "fx-law", d: path(steps.map((T) => [across(T), up(INTERCEPT + SLOPE * LAWS[NAME](T))])) }),
    svg("path", { class: "fx-bound", d: path(CRITICAL.map(([T, , , , bound]) => [across(T), up(bound)])) }),
    ...CRITICAL.map(([T, , low, most]) =>
      svg("line", { class: "fx-span", x1: across(T) - 14, x2: across(T) - 14, y1: up(low), y2: up(most) }),
    ),
    svg("g", { class: "fx-cells" }, ...cells),
  );
  const plot = svg("svg", { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` });
  const told = Object.fromEntries(
    [
      "T",
      "m",
      "trials",
      "successes",
      "critical",
      "low",
      "high",
      "bound",
      "bits",
      "seed",
      "left",
      "reached",
      "ended",
    ].map((key) => [key, h("b")]),
  );
  const success = h(
    "span",
    {},
    ": at chance until step ",
    told.left,
    ", below 1 % of errors at step ",
    told.reached,
    ".",
  );
  const failure = h("span", {}, ": no success by step ", told.ended, ", where it was stopped.");
  el.append(
    h(
      "div",
      { class: "fx-box fx-sparse" },
      h("div", { class: "fx-controls" }, ...Object.values(menus).map(({ root }) => root)),
      h(
        "div",
        { class: "fx-halves" },
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "Hidden AND: examples m against bits T; full discs succeed"),
          map,
          h(
            "p",
            { class: "fx-sentence", role: "status" },
            "With ",
            told.m,
            " examples of ",
            told.T,
            " bits, ",
            told.successes,
            " of ",
            told.trials,
            " networks found the AND. Half of them do at about ",
            told.critical,
            " examples (",
            told.low,
            " to ",
            told.high,
            "); no learner finds every set with fewer than ",
            told.bound,
            ".",
          ),
        ),
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "Hidden parity: share of errors against the step"),
          plot,
          h(
            "p",
            { class: "fx-sentence", role: "status" },
            "Parity of 3 among ",
            told.bits,
            " bits, network ",
            told.seed,
            success,
            failure,
          ),
        ),
      ),
      h(
        "p",
        { class: "fx-hint" },
        `Left: line, the best of three fits (a + b ${NAME}); bars beside the discs, 95 % intervals of the critical ` +
          `size; ` +
          "dashed, the bound by counting. Right: thick, the chosen network; thin, the others; dotted, where it left " +
          "chance.",
      ),
    ),
  );

  const explorer = connect(model, el, clean, (now) => {
    state = now;
    const { T, m, bits, seed } = state;
    menus.T.show(LENGTHS);
    menus.m.show(sizes(T));
    menus.bits.show(distinct(RUNS.map((run) => run.bits)));
    menus.seed.show(group(bits).map((run) => run.seed));
    CELLS.forEach(([length, size], k) =>
      attributes(cells[k], { "data-chosen": length === T && size === m ? "" : null }),
    );
    const [, , trials, successes] = /** @type {[number, number, number, number]} */ (
      CELLS.find(([length, size]) => length === T && size === m)
    );
    const [, critical, low, most, bound] = /** @type {[number, number, number, number, number]} */ (
      CRITICAL.find(([length]) => length === T)
    );
    const numbers = { T, m, trials, successes, critical, low, high: most, bound, bits, seed };
    Object.entries(numbers).forEach(([key, value]) => put(told[key], key, value));
    attributes(map, {
      "aria-label":
        `Shares of networks that find the AND. With ${m} examples of ${T} bits ${successes} of ${trials}. Critical ` +
        `sizes: ` +
        CRITICAL.map(([length, size]) => `${size} at ${length} bits`).join(", "),
    });
    const runs = group(bits);
    const own = /** @type {Run} */ (runs.find((run) => run.seed === seed));
    const last = Math.max(...runs.map(({ every, errors }) => every * (errors.length - 1)));
    const along = (/** @type {number} */ step) => EDGE.left + (inner * step) / last;
    const line = (/** @type {Run} */ run) => path(run.errors.map((error, k) => [along(run.every * k), fall(error)]));
    const learnt = own.reached >= 0;
    plot.replaceChildren(
      axes(
        FRAME,
        [0, 0.25, 0.5].map((error) => [fall(error), String(error)]),
        [0, last / 2, last].map((step) => [along(step), String(step)]),
        "step",
      ),
      ...runs.filter((run) => run !== own).map((run) => svg("path", { class: "fx-run", d: line(run) })),
      svg("path", { class: "fx-run", d: line(own), "data-series": "PARITY" }),
      ...(learnt
        ? [svg("line", { class: "fx-left", x1: along(own.left), x2: along(own.left), y1: EDGE.top, y2: fall(0) })]
        : []),
    );
    success.hidden = !learnt;
    failure.hidden = learnt;
    if (learnt) {
      put(told.left, "left", own.left);
      put(told.reached, "reached", own.reached);
    } else put(told.ended, "ended", own.every * (own.errors.length - 1));
    attributes(plot, {
      "aria-label":
        `Share of errors of network ${seed} for a parity of ${bits} bits: ` +
        (learnt
          ? `near a half until step ${own.left}, below 1 % from step ${own.reached} on`
          : "near a half all the time"),
    });
  });
  return explorer.start();
}

export default { render };
