// @ts-check
/**
 * Shaking the cast: what was measured for long inputs, and a network for eight bits to shake in the page.
 *
 * State: { rho: 2 log₁₀ of ‖Δ‖/‖θ‖, −16 … −1, n: an index of LENGTHS, measure: "loss" | "share", target: a key of LIVE,
 * bits: 8 characters "0" and "1", shake: 1 … 99, which random direction }.
 */
import { bars, connect, format, h, named, normals, product, put, select, slider, softmax, strip, transpose } from "./kit.js";

/** @typedef {{ rho: number, n: number, measure: string, target: string, bits: string, shake: number }} State */
/** @typedef {Record<string, number[][]>} Weights by name; a bias is a matrix with one row */

const CAST = ["parity", "majority", "first", "mean"], LENGTHS = [8, 24, 72, 216, 648, 2000], N = 8;
const MEASURES = /** @type {[string, string][]} */ ([["loss", "L"], ["share", "L divided by Var f"]]);
const LIVE = /** @type {[string, string][]} */ ([["parity", "PARITY"], ["majority", "MAJORITY"], ["first", "FIRST"]]);
const CHANNELS = ["bit", "place", "side", "unit", "count", "hit", "first", "answer", "balance"];
// data/brittle.csv, layer norm: for each length Var f, then L for each ρ
const STUDY = /** @type {Record<string, number[][]>} */ ({
  parity: [[.9844, 7.143e-17, 7.137e-16, 7.162e-15, 7.197e-14, 7.365e-13, 7.996e-12, 1.147e-10, 3.666e-9, 2.63e-7, 2.543e-5, .00292, .164, .7556, 1.154, 1.232, 1.301], [.999, 6.279e-17, 6.556e-16, 7.808e-15, 1.504e-13, 7.139e-12, 5.82e-10, 5.56e-8, 5.503e-6, .0005473, .03761, .4016, .8853, 1.114, 1.166, 1.174, 1.256], [.9756, 4.381e-16, 3.161e-14, 3.019e-12, 2.976e-10, 2.946e-8, 2.832e-6, .0002537, .01776, .294, .7917, 1.051, 1.142, 1.168, 1.175, 1.216, 1.397], [.9912, 3.118e-12, 3.115e-10, 3.122e-8, 3.093e-6, .0002941, .0201, .3343, .8381, 1.081, 1.163, 1.189, 1.194, 1.189, 1.19, 1.192, 1.228], [.9912, 1.656e-8, 1.65e-6, .0001628, .01153, .2104, .7173, 1.008, 1.112, 1.146, 1.157, 1.16, 1.162, 1.163, 1.165, 1.175, 1.268], [.8594, 7.505e-5, .00775, .1805, .6565, .9871, 1.113, 1.154, 1.167, 1.171, 1.168, 1.168, 1.171, 1.17, 1.164, 1.162, 1.318]],
  majority: [[.9209, 3.586e-17, 3.581e-16, 3.586e-15, 3.581e-14, 3.588e-13, 3.588e-12, 3.609e-11, 3.661e-10, 3.922e-9, 5.471e-8, 1.855e-6, .0001793, .02471, .1944, .5715, .9983], [.9023, 3.095e-17, 3.091e-16, 3.096e-15, 3.095e-14, 3.112e-13, 3.15e-12, 3.328e-11, 4.263e-10, 1.128e-8, 7.725e-7, 9.226e-5, .01429, .1416, .4378, .8128, 1.151], [1.0, 6.047e-17, 6.038e-16, 6.047e-15, 6.041e-14, 6.079e-13, 6.363e-12, 9.301e-11, 3.825e-9, 3.221e-7, 3.04e-5, .002975, .06199, .2262, .5104, .8858, 1.185], [.9756, 6.559e-17, 6.546e-16, 6.546e-15, 6.526e-14, 6.688e-13, 9.023e-12, 3.513e-10, 3.027e-8, 3.13e-6, .0007012, .01001, .07459, .3084, .6915, .9977, 1.15], [.9912, 4.278e-17, 4.34e-16, 5.015e-15, 1.16e-13, 7.771e-12, 7.422e-10, 7.657e-8, 8.909e-6, .001452, .02493, .07176, .1797, .5022, .902, 1.106, 1.245], [.9375, 6.694e-17, 6.654e-16, 6.651e-15, 7.436e-14, 1.835e-12, 1.362e-10, 1.347e-8, 1.367e-6, .0001631, .01727, .1263, .3618, .7514, 1.035, 1.161, 1.25]],
  first: [[.9961, 3.896e-17, 3.891e-16, 3.896e-15, 3.891e-14, 3.896e-13, 3.891e-12, 3.897e-11, 3.892e-10, 3.9e-9, 3.904e-8, 3.94e-7, 4.036e-6, 4.44e-5, .0006512, .04136, .6359], [.9912, 3.362e-17, 3.358e-16, 3.362e-15, 3.358e-14, 3.362e-13, 3.358e-12, 3.363e-11, 3.359e-10, 3.366e-9, 3.369e-8, 3.4e-7, 3.482e-6, 3.81e-5, .000547, .05093, .5978], [.9912, 6.571e-17, 6.561e-16, 6.571e-15, 6.561e-14, 6.571e-13, 6.561e-12, 6.571e-11, 6.561e-10, 6.571e-9, 6.563e-8, 6.577e-7, 6.587e-6, 6.716e-5, .0007774, .04532, .9918], [.9961, 7.129e-17, 7.119e-16, 7.129e-15, 7.119e-14, 7.129e-13, 7.118e-12, 7.128e-11, 7.117e-10, 7.124e-9, 7.104e-8, 7.086e-7, 6.995e-6, 6.805e-5, .000745, .1938, .9916], [.9648, 4.638e-17, 4.632e-16, 4.638e-15, 4.632e-14, 4.638e-13, 4.632e-12, 4.638e-11, 4.632e-10, 4.639e-9, 4.632e-8, 4.642e-7, 4.653e-6, 4.773e-5, .0005935, .2684, 1.128], [1.0, 7.294e-17, 7.284e-16, 7.294e-15, 7.284e-14, 7.294e-13, 7.284e-12, 7.294e-11, 7.282e-10, 7.29e-9, 7.27e-8, 7.251e-7, 7.158e-6, 6.959e-5, .0007716, .3912, 1.067]],
  mean: [[.1237, 3.303e-15, 3.299e-14, 3.303e-13, 3.299e-12, 3.303e-11, 3.299e-10, 3.303e-9, 3.299e-8, 3.304e-7, 3.3e-6, 3.306e-5, .0003308, .003334, .03426, .3506, 2.708], [.05076, 2.145e-15, 2.142e-14, 2.145e-13, 2.142e-12, 2.145e-11, 2.142e-10, 2.145e-9, 2.142e-8, 2.145e-7, 2.142e-6, 2.145e-5, .0002143, .002149, .02075, .198, 2.024], [.01278, 1.591e-15, 1.588e-14, 1.591e-13, 1.588e-12, 1.591e-11, 1.588e-10, 1.591e-9, 1.588e-8, 1.591e-7, 1.589e-6, 1.593e-5, .0001594, .001599, .01582, .1712, 1.708], [.00435, 1.893e-15, 1.89e-14, 1.893e-13, 1.89e-12, 1.893e-11, 1.89e-10, 1.893e-9, 1.89e-8, 1.893e-7, 1.89e-6, 1.892e-5, .0001884, .001876, .01878, .1922, 2.375], [.001551, 1.467e-15, 1.465e-14, 1.467e-13, 1.465e-12, 1.467e-11, 1.465e-10, 1.467e-9, 1.465e-8, 1.467e-7, 1.465e-6, 1.466e-5, .000147, .001498, .01512, .1545, 1.856], [.000349, 2.154e-15, 2.151e-14, 2.154e-13, 2.151e-12, 2.154e-11, 2.151e-10, 2.154e-9, 2.151e-8, 2.154e-7, 2.126e-6, 2.114e-5, .0002077, .002155, .02209, .219, 2.018]],
});

