// @ts-check
/**
 * One network, shaken: the promise at every σ on the left, a cloud of noisy copies on the right.
 *
 * State: { sigma: place among the fifteen σ, m: log₁₀ of the examples, inequality: "assumed", "clipped" or "kl" }.
 */
import {
  accept,
  bounds,
  connect,
  format,
  fresh,
  h,
  options,
  put,
  select,
  slider,
  stored,
  svg,
} from "../../classroom/explorers/kit.js";

/** @typedef {{ sigma: number, m: number, inequality: string }} State */

/** Exact norm and trace; what was measured at every σ; the targets and outputs of the cloud.
 * @type {{ norm2: number, trace: number, constants: [number, number], frame: [number, number], sigmas: number[],
 *     loss: number[], clipped: number[], targets: number[], outputs: number[][] }} */
const STUDY = stored;
const CLIP = 4;
const DELTA = 0.05;
const FINE = 57; // places at which the curves are drawn

/** The largest q with kl(p‖q) ≤ budget. @type {(p: number, budget: number) => number} */
function inverse(p, budget) {
  let low = p;
  let high = 1;
  for (let step = 0; step < 200; step++) {
    const q = (low + high) / 2;
    const spent = (p ? p * Math.log(p / q) : 0) + (p < 1 ? (1 - p) * (Math.log1p(-p) - Math.log1p(-q)) : 0);
    if (spent <= budget) low = q;
    else high = q;
  }
  return low;
}

/** The bound with a loss of the noisy network. @type {(state: State, sigma: number, loss: number) => number} */
function bound({ m, inequality }, sigma, loss) {
  const examples = 10 ** m;
  const kl = STUDY.norm2 / (2 * sigma ** 2);
  if (inequality !== "kl")
    return loss + (inequality === "assumed" ? 0.1 : CLIP / 2) * Math.sqrt((2 * (kl + Math.log(1 / DELTA))) / examples);
  return CLIP * inverse(Math.min(loss, CLIP) / CLIP, (kl + Math.log((2 * Math.sqrt(examples)) / DELTA)) / examples);
}

/** What shaking costs if the loss is its parabola. @type {(state: State, sigma: number) => number} */
const parabola = ({ inequality }, sigma) =>
  Math.min((sigma ** 2 / 2) * STUDY.trace, inequality === "kl" ? CLIP : Infinity);

// ---------------------------------------------------------------------------------------------- drawing

const WIDTH = 360;
const HEIGHT = 270;
const LEFT = 58;
const FOOT = 40;
const ENDS = { x: [-4, -1.2], y: [-5, 2] }; // powers of ten

/** A place in a plot. @type {(share: number) => number} */
const across = (share) => LEFT + share * (WIDTH - LEFT - 8);
/** @type {(share: number) => number} */
const down = (share) => 8 + (1 - Math.max(0, Math.min(1, share))) * (HEIGHT - FOOT - 8);
/** @type {(sigma: number) => number} */
const atSigma = (sigma) => across((Math.log10(sigma) - ENDS.x[0]) / (ENDS.x[1] - ENDS.x[0]));
/** @type {(value: number) => number} */
const atValue = (value) => down((Math.log10(value) - ENDS.y[0]) / (ENDS.y[1] - ENDS.y[0]));

/** Words in a drawing. @type {(x: number, y: number, text: string, anchor?: string) => SVGElement} */
const words = (x, y, text, anchor = "middle") => svg("text", { x, y, "text-anchor": anchor }, text);

/** Lines and numbers behind a plot.
 * @type {(title: [string, string], x: [number, string][], y: [number, string][]) => SVGElement} */
function scaffold([below, beside], x, y) {
  const rows = y.flatMap(([at, text]) => [
    svg("line", { x1: LEFT, x2: WIDTH - 8, y1: at, y2: at }),
    words(LEFT - 6, at + 4, text, "end"),
  ]);
  const columns = x.map(([at, text]) => words(at, HEIGHT - FOOT + 16, text));
  const turned = svg("g", { transform: `translate(11 ${(HEIGHT - FOOT) / 2}) rotate(-90)` }, words(0, 0, beside));
  return svg("g", { class: "fx-scale" }, ...rows, ...columns, words(across(0.5), HEIGHT - 6, below), turned);
}

