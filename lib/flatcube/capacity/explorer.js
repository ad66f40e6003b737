// @ts-check
/**
 * The capacity calculator: what each matrix of an attention network adds to its covering number.
 *
 * State: { T, width: powers of 2, layers, score, value, output, readout: norms, m: a power of 10, form: of the
 * constants }. Losses are squared and clipped at 4, ε = 0.1, δ = 0.05.
 */
import { accept, bounds, connect, format, h, options, put, select, slider, whole } from "../classroom/explorers/kit.js";

/**
 * @typedef {{ T: number, width: number, layers: number, score: number, value: number, output: number, readout: number,
 *     m: number, form: string }} State
 */

const MATRICES = { score: "scores", value: "values", output: "outputs" };
const EPS = 0.1;
const DELTA = 0.05;
const CLIP = 4;
const LIPSCHITZ = 4;

// ---------------------------------------------------------------------------------------------- the bound

/** (size · reach)^(2/3) of every matrix, by name. @type {(state: State) => Record<string, number>} */
function parts({ width, layers, score, value, output, readout, form }) {
  const d = 2 ** width;
  const softmax = form === "explicit" ? 1 : 2;
  const stretch = output * value * (1 + 2 * softmax * score);
  const products = /** @type {Record<string, number>} */ ({ "read-out": readout });
  for (let i = 1; i <= layers; i++) {
    const passed = form === "printed" ? stretch ** (i - 1) : readout * stretch ** (layers - i);
    products[`layer ${i} score`] = d * score * softmax * value * output * passed;
    products[`layer ${i} value`] = d * value * output * passed;
    products[`layer ${i} output`] = d * output * passed;
  }
  return Object.fromEntries(Object.entries(products).map(([name, product]) => [name, Math.cbrt(product) ** 2]));
}

/** C in log N = C/ε² on m inputs. @type {(state: State, total: number, m: number) => number} */
const capacity = ({ T, form }, total, m) =>
  total ** 3 * Math.log(form === "explicit" ? 2 * m * 2 ** T + 1 : m * 2 ** T);

/** What |risk − training loss| is at most. @type {(state: State, total: number, m: number) => number} */
function gap(state, total, m) {
  const [start, slope, factor, times, events] = state.form === "explicit" ? [4, 12, 2, 3, 3] : [1, 1, 4, 2, 1];
  const root = Math.sqrt(capacity(state, total, m) / m);
  const cut = Math.min((slope / start) * root, state.readout);
  const complexity = start * cut + slope * root * Math.log(state.readout / cut);
  return factor * LIPSCHITZ * complexity + times * CLIP * Math.sqrt(Math.log(events / DELTA) / (2 * m));
}

/** log₁₀ of the m from which on the gap is below 1. @type {(state: State, total: number) => number} */
function needed(state, total) {
  let low = 0;
  let high = 60;
  while (high - low > 1e-10) {
    const middle = (low + high) / 2;
    if (gap(state, total, 10 ** middle) <= 1) high = middle;
    else low = middle;
  }
  return high;
}

// ---------------------------------------------------------------------------------------------- the page

/**
 * One layer's row of shares.
 * @type {(title: string) => { root: any, show(cells: { key: string, share: number, text: string,
 *     series: number }[]): void }}
 */
function stack(title) {
  const bar = h("div", { class: "fx-shares", role: "img" });
  return {
    root: h("div", { class: "fx-stack" }, h("span", { "aria-hidden": "true" }, title), bar),
    show(cells) {
      bar.replaceChildren(
        ...cells.map(({ key, share, text, series }) => {
          const part = h("span", { "data-series": series, style: `width: ${share}%` });
          put(part, `share:${key}`, share, share > 12 ? whole(`${text} ${format(share, 0)} %`) : "");
          return part;
        }),
      );
      bar.setAttribute(
        "aria-label",
        `${title}: ${cells.map(({ text, share }) => `${text} ${format(share, 1)} per cent`).join(", ")}`,
      );
    },
  };
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  const LABELS = /** @type {Record<string, (state: State) => string>} */ ({
    T: (s) => `Tokens 2ᵏ = ${(2 ** s.T).toLocaleString("en")}, k =`,
    width: (s) => `Channels 2ᵏ = ${2 ** s.width}, k =`,
    layers: () => "Layers",
    score: () => "Norm of the scores",
    value: () => "Norm of the values",
    output: () => "Norm of the outputs",
    readout: () => "Norm of the read-out",
    m: () => "Inputs m = 10ᵏ, k =",
  });
  const sliders = Object.fromEntries(
    Object.keys(LABELS).map((key) => [
      key,
      slider({ label: key, ...bounds(key), onInput: (value) => explorer.change({ [key]: value }) }),
    ]),
  );
  const form = select({
    label: "Constants",
    choices: options("form"),
    onChange: (form) => explorer.change({ form }),
  });
  const rows = h("div", { class: "fx-stacks" });
  const facts = { "log-number": h("dd"), gap: h("dd"), needed: h("dd") };
  const names = {
    "log-number": "log₁₀ of log N at ε = 0.1",
    gap: "gap at most",
    needed: "gap below 1 from m = 10 to the power",
  };
  const verdict = h("b", { "data-value": "verdict" });
  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls" }, form.root, ...Object.values(sliders).map((one) => one.root)),
      h("p", { class: "fx-title fx-space" }, "Who fills the cover: shares of log N"),
      rows,
      h(
        "div",
        { role: "status", class: "fx-space" },
        h(
          "dl",
          { class: "fx-facts" },
          ...Object.entries(facts).map(([key, dd]) => h("div", {}, h("dt", {}, names[/** @type {"gap"} */ (key)]), dd)),
        ),
      ),
      h(
        "p",
        { class: "fx-sentence" },
        "Outputs are at most as large as the norm of the read-out; losses are squared and clipped at 4. ",
        "A constant guess has a loss of about 1, so a gap above that is of no use. ",
        verdict,
      ),
    ),
  );

  const explorer = connect(model, el, accept, (/** @type {State} */ state) => {
    form.show(state.form);
    for (const [key, one] of Object.entries(sliders)) {
      one.show(state[/** @type {"T"} */ (key)], { key });
      one.label(LABELS[key](state));
    }
    const found = parts(state);
    const total = Object.values(found).reduce((sum, part) => sum + part, 0);
    const m = 10 ** state.m;
    const share = (/** @type {string} */ key) => (100 * found[key]) / total;
    const stacks = Array.from({ length: state.layers }, (_, i) => {
      const row = stack(`layer ${i + 1}`);
      row.show(
        Object.entries(MATRICES).map(([kind, text], at) => ({
          key: `layer ${i + 1} ${kind}`,
          share: share(`layer ${i + 1} ${kind}`),
          text,
          series: at + 1,
        })),
      );
      return row.root;
    });
    const last = stack("read-out");
    last.show([{ key: "read-out", share: share("read-out"), text: "read-out", series: 4 }]);
    rows.replaceChildren(...stacks, last.root);
    const bound = gap(state, total, m);
    put(facts["log-number"], "log-number", Math.log10(capacity(state, total, m) / EPS ** 2));
    put(facts.gap, "gap", bound);
    put(facts.needed, "needed", needed(state, total));
    verdict.textContent = bound < 1 ? "It says something." : "It says nothing.";
  });
  return explorer.start();
}

export default { render };
