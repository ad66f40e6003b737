// @ts-check
/**
 * Networks while they learn: error, sharpness, norm and blow-up of one of them, side by side.
 *
 * State: { function: what it learns, n: the length of its inputs, seed: which of the networks, step: where the cursor
 *   stands, against: another function to compare with, or "" }. The curves are those of data/sharper.csv.
 */
import { accept, attributes, connect, h, put, select, slider, stored, svg } from "../classroom/explorers/kit.js";

/** @typedef {{ function: string, n: number, seed: number, step: number, against: string }} State */
/**
 * @typedef {{ function: string, n: number, seed: number, end: string, reached: number,
 *     curves: (number | null)[][] }} Network
 */

const EVERY = /** @type {number} */ (stored.every);
const NETWORKS = /** @type {Network[]} */ (
  stored.networks.map((/** @type {any} */ [name, n, seed, end, reached, ...curves]) => ({
    function: name,
    n,
    seed,
    end,
    reached,
    curves,
  }))
);
const MEASURES = /** @type {[string, string][]} */ ([
  ["error", "Error (mean square)"],
  ["sharpness", "Sharpness L, ρ = 0.02"],
  ["norm", "Norm ‖θ‖"],
  ["blowup", "log of the blow-up"],
]);
const LAST = Math.max(...NETWORKS.map(({ curves }) => curves[0].length)) - 1; // the last record of the longest
const WIDE = 500;
const TALL = 124;
const EDGE = 7;
const LOGS = 2;
const GOAL = -3; // the first two have logarithmic axes; below 10⁻³ a network has converged

/**
 * The different values of a field, in order.
 * @type {<K extends keyof Network>(key: K, among?: Network[]) => Network[K][]}
 */
const values = (key, among = NETWORKS) => [...new Set(among.map((network) => network[key]))];
/** @type {(name: string, n: number) => Network[]} */
const group = (name, n) => NETWORKS.filter((network) => network.function === name && network.n === n);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { function: name, n, seed, step, against } = accept(given);
  const check = (/** @type {string} */ key, /** @type {any} */ value, /** @type {any[]} */ allowed) => {
    if (!allowed.includes(value))
      throw new Error(`${key}: expected one of ${allowed.map((one) => one || "nothing").join(", ")}, got ${value}`);
  };
  check("function", name, values("function"));
  check("against", against, ["", ...values("function")]);
  check(
    "n",
    n,
    values(
      "n",
      NETWORKS.filter((network) => network.function === name),
    ),
  );
  check("seed", seed, values("seed", group(name, n)));
  const { curves } = /** @type {Network} */ (group(name, n).find((network) => network.seed === seed));
  const rival = against !== name && group(against, n).length > 0;
  return {
    function: name,
    n,
    seed,
    step: EVERY * Math.min(Math.floor(step / EVERY), curves[0].length - 1),
    against: rival ? against : "",
  };
}

/** A number in two or three digits. @type {(value: number) => string} */
function short(value) {
  if (value === 0 || Math.abs(value) >= 1e-3) return String(Number(value.toPrecision(3))).replace("-", "−");
  const [digits, power] = value.toExponential(1).split("e-");
  return `${digits} · ${tenth(Number(power))}`;
}
/** 10⁻ᵏ. @type {(k: number) => string} */
const tenth = (k) =>
  k > 0 ? `10⁻${String(k).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)])}` : String(10 ** -k);

/**
 * The axis of a measure, the same for all networks.
 * @type {(m: number) => { y(value: number): number, marks: [number, string][] }}
 */
function scale(m) {
  const level = (/** @type {number} */ value) => (m < LOGS ? Math.log10(Math.max(value, 1e-12)) : value);
  const all = NETWORKS.flatMap(
    ({ curves }) => /** @type {number[]} */ (curves[m].filter((value) => value !== null)),
  ).map(level);
  const least = Math.min(...all);
  const most = Math.max(...all);
  const unit = m < LOGS ? 1 : 10 ** Math.floor(Math.log10(most - least)) / 2;
  const low = unit * Math.floor(least / unit);
  const high = unit * Math.ceil(most / unit);
  const height = (/** @type {number} */ at) => EDGE + ((high - at) / (high - low)) * (TALL - 2 * EDGE);
  return {
    y: (value) => height(level(value)),
    marks: [low, ...(m ? [] : [GOAL]), high].map((at) => [height(at), m < LOGS ? tenth(-at) : short(at)]),
  };
}

