// @ts-check
/**
 * The transformer built by hand: choose the components of f, flip bits, and follow them through every step.
 *
 * State: { bits: the input x, subsets: lists of members, all different, weights: a number other than 0 for each subset,
 *   mode: "hard" | "soft" | "sink" (for subsets of one size and positive weights), beta: the logit scale,
 *   matrix: the one that is disturbed, noise: its standard deviation, seed: of the noise }.
 * The page multiplies the same matrices as flatcube.handmade; explorer.py says what must come out.
 */
import {
  accept,
  attributes,
  bounds,
  connect,
  field,
  format,
  h,
  normals,
  options,
  product,
  put,
  select,
  slider,
  softmax,
  strip,
  svg,
  transpose,
} from "../classroom/explorers/kit.js";

/**
 * @typedef {{ bits: string, subsets: number[][], weights: number[], mode: string, beta: number, matrix: string,
 *     noise: number, seed: number }} State
 */
/** @typedef {{ sign: number, W2: number[][], v2: number[][], mask: number[] }} Head */

const COMPONENTS = bounds("weights").max;
const TAU = 0.1;
/** The names of the matrices, in the order of their noise. */
const MATRICES = options("matrix").map(([key]) => key);

// ---------------------------------------------------------------------------------------------- the network

/** @type {(rows: number, columns: number) => number[][]} */
const zeros = (rows, columns) => Array.from({ length: rows }, () => Array(columns).fill(0));
/** @type {(subsets: number[][]) => number} */
const degree = (subsets) => Math.max(1, ...subsets.map((S) => S.length));
/** Whether a sink can serve these components. @type {(subsets: number[][], weights: number[]) => boolean} */
const basic = (subsets, weights) =>
  subsets.every((S) => S.length === degree(subsets)) && weights.every((weight) => weight > 0);
/** @type {(S: number[], bits: string) => number} */
const ones = (S, bits) => S.filter((j) => bits[j - 1] === "1").length;

/**
 * All weights, noise included.
 * @type {(state: State) => { W1: number[][], V1: number[][], E: number[][], b: number[][], F: number[][],
 *     heads: Head[] }}
 */
function build({ bits, subsets, weights, mode, beta, matrix, noise, seed }) {
  const T = bits.length;
  const size = T + 2;
  const d = degree(subsets);
  const [W1, V1] = [zeros(size, size), zeros(size, size)];
  subsets.forEach((S, i) => {
    S.forEach((j) => (W1[i][j - 1] = beta));
    // a short component counts the output's zero several times
    if (S.length < d) W1[i][T] = beta + Math.log(d - S.length);
  });
  V1[T + 1][T + 1] = 1;
  if (mode === "sink") {
    for (let i = subsets.length; i <= T; i++) W1[i][T] = beta; // all others look at the output
    V1[T][T + 1] = 2; // where they find a mean beyond the wave
  }
  const units = Array.from({ length: d + 1 }, (_, k) =>
    [
      [2, 1],
      [4, -1],
      [-4, -1],
      [-2, 1],
    ].map(([part, sign]) => [1 / (part * d) - k / d, k % 2 ? 0 : 4 * d * sign]),
  ).flat();
  const E = zeros(size, units.length);
  const F = zeros(units.length, size);
  const b = [units.map(([bias]) => bias)];
  units.forEach(([, slope], unit) => {
    E[T + 1][unit] = 1;
    F[unit][T + 1] = slope;
  });
  const heads = [1, -1]
    .filter((sign) => weights.some((weight) => weight * sign > 0))
    .map((sign) => {
      const own = weights.map((weight) => weight * sign > 0);
      const total = weights.reduce((sum, weight) => sum + Math.max(0, weight * sign), 0);
      const W2 = zeros(size, size);
      const v2 = zeros(size, 1);
      const others = T + 1 - own.filter(Boolean).length;
      const shift = { hard: 0, soft: Math.log(others / TAU), sink: 1 }[mode] ?? 0;
      weights.forEach((weight, i) => own[i] && (W2[T][i] = shift + Math.log(Math.abs(weight))));
      const hard = mode === "hard";
      v2[T + 1][0] = sign * (total + (hard ? 0 : others * Math.exp(-shift)));
      return { sign, W2, v2, mask: Array.from({ length: T + 1 }, (_, j) => (hard && !own[j] ? -Infinity : 0)) };
    });
  const all = /** @type {Record<string, number[][][]>} */ ({
    W1: [W1],
    V1: [V1],
    E: [E],
    b: [b],
    F: [F],
    W2: heads.map((head) => head.W2),
    v2: heads.map((head) => head.v2),
  });
  const next = normals(seed, MATRICES.indexOf(matrix));
  if (noise) all[matrix].flat().forEach((row) => row.forEach((_, j) => (row[j] += noise * next())));
  return { W1, V1, E, b, F, heads };
}

