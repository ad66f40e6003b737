// @ts-check
/**
 * PARITY step by step: the layer-norm network, which answers at once, and the scratchpad, which writes bit by bit.
 *
 * State: { network: "norm" | "scratchpad", bits: the input, step: one of STAGES (norm) or how many bits are written
 *   (scratchpad), eps: an entry of EPSILONS, of layer norm }. The numbers are those of flatcube.parity.
 */
import {
  accept,
  attributes,
  bars,
  bounds,
  connect,
  format,
  h,
  options,
  put,
  select,
  slider,
  softmax,
  strip,
} from "../classroom/explorers/kit.js";

/** @typedef {{ network: string, bits: string, step: number, eps: number }} State */

const CHANNELS = 9;
const EPSILONS = options("eps").map(([value]) => Number(value));
const STAGES = ["Input", "Count", "Compare", "Odd or even", "Average", "Amplify"];
const HELD = [
  "its bit",
  "the count k/N",
  "the count minus its place, (k − i)/N",
  "± 1/N if i = k, else 0",
  "the answer",
  "the output",
]; // by each position, after each stage
/** @type {(state: State) => number} */
const last = ({ network, bits }) => (network === "norm" ? STAGES.length - 1 : bits.length);
/** @type {(value: number) => number} */
const relu = (value) => Math.max(0, value);
/** @type {(values: number[]) => number} */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// ---------------------------------------------------------------------------------------------- the networks

/** What layer norm multiplies by. @type {(channels: number[], eps: number) => number} */
function factor(channels, eps) {
  const middle = mean(channels);
  const spread = mean(channels.map((value) => (value - middle) ** 2)) + eps;
  return spread > 0 ? 1 / Math.sqrt(spread) : 0;
}

/**
 * The layer-norm network: what every position 1, …, n, 0 holds after each stage.
 * @type {(state: State) => { stages: number[][], answer: number, stretch: number, output: number }}
 */
function normed({ bits, eps }) {
  const N = bits.length + 1;
  const places = Array.from({ length: N }, (_, j) => (j + 1) % N);
  const given = [...bits, "0"].map(Number);
  const count = mean(given);
  const rows = places.map((i, j) => {
    const side = 1 - 2 * (i % 2);
    const compared = count - i / N;
    const bump = (/** @type {number} */ way) =>
      way * [1, 0, -1].reduce((sum, shift) => sum + (shift ? 1 : -2) * relu(compared + shift / N + way * side - 1), 0);
    const hit = bump(1) + bump(-1);
    const first = i === 1 ? Math.log(N) : 0;
    const held = [given[j], i / N, side, 1 / N, count, hit, first, 0];
    const channels = [...held, -held.reduce((sum, value) => sum + value, 0)]; // the last channel balances the others
    return { compared, hit, normed: (hit - mean(channels)) * factor(channels, eps) };
  });
  const answer = mean(rows.map((row) => row.normed));
  const left = [answer, ...Array(CHANNELS - 1).fill(0)];
  const stretch = factor(left, eps);
  const output = ((answer - mean(left)) * stretch) / Math.sqrt(CHANNELS - 1);
  const everywhere = (/** @type {number} */ value) => places.map(() => value);
  return {
    stages: [
      given,
      everywhere(count),
      rows.map((row) => row.compared),
      rows.map((row) => row.hit),
      everywhere(answer),
      everywhere(output),
    ],
    answer,
    stretch,
    output,
  };
}

/** The scratchpad network at the end of a sequence: where the last position looks, and what it makes of it.
 * @type {(T: number, sequence: number[]) =>
 *     { first: number[], second: number[], sum: number, wave: number, output: number }} */
function advance(T, sequence) {
  const row = (/** @type {number} */ at, /** @type {number} */ logit) =>
    softmax(sequence.map((_, j) => (j % T === at % T ? logit : 0)));
  const mix = (/** @type {number[]} */ shares, /** @type {number[]} */ values) =>
    shares.reduce((sum, share, j) => sum + share * values[j], 0);
  const beta = relu(Math.log(3 * (T - 1))) + Math.log(2);
  const gamma = relu(Math.log(T - 1)) + Math.log(100);
  const sums = sequence.map((_, at) => mix(row(at, beta), sequence));
  const waves = sums.map((a) => 8 * (relu(a - 1 / 4) - relu(a - 3 / 8) - relu(a - 5 / 8) + relu(a - 3 / 4)));
  const end = sequence.length - 1;
  const second = row(end, gamma);
  return { first: row(end, beta), second, sum: sums[end], wave: waves[end], output: mix(second, waves) };
}

/**
 * All steps of the scratchpad up to `step`: the bits it has written, and the last step.
 * @type {(state: State) => { written: number[], now: ReturnType<typeof advance> | null }}
 */
