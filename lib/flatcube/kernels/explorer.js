// @ts-check
/**
 * A kernel's eigenvalues by degree, and how fast gradient flow learns each degree.
 *
 * State: { kernel, n: bits, depth: layers of ReLUs, a1 … a4: coefficients of a polynomial, time: log₁₀ t }.
 * Kernels that are no functions of ⟨x, y⟩ come from data/architectures.csv; explorer.py has the same formulas.
 */
import { accept, attributes, axes, bounds, connect, counts } from "../classroom/explorers/kit.js";
import { h, options, put, select, slider, stored, svg } from "../classroom/explorers/kit.js";

/**
 * @typedef {{ kernel: string, n: number, depth: number, a1: number, a2: number, a3: number, a4: number,
 *     time: number }} State
 */
/** @typedef {{ mean: number[], low: number[], high: number[], leak: number }} Spectrum */

const WIDE = 440;
const TALL = 320;
const EDGE = { left: 52, right: 24, top: 14, bottom: 46 };
const FRAME = { wide: WIDE, tall: TALL, ...EDGE };
const LEAST = -8; // powers of ten on the axis of eigenvalues
const MOST = 1;

// ---------------------------------------------------------------------------------------------- kernels

/** @type {(c: number) => number} */
const inside = (c) => Math.max(-1, Math.min(1, c));
/** @type {(c: number) => number} */
const relu = (c) => (Math.sqrt(1 - inside(c) ** 2) + inside(c) * (Math.PI - Math.acos(inside(c)))) / Math.PI;
/** @type {(c: number) => number} */
const step = (c) => (Math.PI - Math.acos(inside(c))) / Math.PI;

/** Conjugate and tangent kernel of an MLP. @type {(c: number, depth: number) => [number, number]} */
function layers(c, depth) {
  let sigma = c;
  let theta = c;
  for (let layer = 0; layer < depth; layer++) {
    const slope = step(sigma);
    sigma = relu(sigma);
    theta = sigma + theta * slope;
  }
  return [sigma, theta];
}

/** Ψ(c). @type {(state: State, c: number) => number} */
function psi({ kernel, n, depth, a1, a2, a3, a4 }, c) {
  if (kernel === "own") return 1 + a1 * c + a2 * c ** 2 + a3 * c ** 3 + a4 * c ** 4;
  if (kernel === "ck") return layers(c, depth)[0];
  if (kernel === "ntk") return layers(c, depth)[1];
  const squares = (/** @type {number} */ x) => n ** 2 / 4 + (n * x) / 2 + n / 4 + 1;
  return layers(squares(c) / squares(1), depth)[0];
}

/** The eigenvalues by Krawtchouk's sum. @type {(state: State) => Spectrum} */
function spectrum(state) {
  if (stored && stored[state.kernel]) return stored[state.kernel];
  const n = state.n;
  const values = Array.from({ length: n + 1 }, (_, j) => psi(state, 1 - (2 * j) / n));
  const mu = values.map((_, k) => {
    let row = [1]; // the coefficients of (1 − z)^k (1 + z)^{n−k}
    for (let i = 0; i < n; i++) {
      const sign = i < k ? -1 : 1;
      row = [...row, 0].map((a, j) => a + (j ? sign * row[j - 1] : 0));
    }
    return row.reduce((sum, number, j) => sum + number * values[j], 0) / 2 ** n;
  });
  const top = Math.max(...mu.map(Math.abs));
  const mean = mu.map((value) => (Math.abs(value) < 1e-13 * top ? 0 : value));
  return { mean, low: mean, high: mean, leak: 0 };
}

/** Whether each degree is at most the one two below it, in words. @type {(mu: number[]) => string} */
function judged(mu) {
  const slack = 1e-12 * Math.max(...mu.map(Math.abs));
  const broken = mu.map((_, k) => k).filter((k) => k + 2 < mu.length && mu[k + 2] > mu[k] + slack);
  if (!broken.length) return "No degree has a larger eigenvalue than the one two below it.";
  return `Out of order: ${broken.map((k) => `degree ${k + 2} is above degree ${k}`).join(", ")}.`;
}

