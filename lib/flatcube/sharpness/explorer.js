// @ts-check
/**
 * Shaking the cast: what was measured for long inputs, and a network for eight bits to shake in the page.
 *
 * State: { rho: 2 log₁₀ of ‖Δ‖/‖θ‖, n: an index of LENGTHS, measure: "loss" | "share", target: of the live network,
 * bits: its input, shake: which random direction }.
 */
import {
  accept,
  bars,
  bounds,
  cast,
  connect,
  format,
  h,
  named,
  normals,
  options,
  product,
  put,
  select,
  slider,
  softmax,
  stored,
  strip,
  transpose,
} from "../classroom/explorers/kit.js";

/** @typedef {{ rho: number, n: number, measure: string, target: string, bits: string, shake: number }} State */
/** @typedef {Record<string, number[][]>} Weights by name; a bias is a matrix with one row */

const N = bounds("bits").max;
const CHANNELS = ["bit", "place", "side", "unit", "count", "hit", "first", "answer", "balance"];
/** By function, for each length: Var f, then L for each ρ. @type {Record<string, number[][]>} */
const STUDY = stored.study;
/** @type {number[]} */
const LENGTHS = stored.lengths;

// ---------------------------------------------------------------------------------------------- the network

/**
 * A matrix of zeros but for the entries [row, column, value].
 * @type {(rows: number, columns: number, entries: [number, number, number][]) => number[][]}
 */
function matrix(rows, columns, entries) {
  const made = Array.from({ length: rows }, () => Array(columns).fill(0));
  for (const [row, column, value] of entries) made[row][column] = value;
  return made;
}

/** The weights of flatcube.amplifier, in the order in which they are shaken. @type {(target: string) => Weights} */
function build(target) {
  const at = (/** @type {string} */ name) => CHANNELS.indexOf(name);
  const D = CHANNELS.length;
  const quarter = target === "majority" ? 0.25 : 0;
  const units =
    target === "parity"
      ? [1, -1].flatMap((side) =>
          [
            [1, 1],
            [0, -2],
            [-1, 1],
          ].map(([shift, weight]) => ({
            from: { count: 1, place: -1, unit: shift, side },
            bias: -1,
            hit: side * weight,
          })),
        )
      : [1, -1].map((way) => ({ from: { count: way, unit: way * quarter }, bias: -0.5 * way, hit: -way }));
  const kept = CHANNELS.filter((name) => name !== "answer");
  const passes = target !== "parity";
  return {
    tokens: matrix(2, D, [
      [1, at("bit"), 1],
      [1, at("balance"), -1],
    ]),
    query0: matrix(D, D, target === "first" ? [[at("side"), at("first"), 2]] : []),
    value0: matrix(D, D, [
      [at("bit"), at("count"), 1],
      [at("bit"), at("balance"), -1],
    ]),
    into0: matrix(
      D,
      6,
      units.flatMap(({ from }, u) =>
        Object.entries(from).map(([name, weight]) => /** @type {[number, number, number]} */ ([at(name), u, weight])),
      ),
    ),
    bias0: matrix(
      1,
      6,
      units.map(({ bias }, u) => [0, u, bias]),
    ),
    out0: matrix(
      6,
      D,
      units.flatMap(
        ({ hit }, u) =>
          /** @type {[number, number, number][]} */ ([
            [u, at("hit"), hit],
            [u, at("balance"), -hit],
          ]),
      ),
    ),
    query1: matrix(D, D, []),
    value1: matrix(D, D, passes ? [] : [[at("hit"), at("answer"), 1]]),
    into1: matrix(
      D,
      16,
      kept.flatMap(
        (name, c) =>
          /** @type {[number, number, number][]} */ ([
            [at(name), 2 * c, 1],
            [at(name), 2 * c + 1, -1],
          ]),
      ),
    ),
    bias1: matrix(1, 16, []),
    out1: matrix(
      16,
      D,
      kept.flatMap((name, c) =>
        [1, -1].flatMap(
          (way, u) =>
            /** @type {[number, number, number][]} */ ([
              [2 * c + u, at(name), -way],
              ...(name === "hit" && passes ? [[2 * c + u, at("answer"), way]] : []),
            ]),
        ),
      ),
    ),
    readout: matrix(D, 1, [[at("answer"), 0, 1 / Math.sqrt(D - 1)]]),
  };
}

/**
 * The same weights moved by a random vector whose length is ρ times theirs.
 * @type {(weights: Weights, rho: number, shake: number) => Weights}
 */
function shaken(weights, rho, shake) {
  const next = normals(shake, 3);
  const noise = Object.values(weights).map((rows) => rows.map((row) => row.map(next)));
  const length = (/** @type {number[][][]} */ all) =>
    Math.sqrt(all.flat(2).reduce((sum, value) => sum + value * value, 0));
  const scale = (rho * length(Object.values(weights))) / length(noise);
  return Object.fromEntries(
    Object.entries(weights).map(([name, rows], m) => [
      name,
      rows.map((row, i) => row.map((value, j) => value + scale * noise[m][i][j])),
    ]),
  );
}

/** Layer norm with ε = 0. @type {(row: number[]) => number[]} */
function norm(row) {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const spread = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  return row.map((value) => (spread > 0 ? (value - mean) / Math.sqrt(spread) : 0));
}

