// @ts-check
/**
 * The Fourier explorer: choose a function, type a formula or flip entries of the table, and see the spectrum follow.
 *
 * State: { n: variables, source: "named" | "formula" | "table",
 *   name: a key of `named` or "random"; parameter: k of threshold, width of tribes, seed of random, else 0
 *   (source "named"),
 *   formula: the text   (source "formula"),
 *   table: 2^n characters "-" and "+", or a list of 2^n numbers   (source "table"),
 *   subset: the members of the S that is compared with f, or null }. What the source does not use is "" or 0.
 */
import {
  accept,
  bars,
  bits,
  bounds,
  character,
  connect,
  field,
  format,
  formula,
  h,
  inspect,
  largest,
  look,
  members,
  named,
  options,
  parse,
  popcount,
  put,
  select,
  slider,
  strip,
  subsetName,
  tableOf,
  transform,
  trimEnd,
} from "../classroom/explorers/kit.js";

/**
 * @typedef {{ n: number, source: string, name: string, parameter: number, formula: string, table: string | number[],
 *     subset: number[] | null }} State
 */

const MOST = bounds("n").max; // variables
const SEEDS = bounds("parameter").max;
const TERMS = 12; // of the polynomial

// ---------------------------------------------------------------------------------------------- functions

/**
 * A Boolean table from 32-bit xorshift numbers; explorer.py computes the same.
 * @type {(n: number, seed: number) => Float64Array}
 */
function random(n, seed) {
  let word = Math.imul(seed + 1, 0x9e3779b1);
  return tableOf(n, () => {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    return word < 0;
  });
}

/** Variables of the address function with 1 or 2 address bits. */
const ADDRESS = [3, 6];
/** @type {(n: number) => number[]} */
const divisors = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);

/** The parameters that a named function may have on n variables. @type {(name: string, n: number) => number[]} */
function allowed(name, n) {
  if (name === "threshold") return Array.from({ length: n + 2 }, (_, k) => k);
  if (name === "tribes") return divisors(n);
  return name === "random" ? Array.from({ length: SEEDS + 1 }, (_, seed) => seed) : [0];
}

/** @type {(state: State) => Float64Array} */
function tableOfState({ n, source, name, parameter, formula: text, table }) {
  if (source === "formula") return formula(text, n);
  if (source === "table")
    return Float64Array.from(/** @type {(string | number)[]} */ ([...table]), (entry) =>
      entry === "-" ? -1 : entry === "+" ? 1 : Number(entry),
    );
  return name === "random"
    ? random(n, parameter)
    : named[name](n, name === "address" ? ADDRESS.indexOf(n) + 1 : parameter);
}

/**
 * A table as the state keeps it: signs if it is Boolean, else numbers.
 * @type {(table: Float64Array) => string | number[]}
 */
const kept = (table) =>
  table.every((value) => Math.abs(value) === 1)
    ? [...table].map((value) => (value < 0 ? "-" : "+")).join("")
    : [...table];

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { n, source, name, parameter, formula: text, table, subset } = accept(given);
  const plain = {
    n,
    source,
    name: "",
    parameter: 0,
    formula: "",
    table: /** @type {string | number[]} */ (""),
    subset: subset && members(mask(subset) & ((1 << n) - 1)),
  };
  if (source === "formula") {
    formula(text, n);
    return { ...plain, formula: text };
  }
  if (source === "table") {
    if (
      table.length !== 1 << n ||
      ![...table].every((entry) => entry === "+" || entry === "-" || Number.isFinite(entry))
    )
      throw new Error(`table: expected ${1 << n} signs or numbers`);
    return { ...plain, table };
  }
  if (name === "address" && !ADDRESS.includes(n))
    throw new Error(`n: the address function has ${ADDRESS.join(" or ")} variables, got ${n}`);
  if (!allowed(name, n).includes(parameter))
    throw new Error(`parameter: ${name} on ${n} variables cannot have ${parameter}`);
  return { ...plain, name, parameter };
}