/** A small or large number in a table. @type {(value: number) => string} */
function short(value) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 0.001 && Math.abs(value) < 1000) return String(Number(value.toPrecision(3))).replace("-", "−");
  const [digits, power] = value.toExponential(1).split("e");
  const raised = [...String(Number(power))].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"["0123456789".indexOf(d)] ?? "⁻").join("");
  return `${digits.replace("-", "−")}·10${raised}`;
}

const OVER = Math.exp(50); // what has grown further is not computed
/** A share not yet learnt. @type {(share: number) => string} */
const shared = (share) => (share >= OVER ? "over 10²¹" : short(share));

// ---------------------------------------------------------------------------------------------- the page

const inner = WIDE - EDGE.left - EDGE.right;
const high = TALL - EDGE.top - EDGE.bottom;
/** @type {(points: [number, number][]) => string} */
const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
/** @type {(value: number) => number} */
const height = (value) => {
  const power = value === 0 ? LEAST : Math.max(LEAST, Math.min(MOST, Math.log10(Math.abs(value))));
  return EDGE.top + (high * (MOST - power)) / (MOST - LEAST);
};
/** @type {(k: number) => string} */
const parity = (k) => (k % 2 ? "fx-odd" : "fx-even");
const RAISED = { 1: "10", "-2": "10⁻²", "-5": "10⁻⁵", "-8": "0" };

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  const LABELS = /** @type {Record<string, string>} */ ({
    n: "Bits n",
    depth: "Layers of ReLUs",
    a1: "Coefficient of c",
    a2: "Coefficient of c²",
    a3: "Coefficient of c³",
    a4: "Coefficient of c⁴",
    time: "Time t = 10ᵏ, k =",
  });
  const kernel = select({
    label: "Kernel",
    choices: options("kernel"),
    onChange: (kernel) => explorer.change({ kernel }),
  });
  kernel.root.classList.add("fx-wide");
  const sliders = Object.fromEntries(
    Object.entries(LABELS).map(([key, label]) => [
      key,
      slider({ label, ...bounds(key), onInput: (value) => explorer.change({ [key]: value }) }),
    ]),
  );
  const plot = svg("svg", { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` });
  const flow = svg("svg", { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` });
  const verdict = h("strong", { "data-value": "verdict" });
  const leak = h("span");
  const mixed = h(
    "span",
    {},
    " Sets of one size differ (bars), and beside the constant ",
    leak,
    " % of the kernel, in squares, mixes different sets. So these are means over sets, not eigenvalues, and the " +
      "curves only show what such means would give.",
  );
  const table = h("table", {});
  el.append(
    h(
      "div",
      { class: "fx-box fx-kernels" },
      h("div", { class: "fx-controls" }, kernel.root, ...Object.values(sliders).map((one) => one.root)),
      h(
        "div",
        { class: "fx-halves" },
        h("div", {}, h("p", { class: "fx-title" }, "Eigenvalue μ by degree (logarithmic axis)"), plot),
        h("div", {}, h("p", { class: "fx-title" }, "Share not yet learnt, e to the −μt, by degree"), flow),
      ),
      h("p", { class: "fx-sentence", role: "status" }, verdict, mixed),
      h(
        "div",
        { style: "overflow-x: auto", tabindex: 0, role: "region", "aria-label": "All numbers, by degree" },
        table,
      ),
      h(
        "p",
        { class: "fx-hint" },
        "Discs and full lines: even degrees; squares and dashes: odd ones. Hollow marks are negative or zero: what " +
          "belongs to them is never learnt, or grows. The theorem compares only neighbours on the same line.",
      ),
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ state) => {
    kernel.show(state.kernel);
    for (const [key, one] of Object.entries(sliders)) {
      one.root.hidden = !counts(key, state);
      one.show(state[/** @type {"n"} */ (key)], { key });
    }
    const { mean, low, high: most, leak: off } = spectrum(state);
    const n = mean.length - 1;
    const isStored = Boolean(stored && stored[state.kernel]);
    const across = (/** @type {number} */ k) => EDGE.left + (inner * (k + 0.5)) / (n + 1);
    const chain = (/** @type {number} */ odd) =>
      mean.map((value, k) => [k, value]).filter(([k, value]) => k % 2 === odd && value > 0);
    plot.replaceChildren(
      axes(
        FRAME,
        Object.entries(RAISED).map(([power, text]) => [
          height(Number(power) === LEAST ? 0 : 10 ** Number(power)),
          text,
        ]),
        mean.map((_, k) => [across(k), String(k)]),
        "degree k",
      ),
      ...[0, 1].map((odd) =>
        svg("path", { class: `fx-track ${parity(odd)}`, d: path(chain(odd).map(([k, v]) => [across(k), height(v)])) }),
      ),
      ...mean.flatMap((value, k) => {
        const x = across(k);
        const y = height(value);
        const look = { class: `fx-dot ${parity(k)}`, "data-below": value <= 0 };
        const bar = svg("line", {
          class: `fx-range ${parity(k)}`,
          x1: x,
          x2: x,
          y1: height(low[k]),
          y2: height(most[k]),
        });
        const mark =
          k % 2
            ? svg("rect", { ...look, x: x - 5, y: y - 5, width: 10, height: 10 })
            : svg("circle", { ...look, cx: x, cy: y, r: 6 });
        const sign = value < 0 ? [svg("text", { class: "fx-mid", x, y: y - 12 }, "negative")] : [];
        return [...(isStored ? [bar] : []), mark, ...sign];
      }),
    );
    attributes(plot, {
      "aria-label": `Eigenvalues of degrees 0 to ${n}: ${mean.map(short).join(", ")}. ${judged(mean)}`,
    });

    const { min, max } = bounds("time");
    const along = (/** @type {number} */ power) => EDGE.left + (inner * (power - min)) / (max - min);
    const down = (/** @type {number} */ share) => EDGE.top + high * (1 - Math.min(share, 1.15) / 1.15);
    const left = (/** @type {number} */ mu, /** @type {number} */ power) => Math.exp(Math.min(50, -mu * 10 ** power));
    const powers = Array.from({ length: 121 }, (_, i) => min + ((max - min) * i) / 120);
    const now = state.time;
    flow.replaceChildren(
      axes(
        FRAME,
        [0, 0.5, 1].map((share) => [down(share), String(share)]),
        ["-1", "1", "3", "5"].map((power) => [
          along(Number(power)),
          `10${power === "1" ? "" : { "-1": "⁻¹", 3: "³", 5: "⁵" }[power]}`,
        ]),
        "time t (logarithmic axis)",
      ),
      svg("line", { class: "fx-now", x1: along(now), x2: along(now), y1: EDGE.top, y2: down(0) }),
      ...mean.map((mu, k) =>
        svg("path", { class: `fx-track ${parity(k)}`, d: path(powers.map((p) => [along(p), down(left(mu, p))])) }),
      ),
      ...mean.flatMap((mu, k) => {
        const half = mu > 0 ? Math.log10(Math.LN2 / mu) : Infinity; // where its curve passes one half
        if (half < min || half > max || mean.some((other, j) => j < k && Math.abs(Math.log10(other / mu)) < 0.12))
          return [];
        return [svg("text", { class: `fx-degree ${parity(k)}`, x: along(half) + 5, y: down(0.5) - 6 }, String(k))];
      }),
    );
    attributes(flow, {
      "aria-label": `Share not yet learnt at time ten to the ${now}: ${mean
        .map((mu, k) => `degree ${k} ${shared(left(mu, now))}`)
        .join(", ")}`,
    });
    const row = (/** @type {string} */ title, /** @type {string} */ key, /** @type {number[]} */ values) => {
      const cells = values.map((value, k) => {
        const cell = h("td");
        put(cell, `${key}:${k}`, value, key === "left" ? shared(value) : short(value));
        return cell;
      });
      return h("tr", {}, h("th", { scope: "row" }, title), ...cells);
    };
    table.replaceChildren(
      h("tr", {}, h("th", { scope: "col" }, "degree"), ...mean.map((_, k) => h("th", { scope: "col" }, String(k)))),
      row(isStored ? "μ, mean over sets" : "μ", "mu", mean),
      ...(isStored ? [row("least", "low", low), row("largest", "high", most)] : []),
      row(
        "not yet learnt at t",
        "left",
        mean.map((mu) => left(mu, now)),
      ),
    );
    mixed.hidden = !isStored;
    if (isStored) put(leak, "leak", off, String(Number((100 * off).toPrecision(2))));
    verdict.textContent = judged(mean);
  });
  return explorer.start();
}

export default { render };
