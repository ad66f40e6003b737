// @ts-check
/**
 * A trained minimal network beside the hand-built one: attention, wave, output, and what changes if a part is changed.
 *
 * State: { network: degree, components and seed, bits: the input x, component: the one that one looks at, rows: 1 for
 *   each position that is changed, change: what it holds then }. The weights are those of data/circuits.csv; the page
 *   evaluates them on all 256 inputs, and explorer.py says what must come out.
 */
import {
  accept,
  attributes,
  connect,
  format,
  h,
  options,
  put,
  select,
  softmax,
  stored,
  strip,
  svg,
} from "../classroom/explorers/kit.js";

/** @typedef {{ network: string, bits: string, component: number, rows: string, change: string }} State */
/** @typedef {{ members: number[], weight: number }} Part */
/**
 * @typedef {{ parts: Part[], attention: number[][], reads: number[][], holds: number[][], mix: number[], shift: number,
 *     wave(u: number): number }} Net
 */

const T = 8;
const ALL = 1 << T;
const HIDDEN = 32;
const TALL = 168;
const WIDE = 320;
const PLACES = Array.from({ length: T }, (_, i) => i);

/** @type {(k: number, j: number) => number} */
const bit = (k, j) => (k >> j) & 1;
/** The number of ones of a set at an input. @type {(members: number[], k: number) => number} */
const ones = (members, k) => members.reduce((sum, j) => sum + bit(k, j - 1), 0);
/** @type {(members: number[], k: number) => number} */
const even = (members, k) => 1 - (ones(members, k) % 2);
/** @type {(values: number[]) => number} */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const INPUTS = Array.from({ length: ALL }, (_, k) => k);
/** @type {(parts: Part[], k: number) => number} */
const target = (parts, k) => parts.reduce((sum, { members, weight }) => sum + weight * even(members, k), 0);

/** A network from the text of its weights, on all inputs. @type {(components: string, text: string) => Net} */
function evaluate(components, text) {
  const values = text.split(" ").map(Number);
  let at = 0;
  const take = (/** @type {number} */ count) => values.slice(at, (at += count));
  const rows = () => Array.from({ length: T + 1 }, () => take(T + 1));
  const [query, key, value] = [rows(), rows(), take(T + 1)];
  const [enter, bias, leave, [lift], mix, [shift]] = [
    take(HIDDEN),
    take(HIDDEN),
    take(HIDDEN),
    take(1),
    take(T),
    take(1),
  ];
  const wave = (/** @type {number} */ u) =>
    enter.reduce((sum, slope, unit) => sum + leave[unit] * Math.max(0, u * slope + bias[unit]), lift);
  const attention = PLACES.map(() => Array(T).fill(0));
  const reads = INPUTS.map((k) => {
    const asked = PLACES.map((i) => query[i].map((entry, c) => entry + bit(k, i) * query[T][c]));
    const given = PLACES.map((j) => key[j].map((entry, c) => entry + bit(k, j) * key[T][c]));
    return asked.map((q, i) => {
      const row = softmax(given.map((entries) => entries.reduce((sum, entry, c) => sum + entry * q[c], 0)));
      row.forEach((share, j) => (attention[i][j] += share / ALL));
      return row.reduce((sum, share, j) => sum + share * (value[j] + bit(k, j) * value[T]), 0);
    });
  });
  const parts = components.split("; ").map((part) => {
    const [members, weight] = part.split(": ");
    return { members: members.split(" ").map(Number), weight: Number(weight) };
  });
  return { parts, attention, reads, holds: reads.map((row) => row.map(wave)), mix, shift, wave };
}

const SOURCES = /** @type {[string, string, string][]} */ (stored);
const KNOWN = /** @type {Map<string, Net>} */ (new Map());
/** @type {(name: string) => Net} */
function network(name) {
  const [, components, text] = /** @type {[string, string, string]} */ (SOURCES.find(([other]) => other === name));
  if (!KNOWN.has(name)) KNOWN.set(name, evaluate(components, text));
  return /** @type {Net} */ (KNOWN.get(name));
}

/** @type {(net: Net, holds: number[][]) => number[]} */
const outputs = ({ mix, shift }, holds) => holds.map((row) => row.reduce((sum, held, i) => sum + held * mix[i], shift));
/**
 * Twice the coefficient at a set: the weight of its component.
 * @type {(values: number[], members: number[]) => number}
 */
const weightOf = (values, members) => 2 * mean(values.map((value, k) => value * (2 * even(members, k) - 1)));