/**
 * A curve that leaves out what is not finite.
 * @type {(curve: (number | null)[], y: (value: number) => number, series: string | null) => any}
 */
function path(curve, y, series) {
  const d = curve
    .map((value, at) =>
      value === null
        ? ""
        : `${at && curve[at - 1] !== null ? "L" : "M"}${((WIDE * at) / LAST).toFixed(2)} ${y(value).toFixed(2)}`,
    )
    .join("");
  return svg("path", { d, "data-series": series });
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  /** Change the choice of a network to the nearest one that there is. @type {(patch: Partial<State>) => void} */
  const choose = (patch) => {
    const next = { ...state, ...patch };
    const lengths = values(
      "n",
      NETWORKS.filter((network) => network.function === next.function),
    );
    if (!lengths.includes(next.n)) next.n = lengths.filter((n) => n <= next.n).pop() ?? lengths[0];
    const seeds = values("seed", group(next.function, next.n));
    if (!seeds.includes(next.seed)) next.seed = seeds[0];
    explorer.change(next);
  };
  const menu = (
    /** @type {string} */ label,
    /** @type {keyof State} */ key,
    /** @type {(text: string) => any} */ read,
  ) => {
    const made = select({ label, choices: [], onChange: (text) => choose({ [key]: read(text) }) });
    let offered = "";
    return {
      root: made.root,
      show(/** @type {[string, string][]} */ choices) {
        if (offered !== (offered = JSON.stringify(choices))) made.offer(choices);
        made.show(String(state[key]));
      },
    };
  };
  const menus = {
    function: menu("Function", "function", String),
    n: menu("Length n", "n", Number),
    seed: menu("Seed", "seed", Number),
    against: menu("Compare with", "against", String),
  };
  const cursor = slider({
    label: "Step",
    min: 0,
    max: EVERY * LAST,
    step: EVERY,
    onInput: (step) => explorer.change({ step }),
  });
  const jump = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    explorer.change({ step: EVERY * Math.max(0, Math.round((LAST * (event.clientX - box.left)) / box.width)) });
  };
  const panels = MEASURES.map(([key, title], m) => {
    const own = h("strong");
    const other = h("strong");
    const rival = h("span", {}, " · ", h("span"), " ", other);
    const { y, marks } = scale(m);
    const plot = svg("svg", { role: "img", height: TALL, click: jump });
    const grid = marks.map(([at]) => svg("line", { x1: 0, x2: "100%", y1: at, y2: at }));
    const axis = h(
      "div",
      { class: "fx-axis", "aria-hidden": "true" },
      ...marks.map(([at, text]) => h("span", { style: `top: ${at}px` }, text)),
    );
    const root = h(
      "div",
      {},
      h("p", { class: "fx-title" }, `${title} `, own, rival),
      h("div", { class: "fx-bars" }, axis, plot),
      h(
        "div",
        { class: "fx-steps", "aria-hidden": "true" },
        h("span", {}, "0"),
        h("span", {}, "step"),
        h("span", {}, String(EVERY * LAST)),
      ),
    );
    return { key, title, own, other, rival, y, plot, grid: svg("g", { class: "fx-grid" }, ...grid), root };
  });
  const who = h("span");
  const end = h("b", { "data-value": "end" });
  const ended = h("b");
  const reached = h("b");
  const fall = h("b");
  const turn = h("b", { "data-value": "turn" });
  const before = h("span");
  const after = h("span");
  const last = h("span");
  const learnt = h("span", {}, " Its error was first below 10⁻³ at step ", reached, ".");
  const next = h("span");
  const change = h(
    "span",
    {},
    " The error fell most between step ",
    fall,
    " and step ",
    next,
    ": there the sharpness ",
    turn,
    ", from ",
    before,
    " to ",
    after,
    ". At the end it is ",
    last,
    ".",
  );
  el.append(
    h(
      "div",
      { class: "fx-box fx-curves" },
      h("div", { class: "fx-controls" }, ...Object.values(menus).map(({ root }) => root)),
      h("div", { class: "fx-controls fx-space" }, cursor.root),
      h("div", { class: "fx-halves" }, ...panels.map(({ root }) => root)),
      h(
        "p",
        { class: "fx-sentence fx-space", role: "status" },
        who,
        end,
        "; training ended at step ",
        ended,
        ".",
        learnt,
        change,
      ),
      h(
        "p",
        { class: "fx-hint" },
        "Thick: the chosen network; dashed: the one it is compared with; thin: other seeds. Numbers are those at the " +
          "vertical line; press a curve to move it. The last record is measured with more directions than the " +
          "others, and with other ones: sharpness may step there although the network stays as it is.",
      ),
    ),
  );

  /** @type {(node: any, key: string, value: number | null) => void} */
  const tell = (node, key, value) => {
    if (value !== null) return put(node, key, value, short(value));
    attributes(node, { "data-value": null, "data-number": null });
    node.textContent = "none";
  };

  const explorer = connect(model, el, clean, (now) => {
    state = now;
    const { function: name, n, seed, step, against } = state;
    const seeds = group(name, n);
    const at = step / EVERY;
    const rivals = group(against, n);
    const own = /** @type {Network} */ (seeds.find((network) => network.seed === seed));
    const rival = rivals.find((network) => network.seed === seed) ?? rivals[0];
    const words = (/** @type {(string | number)[]} */ list) =>
      list.map((one) => /** @type {[string, string]} */ ([String(one), String(one)]));
    menus.function.show(words(values("function")));
    menus.n.show(
      words(
        values(
          "n",
          NETWORKS.filter((network) => network.function === name),
        ),
      ),
    );
    menus.seed.show(words(values("seed", seeds)));
    menus.against.show([
      ["", "none"],
      ...words(values("function").filter((other) => other !== name && group(other, n).length)),
    ]);
    cursor.show(step, { key: "step", max: EVERY * (own.curves[0].length - 1) });
    panels.forEach(({ key, title, own: mine, other, rival: part, y, plot, grid }, m) => {
      const shown = [rival, own]
        .filter((network) => network)
        .map((network) => /** @type {[Network, string]} */ ([network, network.function]));
      const x = `${(100 * at) / LAST}%`;
      const reading = shown.map(([{ curves }]) => curves[m][Math.min(at, curves[m].length - 1)]);
      tell(mine, key, reading[reading.length - 1]);
      part.hidden = !rival;
      part.children[0].textContent = against;
      if (rival) tell(other, `against:${key}`, reading[0]);
      const dots = shown.flatMap(([, series], k) =>
        reading[k] === null
          ? []
          : [svg("circle", { r: 5, cx: x, cy: y(/** @type {number} */ (reading[k])), "data-series": series })],
      );
      const thin = seeds.filter((network) => network !== own).map(({ curves }) => path(curves[m], y, null));
      const thick = shown.map(([{ curves }, series]) => path(curves[m], y, series));
      plot.replaceChildren(
        grid,
        svg(
          "svg",
          { width: "100%", height: TALL, viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: "none" },
          ...thin,
          ...thick,
        ),
        svg("line", { class: "fx-cursor", x1: x, x2: x, y1: 0, y2: TALL }),
        ...dots,
      );
      const [start, end] = [0, -1].map((place) => short(own.curves[m].at(place) ?? NaN));
      const course = `at the start ${start}, at step ${step} ${mine.textContent}, at the end ${end}`;
      const compared = rival ? `; ${against} ${other.textContent}` : "";
      attributes(plot, { "aria-label": `${title} of ${name}, ${n} bits: ${course}${compared}` });
    });
    who.textContent = `${name} of ${n} bits, seed ${seed}, `;
    end.textContent = own.end;
    put(ended, "ended", EVERY * (own.curves[0].length - 1));
    learnt.hidden = own.reached < 0;
    put(reached, "reached", own.reached);
    const [errors, sharpness] = own.curves;
    const falls = errors
      .slice(1)
      .map((value, k) => (value === null || errors[k] === null ? -Infinity : errors[k] - value));
    const from = falls.indexOf(Math.max(...falls));
    change.hidden = own.end !== "converged" && own.end !== "did not converge";
    if (change.hidden) return;
    put(fall, "fall", EVERY * from);
    next.textContent = String(EVERY * (from + 1));
    tell(before, "before", sharpness[from]);
    tell(after, "after", sharpness[from + 1]);
    tell(last, "last", sharpness[sharpness.length - 1]);
    turn.textContent = (sharpness[from + 1] ?? 0) > (sharpness[from] ?? 0) ? "rose" : "did not rise";
  });
  return explorer.start();
}

export default { render };
