// @ts-check
/**
 * One head and its lookup: [CLS] averages the chosen bits, bumps turn the average into a value (ED Lemmas B.2, B.5).
 *
 * State: { bits: the input b, chosen: positions in increasing order, scale: R, delta: the coherence Δ,
 *   target: a key of TARGETS, bump: a key of KINKS, share: δ = γ/share }.
 * explorer.py says, with real networks, what must come out.
 */
import {
  accept,
  attributes,
  bounds,
  connect,
  format,
  h,
  options,
  put,
  select,
  slider,
  softmax,
  strip,
  svg,
} from "../classroom/explorers/kit.js";

/**
 * @typedef {{ bits: string, chosen: number[], scale: number, delta: number, target: string, bump: string,
 *     share: number }} State
 */

const MEMBERS = bounds("chosen").max;
const TARGETS = /** @type {Record<string, (r: number, s: number) => boolean>} */ ({
  parity: (r) => r % 2 === 1,
  conjunction: (r, s) => r === s,
  disjunction: (r) => r > 0,
  majority: (r, s) => 2 * r > s,
});
const KINKS = /** @type {Record<string, number[][]>} */ ({
  // slope, offset and sign of four ReLUs in t = (x − x₀)/δ
  repaired: [
    [1, 2, 1],
    [1, 1, -1],
    [1, -1, -1],
    [1, -2, 1],
  ],
  printed: [
    [1, 2, 1],
    [1, 1, -1],
    [-1, 2, -1],
    [-1, 1, 1],
  ],
});

/** @type {(x: number) => number} */
const relu = (x) => Math.max(0, x);
/** @type {(bit: string) => number} */
const sign = (bit) => (bit === "1" ? -1 : 1);

/** The head: what [CLS], the last position, pays attention to. @type {(state: State) => any} */
function attend({ bits, chosen, scale, delta }) {
  const s = chosen.length;
  const gamma = Math.min(1, 2 / s);
  // the first chosen vector leans towards the others by Δ, these lean away from each other
  const logits = [...bits, "0"].map((_, j) =>
    chosen.includes(j + 1) ? scale * (1 + (j + 1 === chosen[0] ? s - 1 : 3 - s) * delta) : 0,
  );
  const weights = softmax(logits);
  const ideal = logits.map((_, j) => (chosen.includes(j + 1) ? 1 / s : 0));
  const sum = (/** @type {number[]} */ shares) => [...bits].reduce((total, bit, j) => total + shares[j] * sign(bit), 0);
  const worst = [...bits].reduce((total, _, j) => total + Math.abs(weights[j] - ideal[j]), 0);
  return { s, gamma, logits, weights, ideal, signal: sum(weights), mean: sum(ideal), worst };
}

/**
 * The lookup: three layers of ED's Lemma B.8 at a signal x.
 * @type {(x: number, values: number[], delta: number, bump: string) => number}
 */
const remember = (x, values, delta, bump) =>
  values.reduce((total, value, r) => {
    const t = (x - 1 + (2 * r) / (values.length - 1)) / delta;
    const psi = KINKS[bump].reduce((sum, [slope, offset, side]) => sum + side * relu(slope * t + offset), 0);
    return total + value * (relu((psi - 1) / delta + 1) - relu((psi - 1) / delta));
  }, 0);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = /** @type {State} */ (accept(given));
  const sorted = [...new Set(state.chosen)].sort((a, b) => a - b);
  if (sorted.some((j) => !Number.isInteger(j) || j < 1 || j > state.bits.length))
    throw new Error(`chosen: expected positions from 1 to ${state.bits.length}, got ${state.chosen}`);
  return { ...state, chosen: sorted };
}

// ---------------------------------------------------------------------------------------------- the page

const TALL = 190;
const ZERO = 100;
const UNIT = 55;
const EDGE = 1.3; // of the plot: its height, where 0 and how long 1 is, the range of signals
/** @type {(x: number) => string} */
const across = (x) => `${(50 * (x + EDGE)) / EDGE}%`;
/** @type {(value: number) => number} */
const up = (value) => ZERO - UNIT * Math.max(-1.6, Math.min(1.7, value));