/** What positions hold if those of the state are changed. @type {(net: Net, state: State) => number[][]} */
function changed({ holds, parts }, { rows, component, change }) {
  const { members } = parts[component - 1];
  const result = holds.map((row) => [...row]);
  for (const i of PLACES.filter((place) => rows[place] === "1")) {
    const own = holds.map((row) => row[i]);
    const [odd, straight] = [0, 1].map((parity) => mean(own.filter((_, k) => even(members, k) === parity)));
    INPUTS.forEach((k) => {
      if (change === "mean") result[k][i] = mean(own);
      else if (change === "patch") result[k][i] = own[k ^ (1 << (members[0] - 1))];
      else result[k][i] = even(members, k) ? straight : odd;
    });
  }
  return result;
}

/** @type {(given: any) => State} */
function clean(given) {
  const state = /** @type {State} */ (accept(given));
  return { ...state, component: Math.min(state.component, Number(state.network.split("-")[1])) };
}

/** @type {(members: number[]) => string} */
const named = (members) => `{${members.join(", ")}}`;
/** A share in percent. @type {(share: number) => string} */
const percent = (share) => format(100 * share, 0);

/**
 * A curve with points on it, each even or odd, and a ring where the input stands.
 * @type {(curve: [number, number][], points: [number, number, number][], here: [number, number]) => any[]}
 */
