// @ts-check
/**
 * Networks that saw a part of the cube: target, errors, where the risk sits, norm and curvature, and what bounds say.
 *
 * State: { m: how many inputs were shown, degree, sparsity, seed: which network }. The numbers are those of
 * data/gap.csv.
 */
import {
  accept,
  attributes,
  bars,
  bounds,
  connect,
  h,
  members,
  options,
  put,
  select,
  slider,
  stored,
  subsetName,
  svg,
} from "../classroom/explorers/kit.js";

/** @typedef {{ m: number, degree: number, sparsity: number, seed: number }} State */
/**
 * @typedef {{ m: number, degree: number, sparsity: number, seed: number, fitted: boolean,
 *     coefficients: Record<string, number>, numbers: Record<string, number>, bounds: Record<string, number> }} Network
 */

const KEPT = ["train", "test", "own", "low", "above", "sensitivity", "norm2", "hand_norm2", "moved2", "trace"].concat([
  "hand_trace",
  "ended",
]);
const NETWORKS = /** @type {Network[]} */ (
  stored.map((/** @type {any} */ [m, degree, sparsity, seed, fitted, coefficients, numbers, limits]) => ({
    m,
    degree,
    sparsity,
    seed,
    fitted,
    coefficients,
    numbers: Object.fromEntries(KEPT.map((key, at) => [key, numbers[at]])),
    bounds: limits,
  }))
);
const PARTS = /** @type {[string, string, string][]} */ ([
  ["own", "weights", "wrong weights for the target's components"],
  ["low", "up to d", "other components up to the target's degree"],
  ["above", "above d", "components of higher degree"],
]);
const RUNGS = /** @type {[string, string][]} */ ([
  ["train", "error, shown"],
  ["test", "error, hidden"],
  ["truncated", "truncated, this network"],
  ["oracle", "truncated, hand-built"],
  ["certificate", "certificate"],
]);
const LOW = -6;
const HIGH = 2;
const TALL = 22;

