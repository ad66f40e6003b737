// @ts-check
/**
 * A flip on its way through two layers: two routes through each head, and what each layer norm makes of them.
 *
 * State: { bits: the input, flip: the bit that is followed, own: κ, first: β₁, second: β₂, eps: log₁₀ ε, or NONE for
 * ε = 0 }. journey.py explains the network, and says with the library what must come out.
 */
import {
  accept,
  attributes,
  bounds,
  connect,
  format,
  h,
  put,
  slider,
  softmax,
  strip,
  svg,
} from "../../classroom/explorers/kit.js";

/** @typedef {{ bits: string, flip: number, own: number, first: number, second: number, eps: number }} State */
/** What a layer does: the rows of its attention, the answers, the factors, what leaves it.
 * @typedef {{ attention: number[][], answers: number[], factors: number[], outputs: number[] }} Run */
/** @typedef {{ values: number, weights: number, before: number, stretch: number, after: number, mean: number }} Step */

const NONE = bounds("eps").min; // stands for ε = 0

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = accept(given);
  const n = state.bits.length;
  if (state.flip > n) throw new Error(`flip: expected an integer from 1 to ${n}, got ${state.flip}`);
  return state;
}

/** @type {(logit: (i: number, w: number) => number, votes: number[], own: number, eps: number) => Run} */
function layer(logit, votes, own, eps) {
  const attention = votes.map((_, i) => softmax(votes.map((_, w) => logit(i, w))));
  const answers = attention.map((row, i) => row.reduce((sum, a, w) => sum + a * votes[w], own * votes[i]));
  const factors = answers.map((answer) => 1 / Math.sqrt(answer ** 2 + (eps === NONE ? 0 : 10 ** eps)));
  return { attention, answers, factors, outputs: answers.map((answer, i) => answer * factors[i]) };
}

/** Both layers at one input. @type {(bits: number[], state: State) => Run[]} */
function run(bits, { own, first, second, eps }) {
  const votes = bits.map((bit) => 0.5 - bit);
  const one = layer((_, w) => -first * votes[w], votes, own, eps);
  const u = one.outputs;
  return [one, layer((i, w) => second * u[i] * u[w], u, 0, eps)];
}

const gap = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b);
const add = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * How far a flip moves the last position in one layer; v and w are the values that it averages, before and after.
 * @type {(here: Run, there: Run, v: number[], w: number[]) => Step}
 */
function step(here, there, v, w) {
  const last = v.length - 1;
  const rows = [here.attention[last], there.attention[last]];
  return {
    values: add(rows[0].map((a, j) => a * gap(v[j], w[j]))),
    weights: Math.max(...w.map(Math.abs)) * add(rows[0].map((a, j) => gap(a, rows[1][j]))),
    before: gap(here.answers[last], there.answers[last]),
    stretch: Math.sqrt(here.factors[last] * there.factors[last]),
    after: gap(here.outputs[last], there.outputs[last]),
    mean: add(here.outputs.map((u, j) => gap(u, there.outputs[j]))) / v.length,
  };
}

// Where things stand in the drawing, which is 360 wide.
const PLACES = /** @type {Record<string, [number, number, string]>} */ ({
  start: [180, 26, "a vote moves by"],
  "values:1": [82, 104, "values moved"],
  "weights:1": [278, 104, "weights moved"],
  "before:1": [180, 182, "head 1 and own wire"],
  "after:1": [180, 272, "after norm 1"],
  "values:2": [82, 350, "values moved"],
  "weights:2": [278, 350, "weights moved"],
  "before:2": [180, 428, "head 2"],
  "after:2": [180, 518, "after norm 2: the output"],
});
const WIRES = [
  ["start", "values:1"],
  ["start", "weights:1"],
  ["start", "before:1", "skip"],
  ["values:1", "before:1"],
  ["weights:1", "before:1"],
  ["before:1", "after:1"],
  ["after:1", "values:2"],
  ["after:1", "weights:2"],
  ["values:2", "before:2"],
  ["weights:2", "before:2"],
  ["before:2", "after:2"],
];
const TALL = 19; // half of a box