/** @param {{ model: import("../../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const sigma = slider({
    label: "Noise σ, in thousandths",
    ...bounds("sigma"),
    onInput: (sigma) => explorer.change({ sigma }),
  });
  const m = slider({ label: "Examples m = 10ᵏ, k =", ...bounds("m"), onInput: (m) => explorer.change({ m }) });
  const inequality = select({
    label: "Inequality",
    choices: options("inequality"),
    onChange: (inequality) => explorer.change({ inequality }),
  });
  const clip = fresh("clip");
  const curves = svg("g", { "clip-path": `url(#${clip})` });
  const cursor = svg("line", { class: "fx-cursor", y1: 8, y2: HEIGHT - FOOT });
  const dots = svg("g", { class: "fx-measured" });
  const frame = { x: LEFT, y: 8, width: WIDTH - LEFT - 8, height: HEIGHT - FOOT - 8 };
  const left = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
    svg("clipPath", { id: clip }, svg("rect", frame)),
    scaffold(
      ["noise σ in every weight", "risk (squared error)"],
      [-4, -3, -2].map((k) => [atSigma(10 ** k), ["10⁻⁴", "10⁻³", "10⁻²"][k + 4]]),
      [-4, -2, 0, 2].map((k) => [atValue(10 ** k), { "-4": "10⁻⁴", "-2": "0.01", 0: "1", 2: "100" }[k] ?? ""]),
    ),
    svg("line", { class: "fx-constant", x1: LEFT, x2: WIDTH - 8, y1: atValue(1), y2: atValue(1) }),
    curves,
    dots,
    cursor,
  );
  const cloud = svg("g", { class: "fx-cloud" });
  const atTarget = (/** @type {number} */ value) => across((value + 0.5) / 5);
  const [low, high] = STUDY.frame;
  const atOutput = (/** @type {number} */ value) => down((value - low) / (high - low));
  const right = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
    scaffold(
      ["true value f(x)", "output of a shaken copy"],
      [0, 1, 2, 3, 4].map((k) => [atTarget(k), String(k)]),
      [-2, 0, 2, 4, 6].map((k) => [atOutput(k), String(k).replace("-", "−")]),
    ),
    svg("line", { class: "fx-diagonal", x1: atTarget(-0.5), x2: atTarget(4.5), y1: atOutput(-0.5), y2: atOutput(4.5) }),
    cloud,
  );
  /** @type {(event: PointerEvent) => void} */
  const follow = (event) => {
    const box = left.getBoundingClientRect();
    const x = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 8);
    const place = Math.round(x * (ENDS.x[1] - ENDS.x[0]) * 5);
    explorer.change({ sigma: Math.max(0, Math.min(STUDY.sigmas.length - 1, place)) });
  };
  left.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    left.setPointerCapture(event.pointerId);
    follow(event);
  });
  left.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (left.hasPointerCapture(event.pointerId)) follow(event);
  });

  const names = {
    value: "risk at most",
    cost: "of it for the noise",
    weights: "for the weights",
    measured: "noisy loss, measured",
    outside: "dots out of the frame",
  };
  const facts = Object.fromEntries(Object.keys(names).map((key) => [key, h("dd")]));
  const verdict = h("b", { "data-value": "verdict" });
  const constant = h("b");
  const key = (/** @type {string} */ name, /** @type {string} */ text) =>
    h("span", {}, svg("svg", { viewBox: "0 0 12 12" }, svg("path", { class: name, d: "M0 6H12" })), text);
  el.append(
    h(
      "div",
      { class: "fx-box fx-shaken" },
      h("div", { class: "fx-controls" }, inequality.root, sigma.root, m.root),
      h(
        "div",
        { class: "fx-halves" },
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "The promise at every σ (drag it)"),
          left,
          h(
            "div",
            { class: "fx-key" },
            key("fx-cost", "noise"),
            key("fx-weights", "weights"),
            key("fx-sum", "both"),
            h("span", {}, "○ with the measured loss"),
          ),
        ),
        h("div", {}, h("p", { class: "fx-title" }, "60 shaken copies, one input each"), right),
      ),
      h(
        "dl",
        { class: "fx-facts", "aria-live": "polite" },
        ...Object.entries(facts).map(([key, dd]) => h("div", {}, h("dt", {}, names[/** @type {"value"} */ (key)]), dd)),
      ),
      h("p", { class: "fx-sentence" }, "The promise is ", verdict, " the risk of the best constant, ", constant, "."),
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ next) => {
    state = next;
    const at = STUDY.sigmas[state.sigma];
    sigma.show(state.sigma, { key: "sigma", number: 1000 * at, text: format(1000 * at) });
    m.show(state.m, { key: "m" });
    inequality.show(state.inequality);
    const fine = Array.from({ length: FINE }, (_, k) => 10 ** (ENDS.x[0] + (k / (FINE - 1)) * (ENDS.x[1] - ENDS.x[0])));
    const line = (/** @type {string} */ name, /** @type {(sigma: number) => number} */ height) =>
      svg("path", {
        class: name,
        d: `M${fine.map((s) => `${atSigma(s).toFixed(1)} ${atValue(Math.max(height(s), 1e-9)).toFixed(1)}`).join("L")}`,
      });
    const whole = (/** @type {number} */ s) => bound(state, s, parabola(state, s));
    curves.replaceChildren(
      line("fx-cost", (s) => parabola(state, s)),
      line("fx-weights", (s) => whole(s) - parabola(state, s)),
      line("fx-sum", whole),
    );
    const losses = state.inequality === "assumed" ? STUDY.loss : STUDY.clipped;
    dots.replaceChildren(
      ...STUDY.sigmas.map((s, k) => {
        const value = bound(state, s, losses[k]);
        const dot = svg("circle", { cx: atSigma(s), cy: atValue(value), r: k === state.sigma ? 6 : 3.5 });
        put(dot, `v:${k}`, value, "");
        return dot;
      }),
    );
    cursor.setAttribute("x1", String(atSigma(at)));
    cursor.setAttribute("x2", String(atSigma(at)));
    const outputs = STUDY.outputs[state.sigma];
    cloud.replaceChildren(
      ...outputs.map((output, k) =>
        svg("circle", {
          cx: atTarget(STUDY.targets[k]) + ((k % 7) - 3) * 3,
          cy: atOutput(output),
          r: 3.5,
          "data-look": output < low || output > high ? "out" : null,
        }),
      ),
    );
    const value = whole(at);
    const cost = parabola(state, at);
    const outside = outputs.filter((output) => output < low || output > high).length;
    const numbers = { value, cost, weights: value - cost, measured: losses[state.sigma], outside };
    for (const [key, number] of Object.entries(numbers)) put(facts[key], key, number);
    const guess = STUDY.constants[state.inequality === "assumed" ? 0 : 1];
    put(constant, "constant", guess);
    verdict.textContent = value < guess ? "below" : "not below";
    left.setAttribute(
      "aria-label",
      `At noise ${format(at, 5)} the risk is at most ${format(value)}: ${format(cost)} for the noise and ` +
        `${format(value - cost)} for the weights.`,
    );
    right.setAttribute("aria-label", `Outputs of 60 shaken networks against true values; ${outside} out of the frame.`);
  });
  return explorer.start();
}

export default { render };
