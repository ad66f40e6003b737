// @ts-check
/**
 * Huang's theorem as a game: choose points of the cube and see how many neighbours they have among themselves.
 *
 * State: { n: dimensions, choice: "spread", "even", "extra" or "custom", members: 2^n characters, "-" for a chosen
 * point and "+" for any other (only for custom, else "") }.
 */
import {
  accept,
  bits,
  bounds,
  connect,
  formula,
  format,
  h,
  hypercube,
  named,
  options,
  popcount,
  put,
  select,
  slider,
} from "../../classroom/explorers/kit.js";

/** @typedef {{ n: number, choice: string, members: string }} State */

/** Functions of full degree whose maximum sensitivity is ⌈√n⌉. @type {Record<number, string>} */
const SENSITIVE = { 3: "x1 & x2 | x3", 4: "x1 & x2 | x3 & x4", 5: "x1 & x2 | x3 & x4 & x5" };

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { n, choice, members } = accept(given);
  if (choice === "custom" && !(members.length === 1 << n && /^[+-]*$/.test(members)))
    throw new Error(`members: expected ${1 << n} signs`);
  return { n, choice, members: choice === "custom" ? members : "" };
}

/** Which points are in H. @type {(state: State) => boolean[]} */
function chosen({ n, choice, members }) {
  if (choice === "custom") return [...members].map((sign) => sign === "-");
  const points = Array.from({ length: 1 << n }, (_, k) => k);
  if (choice !== "spread") return points.map((k) => popcount(k) % 2 === 0 || (choice === "extra" && k === 1));
  const parity = named.parity(n, 0);
  const signs = formula(SENSITIVE[n], n).map((value, k) => value * parity[k]);
  const sum = signs.reduce((total, value) => total + value, 0);
  return points.map((k) => signs[k] * sum > 0);
}

/** What the theorem says of so many points. @type {(size: number, n: number, most: number) => string} */
function verdict(size, n, most) {
  const half = 1 << (n - 1);
  const root = format(Math.sqrt(n), 2);
  if (size <= half)
    return `Not more than half of the points: the theorem promises nothing. The most neighbours here: ${most}.`;
  const least = Math.ceil(Math.sqrt(n));
  const tight = most === least ? " No set of more than half can do with fewer." : "";
  const number = least ** 2 === n ? `√${n} = ${least}` : `√${n} ≈ ${root}, so ${least},`;
  const must = `some point must have at least ${number} neighbours in H.`;
  return `More than half of the points: ${must}${tight}`;
}

/** @param {{ model: import("../../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const chooser = select({
    label: "Points",
    choices: options("choice"),
    onChange: (choice) => explorer.change({ choice, members: kept(chosen(state)) }),
  });
  const size = slider({
    label: "Dimensions",
    ...bounds("n"),
    onInput: (n) => explorer.change({ n, choice: state.choice === "custom" ? "spread" : state.choice }),
  });
  const cube = hypercube({
    label: "The corners of the cube; chosen ones show how many of their neighbours are chosen",
    hint: "Press a corner to put it into H or to take it out; number keys walk along an edge.",
    onPress: (k) => {
      const next = chosen(state).map((is, at) => (at === k ? !is : is));
      explorer.change({ choice: "custom", members: kept(next) });
    },
  });
  const count = h("b");
  const half = h("b");
  const most = h("b");
  const root = h("b");
  const words = h("p", { class: "fx-sentence", role: "status" });

  /** @type {(members: boolean[]) => string} */
  const kept = (members) => members.map((is) => (is ? "-" : "+")).join("");

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h(
        "div",
        { class: "fx-pair" },
        h("div", {}, cube.root),
        h(
          "div",
          { class: "fx-side" },
          h("div", { class: "fx-controls" }, chooser.root, size.root),
          h("p", { class: "fx-sentence" }, "H has ", count, " points; half of the cube are ", half, "."),
          h("p", { class: "fx-sentence" }, "Most neighbours inside H: ", most, ", to compare with √n = ", root, "."),
          words,
        ),
      ),
    ),
  );

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const { n } = state;
    const members = chosen(state);
    const near = (/** @type {number} */ k) =>
      members[k] ? Array.from({ length: n }, (_, i) => k ^ (1 << i)).filter((m) => members[m]).length : 0;
    const inside = members.map((_, k) => near(k));
    const total = members.filter(Boolean).length;
    const largest = Math.max(...inside);
    chooser.show(state.choice);
    size.show(n);
    cube.show(
      members.map((is, k) => ({
        key: `m:${k}`,
        value: is ? -1 : 1,
        other: is ? -1 : 1,
        score: { key: `d:${k}`, value: inside[k], text: is ? String(inside[k]) : "" },
        name: `corner ${bits(k, n)}: ${is ? `in H, with ${inside[k]} neighbours in H` : "not in H"}`,
      })),
      0,
      (k, i) => ({ "data-look": members[k] && members[k ^ (1 << i)] ? "lit" : "" }),
    );
    put(count, "size", total);
    put(half, "half", 1 << (n - 1));
    put(most, "most", largest);
    put(root, "root", Math.sqrt(n));
    words.textContent = verdict(total, n, largest);
  });
  return explorer.start();
}

export default { render };