/** Everything that is shown. @type {(state: State, net: ReturnType<typeof build>) => any} */
function run({ bits }, net) {
  const T = bits.length;
  const X = Array.from({ length: T + 1 }, (_, j) => [
    ...Array.from({ length: T + 1 }, (_, k) => Number(j === k)),
    Number(bits[j] ?? 0),
  ]);
  const logits = product(product(X, net.W1), transpose(X));
  const attention = logits.map(softmax);
  const U = product(product(attention, X), net.V1);
  const R = product(U, net.E).map((row) => row.map((value, unit) => Math.max(0, value + net.b[0][unit])));
  const Z = product(R, net.F).map((row, j) => row.map((value, k) => value + (k <= T ? X[j][k] : 0)));
  const mixing = net.heads.map(({ W2, mask }) =>
    softmax(product(product([Z[T]], W2), transpose(Z))[0].map((logit, j) => logit + mask[j])),
  );
  const output = net.heads.reduce((sum, { v2 }, at) => sum + product([mixing[at]], product(Z, v2))[0][0], 0);
  return { logits, attention, averages: U.map((row) => row[T + 1]), waves: Z.map((row) => row[T + 1]), mixing, output };
}

/**
 * The least logit scale that is exact on all inputs, and an input that shows it.
 * @type {(state: State) => { beta: number, bits: string }}
 */
function threshold({ bits, subsets, mode }) {
  const T = bits.length;
  const d = degree(subsets);
  const sink = mode === "sink" ? 2 : 0; // what the output offers
  let least = { beta: -Infinity, bits };
  if (sink) {
    const end = (d - (d % 2) + 1 / 2) / d; // of the wave: the other positions must land beyond it
    least = { beta: Math.log((T * end) / (2 - end)), bits: "0".repeat(T) };
  }
  for (const S of subsets) {
    // positions of weight 1 in the softmax; the output is one of them if S is full
    const others = S.length < d ? T - S.length : T + 1 - d;
    for (let n = 0; n <= S.length; n++)
      for (const N of [0, T - S.length]) {
        const beta = Math.log(((n % 2 ? 2 : 4) * Math.abs(d * (N + sink) - n * others) - others) / d);
        if (beta > least.beta)
          least = {
            beta,
            bits: [...bits]
              .map((_, j) => {
                const at = S.indexOf(j + 1);
                return Number(at < 0 ? N > 0 : at < n);
              })
              .join(""),
          };
      }
  }
  return least;
}

// ---------------------------------------------------------------------------------------------- states

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = /** @type {State} */ (accept(given));
  const { bits, subsets, weights } = state;
  if (weights.length !== subsets.length)
    throw new Error(`weights: expected one for each subset, got ${weights.length} and ${subsets.length}`);
  for (const weight of weights)
    if (!Number.isFinite(weight) || weight === 0)
      throw new Error(`weights: expected numbers other than 0, got ${weight}`);
  const sorted = subsets.map((S) => [...new Set(S)].sort((a, b) => a - b));
  if (sorted.flat().some((j) => !Number.isInteger(j) || j < 1 || j > bits.length))
    throw new Error(`subsets: expected numbers from 1 to ${bits.length}`);
  if (new Set(sorted.map(String)).size < sorted.length)
    throw new Error("subsets: two components look at the same bits");
  if (state.mode === "sink" && !basic(sorted, weights))
    throw new Error("mode: 'sink' needs subsets of one size and positive weights");
  return { ...state, subsets: sorted };
}

/**
 * `count` different subsets of 1 … T: those given, as far as they fit, then single bits.
 * @type {(subsets: number[][], count: number, T: number) => number[][]}
 */
function fit(subsets, count, T) {
  const found = /** @type {number[][]} */ ([]);
  for (let i = 0; i < count; i++) {
    const choices = [(subsets[i] ?? [1]).filter((j) => j <= T), ...Array.from({ length: T }, (_, j) => [j + 1])];
    found.push(/** @type {number[]} */ (choices.find((S) => !found.some((other) => String(other) === String(S)))));
  }
  return found;
}