/** A number in two or three digits. @type {(value: number) => string} */
function short(value) {
  if (value >= 1000) return value.toFixed(0);
  if (value === 0 || value >= 1e-3) return String(Number(value.toPrecision(3)));
  const [digits, power] = value.toExponential(1).split("e-");
  return `${digits} · 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
}
/** Where a number stands on the scale, in percent. @type {(value: number) => string} */
const place = (value) => `${(100 * (Math.min(HIGH, Math.max(LOW, Math.log10(value))) - LOW)) / (HIGH - LOW)}%`;

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  const menus = /** @type {[string, "m" | "sparsity"][]} */ ([
    ["Inputs shown", "m"],
    ["Components w", "sparsity"],
  ]).map(([label, key]) => ({
    key,
    ...select({
      label,
      choices: options(key),
      onChange: (text) => explorer.change({ [key]: Number(text) }),
    }),
  }));
  const sliders = /** @type {[string, "degree" | "seed"][]} */ ([
    ["Degree d", "degree"],
    ["Function and network", "seed"],
  ]).map(([label, key]) => ({
    key,
    ...slider({ label, ...bounds(key), onInput: (value) => explorer.change({ [key]: value }) }),
  }));
  const target = bars({ label: "Coefficients of the target" });
  const parts = bars({ label: "Where the risk sits" });
  const rungs = RUNGS.map(([key, text]) => {
    const mark = key === "train" || key === "test" ? svg("circle", { r: 6, cy: TALL / 2 }) : svg("rect", {});
    const one = svg("line", { class: "fx-one", x1: place(1), x2: place(1), y1: 0, y2: TALL });
    const line = svg("line", { x1: 0, x2: "100%", y1: TALL / 2, y2: TALL / 2 });
    const plot = svg("svg", { height: TALL, "aria-hidden": "true" }, line, one, mark);
    const number = h("span");
    return { key, mark, number, root: h("div", { class: "fx-rung" }, h("span", {}, text), plot, number) };
  });
  const scale = svg(
    "svg",
    { class: "fx-scale", height: 16, "aria-hidden": "true" },
    ...[
      [1e-6, "10⁻⁶"],
      [1e-3, "10⁻³"],
      [1, "1"],
      [100, "100"],
    ].map(([value, text]) => svg("text", { x: place(Number(value)), y: 12 }, String(text))),
  );
  const cell = (/** @type {string} */ key) => ({ key, node: h("td") });
  const cells = ["norm2", "hand_norm2", "trace", "hand_trace", "moved2", "sensitivity"].map(cell);
  const row = (/** @type {string} */ text, /** @type {any[]} */ ...nodes) =>
    h("tr", {}, h("th", { scope: "row" }, text), ...nodes);
  const head = ["", "this network", "hand-built"].map((text) => h("th", { scope: "col" }, text));
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...head)),
    h(
      "tbody",
      {},
      row("‖θ‖²", cells[0].node, cells[1].node),
      row("trace", cells[2].node, cells[3].node),
      row("‖θ − θ₀‖²", cells[4].node, h("td", {}, "–")),
      row("sensitivity", cells[5].node, h("td")),
    ),
  );
  const built = table.querySelectorAll("tr:last-child td")[1];
  const end = h("b", { "data-value": "end" });
  const ended = h("b");
  const said = h("span", { "data-value": "said" });
  const bits = h("span");
  const which = h("span");
  const title = (/** @type {string} */ text) => h("p", { class: "fx-title" }, text);
  el.append(
    h(
      "div",
      { class: "fx-box fx-gap" },
      h("div", { class: "fx-controls" }, ...sliders.map(({ root }) => root), ...menus.map(({ root }) => root)),
      h(
        "div",
        { class: "fx-halves" },
        h("div", {}, title("Coefficients of the target, without the constant"), target.root),
        h("div", {}, title("Where the risk sits, in shares"), parts.root),
        h(
          "div",
          {},
          title("Errors (discs) and bounds (squares); broken line: the risk of a constant"),
          h("div", { class: "fx-rungs" }, ...rungs.map(({ root }) => root), h("span"), scale, h("span")),
        ),
        h("div", {}, title("Norm, curvature and sensitivity"), table),
      ),
      h(
        "p",
        { class: "fx-sentence", role: "status" },
        bits,
        which,
        " ",
        end,
        "; training ended after ",
        ended,
        " steps. ",
        said,
      ),
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ state) => {
    const own = /** @type {Network} */ (
      NETWORKS.find((one) => Object.entries(state).every(([key, value]) => one[/** @type {"m"} */ (key)] === value))
    );
    for (const { key, show } of sliders) show(state[key], { key });
    for (const { key, show } of menus) show(String(state[key]));
    const sets = Object.entries(own.coefficients);
    target.show(
      sets.map(([mask, value]) => ({
        key: `coefficient:${mask}`,
        name: `${subsetName(Number(mask))}: ${short(value)}`,
        value,
        text: members(Number(mask)).join(" "),
        look: "weight",
      })),
      { low: 0, high: 1 },
    );
    const risk = PARTS.reduce((sum, [key]) => sum + own.numbers[key], 0);
    parts.show(
      PARTS.map(([key, text, name], at) => ({
        key: `share:${key}`,
        name: `${name}: ${Math.round((100 * own.numbers[key]) / risk)} per cent`,
        value: own.numbers[key] / risk,
        text,
        series: at + 1,
      })),
      { low: 0, high: 1, values: true },
    );
    for (const { key, mark, number, root } of rungs) {
      const value = own.numbers[key] ?? own.bounds[key];
      root.hidden = value === undefined;
      if (root.hidden) continue;
      put(number, key, value, short(value));
      const x = place(value);
      if (mark.localName === "circle") attributes(mark, { cx: x });
      else attributes(mark, { x, y: TALL / 2 - 6, width: 12, height: 12, transform: "translate(-6 0)" });
    }
    for (const { key, node } of cells) put(node, key, own.numbers[key], short(own.numbers[key]));
    built.textContent = String(state.degree);
    put(bits, "bits", state.m === 2048 ? 16 : 12);
    which.textContent =
      ` bits, degree ${state.degree}, ${state.sparsity} component${state.sparsity === 1 ? "" : "s"}, ` +
      `${state.m} inputs shown: network ${state.seed}`;
    end.textContent = own.fitted ? "fitted its examples" : "did not fit its examples";
    put(ended, "ended", own.numbers.ended);
    const limits = Object.values(own.bounds);
    const useful = limits.filter((value) => value < 1).length;
    said.textContent = own.fitted
      ? `Bounds below 1, the risk of a constant: ${useful || "none"} of ${limits.length}.`
      : `Only the certificate applies, and it is ${useful ? "" : "not "}below 1, the risk of a constant.`;
  });
  return explorer.start();
}

export default { render };
