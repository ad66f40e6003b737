// @ts-check
/**
 * The sensitivity explorer: the edges of the cube on which a function changes, and what noise does to it.
 *
 * State: { n: dimensions, name: a key of `named` or "custom", table: 2^n characters "-" (true) and "+" or 2^n numbers
 * (only for custom, else ""), correlation: of an input and its noisy copy, variable: the direction that stands out, or
 * null }.
 */
import {
  accept,
  bars,
  bits,
  bounds,
  connect,
  format,
  h,
  hypercube,
  named,
  options,
  popcount,
  put,
  select,
  slider,
  svg,
  transform,
} from "../classroom/explorers/kit.js";

/**
 * @typedef {{ n: number, name: string, table: string | number[], correlation: number, variable: number | null }} State
 */

const FACTS = /** @type {Record<string, string>} */ ({
  average: "average sensitivity",
  maximum: "maximum",
  degree: "degree",
  variance: "variance",
});

// ---------------------------------------------------------------------------------------------- functions

/** @type {(state: State) => Float64Array} */
const tableOfState = ({ n, name, table }) =>
  name === "custom"
    ? Float64Array.from(/** @type {(string | number)[]} */ ([...table]), (entry) =>
        entry === "-" ? -1 : entry === "+" ? 1 : Number(entry),
      )
    : named[name](n, 0);

/** @type {(table: Float64Array) => boolean} */
const isBoolean = (table) => table.every((value) => Math.abs(value) === 1);

/**
 * A table as the state keeps it: signs if it is Boolean, else numbers.
 * @type {(table: Float64Array) => string | number[]}
 */
const kept = (table) => (isBoolean(table) ? [...table].map((value) => (value < 0 ? "-" : "+")).join("") : [...table]);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { n, name, table, correlation, variable } = accept(given);
  if (
    name === "custom" &&
    (table.length !== 1 << n || ![...table].every((entry) => entry === "+" || entry === "-" || Number.isFinite(entry)))
  )
    throw new Error(`table: expected ${1 << n} signs or numbers`);
  return { n, name, table: name === "custom" ? table : "", correlation, variable: variable > n ? null : variable };
}

// ---------------------------------------------------------------------------------------------- measures

/**
 * (f(x) − f(y))²/4 across the edge from k in direction i.
 * @type {(table: Float64Array, k: number, i: number) => number}
 */
const change = (table, k, i) => (table[k] - table[k ^ (1 << i)]) ** 2 / 4;

/**
 * @type {(table: Float64Array, n: number) => { scores: number[], influences: number[], degree: number,
 *     profile: number[] }}
 */
function measure(table, n) {
  const each = Array.from({ length: n }, (_, i) => i);
  const points = [...table.keys()];
  const sum = (/** @type {number[]} */ all) => all.reduce((total, value) => total + value, 0);
  const coefficients = transform(table.slice());
  const profile = Array(n + 1).fill(0);
  coefficients.forEach((value, S) => (profile[popcount(S)] += value * value));
  return {
    scores: points.map((k) => sum(each.map((i) => change(table, k, i)))),
    influences: each.map((i) => sum(points.map((k) => change(table, k, i))) / table.length),
    degree: Math.max(0, ...points.filter((S) => Math.abs(coefficients[S]) > 1e-12).map(popcount)),
    profile,
  };
}

/** A point's sensitivity in words. @type {(table: Float64Array, k: number, n: number, score: number) => string} */
function told(table, k, n, score) {
  const pivots = Array.from({ length: n }, (_, i) => i)
    .filter((i) => change(table, k, i) > 0)
    .map((i) => `x${i + 1}`);
  if (!pivots.length) return `s(f, ${bits(k, n)}) = 0: no single flip changes f.`;
  if (!isBoolean(table)) return `s(f, ${bits(k, n)}) = ${format(score)}: f is ${format(table[k])} here.`;
  const last = pivots.pop();
  return `s(f, ${bits(k, n)}) = ${score}: f changes with ${pivots.length ? `${pivots.join(", ")} or ${last}` : last}.`;
}

// ---------------------------------------------------------------------------------------------- the page

/** A corner of the legend: a full disc for true, a ring for false. @type {(value: number) => any} */
const corner = (value) =>
  svg(
    "svg",
    { viewBox: "-16 -16 32 32", "aria-hidden": "true" },
    svg(
      "g",
      { class: "fx-corner", "data-score": "whole" },
      svg("circle", { r: 12, class: `fx-disc fx-${value < 0 ? "minus" : "plus"}` }),
    ),
  );
/** @type {(look: string) => any} */
const stroke = (look) =>
  svg(
    "svg",
    { viewBox: "-16 -16 32 32", "aria-hidden": "true", class: "fx-edges" },
    svg("line", { x1: -15, x2: 15, "data-look": look }),
  );