/** @type {(subset: number[]) => number} */
const mask = (subset) => subset.reduce((sum, i) => sum | (1 << (i - 1)), 0);

/** The nearest parameter that is allowed. @type {(name: string, n: number, wanted: number) => number} */
const nearest = (name, n, wanted) =>
  allowed(name, n).reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));

/** What changes when the reader wants n variables. @type {(state: State, n: number) => Partial<State>} */
function resize(state, n) {
  if (state.source === "formula") return { n: Math.max(n, Number(largest(parse(state.formula)))) };
  if (state.source === "table") {
    const table = tableOfState(state); // more variables: the function ignores them; fewer: the last ones are +1
    return { n, table: kept(Float64Array.from({ length: 1 << n }, (_, k) => table[k % table.length])) };
  }
  if (state.name === "address") return { n: n > state.n ? 6 : n < state.n ? 3 : n };
  return { n, parameter: nearest(state.name, n, state.parameter) };
}

/** What changes when the reader chooses a function. @type {(state: State, choice: string) => Partial<State>} */
function choose(state, choice) {
  if (choice === "table") return { source: "table", table: kept(tableOfState(state)) };
  if (choice === "formula") return { source: "formula", formula: state.n < 3 ? "x1" : "x1 & (x2 ^ x3)" };
  const n = choice !== "address" ? state.n : state.n > 4 ? 6 : 3;
  const wanted = { threshold: Math.ceil(n / 2), tribes: 2 }[choice] ?? 0;
  return { source: "named", name: choice, n, parameter: nearest(choice, n, wanted) };
}

// ---------------------------------------------------------------------------------------------- spectra

/**
 * @type {(c: Float64Array) => { degree: number, sparsity: number, profile: number[], masks: number[], close: number }}
 */
function measure(c) {
  const tolerance = 32 * Number.EPSILON * Math.hypot(...c);
  const masks = [...c.keys()].filter((S) => Math.abs(c[S]) > tolerance);
  const profile = Array(Math.log2(c.length) + 1).fill(0);
  c.forEach((value, S) => (profile[popcount(S)] += value * value));
  return {
    degree: Math.max(0, ...masks.map(popcount)),
    sparsity: masks.length,
    profile,
    masks,
    close: Math.min(tolerance, 2 ** -20),
  };
}

/**
 * A number close to a short dyadic one as a fraction, any other with four digits, as the library prints it.
 * @type {(c: number, close: number) => string}
 */