/** One layer at the given rows. @type {(x: number[][], rows: number[][], weights: Weights, k: number) => number[][]} */
function layer(x, rows, weights, k) {
  const part = (/** @type {string} */ name) => weights[`${name}${k}`];
  const add = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) =>
    a.map((row, i) => row.map((value, j) => value + b[i][j]));
  const u = add(
    rows,
    product(
      product(product(rows, part("query")), transpose(x)).map((logits) => softmax(logits)),
      product(x, part("value")),
    ),
  );
  const hidden = product(u, part("into")).map((row) => row.map((value, j) => Math.max(0, value + part("bias")[0][j])));
  return add(u, product(hidden, part("out"))).map(norm);
}

/** The output for the point k. @type {(weights: Weights, k: number) => number} */
function output(weights, k) {
  const x = Array.from({ length: N + 1 }, (_, j) => {
    const i = (j + 1) % (N + 1);
    const code = [0, i / (N + 1), 1 - 2 * (i % 2), 1 / (N + 1), 0, 0, i === 1 ? Math.log(N + 1) : 0, 0];
    return [...code, -code.reduce((sum, value) => sum + value, 0)].map(
      (value, c) => value + weights.tokens[j < N ? (k >> j) & 1 : 0][c],
    );
  });
  const y = layer(x, x, weights, 0);
  return product(layer(y, y.slice(-1), weights, 1), weights.readout)[0][0];
}

// ---------------------------------------------------------------------------------------------- the page

/** A number in words of the page. @type {(number: number) => string} */
function power(number) {
  if (number >= 0.01) return format(number, 2);
  const [digits, exponent] = number.toExponential(0).split("e-");
  return `${digits} · 10⁻${exponent.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)])}`;
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const rho = slider({ label: "ρ", ...bounds("rho"), onInput: (rho) => explorer.change({ rho }) });
  const length = slider({ label: "Input length n", ...bounds("n"), onInput: (n) => explorer.change({ n }) });
  const measure = select({
    label: "Show",
    choices: options("measure"),
    onChange: (measure) => explorer.change({ measure }),
  });
  const target = select({
    label: "Live network",
    choices: options("target"),
    onChange: (target) => explorer.change({ target }),
  });
  const input = strip({
    label: "The input x",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const chart = bars({ label: "Measured sharpness" });
  const title = h("p", { class: "fx-title fx-space" });
  const count = h("b");
  const sentence = h("p", { class: "fx-sentence", role: "status" });
  const again = h(
    "button",
    {
      type: "button",
      class: "fx-button",
      click: () => explorer.change({ shake: (state.shake % bounds("shake").max) + 1 }),
    },
    "Shake again",
  );
  const facts = { before: h("dd"), after: h("dd"), wrong: h("dd"), live: h("dd") };
  const names = {
    before: "output before",
    after: "output after",
    wrong: `signs lost, of ${2 ** N} inputs`,
    live: "L of this shake, n = 8",
  };
  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, rho.root, length.root, measure.root),
      title,
      chart.root,
      sentence,
      h("p", { class: "fx-title fx-space" }, "Shake one yourself: eight bits, the same ρ"),
      h("div", { class: "fx-controls" }, target.root),
      h("div", { class: "fx-space" }, input.root),
      h("p", { class: "fx-space" }, again, " direction ", count),
      h(
        "dl",
        { class: "fx-facts fx-space" },
        ...Object.entries(facts).map(([key, dd]) => h("div", {}, h("dt", {}, names[/** @type {"live"} */ (key)]), dd)),
      ),
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ next) => {
    state = next;
    const radius = 10 ** (state.rho / 2);
    const n = LENGTHS[state.n];
    rho.show(state.rho, { key: "rho", number: state.rho / 2, text: format(state.rho / 2, 1) });
    rho.label("Shift of length ρ‖θ‖, ρ = 10ᵏ, k =");
    length.show(state.n, { key: "n", number: n, text: String(n) });
    measure.show(state.measure);
    target.show(state.target);
    const found = cast.map((name) => {
      const [variance, ...losses] = STUDY[name.toLowerCase()][state.n];
      return losses[state.rho - bounds("rho").min] / (state.measure === "share" ? variance : 1);
    });
    chart.show(
      cast.map((name, at) => ({
        key: `L:${name.toLowerCase()}`,
        name: `${name}: ${power(found[at])}`,
        value: found[at],
        text: name,
        series: name,
      })),
      { low: 0, high: 1.5, values: true },
    );
    title.textContent = `${state.measure === "loss" ? "L" : "L/Var f"} at ${n} bits, measured`;
    const [odd, most] = found.map(power);
    sentence.textContent = `A shift ${power(radius)} times as long as θ costs PARITY ${odd} and MAJORITY ${most}.`;
    input.show(
      [...state.bits].map((bit, j) => ({
        key: `x:${j + 1}`,
        name: `x${j + 1} is ${bit}`,
        value: Number(bit),
        text: bit,
        pressed: bit === "1",
      })),
    );
    const weights = build(state.target);
    const moved = shaken(weights, radius, state.shake);
    const k = parseInt([...state.bits].reverse().join(""), 2);
    const before = [...named[state.target](N, 0)];
    const after = before.map((_, at) => output(moved, at));
    put(count, "shake", state.shake);
    put(facts.before, "before", before[k]);
    put(facts.after, "after", after[k]);
    put(facts.wrong, "wrong", before.filter((value, at) => Math.sign(value) !== Math.sign(after[at])).length);
    put(facts.live, "live", before.reduce((sum, value, at) => sum + (after[at] - value) ** 2, 0) / before.length);
  });
  return explorer.start();
}

export default { render };
