// @ts-check
/**
 * The fast transform of three bits, pass by pass, as the reader drives it.
 *
 * State: { choice: "majority", "parity", "first", "conjunction" or "custom", table: 8 characters, "-" for true and "+"
 * for false (only for custom, else ""), done: passes that were made, 4 with the division, column and entry: the number
 * that is traced back to the table (column 0: none) }.
 */
import {
  accept,
  attributes,
  bits,
  connect,
  format,
  h,
  look,
  members,
  named,
  options,
  put,
  select,
  strip,
  subsetName,
  svg,
} from "../../classroom/explorers/kit.js";

/** @typedef {{ choice: string, table: string, done: number, column: number, entry: number }} State */

const N = 3;
const SIZE = 1 << N;
const LAST = N + 1; // the column of coefficients
const HEADS = ["values", "pass 1", "pass 2", "pass 3", `÷ ${SIZE}`];
const APART = ["neighbours", "entries two apart", "entries four apart"];
const MASKS = Array.from({ length: SIZE }, (_, k) => k);

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { choice, table, done, column, entry } = accept(given);
  if (choice === "custom" && !(table.length === SIZE && /^[+-]*$/.test(table)))
    throw new Error(`table: expected ${SIZE} signs`);
  const traced = column > 0 && column <= done;
  return {
    choice,
    table: choice === "custom" ? table : "",
    done,
    column: traced ? column : 0,
    entry: traced ? entry : 0,
  };
}

/** The table, what it is after each pass, and the coefficients. @type {(state: State) => number[][]} */
function columnsOf({ choice, table }) {
  const values = choice === "custom" ? [...table].map((sign) => (sign === "-" ? -1 : 1)) : [...named[choice](N, 0)];
  const columns = [values];
  for (let step = 0; step < N; step++) {
    const old = columns[step];
    const bit = 1 << step;
    columns.push(MASKS.map((k) => (k & bit ? old[k ^ bit] - old[k] : old[k] + old[k ^ bit])));
  }
  return [...columns, columns[N].map((sum) => sum / SIZE)];
}

/** Whether entry k of a column goes into the traced number. @type {(state: State, at: number, k: number) => boolean} */
function feeds({ column, entry }, at, k) {
  if (!column || at > column) return false;
  const passes = Math.min(column, N);
  const mixed = ((1 << passes) - 1) & ~((1 << Math.min(at, N)) - 1); // bits along which the passes in between add
  return ((k ^ entry) & ~mixed) === 0;
}

/** A number inside a calculation. @type {(value: number) => string} */
const inner = (value) => (value < 0 ? `(${format(value)})` : format(value));

/** How a number came about, or what comes next. @type {(state: State, columns: number[][]) => string} */
function story({ done, column, entry }, columns) {
  if (column === LAST) {
    const sum = columns[N][entry];
    return `f̂(${subsetName(entry)}) = ${format(sum)} / ${SIZE} = ${format(columns[LAST][entry])}.`;
  }
  if (column) {
    const bit = 1 << (column - 1);
    const [low, high] = [entry & ~bit, entry | bit];
    const [a, b] = [low, high].map((k) => columns[column - 1][k]);
    const sign = entry & bit ? "−" : "+";
    const from = `entry ${low} ${sign === "+" ? "plus" : "minus"} entry ${high} of the column before`;
    const sum = `${format(a)} ${sign} ${inner(b)} = ${format(columns[column][entry])}`;
    return `Pass ${column}, entry ${entry}: ${sum}, ${from}. It holds ${1 << column} of the ${SIZE} values.`;
  }
  if (done < N) return `In pass ${done + 1} ${APART[done]} meet: they become their sum and their difference.`;
  if (done === N) return `Every entry now is a sum over all ${SIZE} values. What is left is the division.`;
  return "These are the Fourier coefficients, in the order of masks.";
}