/** @type {(weak: any) => any} */
const legend = (weak) =>
  h(
    "p",
    { class: "fx-key" },
    h("span", {}, corner(-1), "−1, true"),
    h("span", {}, corner(1), "+1, false"),
    h("span", {}, stroke("lit"), "f changes sign"),
    weak,
  );

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  let table = /** @type {Float64Array} */ (new Float64Array(1));
  let scores = /** @type {number[]} */ ([]);
  let pointed = -1;

  const chooser = select({
    label: "Function",
    choices: options("name"),
    onChange: (name) => explorer.change({ name, table: kept(table) }),
  });
  const size = slider({ label: "Dimensions", ...bounds("n"), onInput: resize });
  const cube = hypercube({
    label: "The corners of the cube, with their sensitivities",
    hint: "Press a corner to flip it; number keys walk along an edge.",
    onPress: flip,
    onPoint: point,
  });
  const influence = bars({ label: "Influence of each variable", onPick: pick });
  const noise = slider({
    label: "Correlation r of the input and its noisy copy",
    ...bounds("correlation"),
    onInput: (correlation) => explorer.change({ correlation }),
  });
  const chance = bars({ label: "Probability that noise changes f, and two bounds on it" });
  const readout = h("p", { class: "fx-readout" });
  const facts = Object.fromEntries(Object.keys(FACTS).map((key) => [key, h("dd")]));
  const stability = h("b");
  const flips = h("b");
  const weak = h("span", {}, stroke("faint"), "f changes a little");
  const chances = h(
    "div",
    {},
    h("p", { class: "fx-title" }, "Probability that f changes, and what the average and the maximum allow"),
    chance.root,
  );

  /** @type {(k: number) => void} */
  function point(k) {
    pointed = k;
    readout.textContent = k < scores.length ? told(table, k, state.n, scores[k]) : "";
  }
  /** @type {(k: number) => void} */
  function flip(k) {
    const flipped = table.slice();
    flipped[k] = flipped[k] === 0 ? 1 : -flipped[k];
    explorer.change({ name: "custom", table: kept(flipped) });
  }
  /** More variables: the function ignores them; fewer: the last ones are +1. @type {(n: number) => void} */
  function resize(n) {
    const resized = Float64Array.from({ length: 1 << n }, (_, k) => table[k % table.length]);
    explorer.change({ n, ...(state.name === "custom" && { table: kept(resized) }) });
  }
  /** @type {(at: number) => void} */
  function pick(at) {
    explorer.change({ variable: state.variable === at + 1 ? null : at + 1 });
  }

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h(
        "div",
        { class: "fx-pair" },
        h("div", {}, cube.root, legend(weak), h("div", { class: "fx-hint" }, readout)),
        h(
          "div",
          { class: "fx-side" },
          h("div", { class: "fx-controls" }, chooser.root, size.root),
          h(
            "dl",
            { class: "fx-facts" },
            ...Object.entries(facts).map(([key, value]) => h("div", {}, h("dt", {}, FACTS[key]), value)),
          ),
          h(
            "div",
            {},
            h("p", { class: "fx-title" }, "Influence of each variable; press one to see its edges"),
            influence.root,
          ),
          h(
            "div",
            {},
            h("div", { class: "fx-controls" }, noise.root),
            h(
              "p",
              { class: "fx-sentence" },
              "Noise flips each bit with probability ",
              flips,
              ". Noise stability ",
              stability,
              ".",
            ),
          ),
          chances,
        ),
      ),
    ),
  );

  function showCube() {
    const { n, variable } = state;
    const whole = isBoolean(table);
    const spoken = (/** @type {number} */ value) => (whole ? (value < 0 ? "−1" : "+1") : format(value));
    cube.show(
      [...table].map((value, k) => ({
        key: `f:${k}`,
        value,
        other: value,
        score: { key: `s:${k}`, value: scores[k], text: format(scores[k], 2) },
        name: `corner ${bits(k, n)}: f is ${spoken(value)}, sensitivity ${format(scores[k])}`,
      })),
      0,
      (k, i) => {
        const size = change(table, k, i);
        const look = size === 0 ? "" : table[k] * table[k ^ (1 << i)] < 0 && size === 1 ? "lit" : "faint";
        return {
          "data-value": `e:${k}:${i + 1}`,
          "data-number": size,
          "data-look": look + (variable && variable !== i + 1 ? " aside" : ""),
        };
      },
    );
    weak.hidden = whole;
    point(pointed < 0 ? scores.indexOf(Math.max(...scores)) : pointed % scores.length);
  }

  function showNoise(/** @type {number[]} */ profile, /** @type {number} */ average) {
    const r = state.correlation;
    const stable = profile.reduce((sum, weight, k) => sum + weight * r ** k, 0);
    noise.show(r, { key: "correlation" });
    put(flips, "flip", (1 - r) / 2);
    put(stability, "stability", stable);
    chances.hidden = !isBoolean(table);
    if (chances.hidden) return;
    const values = {
      disagreement: (1 - stable) / 2,
      "by-average": Math.min((1 - r) * average, 1 - r ** average) / 2,
      "by-maximum": (1 - r ** (Math.max(...scores) ** 2)) / 2,
    };
    const texts = ["f changes", "by average", "by maximum"];
    chance.show(
      Object.entries(values).map(([key, value], at) => ({
        key,
        value,
        look: at ? "bound" : "weight",
        text: texts[at],
        name: `${texts[at]} ${format(value)}`,
      })),
      { low: 0, high: 0.5, values: true },
    );
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    table = tableOfState(state);
    const { scores: found, influences, degree, profile } = measure(table, state.n);
    scores = found;
    const average = influences.reduce((sum, value) => sum + value, 0);
    const variance = profile.slice(1).reduce((sum, value) => sum + value, 0);
    chooser.show(state.name);
    size.show(state.n);
    showCube();
    Object.entries({ average, maximum: Math.max(...scores), degree, variance }).forEach(([key, value]) =>
      put(facts[key], key, value),
    );
    influence.show(
      influences.map((value, i) => ({
        key: `i:${i + 1}`,
        value,
        pressed: state.variable === i + 1,
        look: state.variable === i + 1 ? "weight picked" : "weight",
        text: `x${"₁₂₃₄₅"[i]}`,
        name: `x${i + 1}, influence ${format(value)}`,
      })),
      { low: 0, values: true },
    );
    showNoise(profile, average);
  });
  return explorer.start();
}

export default { render };
