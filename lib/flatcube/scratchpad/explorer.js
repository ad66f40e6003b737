// @ts-check
/**
 * An automaton with a scratchpad: its table, the states it writes, and what one flipped bit changes.
 *
 * State: { table: next states after 0 and after 1, accepting: states in increasing order, bits: the string,
 *   step: how many states are written }. The numbers are those of flatcube.scratchpad.
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
  select,
  slider,
  strip,
} from "../classroom/explorers/kit.js";

/** @typedef {{ table: number[][], accepting: number[], bits: string, step: number }} State */

const MOST = bounds("bits").max;
const AUTOMATA = /** @type {Record<string, [string, number[][], number[]]>} */ ({
  parity: [
    "an odd number of ones",
    [
      [0, 1],
      [1, 0],
    ],
    [1],
  ],
  threes: [
    "ones by threes",
    [
      [0, 1],
      [1, 2],
      [2, 0],
    ],
    [0],
  ],
  multiple: [
    "a multiple of three",
    [
      [0, 1],
      [2, 0],
      [1, 2],
    ],
    [0],
  ],
  pair: [
    "two ones in a row",
    [
      [0, 1],
      [0, 2],
      [2, 2],
    ],
    [2],
  ],
  all: [
    "all ones",
    [
      [1, 0],
      [1, 1],
    ],
    [0],
  ],
  last: [
    "the last bit",
    [
      [0, 1],
      [0, 1],
    ],
    [1],
  ],
});
const OWN = "own";

// ---------------------------------------------------------------------------------------------- the automaton

/** @type {(table: number[][], bits: number[]) => number[]} */
const run = (table, bits) => bits.reduce((states, bit) => [...states, table[states[states.length - 1]][bit]], [0]);
/** How many bits code a state. @type {(table: number[][]) => number} */
const width = (table) => (table.length > 2 ? 2 : 1);
/**
 * The next state; an unused code behaves like the last state.
 * @type {(table: number[][], state: number, bit: number) => number}
 */
const after = (table, state, bit) => table[Math.min(state, table.length - 1)][bit];
/**
 * How many bits of a state and a symbol change the next state.
 * @type {(table: number[][], state: number, bit: number) => number}
 */
function matter(table, state, bit) {
  const next = after(table, state, bit);
  const flipped = Array.from({ length: width(table) }, (_, i) => after(table, state ^ (1 << i), bit));
  return [...flipped, after(table, state, 1 - bit)].filter((other) => other !== next).length;
}

/** @type {(table: number[][]) => number} */
function stepSensitivity(table) {
  const codes = Array.from({ length: 2 << width(table) }, (_, k) => matter(table, k >> 1, k & 1));
  return codes.reduce((sum, count) => sum + count, 0) / codes.length;
}

/**
 * The average sensitivity of the verdict on 1, …, MOST bits: two runs side by side after a flip.
 * @type {(state: State) => number[]}
 */
function onePass({ table, accepting }) {
  const names = table.map((_, q) => q);
  const accepts = names.map((q) => accepting.includes(q));
  const differ = [names.map((q) => names.map((r) => Number(accepts[q] !== accepts[r])))]; // after 0, 1, … more bits
  const spread = [names.map((q) => Number(q === 0))]; // the distribution of the state after 0, 1, … bits
  for (let k = 1; k < MOST; k++) {
    const before = differ[k - 1];
    const p = spread[k - 1];
    differ.push(
      names.map((q) => names.map((r) => (before[table[q][0]][table[r][0]] + before[table[q][1]][table[r][1]]) / 2)),
    );
    spread.push(
      names.map((r) => names.reduce((sum, q) => sum + (p[q] * table[q].filter((next) => next === r).length) / 2, 0)),
    );
  }
  return Array.from({ length: MOST }, (_, at) =>
    Array.from({ length: at + 1 }, (_, i) =>
      names.reduce((sum, q) => sum + spread[i][q] * differ[at - i][table[q][0]][table[q][1]], 0),
    ).reduce((a, b) => a + b),
  );
}

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const { table, accepting, bits, step } = /** @type {State} */ (accept(given));
  const known = (/** @type {number} */ q) => Number.isInteger(q) && q >= 0 && q < table.length;
  if (!table.every((row) => row.length === 2 && row.every(known)))
    throw new Error(`table: expected rows of two states, got ${JSON.stringify(table)}`);
  if (!accepting.every(known)) throw new Error(`accepting: expected states, got ${accepting}`);
  const sorted = [...new Set(accepting)].sort((a, b) => a - b);
  return { table, accepting: sorted, bits, step: Math.min(step, bits.length) };
}