/** @param {{ model: import("../../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const chooser = select({
    label: "Function",
    choices: options("choice"),
    onChange: (choice) => explorer.change({ choice, table: kept(columnsOf(state)[0]) }),
  });
  const button = (/** @type {string} */ text, /** @type {number} */ step) =>
    h(
      "button",
      { type: "button", class: "fx-button", click: () => explorer.change({ done: state.done + step }) },
      text,
    );
  const back = button("Back", -1);
  const next = button("", 1);
  const strips = HEADS.map((head, at) =>
    strip({
      label: at ? `Numbers after ${at === LAST ? "the division" : head}` : "The table of f",
      onPress: (k) => (at ? trace(at, k) : flip(k)),
    }),
  );
  const wires = APART.map(() =>
    svg("svg", { class: "fx-wires", viewBox: `0 0 1 ${SIZE}`, preserveAspectRatio: "none", "aria-hidden": "true" }),
  );
  const count = h("b");
  const words = h("p", { class: "fx-sentence", role: "status" });

  /** @type {(values: number[]) => string} */
  const kept = (values) => values.map((value) => (value < 0 ? "-" : "+")).join("");
  /** @type {(k: number) => void} */
  function flip(k) {
    const values = columnsOf(state)[0].map((value, at) => (at === k ? -value : value));
    explorer.change({ choice: "custom", table: kept(values) });
  }
  /** @type {(column: number, entry: number) => void} */
  function trace(column, entry) {
    const again = state.column === column && state.entry === entry;
    explorer.change(again ? { column: 0, entry: 0 } : { column, entry });
  }
  /** A list of names beside the rows. @type {(names: string[]) => any} */
  const names = (names) =>
    h("div", { class: "fx-rows", "aria-hidden": "true" }, ...names.map((name) => h("span", {}, name)));

  el.append(
    h(
      "div",
      { class: "fx-box" },
      h("div", { class: "fx-controls fx-drive" }, chooser.root, h("div", { class: "fx-buttons" }, back, next)),
      h(
        "p",
        { class: "fx-hint" },
        "Press a value on the left to flip it, any other number to see where it comes from.",
      ),
      h(
        "div",
        { class: "fx-passes" },
        names(MASKS.map(String)),
        ...HEADS.flatMap((head, at) => [
          h("div", { class: "fx-pass" }, h("p", { class: "fx-title" }, head), strips[at].root),
          ...(wires[at] ? [wires[at]] : []),
        ]),
        names(MASKS.map((mask) => members(mask).join("") || "∅")),
      ),
      words,
      h("p", { class: "fx-sentence" }, "Additions and subtractions so far: ", count),
    ),
  );

  function showWires() {
    wires.forEach((wire, step) => {
      const made = step < state.done;
      const lines = made ? MASKS.flatMap((k) => [k, k ^ (1 << step)].map((from) => ({ from, to: k }))) : [];
      wire.replaceChildren(
        ...lines.map(({ from, to }) =>
          svg("line", {
            x1: 0,
            x2: 1,
            y1: from + 0.5,
            y2: to + 0.5,
            "data-look": feeds(state, step, from) && feeds(state, step + 1, to) ? "fed" : state.column ? "faint" : "",
            "data-sign": from & to & (1 << step) ? "minus" : "plus",
          }),
        ),
      );
    });
  }

  const explorer = connect(model, el, clean, (given) => {
    state = given;
    const { choice, done, column, entry } = state;
    const columns = columnsOf(state);
    chooser.show(choice);
    back.disabled = done === 0;
    next.disabled = done === LAST;
    next.textContent = done < N ? `Make pass ${done + 1}` : `Divide by ${SIZE}`;
    strips.forEach((part, at) => {
      part.show(
        at > done
          ? []
          : columns[at].map((value, k) => ({
              key: `v:${at}:${k}`,
              value,
              pressed: at ? at === column && k === entry : value < 0,
              text: at ? format(value) : "",
              name: at
                ? `${at === LAST ? `coefficient at ${subsetName(k)}` : `${HEADS[at]}, entry ${k}`}: ${format(value)}`
                : `f(${bits(k, N)}) = ${value < 0 ? "−1, true" : "+1, false"}`,
              ...(at ? {} : { look: look(value), weight: 1 }),
            })),
        1,
      );
      [...part.root.children].forEach((cell, k) => attributes(cell, { "data-fed": feeds(state, at, k) }));
    });
    showWires();
    put(count, "additions", SIZE * Math.min(done, N));
    words.textContent = story(state, columns);
  });
  return explorer.start();
}

export default { render };