function number(c, close) {
  if (c < 2 ** 53 && Math.abs(c - Math.round(c * 1024) / 1024) <= close) {
    let [above, below] = [Math.round(c * 1024), 1024];
    for (; below > 1 && above % 2 === 0; below /= 2) above /= 2;
    return below === 1 ? String(above) : `${above}/${below}`;
  }
  const [digits, exponent] = c.toExponential(3).split("e");
  if (Math.abs(Number(exponent)) < 4 || exponent === "-4") return String(Number(c.toPrecision(4)));
  return `${Number(digits)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/**
 * The polynomial as text: its largest terms, by degree.
 * @type {(c: Float64Array, masks: number[], close: number) => string}
 */
function polynomial(c, masks, close) {
  const byDegree = (/** @type {number} */ a, /** @type {number} */ b) => popcount(a) - popcount(b) || a - b;
  const shown = [...masks]
    .sort((a, b) => Math.abs(c[b]) - Math.abs(c[a]) || byDegree(a, b))
    .slice(0, TERMS)
    .sort(byDegree);
  let text = "";
  for (const S of shown) {
    const size = number(Math.abs(c[S]), close);
    text +=
      (text ? (c[S] < 0 ? " − " : " + ") : c[S] < 0 ? "−" : "") +
      [...(size === "1" && S ? [] : [size]), ...members(S).map((i) => `x${i}`)].join("·");
  }
  const rest = masks.length - shown.length;
  return (text || "0") + (rest ? ` + … (${rest} further term${rest > 1 ? "s" : ""})` : "");
}

/** The same with lowered numbers. @type {(text: string) => (Node | string)[]} */
const typeset = (text) =>
  text
    .split(/x(\d+)/)
    .map((piece, at) => (at % 2 ? h("span", { class: "fx-variable" }, "x", h("sub", {}, piece)) : piece));

// ---------------------------------------------------------------------------------------------- the page

/** @type {(value: number) => string} */
const said = (value) => (Math.abs(value) === 1 ? (value < 0 ? "−1, true" : "+1, false") : format(value));

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  let table = /** @type {Float64Array} */ (new Float64Array(1));
  let coefficients = table;
  let order = /** @type {number[]} */ ([]);

  const chooser = select({
    label: "Function",
    choices: [...options("name"), ...options("source").slice(1)],
    onChange: (choice) => change(choose(state, choice)),
  });
  const size = slider({ label: "Variables n", ...bounds("n"), onInput: (n) => change(resize(state, n)) });
  const amount = slider({ label: "Parameter", ...bounds("parameter"), onInput: (parameter) => change({ parameter }) });
  const tribe = select({
    label: "Size of a tribe",
    choices: [],
    onChange: (width) => change({ parameter: Number(width) }),
  });
  const typed = field({ label: "Formula, with ~ & ^ | ( ) and maj(…)", placeholder: "x1 & (x2 ^ ~x3)", onInput: type });
  const entries = strip({
    label: "The table of f",
    onPress: flip,
    onPoint: (k) => tell(entry, `f(${bits(k, state.n)}) = ${said(table[k])}`),
  });
  const spectrum = bars({
    label: "The spectrum of f",
    onPick: pick,
    onPoint: (at) => tell(term, `f̂(${subsetName(order[at])}) = ${format(coefficients[order[at]], 4)}`),
  });
  const profile = bars({ label: "Weight by degree" });
  const entry = h("p", { class: "fx-readout" });
  const term = h("p", { class: "fx-readout" });
  const comparison = h("p", { class: "fx-sentence", role: "status" });
  const terms = h("p", { class: "fx-polynomial" });
  const facts = Object.fromEntries(["degree", "sparsity", "mean", "variance"].map((key) => [key, h("dd")]));

  /** @type {(place: any, text: string) => void} */
  const tell = (place, text) => void (place.textContent = text);
  /** @type {(patch: Partial<State>) => void} */
  const change = (patch) => explorer.change(patch);
  /** @type {(text: string) => void} */
  function type(text) {
    if (!trimEnd(text)) return typed.complain("");
    try {
      inspect("formula", text);
      const needed = largest(parse(text));
      if (needed > MOST) throw new Error(`formula: uses x${needed}; there are at most ${MOST} variables here`);
      change({ source: "formula", formula: text, n: Math.max(state.n, Number(needed)) });
    } catch (error) {
      typed.complain(/** @type {Error} */ (error).message);
    }
  }
  /** @type {(k: number) => void} */
  function flip(k) {
    const flipped = table.slice();
    flipped[k] = flipped[k] === 0 ? 1 : -flipped[k];
    change({ source: "table", table: kept(flipped) });
    tell(entry, `f(${bits(k, state.n)}) = ${said(table[k])}`);
  }
  /** @type {(at: number) => void} */
  function pick(at) {
    const again = state.subset && mask(state.subset) === order[at];
    change({ subset: again ? null : members(order[at]) });
  }

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, chooser.root, amount.root, tribe.root, size.root),
      h(
        "div",
        { class: "fx-halves" },
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "Spectrum f̂(S), sets S by size; press a bar to compare"),
          spectrum.root,
          h("div", { class: "fx-row" }, comparison, term),
        ),
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "Table: press an entry to flip it"),
          entries.root,
          entry,
          typed.root,
        ),
        h("div", {}, h("p", { class: "fx-title" }, "Weight by degree"), profile.root),
        h(
          "div",
          {},
          h(
            "dl",
            { class: "fx-facts" },
            ...Object.entries(facts).map(([key, value]) => h("div", {}, h("dt", {}, key), value)),
          ),
          h("p", { class: "fx-title fx-space" }, "Polynomial"),
          terms,
        ),
      ),
    ),
  );

  function showControls() {
    const { n, source, name, parameter } = state;
    chooser.show(source === "named" ? name : source);
    size.show(n);
    const numbered = name === "threshold" || name === "random";
    amount.root.hidden = !numbered;
    amount.label(name === "threshold" ? "Ones needed, k" : "Seed");
    if (numbered) amount.show(parameter, { max: name === "threshold" ? n + 1 : SEEDS, key: "parameter" });
    tribe.root.hidden = name !== "tribes";
    tribe.offer(divisors(n).map((width) => [String(width), String(width)]));
    tribe.show(String(parameter));
    typed.show(state.formula);
    typed.complain("");
  }

  function showTable() {
    const { n, subset } = state;
    const largestValue = Math.max(...table.map(Math.abs)) || 1;
    // values below the largest are pale enough for dark ink on them
    const pale = (/** @type {number} */ value) => Math.abs(value) < 0.97 * largestValue;
    entries.show(
      [...table].map((value, k) => ({
        key: `t:${k}`,
        value,
        pressed: value < 0,
        weight: pale(value) ? (0.45 * Math.abs(value)) / largestValue : 1,
        name: `f(${bits(k, n)}) = ${said(value)}`,
        text: n > 4 ? "" : bits(k, n),
        look:
          look(value) +
          (pale(value) ? " pale" : "") +
          (subset && value * character(mask(subset), k) < 0 ? " differ" : ""),
      })),
      2 ** Math.ceil(n / 2),
    );
  }

  function showSpectrum() {
    const { n, subset } = state;
    const picked = subset && mask(subset);
    const { degree, sparsity, profile: weights, masks, close } = measure(coefficients);
    order = [...coefficients.keys()].sort((a, b) => popcount(a) - popcount(b) || a - b);
    const high = [0.125, 0.25, 0.5].find((limit) => coefficients.every((value) => Math.abs(value) <= limit)) ?? 1;
    spectrum.show(
      order.map((S) => ({
        key: `c:${S}`,
        value: coefficients[S],
        pressed: S === picked,
        look: S === picked ? "weight picked" : "weight",
        text: n > 5 ? "" : members(S).join("") || "∅",
        name: `S = ${subsetName(S)}, coefficient ${format(coefficients[S], 4)}`,
      })),
      {
        high,
        low: -high,
        groups: weights.map((_, k) => ({ text: String(k), size: order.filter((S) => popcount(S) === k).length })),
      },
    );
    profile.show(
      weights.map((value, k) => ({
        key: `w:${k}`,
        value,
        look: "weight",
        text: String(k),
        name: `degree ${k} has weight ${format(value)}`,
      })),
      { low: 0, values: true },
    );
    const variance = weights.slice(1).reduce((sum, value) => sum + value, 0);
    Object.entries({ degree, sparsity, mean: coefficients[0], variance }).forEach(([key, value]) =>
      put(facts[key], key, value),
    );
    terms.dataset.value = "polynomial"; // without the last digits, which depend on the order of summing
    terms.replaceChildren(
      ...typeset(
        polynomial(
          coefficients.map((value) => Math.round(value * 1e12) / 1e12),
          masks,
          close,
        ),
      ),
    );
  }

  function showComparison() {
    const S = state.subset && mask(state.subset);
    if (S === null) return tell(comparison, "");
    const chi = `χ for S = ${subsetName(S)}`;
    const value = format(coefficients[S], 4);
    const same = table.reduce((sum, value, k) => sum + (value === character(S, k) ? 1 : 0), 0);
    const boolean = table.every((value) => Math.abs(value) === 1);
    tell(
      comparison,
      boolean
        ? `f and ${chi} agree at ${same} of ${table.length} inputs: f̂(S) = ${value}.`
        : `The mean of f times ${chi} is f̂(S) = ${value}.`,
    );
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    table = tableOfState(state);
    coefficients = transform(table.slice());
    showControls();
    showTable();
    showSpectrum();
    showComparison();
  });
  return explorer.start();
}

export default { render };