/** The drawing: boxes with numbers, wires as thick as what travels on them. */
function flow() {
  const wires = WIRES.map(([from, to, key]) => {
    const [x1, y1] = PLACES[from];
    const [x2, y2] = PLACES[to];
    const route = from.includes(":") && !from.startsWith("after") ? from : to;
    return {
      key: key ?? (route.startsWith("before") ? to : route),
      node: svg("line", { x1, y1: y1 + TALL, x2, y2: y2 - TALL, "data-route": key ?? route.split(":")[0] }),
    };
  });
  const boxes = Object.entries(PLACES).map(([key, [x, y, name]]) => ({
    key,
    node: svg("text", { class: "fx-moved", x, y: y + 13 }),
    box: svg(
      "g",
      { "data-route": key.split(":")[0] },
      svg("rect", { x: x - 78, y: y - TALL, width: 156, height: 2 * TALL, rx: 4 }),
      svg("text", { x, y: y - 4 }, name),
    ),
  }));
  const norms = ["1", "2"].map((k) => ({
    key: `stretch:${k}`,
    node: svg("text", { class: "fx-allowed", x: 192, y: (PLACES[`before:${k}`][1] + PLACES[`after:${k}`][1]) / 2 + 4 }),
  }));
  const means = ["1", "2"].map((k) => {
    const [x, y] = [PLACES[`after:${k}`][0] + 88, PLACES[`after:${k}`][1]];
    return {
      key: `mean:${k}`,
      title: svg("text", { class: "fx-aside", x, y: y - 4 }, "mean of all"),
      node: svg("text", { class: "fx-moved fx-aside", x, y: y + 13 }),
    };
  });
  const picture = svg("svg", { viewBox: "0 0 360 544", role: "img", class: "fx-flow" });
  picture.append(...wires.map(({ node }) => node), ...boxes.map(({ box }) => box));
  for (const { box, node } of boxes) box.append(node);
  picture.append(...norms.map(({ node }) => node), ...means.flatMap(({ title, node }) => [title, node]));
  return {
    root: picture,
    /** @param {Record<string, number>} shown */
    show(shown) {
      for (const { key, node } of wires) attributes(node, { "stroke-width": 1 + 4.5 * Math.min(2, shown[key] ?? 1) });
      for (const { key, node } of boxes) {
        if (key === "start") node.textContent = "1, at its own position";
        else put(node, key, shown[key]);
      }
      for (const { key, node } of norms) put(node, key, shown[key], `norm: at most × ${format(shown[key], 2)}`);
      for (const { key, node } of means) put(node, key, shown[key]);
      const said = boxes.slice(1).map(({ key }) => `${PLACES[key][2]} ${format(shown[key])}`);
      attributes(picture, { "aria-label": `How far the flip moves the last position: ${said.join("; ")}` });
    },
  };
}

/** @param {{ model: import("../../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const size = slider({
    label: "Bits n",
    ...bounds("bits"),
    onInput: (n) => explorer.change({ bits: state.bits.padEnd(n, "0").slice(0, n), flip: Math.min(state.flip, n) }),
  });
  const sliders = /** @type {["own" | "first" | "second" | "eps", string][]} */ ([
    ["own", "Own wire κ"],
    ["first", "Logit of a one, layer 1"],
    ["second", "Scale of logits, layer 2"],
    ["eps", "ε"],
  ]).map(([key, label]) => ({
    key,
    control: slider({ label, ...bounds(key), onInput: (value) => explorer.change({ [key]: value }) }),
  }));
  const input = strip({
    label: "The input b",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const follow = strip({ label: "The bit that is flipped", onPress: (at) => explorer.change({ flip: at + 1 }) });
  const picture = flow();
  const names = {
    skip: "by its own wire",
    product: "P(x), both norms",
    output: "output before",
    flipped: "output after the flip",
  };
  const facts = Object.entries(names).map(([key, text]) => ({ key, text, node: h("dd") }));
  const verdict = h("p", { class: "fx-sentence", role: "status" });
  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, size.root, ...sliders.map(({ control }) => control.root)),
      h("p", { class: "fx-title fx-space" }, "Input b, and below it the bit q that is flipped: press to change either"),
      h("div", { class: "fx-named" }, h("span", {}, "b"), input.root, h("span", {}, "q"), follow.root),
      picture.root,
      h("dl", { class: "fx-facts fx-space" }, ...facts.map(({ text, node }) => h("div", {}, h("dt", {}, text), node))),
      verdict,
    ),
  );

  const explorer = connect(model, el, clean, (/** @type {State} */ next) => {
    state = next;
    const bits = [...state.bits].map(Number);
    const n = bits.length;
    const other = bits.map((bit, j) => (j === state.flip - 1 ? 1 - bit : bit));
    const [here, there] = [run(bits, state), run(other, state)];
    const votes = [bits, other].map((some) => some.map((bit) => 0.5 - bit));
    const steps = [
      step(here[0], there[0], votes[0], votes[1]),
      step(here[1], there[1], here[0].outputs, there[0].outputs),
    ];
    const shown = /** @type {Record<string, number>} */ ({
      skip: state.flip === n ? state.own : 0,
      product: here.reduce((product, { factors }) => product * Math.max(...factors), 1),
      output: here[1].outputs[n - 1],
      flipped: there[1].outputs[n - 1],
    });
    steps.forEach((step, k) => {
      for (const [key, value] of Object.entries(step)) shown[`${key}:${k + 1}`] = value;
    });
    size.show(n, { key: "n" });
    for (const { key, control } of sliders) control.show(state[key], { key, ...(key === "eps" && { text: "" }) });
    sliders[3].control.label(state.eps === NONE ? "ε = 0" : `ε = ${10 ** state.eps}`);
    input.show(
      bits.map((bit, j) => ({
        key: `b:${j + 1}`,
        name: `bit ${j + 1} is ${bit}`,
        value: bit,
        text: String(bit),
        pressed: bit === 1,
      })),
      n,
    );
    follow.show(
      bits.map((_, j) => ({
        key: `q:${j + 1}`,
        name: `flip bit ${j + 1}`,
        value: Number(j === state.flip - 1),
        text: String(j + 1),
        pressed: j === state.flip - 1,
      })),
      n,
    );
    picture.show(shown);
    for (const { key, node } of facts) put(node, key, shown[key]);
    verdict.textContent =
      steps[1].after > 1
        ? "The flip turns the output over."
        : steps[1].after > 0.01
          ? "The flip moves the output, by at most 1."
          : "The flip is lost on the way.";
  });
  return explorer.start();
}

export default { render };