/**
 * The lookup as a curve, the signals it must know, and the signal of this input.
 * @type {(state: State, seen: any, values: number[], output: number) => any[]}
 */
function plot({ bump, share }, { s, gamma, signal }, values, output) {
  const xs = Array.from({ length: 801 }, (_, k) => ((k - 400) / 400) * EDGE);
  const heights = xs.map((x) => up(remember(x, values, gamma / share, bump)));
  const curve = `M${xs.map((x, k) => `${x.toFixed(4)} ${heights[k].toFixed(2)}`).join("L")}`;
  const known = values.map((value, r) => `M${1 - (2 * r) / s - gamma / 4} ${up(value)}h${gamma / 2}`).join("");
  const ticks = values.map((_, r) =>
    svg("text", { class: "fx-tick", x: across(1 - (2 * r) / s), y: TALL - 4 }, String(r)),
  );
  return [
    svg(
      "g",
      { class: "fx-grid" },
      ...[-1, 0, 1].map((value) =>
        svg("line", { x1: 0, x2: "100%", y1: up(value), y2: up(value), class: value === 0 && "fx-zero" }),
      ),
    ),
    svg(
      "svg",
      { width: "100%", height: TALL, viewBox: `${-EDGE} 0 ${2 * EDGE} ${TALL}`, preserveAspectRatio: "none" },
      svg("path", { class: "fx-plateau", d: known }),
      svg("path", { class: "fx-wave", d: curve }),
    ),
    ...[-1, 1].map((value) => svg("text", { class: "fx-tick", x: 8, y: up(value) - 5 }, format(value))),
    ...ticks,
    svg("svg", { x: across(signal), y: up(output), class: "fx-point", "data-series": 1 }, svg("circle", { r: 8 })),
  ];
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const size = slider({
    label: "Bits T",
    ...bounds("bits"),
    onInput: (T) => {
      const kept = state.chosen.filter((j) => j <= T);
      explorer.change({ bits: state.bits.padEnd(T, "0").slice(0, T), chosen: kept.length ? kept : [1] });
    },
  });
  const scale = slider({
    label: "Logit scale R",
    ...bounds("scale"),
    onInput: (scale) => explorer.change({ scale }),
  });
  const delta = slider({
    label: "Coherence Δ",
    ...bounds("delta"),
    onInput: (delta) => explorer.change({ delta }),
  });
  const target = select({
    label: "Function",
    choices: options("target"),
    onChange: (target) => explorer.change({ target }),
  });
  const bump = select({ label: "Bump", choices: options("bump"), onChange: (bump) => explorer.change({ bump }) });
  const share = select({
    label: "Half-width of a bump",
    choices: options("share"),
    onChange: (share) => explorer.change({ share: Number(share) }),
  });
  const input = strip({
    label: "The input b",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const logits = strip({
    label: "Logits, one for each bit",
    onPress: (at) => {
      const next = state.chosen.includes(at + 1) ? state.chosen.filter((j) => j !== at + 1) : [...state.chosen, at + 1];
      refused.textContent =
        next.length < 1 || next.length > MEMBERS ? `Between one and ${MEMBERS} bits can be chosen.` : "";
      if (!refused.textContent) explorer.change({ chosen: next });
    },
  });
  const worst = h(
    "button",
    {
      type: "button",
      class: "fx-button",
      click: () => {
        const { weights, ideal } = attend(state);
        explorer.change({ bits: [...state.bits].map((_, j) => (weights[j] < ideal[j] ? "1" : "0")).join("") });
      },
    },
    "Worst input",
  );
  const heads = h("div", { class: "fx-columns" });
  const attention = h("div", { class: "fx-strip fx-weights" });
  const refused = h("p", { class: "fx-error", role: "status" });
  const picture = svg("svg", { role: "img", width: "100%", height: TALL });
  const verdict = h("p", { class: "fx-sentence", role: "status" });
  const facts = /** @type {[string, string][]} */ ([
    ["signal", "signal"],
    ["mean", "true average"],
    ["worst", "worst error"],
    ["allowed", "allowed, γ/4"],
    ["output", "network"],
    ["wanted", "f(b)"],
  ]).map(([key, text]) => ({ key, text, node: h("dd") }));
  const step = (/** @type {string} */ title, /** @type {any[]} */ ...parts) =>
    h("div", { class: "fx-step" }, h("p", { class: "fx-step-title" }, title), ...parts);

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, target.root, size.root, scale.root),
      h("div", { class: "fx-controls fx-space" }, delta.root, bump.root, share.root),
      h(
        "div",
        { class: "fx-halves" },
        step(
          "1. The head: attention a in percent",
          h(
            "div",
            { class: "fx-named" },
            h("span"),
            heads,
            h("span", {}, "b"),
            input.root,
            h("span", {}, "ℓ"),
            logits.root,
            h("span", {}, "a"),
            attention,
          ),
          h(
            "p",
            { class: "fx-hint" },
            "Press a bit to flip it, a logit to choose or drop that bit. Position c is [CLS], which asks.",
          ),
          refused,
          h("div", { class: "fx-space" }, worst),
        ),
        step(
          "2. The lookup: signal to value",
          picture,
          h(
            "p",
            { class: "fx-hint" },
            "Pale: where the lookup must be right. Below: how many chosen bits are 1. Dot: this input.",
          ),
        ),
      ),
      h("dl", { class: "fx-facts" }, ...facts.map(({ text, node }) => h("div", {}, h("dt", {}, text), node))),
      verdict,
    ),
  );

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const seen = attend(state);
    const { bits, chosen } = state;
    const { s, gamma } = seen;
    const T = bits.length;
    const values = Array.from({ length: s + 1 }, (_, r) => (TARGETS[state.target](r, s) ? -1 : 1));
    const wanted = values[chosen.filter((j) => bits[j - 1] === "1").length];
    const output = remember(seen.signal, values, gamma / state.share, state.bump);
    const places = [...Array.from({ length: T }, (_, j) => String(j + 1)), "c"];
    size.show(T, { key: "T" });
    scale.show(state.scale, { key: "scale" });
    delta.show(state.delta, { key: "delta" });
    target.show(state.target);
    bump.show(state.bump);
    share.show(String(state.share));
    attributes(heads, { style: `--columns: ${T + 1}` });
    heads.replaceChildren(...places.map((place) => h("span", {}, place)));
    input.show(
      [...bits].map((bit, j) => ({
        key: `b:${j + 1}`,
        name: `bit ${j + 1} is ${bit}`,
        value: Number(bit),
        text: bit,
        pressed: bit === "1",
      })),
      T + 1,
    );
    logits.show(
      [...bits].map((_, j) => ({
        key: `l:${j + 1}`,
        value: seen.logits[j],
        text: format(seen.logits[j], 1).replace("0.", "."),
        pressed: chosen.includes(j + 1),
        weight: seen.logits[j] / bounds("scale").max / 1.8,
        name: `bit ${j + 1}${chosen.includes(j + 1) ? ", chosen" : ""}: logit ${format(seen.logits[j], 2)}`,
      })),
      T + 1,
    );
    attributes(attention, { style: `--columns: ${T + 1}` });
    attention.replaceChildren(
      ...places.map((place, j) =>
        h(
          "span",
          {
            class: "fx-cell",
            "data-member": chosen.includes(j + 1),
            "data-value": `a:${place}`,
            "data-number": seen.weights[j],
            style: `--weight: ${100 * seen.weights[j]}%`,
          },
          format(100 * seen.weights[j], 0),
        ),
      ),
    );
    const shown = /** @type {Record<string, number>} */ ({ ...seen, allowed: gamma / 4, output, wanted });
    for (const { key, node } of facts) put(node, key, shown[key]);
    picture.replaceChildren(...plot(state, seen, values, output));
    const answer = `At the signal ${format(seen.signal)} it returns ${format(output)}; ${format(wanted)} is wanted.`;
    attributes(picture, { "aria-label": `The lookup against the signal. ${answer}` });
    const gap = Math.abs(output - wanted);
    const here = gap < 1e-9 ? "exact" : `off by ${format(gap)}`;
    const rest =
      seen.worst <= gamma / 4
        ? "No input moves the signal further than allowed."
        : "There are inputs that move the signal further than allowed: press Worst input to see one.";
    verdict.textContent = `On this input the network is ${here}. ${rest}`;
  });
  return explorer.start();
}

export default { render };