// ---------------------------------------------------------------------------------------------- the network

/** A matrix of zeros but for the entries [row, column, value]. @type {(rows: number, columns: number, entries: [number, number, number][]) => number[][]} */
function matrix(rows, columns, entries) {
  const made = Array.from({ length: rows }, () => Array(columns).fill(0));
  for (const [row, column, value] of entries) made[row][column] = value;
  return made;
}

/** The weights of flatcube.amplifier, in the order in which they are shaken. @type {(target: string) => Weights} */
function build(target) {
  const at = (/** @type {string} */ name) => CHANNELS.indexOf(name), D = CHANNELS.length;
  const quarter = target === "majority" ? 0.25 : 0;
  const units = target === "parity"
    ? [1, -1].flatMap((side) => [[1, 1], [0, -2], [-1, 1]].map(([shift, weight]) => ({ from: { count: 1, place: -1, unit: shift, side }, bias: -1, hit: side * weight })))
    : [1, -1].map((way) => ({ from: { count: way, unit: way * quarter }, bias: -0.5 * way, hit: -way }));
  const kept = CHANNELS.filter((name) => name !== "answer"), passes = target !== "parity";
  return {
    tokens: matrix(2, D, [[1, at("bit"), 1], [1, at("balance"), -1]]),
    query0: matrix(D, D, target === "first" ? [[at("side"), at("first"), 2]] : []),
    value0: matrix(D, D, [[at("bit"), at("count"), 1], [at("bit"), at("balance"), -1]]),
    into0: matrix(D, 6, units.flatMap(({ from }, u) => Object.entries(from).map(([name, weight]) => /** @type {[number, number, number]} */ ([at(name), u, weight])))),
    bias0: matrix(1, 6, units.map(({ bias }, u) => [0, u, bias])),
    out0: matrix(6, D, units.flatMap(({ hit }, u) => /** @type {[number, number, number][]} */ ([[u, at("hit"), hit], [u, at("balance"), -hit]]))),
    query1: matrix(D, D, []),
    value1: matrix(D, D, passes ? [] : [[at("hit"), at("answer"), 1]]),
    into1: matrix(D, 16, kept.flatMap((name, c) => /** @type {[number, number, number][]} */ ([[at(name), 2 * c, 1], [at(name), 2 * c + 1, -1]]))),
    bias1: matrix(1, 16, []),
    out1: matrix(16, D, kept.flatMap((name, c) => [1, -1].flatMap((way, u) => /** @type {[number, number, number][]} */ ([[2 * c + u, at(name), -way], ...(name === "hit" && passes ? [[2 * c + u, at("answer"), way]] : [])])))),
    readout: matrix(D, 1, [[at("answer"), 0, 1 / Math.sqrt(D - 1)]]),
  };
}

