// @ts-check
/**
 * One head and its lookup: [CLS] averages the chosen bits, bumps turn the average into a value (ED Lemmas B.2, B.5).
 *
 * State: { bits: 4 … 12 characters "0" and "1", chosen: 1 … 5 positions in increasing order, scale: R, 0 … 10,
 *   delta: the coherence Δ, 0 … 0.2, target: a key of TARGETS, bump: "repaired" | "printed", share: δ = γ/share, 4 or 8 }.
 * explorers/sparse_variables.py says, with real networks, what must come out.
 */
import { attributes, connect, format, h, put, select, slider, softmax, strip, svg } from "./kit.js";

/** @typedef {{ bits: string, chosen: number[], scale: number, delta: number, target: string, bump: string, share: number }} State */

const FEWEST = 4, MOST = 12, MEMBERS = 5, STEEPEST = 10, TILT = 0.2;
const TARGETS = /** @type {Record<string, [string, (r: number, s: number) => boolean]>} */ ({
  parity: ["PARITY", (r) => r % 2 === 1], conjunction: ["AND", (r, s) => r === s], disjunction: ["OR", (r) => r > 0], majority: ["MAJORITY", (r, s) => 2 * r > s],
});
const KINKS = /** @type {Record<string, number[][]>} */ ({ // slope, offset and sign of four ReLUs in t = (x − x₀)/δ
  repaired: [[1, 2, 1], [1, 1, -1], [1, -1, -1], [1, -2, 1]], printed: [[1, 2, 1], [1, 1, -1], [-1, 2, -1], [-1, 1, 1]],
});
const BUMPS = /** @type {[string, string][]} */ ([["repaired", "repaired"], ["printed", "as printed"]]);
const SHARES = /** @type {[string, string][]} */ ([["4", "δ = γ/4"], ["8", "δ = γ/8, as printed"]]);

/** @type {(x: number) => number} */
const relu = (x) => Math.max(0, x);
/** @type {(bit: string) => number} */
const sign = (bit) => (bit === "1" ? -1 : 1);

/** The head: what [CLS], the last position, pays attention to. @type {(state: State) => any} */
function attend({ bits, chosen, scale, delta }) {
  const s = chosen.length, gamma = Math.min(1, 2 / s);
  // the first chosen vector leans towards the others by Δ, these lean away from each other
  const logits = [...bits, "0"].map((_, j) => (chosen.includes(j + 1) ? scale * (1 + (j + 1 === chosen[0] ? s - 1 : 3 - s) * delta) : 0));
  const weights = softmax(logits), ideal = logits.map((_, j) => (chosen.includes(j + 1) ? 1 / s : 0));
  const sum = (/** @type {number[]} */ shares) => [...bits].reduce((total, bit, j) => total + shares[j] * sign(bit), 0);
  const worst = [...bits].reduce((total, _, j) => total + Math.abs(weights[j] - ideal[j]), 0);
  return { s, gamma, logits, weights, ideal, signal: sum(weights), mean: sum(ideal), worst };
}

/** The lookup: three layers of ED's Lemma B.8 at a signal x. @type {(x: number, values: number[], delta: number, bump: string) => number} */
const remember = (x, values, delta, bump) => values.reduce((total, value, r) => {
  const t = (x - 1 + (2 * r) / (values.length - 1)) / delta, psi = KINKS[bump].reduce((sum, [slope, offset, side]) => sum + side * relu(slope * t + offset), 0);
  return total + value * (relu((psi - 1) / delta + 1) - relu((psi - 1) / delta));
}, 0);

/** A full and valid state. @type {(given: any) => State} */
function clean({ bits, chosen, scale, delta, target, bump, share }) {
  if (!/^[01]{4,12}$/.test(bits)) throw new Error(`bits: expected ${FEWEST} to ${MOST} characters 0 and 1, got ${bits}`);
  const sorted = [...new Set(/** @type {number[]} */ (chosen))].sort((a, b) => a - b);
  if (!sorted.length || sorted.length > MEMBERS || sorted.some((j) => !Number.isInteger(j) || j < 1 || j > bits.length)) throw new Error(`chosen: expected 1 to ${MEMBERS} positions from 1 to ${bits.length}, got ${chosen}`);
  if (!(scale >= 0 && scale <= STEEPEST && delta >= 0 && delta <= TILT)) throw new Error(`scale or delta: ${scale} or ${delta} is out of range`);
  if (!(target in TARGETS) || !(bump in KINKS) || ![4, 8].includes(share)) throw new Error(`target, bump or share: there is no ${target}, ${bump} or ${share}`);
  return { bits, chosen: sorted, scale, delta, target, bump, share };
}