// ---------------------------------------------------------------------------------------------- the page

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const same = (/** @type {any} */ a, /** @type {any} */ b) => JSON.stringify(a) === JSON.stringify(b);
  const chosen = () =>
    Object.keys(AUTOMATA).find((key) => same(AUTOMATA[key].slice(1), [state.table, state.accepting])) ?? OWN;
  const choices = /** @type {[string, string][]} */ ([
    ...Object.entries(AUTOMATA).map(([key, [text]]) => [key, text]),
    [OWN, "your own"],
  ]);
  const menu = select({
    label: "It accepts",
    choices,
    onChange: (key) => explorer.change(key === OWN ? {} : { table: AUTOMATA[key][1], accepting: AUTOMATA[key][2] }),
  });
  const count = slider({
    label: "States",
    ...bounds("table"),
    onInput: (size) =>
      explorer.change({
        table: Array.from({ length: size }, (_, q) =>
          (state.table[q] ?? [q, q]).map((next) => Math.min(next, size - 1)),
        ),
        accepting: state.accepting.filter((q) => q < size),
      }),
  });
  const size = slider({
    label: "Bits T",
    ...bounds("bits"),
    onInput: (n) => explorer.change({ bits: state.bits.padEnd(n, "1").slice(0, n) }),
  });
  const rows = Array.from({ length: bounds("table").max }, (_, q) => ({
    name: h("span", {}, String(q)),
    cells: strip({
      label: `State ${q}: next after 0, next after 1, accepting`,
      onPress: (at) => {
        const { table, accepting } = state;
        explorer.change(
          at < 2
            ? {
                table: table.map((row, r) =>
                  r === q ? row.map((next, x) => (x === at ? (next + 1) % table.length : next)) : row,
                ),
              }
            : { accepting: accepting.includes(q) ? accepting.filter((r) => r !== q) : [...accepting, q] },
        );
      },
    }),
  }));
  const input = strip({
    label: "The string x",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const walk = (/** @type {number} */ by) =>
    explorer.change({ step: Math.min(state.bits.length, Math.max(0, state.step + by)) });
  const button = (/** @type {string} */ text, /** @type {number} */ by) =>
    h("button", { type: "button", class: "fx-button", click: () => walk(by) }, text);
  const number = h("b");
  const end = h("span");
  const pad = h("div", { class: "fx-strip fx-weights" });
  const flips = h("div", { class: "fx-strip fx-weights" });
  const heads = h("div", { class: "fx-columns" });
  const sentence = h("p", { class: "fx-sentence fx-space", role: "status" });
  const chart = bars({ label: "Average sensitivity of one pass by length, and of one step" });
  const facts = /** @type {[string, string][]} */ ([
    ["now", "bits that matter in this step"],
    ["bits", "bits that a step reads"],
    ["here", "bits that matter in one pass"],
  ]).map(([key, text]) => ({ key, node: h("dd"), root: h("div", {}, h("dt", {}, text)) }));
  for (const { node, root } of facts) root.append(node);

  el.append(
    h(
      "div",
      { class: "fx-box fx-parity" },
      h("div", { class: "fx-controls" }, menu.root, count.root, size.root),
      h(
        "div",
        { class: "fx-halves" },
        h(
          "div",
          { class: "fx-step" },
          h("p", { class: "fx-step-title" }, "1. The automaton"),
          h(
            "div",
            { class: "fx-named" },
            h("span"),
            h(
              "div",
              { class: "fx-columns", style: "--columns: 3" },
              h("span", {}, "after 0"),
              h("span", {}, "after 1"),
              h("span", {}, "accepts"),
            ),
            ...rows.flatMap(({ name, cells }) => [name, cells.root]),
          ),
          h("p", { class: "fx-hint" }, "One row for each state. Press an entry to change it."),
        ),
        h(
          "div",
          { class: "fx-step" },
          h("p", { class: "fx-step-title" }, "2. Average sensitivity, one pass on T bits, and one step"),
          chart.root,
        ),
      ),
      h(
        "div",
        { class: "fx-clock", role: "group", "aria-label": "Steps of the run" },
        button("Back", -1),
        button("Next", 1),
        button("Reset", -Infinity),
        h("p", {}, "Step ", number, " of ", end),
      ),
      h(
        "div",
        { class: "fx-named fx-space" },
        h("span"),
        heads,
        h("span", {}, "x"),
        input.root,
        h("span", {}, "q"),
        pad,
        h("span", {}, "!"),
        flips,
      ),
      h(
        "p",
        { class: "fx-hint" },
        "x: the string; press a bit to flip it. q: the states, from the start to the last one written. " +
          "!: marked where flipping the bit changes the verdict on the whole string.",
      ),
      sentence,
      h("dl", { class: "fx-facts fx-space" }, ...facts.map(({ root }) => root)),
    ),
  );

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const { table, accepting, step } = state;
    const bits = [...state.bits].map(Number);
    const n = bits.length;
    const states = run(table, bits);
    const verdict = (/** @type {number[]} */ given) => accepting.includes(run(table, given)[n]);
    const accepted = verdict(bits);
    const flipped = bits.map((_, i) => verdict(bits.map((bit, j) => (i === j ? 1 - bit : bit))) !== accepted);
    menu.show(chosen());
    count.show(table.length, { key: "states" });
    size.show(n, { key: "n" });
    put(number, "step", step);
    end.textContent = String(n);
    rows.forEach(({ name, cells }, q) => {
      name.hidden = cells.root.hidden = q >= table.length;
      cells.show(
        q < table.length
          ? [
              ...table[q].map((to, x) => ({
                key: `next:${q}:${x}`,
                name: `state ${q}, after ${x}: state ${to}`,
                value: to,
                text: String(to),
                look: step && states[step - 1] === q && bits[step - 1] === x ? "seen" : undefined,
              })),
              {
                key: `accept:${q}`,
                name: `state ${q} ${accepting.includes(q) ? "accepts" : "does not accept"}`,
                value: Number(accepting.includes(q)),
                text: accepting.includes(q) ? "yes" : "no",
                pressed: accepting.includes(q),
              },
            ]
          : [],
        3,
      );
    });
    for (const part of [heads, pad, flips]) attributes(part, { style: `--columns: ${n + 1}` });
    heads.replaceChildren(...Array.from({ length: n + 1 }, (_, i) => h("span", {}, i < n ? String(i + 1) : "")));
    input.show(
      bits.map((bit, i) => ({
        key: `x:${i + 1}`,
        name: `x${i + 1} is ${bit}`,
        value: bit,
        text: String(bit),
        pressed: bit === 1,
        look: step === i + 1 ? "seen" : undefined,
      })),
      n + 1,
    );
    pad.replaceChildren(
      ...states.slice(0, step + 1).map((q, t) =>
        h(
          "span",
          {
            class: "fx-cell",
            "data-value": `t:${t}`,
            "data-number": q,
            "data-member": step > 0 && t === step - 1,
            "data-new": step > 0 && t === step,
          },
          String(q),
        ),
      ),
    );
    flips.replaceChildren(
      ...flipped.map((flip, i) =>
        h(
          "span",
          {
            class: "fx-cell",
            "data-value": `flip:${i + 1}`,
            "data-number": Number(flip),
            role: "img",
            "aria-label": `flipping bit ${i + 1} ${flip ? "changes" : "does not change"} the verdict`,
          },
          flip ? "!" : "·",
        ),
      ),
    );
    const average = onePass(state);
    const single = stepSensitivity(table);
    chart.show(
      [
        ...average.map((value, at) => ({
          key: `s:${at + 1}`,
          name: `one pass on ${at + 1} bits ${format(value)}`,
          value,
          text: String(at + 1),
          look: at + 1 === n ? "weight picked" : "weight",
        })),
        { key: "s:step", name: `one step ${format(single)}`, value: single, text: "step", look: "bound" },
      ],
      { low: 0, high: 2, values: true },
    );
    const values = /** @type {Record<string, number>} */ ({
      now: step ? matter(table, states[step - 1], bits[step - 1]) : 0,
      bits: width(table) + 1,
      here: flipped.filter(Boolean).length,
    });
    for (const { key, node, root } of facts) {
      root.hidden = key === "now" && !step;
      put(node, key, values[key]);
    }
    const wrote = step
      ? `Step ${step}: in state ${states[step - 1]} it reads ${bits[step - 1]} and writes state ${states[step]}. ` +
        "It looks at nothing else."
      : "It starts in state 0 and has written nothing yet.";
    sentence.textContent =
      step < n ? wrote : `${wrote} That was the last bit: the string is ${accepted ? "accepted" : "not accepted"}.`;
  });
  return explorer.start();
}

export default { render };