function written({ bits, step }) {
  const pad = [0];
  const given = [...bits].map(Number);
  let now = null;
  for (let t = 1; t <= step; t++) {
    now = advance(bits.length, [...given, ...pad]);
    pad.push(Number(now.output > 0.5));
  }
  return { written: pad, now };
}

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = /** @type {State} */ (accept(given));
  return { ...state, step: Math.min(state.step, last(state)) };
}

// ---------------------------------------------------------------------------------------------- words

/** @type {(state: State, seen: ReturnType<typeof normed>) => string} */
function told({ bits, step, eps }, { answer, output }) {
  const k = [...bits].filter((bit) => bit === "1").length;
  const N = bits.length + 1;
  const odd = k % 2 ? "odd" : "even";
  const right = Math.abs(output - (k % 2 ? -1 : 1)) < 1e-9;
  return [
    `The input has ${k} one${k === 1 ? "" : "s"}. ` +
      "A position 0 with bit 0 stands at its end; there the answer will be read.",
    `Uniform attention: every position looks at all ${N} positions alike, and now holds k/N = ${k}/${N}.`,
    `Every position i takes away its own place, i/${N}. Only position ${k} is left with 0.`,
    `Three ReLUs make a bump of height 1/${N} at position ${k} and 0 elsewhere; positions know whether they are odd ` +
      `or even, and an odd one turns its bump over. So the sign is ${k % 2 ? "−" : "+"}, since ${k} is ${odd}.`,
    "A first layer norm rescales each position. Then uniform attention spreads the bump: " +
      `only ${format(answer, 4)} is left at each position, about 1/N². The sign is right, but the signal is faint.`,
    right
      ? "The MLP removes all other channels. Layer norm divides what is left by its own size, " +
        `so it becomes ${format(output)}: the number of ones is ${odd}.`
      : `The MLP removes all other channels, and layer norm amplifies the rest; but ε = ${small(eps)} in its ` +
        `denominator weighs against so faint a signal, and the output stops at ${format(output)}.`,
  ][step];
}

/** @type {(state: State, seen: ReturnType<typeof written>) => string} */
function toldStep({ bits, step }, { written: pad, now }) {
  if (!now) return "The scratchpad starts with y₀ = 0. Each next step adds one bit of x to it.";
  const [x, y] = [bits[step - 1], pad[step - 1]];
  const alike = x === String(y) ? "equal" : "different";
  const sentence =
    `Step ${step}: position ${bits.length + step} has the same code as position ${step}, so it looks at these two: ` +
    `bits ${x} and ${y}. They are ${alike}, and y${sub(step)} = ${pad[step]} is written.`;
  return step < bits.length
    ? sentence
    : `${sentence} That was the last bit: the number of ones is ${pad[step] ? "odd" : "even"}.`;
}

/** @type {(number: number) => string} */
const sub = (number) => String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
/** @type {(eps: number) => string} */
const small = (eps) => (eps ? eps.toExponential(0).replace("-", "−") : "0");

