// @ts-check
/**
 * The cube explorer: a Boolean function on the corners of the cube, next to one parity χ_S.
 *
 * State: { n: dimensions, name: a key of `named` or "custom", table: 2^n characters "-" (true) and "+" (only for
 * custom, else ""), subset: the members of S in increasing order }.
 */
import {
  accept,
  bars,
  bits,
  bounds,
  character,
  connect,
  h,
  hypercube,
  mark,
  members,
  named,
  options,
  popcount,
  put,
  select,
  slider,
  strip,
  subsetName,
  svg,
  transform,
} from "../classroom/explorers/kit.js";

/** @typedef {{ n: number, name: string, table: string, subset: number[] }} State */

/** @type {(state: State) => Float64Array} */
const tableOfState = ({ n, name, table }) =>
  name === "custom" ? Float64Array.from(table, (sign) => (sign === "-" ? -1 : 1)) : named[name](n, 0);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { n, name, table, subset } = accept(given);
  if (name === "custom" && !(/^[-+]*$/.test(table) && table.length === 1 << n))
    throw new Error(`table: expected ${1 << n} signs + and -, got ${table}`);
  return { n, name, table: name === "custom" ? table : "", subset: members(mask(subset) & ((1 << n) - 1)) };
}

/** @type {(subset: number[]) => number} */
const mask = (subset) => subset.reduce((sum, i) => sum | (1 << (i - 1)), 0);
/** A point in words. @type {(k: number, n: number) => string} */
const point = (k, n) => `corner ${bits(k, n)}`;
/** @type {(value: number) => string} */
const said = (value) => (value < 0 ? "−1" : "+1");
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Turn the cube gently into place, once. @type {(turn: (angle: number) => void) => void} */
function settle(turn) {
  if (calm()) return;
  const begin = performance.now();
  const lasting = 1400;
  const from = -0.42;
  turn(from);
  const frame = (/** @type {number} */ now) => {
    const past = Math.min(1, Math.max(0, (now - begin) / lasting));
    turn(past === 1 ? 0 : from * (1 - past) ** 3);
    if (past < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/** What the marks mean. */
const legend = () =>
  h(
    "p",
    { class: "fx-key" },
    h("span", {}, mark(-1, -1), "−1, true"),
    h("span", {}, mark(1, 1), "+1, false"),
    h("span", {}, mark(-1, 1), h("span", {}, "f is −1, χ", h("sub", {}, "S"), " is +1")),
    h("span", {}, mark(1, -1), h("span", {}, "f is +1, χ", h("sub", {}, "S"), " is −1")),
    h(
      "span",
      {},
      svg(
        "svg",
        { viewBox: "-16 -16 32 32", "aria-hidden": "true", class: "fx-edges" },
        svg("line", { x1: -15, x2: 15, "data-look": "crossing" }),
      ),
      h("span", {}, "χ", h("sub", {}, "S"), " changes sign"),
    ),
  );

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const picked = () => mask(state.subset);
  const pick = (/** @type {number} */ S) => explorer.change({ subset: members(S) });
  const order = () =>
    Array.from({ length: 1 << state.n }, (_, S) => S).sort((a, b) => popcount(a) - popcount(b) || a - b);

  const size = slider({
    label: "Dimensions",
    ...bounds("n"),
    onInput: (n) =>
      explorer.change({ n, ...(state.name === "custom" && { table: state.table.repeat(8).slice(0, 1 << n) }) }),
  });
  const chooser = select({
    label: "Function",
    choices: options("name"),
    onChange: (name) => explorer.change({ name, table: signs(tableOfState(state)) }),
  });
  const toggles = strip({ label: "Variables in the subset S", onPress: (i) => pick(picked() ^ (1 << i)) });
  const cube = hypercube({
    label: "The corners of the cube",
    hint: "Press a corner to flip it; number keys walk along an edge.",
    onPress: (k) => {
      const table = tableOfState(state);
      table[k] = -table[k];
      explorer.change({ name: "custom", table: signs(table) });
    },
  });
  const spectrum = bars({ label: "Correlation with each parity", onPick: (at) => pick(order()[at]) });
  const number = h("span", { class: "fx-large" });
  const subset = h("span");
  const agree = h("b");
  const differ = h("b");
  const corners = h("b");

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h(
        "div",
        { class: "fx-pair" },
        h("div", {}, cube.root, legend()),
        h(
          "div",
          { class: "fx-side" },
          h(
            "div",
            { class: "fx-controls" },
            chooser.root,
            size.root,
            h(
              "div",
              { class: "fx-control fx-wide" },
              h(
                "span",
                { class: "fx-label", "aria-hidden": "true" },
                "Compare it with the parity χ",
                h("sub", {}, "S"),
                " of these variables",
              ),
              toggles.root,
            ),
          ),
          h(
            "div",
            { role: "status" },
            h("p", { class: "fx-equation" }, h("i", {}, "f̂"), "(", subset, ") = ", number),
            h(
              "p",
              { class: "fx-sentence" },
              "The two agree at ",
              agree,
              " of the ",
              corners,
              " corners and differ at ",
              differ,
              ".",
            ),
          ),
          h("div", {}, h("p", { class: "fx-title" }, "All correlations f̂(S); press one to compare"), spectrum.root),
        ),
      ),
    ),
  );

  /** @type {(next: State) => void} */
  function draw(next) {
    state = next;
    const { n, name } = state;
    const S = picked();
    const table = tableOfState(state);
    const coefficients = transform(table.slice());
    size.show(n);
    chooser.show(name);
    toggles.show(
      Array.from({ length: n }, (_, i) => ({
        key: `in:${i + 1}`,
        name: `x${i + 1}`,
        text: `x${"₁₂₃₄₅"[i]}`,
        value: (S >> i) & 1,
        pressed: Boolean((S >> i) & 1),
      })),
    );
    cube.show(
      [...table].map((value, k) => {
        const other = character(S, k);
        return {
          key: `f:${k}`,
          value,
          other,
          name: `${point(k, n)}: f is ${said(value)}, the parity is ${said(other)}`,
        };
      }),
      S,
    );
    put(number, "correlation", coefficients[S]);
    subset.textContent = subsetName(S);
    const same = table.reduce((sum, value, k) => sum + (value === character(S, k) ? 1 : 0), 0);
    put(agree, "agree", same);
    put(differ, "differ", table.length - same);
    put(corners, "corners", table.length);
    spectrum.show(
      order().map((T) => ({
        key: `c:${T}`,
        value: coefficients[T],
        pressed: T === S,
        look: T === S ? "weight picked" : "weight",
        text: members(T).join("") || "∅",
        name: `S = ${subsetName(T)}, correlation ${coefficients[T].toFixed(3)}`,
      })),
    );
  }

  const explorer = connect(model, el, clean, draw);
  const stop = explorer.start();
  settle(cube.turn);
  return stop;
}

/** @type {(table: Float64Array) => string} */
const signs = (table) => [...table].map((value) => (value < 0 ? "-" : "+")).join("");

export default { render };