// ---------------------------------------------------------------------------------------------- the page

const TALL = 190, ZERO = 100, UNIT = 55, EDGE = 1.3; // of the plot: its height, where 0 and how long 1 is, the range of signals
/** @type {(x: number) => string} */
const across = (x) => `${(50 * (x + EDGE)) / EDGE}%`;
/** @type {(value: number) => number} */
const up = (value) => ZERO - UNIT * Math.max(-1.6, Math.min(1.7, value));

/** The lookup as a curve, the signals it must know, and the signal of this input. @type {(state: State, seen: any, values: number[], output: number) => any[]} */
function plot({ bump, share }, { s, gamma, signal }, values, output) {
  const xs = Array.from({ length: 801 }, (_, k) => ((k - 400) / 400) * EDGE);
  const curve = `M${xs.map((x) => `${x.toFixed(4)} ${up(remember(x, values, gamma / share, bump)).toFixed(2)}`).join("L")}`;
  const known = values.map((value, r) => `M${1 - (2 * r) / s - gamma / 4} ${up(value)}h${gamma / 2}`).join("");
  const ticks = values.map((_, r) => svg("text", { class: "fx-tick", x: across(1 - (2 * r) / s), y: TALL - 4 }, String(r)));
  return [svg("g", { class: "fx-grid" }, ...[-1, 0, 1].map((value) => svg("line", { x1: 0, x2: "100%", y1: up(value), y2: up(value), class: value === 0 && "fx-zero" }))),
    svg("svg", { width: "100%", height: TALL, viewBox: `${-EDGE} 0 ${2 * EDGE} ${TALL}`, preserveAspectRatio: "none" }, svg("path", { class: "fx-plateau", d: known }), svg("path", { class: "fx-wave", d: curve })),
    ...[-1, 1].map((value) => svg("text", { class: "fx-tick", x: 8, y: up(value) - 5 }, format(value))), ...ticks,
    svg("svg", { x: across(signal), y: up(output), class: "fx-point", "data-series": 1 }, svg("circle", { r: 8 }))];
}

