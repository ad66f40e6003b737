// @ts-check
/**
 * One head and a layer norm: what each bit does to the attention, to the answer, and after the norm to the output.
 *
 * State: { bits: the input, loud: the logit of a one, eps: log₁₀ ε, or NONE for ε = 0 }.
 * explorer.py says, with real networks, what must come out.
 */
import {
  accept,
  attributes,
  bars,
  bounds,
  connect,
  format,
  h,
  put,
  slider,
  strip,
} from "../classroom/explorers/kit.js";

/** @typedef {{ bits: string, loud: number, eps: number }} State */

const NONE = bounds("eps").min; // stands for ε = 0

/**
 * The network at one input with k ones.
 * @type {(n: number, k: number, state: State) => { one: number, zero: number, answer: number, factor: number,
 *     output: number }}
 */
function run(n, k, { loud, eps }) {
  const zero = 1 / (k * Math.exp(loud) + n - k);
  const one = Math.exp(loud) * zero; // the weights of a one and of a zero
  const answer = 0.5 - k * one;
  const factor = 1 / Math.sqrt(answer ** 2 + (eps === NONE ? 0 : 10 ** eps));
  return { one, zero, answer, factor, output: answer * factor };
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const size = slider({
    label: "Bits n",
    ...bounds("bits"),
    onInput: (n) => explorer.change({ bits: state.bits.padEnd(n, "0").slice(0, n) }),
  });
  const loud = slider({
    label: "Logit of a one",
    ...bounds("loud"),
    onInput: (loud) => explorer.change({ loud }),
  });
  const eps = slider({ label: "ε", ...bounds("eps"), onInput: (eps) => explorer.change({ eps }) });
  const input = strip({
    label: "The input b",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const attention = h("div", { class: "fx-strip fx-weights" });
  const charts = { before: bars({ label: "Change of the answer" }), after: bars({ label: "Change of the output" }) };
  const names = {
    sum: "influence on attention, all bits",
    trivial: "never more than 2n",
    answer: "answer a",
    factor: "factor N",
    output: "output",
    s: "sensitivity s",
    magnified: "a change is magnified by up to",
    allowed: "√(N N′) is up to",
  };
  const facts = Object.entries(names).map(([key, text]) => ({ key, text, node: h("dd") }));
  const verdict = h("p", { class: "fx-sentence", role: "status" });
  const title = (/** @type {string} */ text) => h("p", { class: "fx-title fx-space" }, text);

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, size.root, loud.root, eps.root),
      title("Input b and attention a in percent"),
      h("div", { class: "fx-named" }, h("span", {}, "b"), input.root, h("span", {}, "a"), attention),
      title("Before the norm: how far a flip of each bit moves the answer"),
      charts.before.root,
      title("After it: how far it moves the output"),
      charts.after.root,
      h("dl", { class: "fx-facts fx-space" }, ...facts.map(({ text, node }) => h("div", {}, h("dt", {}, text), node))),
      verdict,
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ next) => {
    state = next;
    const { bits } = state;
    const n = bits.length;
    const k = [...bits].filter((bit) => bit === "1").length;
    const here = run(n, k, state);
    const near = { 0: run(n, k + 1, state), 1: run(n, k - 1, state) }; // a zero, or a one, flipped
    const flips = [...bits].map((bit) => {
      const there = near[/** @type {0} */ (Number(bit))];
      const own = bit === "1" ? here.one : here.zero;
      const other = bit === "1" ? there.zero : there.one;
      return {
        moved: 2 * Math.abs(own - other),
        before: Math.abs(there.answer - here.answer),
        after: Math.abs(there.output - here.output),
        allowed: Math.sqrt(here.factor * there.factor),
      };
    });
    const largest = (/** @type {(flip: typeof flips[0]) => number} */ of) => Math.max(...flips.map(of));
    const shown = /** @type {Record<string, number>} */ ({
      ...here,
      sum: flips.reduce((total, flip) => total + flip.moved, 0),
      trivial: 2 * n,
      s: flips.reduce((total, flip) => total + flip.after ** 2, 0) / 4,
      magnified: largest((flip) => (flip.before ? flip.after / flip.before : 0)),
      allowed: largest((flip) => flip.allowed),
    });
    size.show(n, { key: "n" });
    loud.show(state.loud, { key: "loud" });
    eps.show(state.eps, { key: "eps", text: "" });
    eps.label(state.eps === NONE ? "ε = 0" : `ε = ${10 ** state.eps}`);
    input.show(
      [...bits].map((bit, j) => ({
        key: `b:${j + 1}`,
        name: `bit ${j + 1} is ${bit}`,
        value: Number(bit),
        text: bit,
        pressed: bit === "1",
      })),
      n,
    );
    attributes(attention, { style: `--columns: ${n}` });
    attention.replaceChildren(
      ...[...bits].map((bit, j) => {
        const weight = bit === "1" ? here.one : here.zero;
        return h(
          "span",
          { class: "fx-cell", "data-value": `a:${j + 1}`, "data-number": weight, style: `--weight: ${100 * weight}%` },
          format(100 * weight, 0),
        );
      }),
    );
    for (const key of /** @type {("before" | "after")[]} */ (["before", "after"])) {
      charts[key].show(
        flips.map((flip, j) => ({
          key: `${key}:${j + 1}`,
          value: flip[key],
          text: String(j + 1),
          name: `bit ${j + 1}: ${format(flip[key])}`,
          look: "weight",
        })),
        { low: 0, high: key === "before" ? 1 : 2 },
      );
    }
    for (const { key, node } of facts) put(node, key, shown[key]);
    verdict.textContent =
      shown.s > n / 4
        ? "A sensitive input: s is more than a quarter of n."
        : shown.s > 0.01
          ? "Some flips move the output here."
          : "Hardly any flip moves the output here.";
  });
  return explorer.start();
}

export default { render };