/**
 * Different subsets of one size, which a sink can serve, near those given: filled up, or cut, at the end.
 * @type {(subsets: number[][], T: number) => number[][]}
 */
function level(subsets, T) {
  const d = Math.min(degree(subsets), subsets.length > 1 ? T - 1 : T);
  const places = Array.from({ length: T }, (_, j) => j + 1);
  const ordered = (/** @type {number[]} */ S) => S.slice(0, d).sort((a, b) => a - b);
  const found = /** @type {number[][]} */ ([]);
  for (const S of subsets) {
    const filled = [...S, ...places.filter((j) => !S.includes(j))];
    const choices = [filled, ...places.map((_, k) => [...places.slice(k), ...places.slice(0, k)])].map(ordered);
    found.push(/** @type {number[]} */ (choices.find((one) => !found.some((other) => String(other) === String(one)))));
  }
  return found;
}

/** The weights that a reader typed. @type {(text: string) => number[]} */
function read(text) {
  const weights = text
    .trim()
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((word) => {
      const weight = Number(word.replace("−", "-"));
      if (!Number.isFinite(weight)) throw new Error(`“${word}” is not a number.`);
      if (weight === 0) throw new Error("A weight of 0 would be no component: leave it out.");
      return weight;
    });
  if (!weights.length || weights.length > COMPONENTS)
    throw new Error(`Type one to ${COMPONENTS} weights, with commas between them.`);
  return weights;
}

// ---------------------------------------------------------------------------------------------- the page

const TALL = 186;
const HIGH = 50;
const LOW = 150;
const MARGIN = 0.09; // of the wave's picture: its height, the lines of 1 and 0, room beside 0 … 1

/** @type {(S: number[]) => string} */
const named = (S) => (S.length ? `even{${S.join(", ")}} ` : "");
/** A round badge with the number of a component. @type {(i: number) => any} */
const badge = (i) => h("span", { class: "fx-badge", "data-series": i + 1 }, String(i + 1));
/** Where an average stands in the picture. @type {(a: number) => string} */
const across = (a) => `${(100 * (Math.min(1 + MARGIN / 2, Math.max(-MARGIN / 2, a)) + MARGIN)) / (1 + 2 * MARGIN)}%`;

/**
 * The wave of the MLP and the averages on it.
 * @type {(state: State, net: ReturnType<typeof build>, seen: any) => any[]}
 */