/** @param {{ model: import("./kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const size = slider({ label: "Bits T", min: FEWEST, max: MOST, onInput: (T) => {
    const kept = state.chosen.filter((j) => j <= T);
    explorer.change({ bits: state.bits.padEnd(T, "0").slice(0, T), chosen: kept.length ? kept : [1] });
  } });
  const scale = slider({ label: "Logit scale R", min: 0, max: STEEPEST, step: 0.05, onInput: (scale) => explorer.change({ scale }) });
  const delta = slider({ label: "Coherence Δ", min: 0, max: TILT, step: 0.01, onInput: (delta) => explorer.change({ delta }) });
  const target = select({ label: "Function", choices: Object.entries(TARGETS).map(([key, [name]]) => [key, name]), onChange: (target) => explorer.change({ target }) });
  const bump = select({ label: "Bump", choices: BUMPS, onChange: (bump) => explorer.change({ bump }) });
  const share = select({ label: "Half-width of a bump", choices: SHARES, onChange: (share) => explorer.change({ share: Number(share) }) });
  const input = strip({ label: "The input b", onPress: (at) => explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }) });
  const logits = strip({ label: "Logits, one for each bit", onPress: (at) => {
    const next = state.chosen.includes(at + 1) ? state.chosen.filter((j) => j !== at + 1) : [...state.chosen, at + 1];
    refused.textContent = next.length < 1 || next.length > MEMBERS ? `Between one and ${MEMBERS} bits can be chosen.` : "";
    if (!refused.textContent) explorer.change({ chosen: next });
  } });
  const worst = h("button", { type: "button", class: "fx-button", click: () => {
    const { weights, ideal } = attend(state);
    explorer.change({ bits: [...state.bits].map((_, j) => (weights[j] < ideal[j] ? "1" : "0")).join("") });
  } }, "Worst input");
  const heads = h("div", { class: "fx-columns" }), attention = h("div", { class: "fx-strip fx-weights" }), refused = h("p", { class: "fx-error", role: "status" });
  const picture = svg("svg", { role: "img", width: "100%", height: TALL }), verdict = h("p", { class: "fx-sentence", role: "status" });
  const facts = /** @type {[string, string][]} */ ([["signal", "signal"], ["mean", "true average"], ["worst", "worst error"], ["allowed", "allowed, γ/4"], ["output", "network"], ["wanted", "f(b)"]]).map(([key, text]) => ({ key, text, node: h("dd") }));
  const step = (/** @type {string} */ title, /** @type {any[]} */ ...parts) => h("section", { class: "fx-step" }, h("p", { class: "fx-step-title" }, title), ...parts);

  el.append(h("div", { class: "fx-box" },
    h("div", { class: "fx-controls" }, target.root, size.root, scale.root, delta.root, bump.root, share.root),
    h("div", { class: "fx-halves" },
      step("1. The head: attention a in percent", h("div", { class: "fx-named" }, h("span"), heads, h("span", {}, "b"), input.root, h("span", {}, "ℓ"), logits.root, h("span", {}, "a"), attention),
        h("p", { class: "fx-hint" }, "Press a bit to flip it, a logit to choose or drop that bit. Position c is [CLS], which asks."), refused, h("div", { class: "fx-space" }, worst)),
      step("2. The lookup: signal to value", picture, h("p", { class: "fx-hint" }, "Pale: where the lookup must be right. Below: how many chosen bits are 1. Dot: this input."))),
    h("dl", { class: "fx-facts" }, ...facts.map(({ text, node }) => h("div", {}, h("dt", {}, text), node))), verdict));

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const seen = attend(state), { bits, chosen } = state, { s, gamma } = seen, T = bits.length;
    const values = Array.from({ length: s + 1 }, (_, r) => (TARGETS[state.target][1](r, s) ? -1 : 1));
    const wanted = values[chosen.filter((j) => bits[j - 1] === "1").length], output = remember(seen.signal, values, gamma / state.share, state.bump);
    const places = [...Array.from({ length: T }, (_, j) => String(j + 1)), "c"];
    size.show(T, { key: "T" });
    scale.show(state.scale, { key: "scale" });
    delta.show(state.delta, { key: "delta" });
    target.show(state.target), bump.show(state.bump), share.show(String(state.share));
    attributes(heads, { style: `--columns: ${T + 1}` }), heads.replaceChildren(...places.map((place) => h("span", {}, place)));
    input.show([...bits].map((bit, j) => ({ key: `b:${j + 1}`, name: `bit ${j + 1} is ${bit}`, value: Number(bit), text: bit, pressed: bit === "1" })), T + 1);
    logits.show([...bits].map((_, j) => ({ key: `l:${j + 1}`, value: seen.logits[j], text: format(seen.logits[j], 1).replace("0.", "."), pressed: chosen.includes(j + 1), weight: seen.logits[j] / STEEPEST / 1.8,
      name: `bit ${j + 1}${chosen.includes(j + 1) ? ", chosen" : ""}: logit ${format(seen.logits[j], 2)}` })), T + 1);
    attributes(attention, { style: `--columns: ${T + 1}` });
    attention.replaceChildren(...places.map((place, j) => h("span", { class: "fx-cell", "data-member": chosen.includes(j + 1), "data-value": `a:${place}`, "data-number": seen.weights[j], style: `--weight: ${100 * seen.weights[j]}%` }, format(100 * seen.weights[j], 0))));
    const shown = /** @type {Record<string, number>} */ ({ ...seen, allowed: gamma / 4, output, wanted });
    for (const { key, node } of facts) put(node, key, shown[key]);
    picture.replaceChildren(...plot(state, seen, values, output));
    attributes(picture, { "aria-label": `The lookup against the signal. At the signal ${format(seen.signal)} it returns ${format(output)}; ${format(wanted)} is wanted.` });
    verdict.textContent = `${Math.abs(output - wanted) < 1e-9 ? "On this input the network is exact." : `On this input the network is off by ${format(Math.abs(output - wanted))}.`} ${seen.worst <= gamma / 4 ? "No input moves the signal further than allowed." : "Some inputs move the signal further than allowed."}`;
  });
  return explorer.start();
}

export default { render };