function drawing(curve, points, here) {
  const all = [...curve, ...points, here];
  const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const x = (/** @type {number} */ value) => 12 + ((value - left) / (right - left || 1)) * (WIDE - 24);
  const y = (/** @type {number} */ value) => 10 + ((high - value) / (high - low || 1)) * (TALL - 44);
  const d = curve.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(2)} ${y(b).toFixed(2)}`).join("");
  const ticks = [left, right].map((value, at) =>
    svg("text", { class: "fx-tick", x: x(value) + (at ? -8 : 8), y: TALL - 6 }, format(value, 2)),
  );
  return [
    svg("path", { class: "fx-curve", d }),
    ...points.map(([a, b, parity]) =>
      parity
        ? svg("circle", { class: "fx-even", cx: x(a).toFixed(2), cy: y(b).toFixed(2), r: 3.8 })
        : svg("rect", { class: "fx-odd", x: (x(a) - 3).toFixed(2), y: (y(b) - 3).toFixed(2), width: 6, height: 6 }),
    ),
    svg("circle", { class: "fx-here", cx: x(here[0]), cy: y(here[1]), r: 8 }),
    ...ticks,
  ];
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const flip = (/** @type {string} */ text, /** @type {number} */ at) =>
    [...text].map((sign, place) => (place === at ? String(1 - Number(sign)) : sign)).join("");
  const which = select({
    label: "Network",
    choices: options("network"),
    onChange: (name) => explorer.change({ network: name }),
  });
  const part = select({
    label: "Component",
    choices: [],
    onChange: (text) => explorer.change({ component: Number(text) }),
  });
  const change = select({
    label: "Changed positions",
    choices: options("change"),
    onChange: (kind) => explorer.change({ change: kind }),
  });
  const button = (/** @type {string} */ text, /** @type {() => void} */ click) =>
    h("button", { type: "button", class: "fx-button", click }, text);
  const input = strip({ label: "The input x", onPress: (at) => explorer.change({ bits: flip(state.bits, at) }) });
  const rows = strip({
    label: "Positions to change",
    onPress: (at) => explorer.change({ rows: flip(state.rows, at) }),
  });
  const columns = (/** @type {string[]} */ names) =>
    h("div", { class: "fx-columns", style: `--columns: ${names.length}` }, ...names.map((name) => h("span", {}, name)));
  const digits = PLACES.map((i) => String(i + 1));
  const learned = h("div", { class: "fx-strip fx-weights", style: `--columns: ${T + 1}` });
  const hand = h("div", { class: "fx-strip fx-weights", style: `--columns: ${T}` });
  const plots = [0, 1].map(() => svg("svg", { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` }));
  const formula = h("p", { class: "fx-polynomial" });
  const table = h("tbody");
  const facts = Object.fromEntries(
    ["target", "output", "changed", "error", "error:changed"].map((key) => [key, h("dd")]),
  );
  const fact = (/** @type {string} */ key, /** @type {string} */ text) => h("div", {}, h("dt", {}, text), facts[key]);
  const row = h("b");
  const u = h("b");
  const r = h("b");
  const told = h("b");
  const prediction = h("span", {}, " From what the circuit predicts, the output is off by ", told, " in mean square.");
  const verdict = h("span");
  const step = (/** @type {string} */ title, /** @type {any[]} */ ...parts) =>
    h("div", { class: "fx-step" }, h("p", { class: "fx-step-title" }, title), ...parts);
  const hint = (/** @type {string} */ text) => h("p", { class: "fx-hint" }, text);

  el.append(
    h(
      "div",
      { class: "fx-box fx-inside" },
      h("div", { class: "fx-controls" }, which.root, part.root, change.root),
      formula,
      h(
        "div",
        { class: "fx-halves" },
        step(
          "1. Learned: attention in percent, mean over all inputs",
          h(
            "div",
            { class: "fx-named" },
            h("span"),
            columns([...digits, "share"]),
            h("span", {}, "x"),
            input.root,
            rows.root,
            learned,
          ),
          hint(
            "Press a bit to flip it, a position at the left to change what it holds. The last column says how much " +
              "of the component each position brings.",
          ),
        ),
        step(
          "2. Hand-built: a row for each component",
          h(
            "div",
            { class: "fx-named" },
            h("span"),
            columns(digits),
            h("div", { class: "fx-places" }, ...digits.map((text) => h("span", {}, text))),
            hand,
          ),
          hint("Thick rims: the members of the chosen component. Positions without a component look everywhere."),
        ),
        step(
          "3. The learned wave over what one position reads",
          plots[0],
          h("p", { class: "fx-sentence" }, "Position ", row, " brings most. It reads ", u, " and holds ", r, "."),
        ),
        step(
          "4. The hand-built wave",
          plots[1],
          hint("Discs: even numbers of ones; squares: odd ones. Ring: this input."),
        ),
      ),
      step(
        "5. Change positions, and watch the function",
        h(
          "div",
          { class: "fx-clock" },
          button("Those of this component", () => explorer.change({ rows: clear(state) })),
          button("None", () => explorer.change({ rows: "0".repeat(T) })),
        ),
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h("tr", {}, ...["component", "weight", "learned", "after"].map((text) => h("th", { scope: "col" }, text))),
          ),
          table,
        ),
        h(
          "dl",
          { class: "fx-facts fx-space" },
          fact("target", "f(x)"),
          fact("output", "network"),
          fact("changed", "after the change"),
          fact("error", "error, all inputs"),
          fact("error:changed", "after the change"),
        ),
        h("p", { class: "fx-sentence", role: "status" }, verdict, prediction),
      ),
    ),
  );

  /** The positions that look at the chosen component: 0.8 of their attention on it, half a share on each member.
   * @type {(state: State) => string} */
  function clear({ network: name, component }) {
    const { attention, parts } = network(name);
    const { members } = parts[component - 1];
    const found = attention.map((row) => {
      const own = members.map((j) => row[j - 1]);
      return own.reduce((sum, share) => sum + share, 0) >= 0.8 && Math.min(...own) >= 1 / (2 * members.length);
    });
    return found.map((is) => (is ? "1" : "0")).join("");
  }

  const cell = (/** @type {string} */ key, /** @type {number} */ value, /** @type {boolean} */ member) =>
    h(
      "span",
      {
        class: "fx-cell",
        "data-member": member,
        "data-value": key,
        "data-number": value,
        style: `--weight: ${100 * value}%`,
      },
      percent(value),
    );

  /** @type {(net: Net, members: number[], shares: number[]) => void} */
  function showRows({ attention, parts }, members, shares) {
    input.show(
      [...state.bits].map((sign, j) => ({
        key: `x:${j + 1}`,
        name: `x${j + 1} is ${sign}`,
        value: Number(sign),
        text: sign,
        pressed: sign === "1",
      })),
      T + 1,
    );
    rows.show(
      [...state.rows].map((sign, i) => ({
        key: `changed:${i + 1}`,
        name: `position ${i + 1}${sign === "1" ? ", changed" : ""}`,
        value: Number(sign),
        text: String(i + 1),
        pressed: sign === "1",
      })),
      1,
    );
    learned.replaceChildren(
      ...attention.flatMap((own, i) => [
        ...own.map((share, j) => cell(`A:${i + 1}:${j + 1}`, share, members.includes(j + 1))),
        h(
          "span",
          {
            class: "fx-cell",
            "data-share": true,
            "data-value": `share:${i + 1}`,
            "data-number": shares[i],
            style: "--weight: 0%",
          },
          percent(shares[i]),
        ),
      ]),
    );
    const built = PLACES.map((i) =>
      PLACES.map((j) =>
        i >= parts.length ? 1 / T : parts[i].members.includes(j + 1) ? 1 / parts[i].members.length : 0,
      ),
    );
    hand.replaceChildren(
      ...built.flatMap((own, i) =>
        own.map((share, j) => cell(`H:${i + 1}:${j + 1}`, share, i < parts.length && members.includes(j + 1))),
      ),
    );
  }

  /** @type {(net: Net, members: number[], best: number, at: number) => void} */
  function showWaves({ reads, holds, wave }, members, best, at) {
    const own = reads.map((row) => row[best]);
    const [low, high] = [Math.min(...own), Math.max(...own)];
    const span = Array.from({ length: 161 }, (_, step) => low + ((high - low) * step) / 160);
    const points = /** @type {[number, number, number][]} */ (
      INPUTS.map((k) => [reads[k][best], holds[k][best], even(members, k)])
    );
    plots[0].replaceChildren(
      ...drawing(
        span.map((value) => [value, wave(value)]),
        points,
        [reads[at][best], holds[at][best]],
      ),
    );
    const d = members.length;
    const corners = /** @type {[number, number][]} */ ([]);
    const grid = /** @type {[number, number, number][]} */ ([]);
    for (let n = 0; n <= d; n++) {
      const height = 1 - (n % 2);
      const half = height ? 0.25 : 0.5;
      corners.push([Math.max(0, (n - half) / d), height], [Math.min(1, (n + half) / d), height]);
      grid.push([n / d, height, height]);
    }
    plots[1].replaceChildren(...drawing(corners, grid, [ones(members, at) / d, even(members, at)]));
    attributes(plots[0], {
      "aria-label":
        `The learned wave from ${format(low, 2)} to ${format(high, 2)}; ` + `this input at ${format(own[at], 2)}.`,
    });
    attributes(plots[1], {
      "aria-label": `The hand-built wave from 0 to 1; this input has ${ones(members, at)} of ${d} ones.`,
    });
  }

  /** @type {(net: Net, before: number[], after: number[], at: number) => void} */
  function showNumbers({ parts }, before, after, at) {
    const off = (/** @type {number[]} */ values) => mean(values.map((value, k) => (value - target(parts, k)) ** 2));
    const number = (/** @type {string} */ key, /** @type {number} */ value) => {
      const made = h("td");
      put(made, key, value, format(value, 2));
      return made;
    };
    table.replaceChildren(
      ...parts.map(({ members, weight }, c) =>
        h(
          "tr",
          { "data-chosen": c + 1 === state.component },
          h("th", { scope: "row" }, named(members)),
          number(`weight:${c + 1}`, weight),
          number(`learned:${c + 1}`, weightOf(before, members)),
          number(`left:${c + 1}`, weightOf(after, members)),
        ),
      ),
    );
    put(facts.target, "target", target(parts, at));
    put(facts.output, "output", before[at]);
    put(facts.changed, "changed", after[at]);
    put(facts.error, "error", off(before));
    put(facts["error:changed"], "error:changed", off(after));
    const { members, weight } = parts[state.component - 1];
    const count = [...state.rows].filter((sign) => sign === "1").length;
    prediction.hidden = !count || state.change !== "patch";
    const wanted = INPUTS.map((k) => target(parts, k) + weight * (1 - 2 * even(members, k)));
    put(told, "told", mean(after.map((value, k) => (value - wanted[k]) ** 2)));
    const share = weightOf(after, members) / weightOf(before, members);
    const what = {
      mean: `held at ${count === 1 ? "its" : "their"} mean`,
      patch: `set as if bit ${members[0]} were flipped`,
      hand: "hand-built",
    };
    const whose = count === 1 ? "one position" : `${count} positions`;
    verdict.textContent = count
      ? `With ${whose} ${what[/** @type {"mean"} */ (state.change)]}, the network keeps ${percent(share)} % of what ` +
        `it had learnt of ${named(members)}.`
      : clear(state).includes("1")
        ? "Nothing is changed yet: press positions in step 1, or the first button."
        : `No position has a clear row for ${named(members)}: the first button finds none. Press positions in step 1.`;
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const net = network(state.network);
    const at = Number.parseInt([...state.bits].reverse().join(""), 2);
    const { members } = net.parts[state.component - 1];
    const before = outputs(net, net.holds);
    const whole = weightOf(before, members);
    const shares = PLACES.map(
      (i) =>
        (net.mix[i] *
          weightOf(
            net.holds.map((held) => held[i]),
            members,
          )) /
        whole,
    );
    const best = shares.indexOf(Math.max(...shares));
    which.show(state.network);
    part.offer(net.parts.map((own, c) => [String(c + 1), `${named(own.members)}, weight ${format(own.weight, 2)}`]));
    part.show(String(state.component));
    change.show(state.change);
    const terms = net.parts.map((own) => `${format(own.weight, 2)} even${named(own.members)}`);
    formula.textContent = `f(x) = ${terms.join(" + ")}`;
    showRows(net, members, shares);
    showWaves(net, members, best, at);
    put(row, "row", best + 1);
    put(u, "u", net.reads[at][best]);
    put(r, "r", net.holds[at][best]);
    showNumbers(net, before, outputs(net, changed(net, state)), at);
  });
  return explorer.start();
}

export default { render };