/** The same weights moved by a random vector whose length is ρ times theirs. @type {(weights: Weights, rho: number, shake: number) => Weights} */
function shaken(weights, rho, shake) {
  const next = normals(shake, 3), noise = Object.values(weights).map((rows) => rows.map((row) => row.map(next)));
  const length = (/** @type {number[][][]} */ all) => Math.sqrt(all.flat(2).reduce((sum, value) => sum + value * value, 0));
  const scale = (rho * length(Object.values(weights))) / length(noise);
  return Object.fromEntries(Object.entries(weights).map(([name, rows], m) => [name, rows.map((row, i) => row.map((value, j) => value + scale * noise[m][i][j]))]));
}

/** Layer norm with ε = 0. @type {(row: number[]) => number[]} */
function norm(row) {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length, spread = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  return row.map((value) => (spread > 0 ? (value - mean) / Math.sqrt(spread) : 0));
}

/** One layer at the given rows. @type {(x: number[][], rows: number[][], weights: Weights, k: number) => number[][]} */
function layer(x, rows, weights, k) {
  const part = (/** @type {string} */ name) => weights[`${name}${k}`], add = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) => a.map((row, i) => row.map((value, j) => value + b[i][j]));
  const u = add(rows, product(product(product(rows, part("query")), transpose(x)).map((logits) => softmax(logits)), product(x, part("value"))));
  const hidden = product(u, part("into")).map((row) => row.map((value, j) => Math.max(0, value + part("bias")[0][j])));
  return add(u, product(hidden, part("out"))).map(norm);
}

/** The output for the point k. @type {(weights: Weights, k: number) => number} */
function output(weights, k) {
  const x = Array.from({ length: N + 1 }, (_, j) => {
    const i = (j + 1) % (N + 1), code = [0, i / (N + 1), 1 - 2 * (i % 2), 1 / (N + 1), 0, 0, i === 1 ? Math.log(N + 1) : 0, 0];
    return [...code, -code.reduce((sum, value) => sum + value, 0)].map((value, c) => value + weights.tokens[j < N ? k >> j & 1 : 0][c]);
  });
  const y = layer(x, x, weights, 0);
  return product(layer(y, y.slice(-1), weights, 1), weights.readout)[0][0];
}

// ---------------------------------------------------------------------------------------------- the page