// ---------------------------------------------------------------------------------------------- the page

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const walk = (/** @type {number} */ by) =>
    explorer.change({ step: Math.min(last(state), Math.max(0, state.step + by)) });
  const network = select({
    label: "Network",
    choices: options("network"),
    onChange: (network) => explorer.change({ network, step: 0 }),
  });
  const size = slider({
    label: "Bits n",
    ...bounds("bits"),
    onInput: (n) => explorer.change({ bits: state.bits.padEnd(n, "1").slice(0, n) }),
  });
  const eps = slider({
    label: "ε of layer norm",
    min: 0,
    max: EPSILONS.length - 1,
    onInput: (at) => explorer.change({ eps: EPSILONS[at] }),
  });
  const input = strip({
    label: "The input x",
    onPress: (at) =>
      explorer.change({ bits: [...state.bits].map((bit, j) => (j === at ? String(1 - Number(bit)) : bit)).join("") }),
  });
  const button = (/** @type {string} */ text, /** @type {number} */ by) =>
    h("button", { type: "button", class: "fx-button", click: () => walk(by) }, text);
  const KEYS = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity });
  const number = h("b");
  const end = h("span");
  const about = "Arrow keys move through the steps, too";
  const steps = h(
    "div",
    {
      class: "fx-clock",
      role: "group",
      "aria-label": about,
      keydown: (/** @type {KeyboardEvent} */ event) => {
        if (!(event.key in KEYS)) return;
        event.preventDefault();
        walk(KEYS[event.key]);
      },
    },
    button("Back", -1),
    button("Next", 1),
    button("Reset", -Infinity),
    h("p", {}, "Step ", number, " of ", end),
  );
  const stages = h(
    "div",
    { class: "fx-stages", role: "group", "aria-label": "Stages of the network" },
    ...STAGES.map((name, step) => h("button", { type: "button", click: () => explorer.change({ step }) }, name)),
  );
  const chart = bars({ label: "What each position holds" });
  const pad = h("div", { class: "fx-strip fx-weights" });
  const heads = h("div", { class: "fx-columns" });
  const rowName = h("span", {}, "y");
  const sentence = h("p", { class: "fx-sentence fx-space", role: "status" });
  const facts = h("dl", { class: "fx-facts fx-space" });
  const title = h("p", { class: "fx-title" });

  el.append(
    h(
      "div",
      { class: "fx-box fx-parity" },
      h("div", { class: "fx-controls" }, network.root, size.root, eps.root),
      steps,
      stages,
      h("div", { class: "fx-named fx-space" }, h("span"), heads, h("span", {}, "x"), input.root, rowName, pad),
      h("p", { class: "fx-hint" }, "Press a bit to flip it."),
      title,
      chart.root,
      sentence,
      facts,
    ),
  );

  /** @type {(shown: [string, string, number, string?][]) => void} */
  function showFacts(shown) {
    facts.replaceChildren(
      ...shown.map(([key, name, value, text]) => {
        const cell = h("dd");
        put(cell, key, value, text);
        return h("div", {}, h("dt", {}, name), cell);
      }),
    );
  }

  function showNorm() {
    const seen = normed(state);
    const { step, bits } = state;
    const N = bits.length + 1;
    const values = seen.stages[step];
    const limit = [1, 1, 1, 1 / N, 1 / N, 1][step];
    chart.show(
      values.map((value, j) => ({
        key: `v:${(j + 1) % N}`,
        name: `position ${(j + 1) % N} holds ${format(value)}`,
        value,
        text: String((j + 1) % N),
        look: step === 0 ? "bound" : "",
      })),
      { low: step < 2 ? 0 : -limit, high: limit, values: true },
    );
    const k = [...bits].filter((bit) => bit === "1").length;
    const known = /** @type {[string, string, number, string?][]} */ ([
      ["ones", "ones k", k],
      ["answer", "answer", seen.answer, format(seen.answer, 4)],
      ["factor", "layer norm multiplies by", seen.stretch],
      ["output", "output", seen.output],
    ]);
    showFacts(known.slice(0, [1, 1, 1, 1, 2, 4][step]));
    title.textContent = `Each position holds ${HELD[step]}`;
    sentence.textContent = told(state, seen);
  }

  function showPad() {
    const seen = written(state);
    const { bits, step } = state;
    const T = bits.length;
    const { written: pads, now } = seen;
    attributes(pad, { style: `--columns: ${T + 1}` });
    pad.replaceChildren(
      ...pads.map((bit, t) =>
        h(
          "span",
          {
            class: "fx-cell",
            "data-value": `y:${t}`,
            "data-number": bit,
            "data-member": now && t === step - 1,
            "data-new": now && t === step,
          },
          String(bit),
        ),
      ),
    );
    const places = [...bits, ...pads.slice(0, Math.max(1, step))].map((_, j) => j);
    chart.show(
      places.map((j) => ({
        key: `A:${j + 1}`,
        name: `position ${j + 1}: ${format(now ? now.first[j] : 0)}`,
        value: now ? now.first[j] : 0,
        text: j < T ? `x${sub(j + 1)}` : `y${sub(j - T)}`,
        look: "weight",
      })),
      { low: 0, high: 0.5 },
    );
    showFacts(
      now
        ? [
            ["sum", "mean of the bits seen", now.sum],
            ["wave", "wave (1: odd)", now.wave],
            ["reach", "second attention on the pair", now.second[step - 1] + now.second[T + step - 1]],
            ["output", "output", now.output],
            ["bit", "bit written", pads[step]],
          ]
        : [],
    );
    title.textContent = now
      ? `Where position ${T + step} looks: its first attention`
      : "No position has looked anywhere yet";
    sentence.textContent = toldStep(state, seen);
  }

  const explorer = connect(model, el, clean, (next) => {
    state = next;
    const norm = state.network === "norm";
    const { bits, step } = state;
    const T = bits.length;
    network.show(state.network);
    size.show(T, { key: "n" });
    eps.show(EPSILONS.indexOf(state.eps), { key: "eps", number: state.eps, text: small(state.eps) });
    eps.root.hidden = stages.hidden = !norm;
    rowName.hidden = pad.hidden = norm;
    put(number, "step", step);
    end.textContent = String(last(state));
    [...stages.children].forEach((stage, at) =>
      attributes(stage, { "aria-current": at === step ? "step" : null, "data-done": at < step }),
    );
    attributes(heads, { style: `--columns: ${T + 1}` });
    heads.replaceChildren(
      ...Array.from({ length: T + 1 }, (_, j) => h("span", {}, j < T ? String(j + 1) : norm ? "0" : "")),
    );
    input.show(
      [...bits].map((bit, j) => ({
        key: `x:${j + 1}`,
        name: `x${j + 1} is ${bit}`,
        value: Number(bit),
        text: bit,
        pressed: bit === "1",
        look: !norm && step === j + 1 ? "seen" : undefined,
      })),
      T + 1,
    );
    norm ? showNorm() : showPad();
  });
  return explorer.start();
}

export default { render };