function wave({ subsets, mode }, net, { averages, waves }) {
  const d = degree(subsets);
  const T = averages.length - 1;
  const y = (/** @type {number} */ value) => LOW - (LOW - HIGH) * Math.min(1.35, Math.max(-0.3, value));
  const samples = Array.from({ length: 601 }, (_, k) => -MARGIN + (k / 600) * (1 + 2 * MARGIN));
  const heights = samples.map((a) =>
    y(net.b[0].reduce((sum, bias, unit) => sum + Math.max(0, a * net.E[T + 1][unit] + bias) * net.F[unit][T + 1], 0)),
  );
  const plateaus = Array.from({ length: d + 1 }, (_, k) => {
    const half = (k % 2 ? 1 / 2 : 1 / 4) / d;
    return `M${k / d - half} ${y(1 - (k % 2))}h${2 * half}`;
  }).join("");
  const path = svg(
    "svg",
    { width: "100%", height: TALL, viewBox: `${-MARGIN} 0 ${1 + 2 * MARGIN} ${TALL}`, preserveAspectRatio: "none" },
    svg("path", { class: "fx-plateau", d: plateaus }),
    svg("path", {
      class: "fx-wave",
      d: `M${samples.map((a, k) => `${a.toFixed(5)} ${heights[k].toFixed(2)}`).join("L")}`,
    }),
  );
  const ticks = Array.from({ length: d + 1 }, (_, k) => [
    svg("line", { x1: across(k / d), x2: across(k / d), y1: HIGH - 8, y2: LOW + 8 }),
    ...(d < 8 || k % 2 === 0
      ? [svg("text", { class: "fx-tick", x: across(k / d), y: LOW + 26 }, k && k < d ? `${k}/${d}` : String(k / d))]
      : []),
  ]).flat();
  const placed = /** @type {number[][]} */ ([]);
  const dots = [...subsets.keys(), ...(mode === "hard" ? [] : [T])].map((i) => {
    const left = parseFloat(across(averages[i]));
    let top = y(waves[i]);
    while (placed.some(([x, at]) => Math.abs(x - left) < 4 && Math.abs(at - top) < 15)) top -= 16;
    placed.push([left, top]);
    return svg(
      "svg",
      { x: `${left}%`, y: top, class: "fx-point", "data-series": i < T ? i + 1 : null },
      svg("circle", { r: 10 }),
      svg("text", {}, i < T ? String(i + 1) : "o"),
    );
  });
  const marks = [0, 1].map((value) => svg("text", { class: "fx-tick", x: 5, y: y(value) - 8 }, String(value)));
  return [svg("g", { class: "fx-grid" }, ...ticks), path, ...marks, ...dots];
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const refused = h("p", { class: "fx-error", role: "status" });
  /** Change the components; what a sink cannot serve brings back the mask. @type {(patch: Partial<State>) => void} */
  const change = (patch) => {
    const { subsets, weights, mode } = { ...state, ...patch };
    const lost = mode === "sink" && !basic(subsets, weights);
    refused.textContent = lost ? "A sink serves only sets of one size and positive weights, so the mask is back." : "";
    explorer.change(lost ? { ...patch, mode: "hard" } : patch);
  };
  const attempt = (/** @type {Partial<State>} */ patch) => {
    try {
      change(patch);
    } catch {
      refused.textContent = "Two components cannot look at the same bits: change another cell first.";
    }
  };
  const size = slider({
    label: "Bits T",
    ...bounds("bits"),
    onInput: (T) =>
      change({
        bits: state.bits.padEnd(T, "0").slice(0, T),
        subsets: fit(state.subsets, state.weights.length, T),
      }),
  });
  const mode = select({
    label: "Second attention",
    choices: options("mode"),
    onChange: (mode) => {
      const { subsets, weights } = state;
      const ready = mode !== "sink" || basic(subsets, weights);
      change(ready ? { mode } : { mode, subsets: level(subsets, state.bits.length), weights: weights.map(Math.abs) });
      if (!ready)
        refused.textContent =
          "A sink serves only sets of one size and positive weights, so the components were changed.";
    },
  });
  const weights = field({
    label: "Weights λ₁, λ₂, … of one to four components",
    placeholder: "1.5, −1, 0.5",
    onInput: (text) => {
      try {
        const typed = read(text);
        weights.complain("");
        change({ weights: typed, subsets: fit(state.subsets, typed.length, state.bits.length) });
      } catch (error) {
        weights.complain(/** @type {Error} */ (error).message);
      }
    },
  });
  const input = strip({
    label: "The input x",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const logits = strip({ label: "Logits of the first attention, a row for each component", onPress: toggle });
  const beta = slider({
    label: "Logit scale β (the mark: its threshold β*)",
    ...bounds("beta"),
    onInput: (beta) => explorer.change({ beta }),
  });
  const matrix = select({
    label: "Disturb the matrix",
    choices: options("matrix"),
    onChange: (matrix) => explorer.change({ matrix }),
  });
  const noise = slider({
    label: "Standard deviation of the noise",
    ...bounds("noise"),
    onInput: (noise) => explorer.change({ noise }),
  });
  const button = (/** @type {string} */ text, /** @type {() => void} */ click) =>
    h("button", { type: "button", class: "fx-button", click }, text);
  const formula = h("p", { class: "fx-polynomial" });
  const heads = [h("div", { class: "fx-columns" }), h("div", { class: "fx-columns" })];
  const attention = h("div", { class: "fx-strip fx-weights" });
  const labels = [h("div", { class: "fx-badges" }), h("div", { class: "fx-badges" })];
  const plot = svg("svg", { role: "img", width: "100%", height: TALL });
  const bound = h("b");
  const remark = h("span");
  const verdict = h("p", { class: "fx-sentence", role: "status" });
  const table = h("table", { class: "fx-table" });
  const facts = Object.fromEntries(["output", "target", "error"].map((key) => [key, h("dd")]));
  const fact = (/** @type {string} */ key, /** @type {string} */ text) => h("div", {}, h("dt", {}, text), facts[key]);
  const step = (/** @type {string} */ title, /** @type {any[]} */ ...parts) =>
    h("div", { class: "fx-step" }, h("p", { class: "fx-step-title" }, title), ...parts);

  el.append(
    h(
      "div",
      { class: "fx-box fx-handmade" },
      h("div", { class: "fx-controls" }, size.root, mode.root, weights.root),
      formula,
      h(
        "div",
        { class: "fx-halves" },
        step(
          "1. The input, and where each component looks",
          h("div", { class: "fx-named" }, h("span"), heads[0], h("span", {}, "x"), input.root, labels[0], logits.root),
          h(
            "p",
            { class: "fx-hint" },
            "Press a bit to flip it, a logit to move that bit into or out of the component.",
          ),
          refused,
        ),
        step(
          "2. Softmax: the attention of each row, in percent",
          h("div", { class: "fx-named" }, h("span"), heads[1], labels[1], attention),
          h(
            "p",
            { class: "fx-hint" },
            "Position o is the output; it offers 0, as a sink 2. A component smaller than the largest looks there too.",
          ),
        ),
      ),
      step(
        "3. Row by row, the average bit is the prefix sum a; the MLP’s wave is 1 at even counts and 0 at odd ones",
        plot,
        h(
          "p",
          { class: "fx-hint" },
          "Pale: the plateaus. Numbers: the components; o, without a mask: all others (with a sink near 2).",
        ),
        h(
          "div",
          { class: "fx-clock" },
          beta.root,
          button("To the threshold", () => explorer.change({ beta: threshold(state).beta })),
          button("Worst input", () => explorer.change({ bits: threshold(state).bits })),
        ),
        h("p", { class: "fx-sentence", role: "status" }, "The threshold β* is ", bound, ". ", remark),
      ),
      step(
        "4. The second attention mixes the waves, one head for positive weights and one for negative",
        h(
          "div",
          { class: "fx-result" },
          table,
          h(
            "div",
            {},
            h(
              "dl",
              { class: "fx-facts" },
              fact("output", "network"),
              fact("target", "f(x)"),
              fact("error", "difference"),
            ),
            verdict,
          ),
        ),
      ),
      step(
        "5. Add noise to one matrix",
        h(
          "div",
          { class: "fx-controls" },
          matrix.root,
          noise.root,
          button("Draw again", () => explorer.change({ seed: (state.seed + 1) % 100 })),
        ),
      ),
    ),
  );

  /** @type {(at: number) => void} */
  function toggle(at) {
    const width = state.bits.length + 1;
    const row = Math.floor(at / width);
    const j = (at % width) + 1;
    if (j === width)
      return void (refused.textContent = "Position o is the output: no component can have it as a member.");
    attempt({
      subsets: state.subsets.map((S, i) => (i !== row ? S : S.includes(j) ? S.filter((k) => k !== j) : [...S, j])),
    });
  }

  /** @type {(net: ReturnType<typeof build>, seen: any) => void} */
  function showRows(net, { logits: scores, attention: shares }) {
    const { bits, subsets } = state;
    const T = bits.length;
    const places = Array.from({ length: T + 1 }, (_, j) => (j < T ? String(j + 1) : "o"));
    for (const head of heads) {
      attributes(head, { style: `--columns: ${T + 1}` });
      head.replaceChildren(...places.map((place) => h("span", {}, place)));
    }
    for (const label of labels) label.replaceChildren(...subsets.map((_, i) => badge(i)));
    input.show(
      [...bits].map((bit, j) => ({
        key: `x:${j + 1}`,
        name: `x${j + 1} is ${bit}`,
        value: Number(bit),
        text: bit,
        pressed: bit === "1",
      })),
      T + 1,
    );
    const cells = subsets.flatMap((S, i) => places.map((place, j) => ({ i, j, inside: S.includes(j + 1), place })));
    logits.show(
      cells.map(({ i, j, inside, place }) => ({
        key: `l:${i + 1}:${place}`,
        value: scores[i][j],
        text: format(scores[i][j], 1).replace("0.", "."),
        pressed: inside,
        weight: Math.min(1, Math.abs(scores[i][j]) / bounds("beta").max),
        name: `component ${i + 1}, position ${place}${inside ? ", a member" : ""}: logit ${format(scores[i][j], 2)}`,
      })),
      T + 1,
    );
    attributes(attention, { style: `--columns: ${T + 1}` });
    attention.replaceChildren(
      ...cells.map(({ i, j, inside, place }) =>
        h(
          "span",
          {
            class: "fx-cell",
            "data-member": inside,
            "data-value": `A:${i + 1}:${place}`,
            "data-number": shares[i][j],
            style: `--weight: ${100 * shares[i][j]}%`,
          },
          format(100 * shares[i][j], 0),
        ),
      ),
    );
  }

  /** @type {(net: ReturnType<typeof build>, seen: any) => void} */
  function showTable(net, { attention: shares, averages, waves, mixing }) {
    const { bits, subsets } = state;
    const T = bits.length;
    const d = degree(subsets);
    const number = (/** @type {string} */ key, /** @type {number} */ value) => {
      const cell = h("td");
      put(cell, key, value);
      return cell;
    };
    const rows = subsets.map((S, i) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, badge(i)),
        number(`n:${i + 1}`, ones(S, bits)),
        number(`leak:${i + 1}`, 1 - S.reduce((sum, j) => sum + shares[i][j - 1], S.length < d ? shares[i][T] : 0)),
        number(`a:${i + 1}`, averages[i]),
        number(`wave:${i + 1}`, waves[i]),
        ...mixing.map((/** @type {number[]} */ row, /** @type {number} */ head) =>
          number(`p:${net.heads[head].sign < 0 ? "-" : "+"}:${i + 1}`, row[i]),
        ),
      ),
    );
    const rest = h(
      "tr",
      {},
      h("th", { scope: "row", colspan: 5 }, "all other positions"),
      ...mixing.map((/** @type {number[]} */ row, /** @type {number} */ head) =>
        number(
          `p:${net.heads[head].sign < 0 ? "-" : "+"}:rest`,
          row.slice(subsets.length).reduce((sum, share) => sum + share, 0),
        ),
      ),
    );
    table.replaceChildren(
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...["", "ones", "leak", "sum a", "wave", ...net.heads.map(({ sign }) => (sign < 0 ? "mix −" : "mix +"))].map(
            (text) => h("th", { scope: "col" }, text),
          ),
        ),
      ),
      h("tbody", {}, ...rows, rest),
    );
  }

  /** @type {(seen: any, least: number) => void} */
  function showWords({ waves, output }, least) {
    const { bits, subsets, weights: lambda, beta: scale, noise: sigma, mode: kind } = state;
    const even = subsets.map((S) => 1 - (ones(S, bits) % 2));
    const off = [...subsets.keys()].filter((i) => Math.abs(waves[i] - even[i]) > 1e-9);
    const target = lambda.reduce((sum, weight, i) => sum + weight * even[i], 0);
    const moved = off.map((i) => `component ${i + 1} has a wave of ${format(waves[i])} instead of ${even[i]}`);
    const here = off.length ? `On this input ${moved.join(", ")}.` : "On this input all stay.";
    remark.textContent = sigma
      ? `Noise of ${sigma} in ${state.matrix}. ${here}`
      : scale >= least - 1e-12
        ? "β is not below it: every prefix sum stays on its plateau, whatever the input."
        : `β is below it: on some inputs the leak pushes a prefix sum off its plateau. ${here}`;
    const gap = Math.abs(output - target);
    const leaks = kind === "soft" && !off.length && !sigma;
    const excuse = leaks ? `, no more than τ = ${TAU} allows for each head` : "";
    verdict.textContent =
      gap < 1e-9
        ? "The network computes f(x) exactly."
        : `The network is off by ${gap < 0.001 ? "less than 0.001" : format(gap)}${excuse}.`;
    put(facts.output, "output", output);
    put(facts.target, "target", target);
    put(facts.error, "error", output - target);
    put(bound, "threshold", least);
    formula.replaceChildren(
      "f(x) = ",
      ...lambda.flatMap((weight, i) => [
        `${weight < 0 ? " − " : i ? " + " : ""}${format(Math.abs(weight))} ${named(subsets[i])}`,
        badge(i),
      ]),
    );
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const net = build(state);
    const seen = run(state, net);
    const least = threshold(state).beta;
    const T = state.bits.length;
    size.show(T, { key: "T" });
    mode.show(state.mode);
    weights.show(state.weights.map((weight) => format(weight, 6)).join(", "));
    beta.show(state.beta, { key: "beta", mark: least });
    matrix.show(state.matrix);
    noise.show(state.noise, { key: "noise" });
    showRows(net, seen);
    plot.replaceChildren(...wave(state, net, seen));
    const parts = state.subsets.map(
      (_, i) => `Component ${i + 1}: average ${format(seen.averages[i])}, wave ${format(seen.waves[i])}.`,
    );
    attributes(plot, { "aria-label": `The wave of the MLP. ${parts.join(" ")}` });
    showTable(net, seen);
    showWords(seen, least);
  });
  return explorer.start();
}

export default { render };