/** A full and valid state. @type {(given: any) => State} */
function clean({ rho, n, measure, target, bits, shake }) {
  for (const [key, value, low, high] of /** @type {[string, number, number, number][]} */ ([["rho", rho, -16, -1], ["n", n, 0, 5], ["shake", shake, 1, 99]]))
    if (!Number.isInteger(value) || value < low || value > high) throw new Error(`${key}: expected ${low} … ${high}, got ${value}`);
  if (!MEASURES.some(([key]) => key === measure)) throw new Error(`measure: expected loss or share, got ${measure}`);
  if (!LIVE.some(([key]) => key === target)) throw new Error(`target: expected parity, majority or first, got ${target}`);
  if (!/^[01]{8}$/.test(bits)) throw new Error(`bits: expected ${N} characters 0 and 1, got ${bits}`);
  return { rho, n, measure, target, bits, shake };
}

/** A number in words of the page. @type {(number: number) => string} */
function power(number) {
  if (number >= 0.01) return format(number, 2);
  const [digits, exponent] = number.toExponential(0).split("e-");
  return `${digits} · 10⁻${exponent.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)])}`;
}

/** @param {{ model: import("./kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const rho = slider({ label: "ρ", min: -16, max: -1, onInput: (rho) => explorer.change({ rho }) });
  const length = slider({ label: "Input length n", min: 0, max: 5, onInput: (n) => explorer.change({ n }) });
  const measure = select({ label: "Show", choices: MEASURES, onChange: (measure) => explorer.change({ measure }) });
  const target = select({ label: "Live network", choices: LIVE, onChange: (target) => explorer.change({ target }) });
  const input = strip({ label: "The input x", onPress: (at) => explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }) });
  const chart = bars({ label: "Measured sharpness" }), title = h("p", { class: "fx-title fx-space" }), count = h("b"), sentence = h("p", { class: "fx-sentence", role: "status" });
  const again = h("button", { type: "button", class: "fx-button", click: () => explorer.change({ shake: (state.shake % 99) + 1 }) }, "Shake again");
  const facts = { before: h("dd"), after: h("dd"), wrong: h("dd"), live: h("dd") };
  const names = { before: "output before", after: "output after", wrong: `signs lost, of ${2 ** N} inputs`, live: "L of this shake, n = 8" };
  el.append(h("div", { class: "fx-box" }, h("div", { class: "fx-controls" }, rho.root, length.root, measure.root), title, chart.root, sentence,
    h("p", { class: "fx-title fx-space" }, "Shake one yourself: eight bits, the same ρ"), h("div", { class: "fx-controls" }, target.root), h("div", { class: "fx-space" }, input.root),
    h("p", { class: "fx-space" }, again, " direction ", count), h("dl", { class: "fx-facts fx-space" }, ...Object.entries(facts).map(([key, dd]) => h("div", {}, h("dt", {}, names[/** @type {"live"} */ (key)]), dd)))));

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const radius = 10 ** (state.rho / 2), n = LENGTHS[state.n];
    rho.show(state.rho, { key: "rho", number: state.rho / 2, text: format(state.rho / 2, 1) });
    rho.label("Shift of length ρ‖θ‖, ρ = 10ᵏ, k =");
    length.show(state.n, { key: "n", number: n, text: String(n) });
    measure.show(state.measure);
    target.show(state.target);
    const found = CAST.map((name) => { const [variance, ...losses] = STUDY[name][state.n]; return losses[state.rho + 16] / (state.measure === "share" ? variance : 1); });
    chart.show(CAST.map((name, at) => ({ key: `L:${name}`, name: `${name.toUpperCase()}: ${power(found[at])}`, value: found[at], text: name.toUpperCase(), look: "weight" })), { low: 0, high: 1.5, values: true });
    title.textContent = `${state.measure === "loss" ? "L" : "L/Var f"} at ${n} bits, measured`;
    sentence.textContent = `A shift ${power(radius)} times as long as θ costs PARITY ${power(found[0])} and MAJORITY ${power(found[1])}.`;
    input.show([...state.bits].map((bit, j) => ({ key: `x:${j + 1}`, name: `x${j + 1} is ${bit}`, value: Number(bit), text: bit, pressed: bit === "1" })));
    const weights = build(state.target), moved = shaken(weights, radius, state.shake), k = parseInt([...state.bits].reverse().join(""), 2);
    const before = [...named[state.target](N, 0)], after = before.map((_, at) => output(moved, at));
    put(count, "shake", state.shake);
    put(facts.before, "before", before[k]);
    put(facts.after, "after", after[k]);
    put(facts.wrong, "wrong", before.filter((value, at) => Math.sign(value) !== Math.sign(after[at])).length);
    put(facts.live, "live", before.reduce((sum, value, at) => sum + (after[at] - value) ** 2, 0) / before.length);
  });
  return explorer.start();
}

export default { render };
