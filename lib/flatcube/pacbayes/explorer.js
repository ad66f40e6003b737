// @ts-check
/** The PAC-Bayes calculator: the terms of the truncated bound for w disjoint parities of degree d among T bits. */
import { accept, bounds, connect, format, h, options, put, select, slider, whole } from "../classroom/explorers/kit.js";

/**
 * m: log₁₀ of the examples, sigma: tenths of a decade from the best σ.
 * @typedef {{ T: number, d: number, w: number, m: number, sigma: number, delta: number, C: number,
 *     kind: string }} State
 */

const TAU = 0.01;
const KAPPA = 0.5;
const CLIP = 4;
const LEVELS = 16;

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = /** @type {State} */ (accept(given));
  const { T, d, w } = state;
  if (w * d > T) throw new Error(`w: expected w·d ≤ T = ${T}, got ${w}·${d}`);
  return state;
}

/** P[n ones among d fair bits]. @type {(d: number) => number[]} */
function fair(d) {
  const chances = [2 ** -d];
  for (let n = 0; n < d; n++) chances.push((chances[n] * (d - n)) / (n + 1));
  return chances;
}

/**
 * P[s][q]: that tiles and spare bits hold s ones, and q tiles an even number.
 * @type {(tiles: number, spare: number, d: number) => number[][]}
 */
function others(tiles, spare, d) {
  let table = fair(spare).map((chance) => [chance]);
  for (let tile = 1; tile <= tiles; tile++) {
    const next = Array.from({ length: table.length + d }, () => new Array(tile + 1).fill(0));
    fair(d).forEach((chance, n) =>
      table.forEach((row, s) => row.forEach((p, q) => (next[s + n][q + (n % 2 ? 0 : 1)] += chance * p))),
    );
    table = next;
  }
  return table;
}

/**
 * Squared norm and trace of every matrix; the traces are exact means over all inputs.
 * @type {(T: number, d: number, w: number) => Record<string, [number, number]>}
 */
function account(T, d, w) {
  const lambda = 2 / Math.sqrt(w);
  const beta = Math.log((4 * T) / KAPPA);
  const leak = Math.exp(-beta);
  const logit = Math.log((T + 1 - w) / TAU) + Math.log(lambda);
  const kinks = Array.from({ length: d + 1 }, (_, k) => [-0.5, -0.25, 0.25, 0.5].map((at) => (k + at) / d)).flat();
  const slopes = kinks.map((_, i) => (i % 8 > 3 ? 0 : 4 * d * [1, -1, -1, 1][i % 4])); // odd k have no wave
  const wave = (/** @type {number} */ a) => kinks.reduce((sum, kink, i) => sum + slopes[i] * Math.max(a - kink, 0), 0);
  const chance = fair(d);
  const even = (/** @type {number} */ n) => (n % 2 ? 0 : 1);
  let b = 0;
  let E = 0;
  let F = 0;
  for (const [tiles, count] of [
    [1, w],
    [2, w * (w - 1)],
  ]) {
    if (!count) continue;
    const rest = others(w - tiles, T - w * d, d);
    chance.forEach((p1, n1) =>
      chance.forEach((p2, n2) => {
        if (tiles === 1 && n2 !== n1) return;
        const low = Math.min(n1, n2);
        const ones = tiles === 1 ? n1 : n1 + n2;
        const evens = tiles === 1 ? even(n1) : even(n1) + even(n2);
        const reads = (/** @type {number} */ n, /** @type {number} */ s) =>
          (n * (1 - leak) + s * leak) / (d + (T + 1 - d) * leak);
        rest.forEach((row, more) => {
          const a1 = reads(n1, ones + more);
          const a2 = reads(n2, ones + more);
          let active = 0;
          let moved = 0;
          kinks.forEach((kink, i) => {
            if (low <= kink * d) return;
            active += slopes[i] ** 2;
            moved += (a1 - kink) * (a2 - kink);
          });
          row.forEach((p, q) => {
            const weight = count * lambda ** 2 * p1 * (tiles === 1 ? 1 : p2) * p;
            const share = (evens + q) / w;
            b += weight * active;
            E += weight * active * a1 * a2;
            F += weight * moved * (1 + w * logit ** 2 * (even(n1) - share) * (even(n2) - share));
          });
        });
      }),
    );
  }
  let W2 = 0;
  let v2 = 0;
  let bias = 0;
  for (const kink of kinks) bias += kink ** 2;
  others(w, T - w * d, d).forEach((row, s) =>
    row.forEach((p, q) => {
      const share = q / w;
      const turn = share * (1 - share);
      W2 += p * (1 + wave(s / (T + 1)) ** 2) * (w * lambda ** 2 * turn + (w * lambda * turn) ** 2);
      v2 += p * (1 / w + share ** 2);
    }),
  );
  return {
    W1: [w * d * beta ** 2, 0],
    V1: [1, 0],
    E: [4 * (d + 1), 2 * E],
    b: [bias, 2 * b],
    F: [64 * d * d * (Math.floor(d / 2) + 1), 2 * F],
    W2: [w * logit ** 2, 2 * W2],
    v2: [(w * lambda + TAU) ** 2, 2 * v2],
  };
}

// ---------------------------------------------------------------------------------------------- the bound

/**
 * The terms at m examples, and the σ of all weights or of b.
 * @type {(groups: [number, number][], state: State, m: number) => { terms: Record<string, number>, noise: number,
 *     value: number }}
 */
function bound(groups, { sigma, delta, C, kind }, m) {
  const factor = 10 ** (sigma / 10);
  const sum = (/** @type {(g: [number, number]) => number} */ part) => groups.reduce((total, g) => total + part(g), 0);
  const norm2 = sum(([N]) => N);
  const trace = sum(([, H]) => H);
  const area = sum(([N, H]) => Math.sqrt(N * H));
  const best = Math.cbrt((C * Math.sqrt(norm2 / m)) / trace);
  const c = Math.cbrt(C ** 2 / (area * m));
  const [N, H] = groups[3];
  const [flat, square, noise] =
    kind === "isotropic"
      ? [(best ** 2 * trace) / 2, norm2 / best ** 2, best]
      : [(c * area) / 2, area / c, Math.sqrt(c * Math.sqrt(N / H))];
  const norm = C * Math.sqrt(square / factor ** 2 / m);
  const whole = C * Math.sqrt((square / factor ** 2 + 2 * Math.log(1 / delta)) / m);
  return {
    terms: { sharpness: flat * factor ** 2, norm, confidence: (C ** 2 * 2 * Math.log(1 / delta)) / m / (whole + norm) },
    noise: noise * factor,
    value: flat * factor ** 2 + whole,
  };
}

/** log₁₀ of the m from which on a falling bound is at most 1. @type {(value: (m: number) => number) => number} */
function needed(value) {
  let low = 0;
  let high = 60;
  while (high - low > 1e-10) {
    const middle = (low + high) / 2;
    if (value(10 ** middle) <= 1) high = middle;
    else low = middle;
  }
  return high;
}

/** log₁₀ of Occam's number of examples. @type {(state: State) => number} */
function occam({ T, d, w, delta }) {
  let sets = 1;
  let total = w * Math.log(LEVELS) + Math.log(1 / delta);
  for (let i = 0; i < d; i++) sets = (sets * (T - i)) / (i + 1);
  for (let i = 0; i < w; i++) total += Math.log((sets - i) / (i + 1));
  return Math.log10(CLIP * total);
}

// ---------------------------------------------------------------------------------------------- the page

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  const LABELS = {
    T: "Bits T",
    d: "Degree d",
    w: "Components w",
    m: "Examples m = 10ᵏ, k =",
    sigma: "σ, in tenths of a decade from the best",
  };
  const MENUS = { kind: "Noise", C: "Constant C", delta: "δ" };
  const fits = (/** @type {any} */ patch) => {
    const next = { ...state, ...patch };
    if (next.w * next.d > next.T)
      "w" in patch
        ? (next.d = Math.max(1, Math.floor(next.T / next.w)))
        : (next.w = Math.max(1, Math.floor(next.T / next.d)));
    if (next.w * next.d > next.T) next.T = next.w * next.d;
    explorer.change(next);
  };
  const sliders = Object.fromEntries(
    Object.entries(LABELS).map(([key, label]) => [
      key,
      slider({ label, ...bounds(key), onInput: (value) => fits({ [key]: value }) }),
    ]),
  );
  const menus = Object.fromEntries(
    Object.entries(MENUS).map(([key, label]) => [
      key,
      select({
        label,
        choices: options(key),
        onChange: (value) => explorer.change({ [key]: key === "kind" ? value : Number(value) }),
      }),
    ]),
  );
  const bar = h("div", { class: "fx-shares", role: "img" });
  const verdict = h("b", { "data-value": "verdict" });
  const names = {
    value: "risk at most",
    needed: "below 1 from m = 10 to the power",
    occam: "Occam needs m = 10 to the power",
    norm2: "‖θ‖²",
    trace: "trace",
    noise: "σ in thousandths",
  };
  const facts = Object.fromEntries(Object.keys(names).map((key) => [key, h("dd")]));
  const heads = Object.fromEntries(Object.entries(names).map(([key, text]) => [key, h("dt", {}, text)]));
  el.append(
    h(
      "div",
      { class: "fx-box" },
      h(
        "div",
        { class: "fx-controls" },
        ...Object.values(menus).map((one) => one.root),
        ...Object.values(sliders).map((one) => one.root),
      ),
      h("p", { class: "fx-title fx-space" }, "What the bound is made of"),
      bar,
      h(
        "div",
        { role: "status", class: "fx-space" },
        h("dl", { class: "fx-facts" }, ...Object.entries(facts).map(([key, dd]) => h("div", {}, heads[key], dd))),
      ),
      h("p", { class: "fx-sentence" }, "The best constant has risk 1. ", verdict),
    ),
  );

  let state = clean(model.get("state"));
  let known = "";
  let groups = /** @type {[number, number][]} */ ([]);
  const explorer = connect(model, el, clean, (now) => {
    state = now;
    if (known !== `${now.T} ${now.d} ${now.w}`) {
      known = `${now.T} ${now.d} ${now.w}`;
      groups = Object.values(account(now.T, now.d, now.w));
    }
    for (const [key, one] of Object.entries(sliders)) one.show(now[/** @type {"T"} */ (key)], { key });
    for (const [key, one] of Object.entries(menus)) one.show(String(now[/** @type {"kind"} */ (key)]));
    const { terms, noise, value } = bound(groups, now, 10 ** now.m);
    bar.replaceChildren(
      ...Object.entries(terms).map(([name, term], at) => {
        const share = (100 * term) / value;
        const part = h("span", { "data-series": at + 1, style: `width: ${share}%` });
        put(part, `term:${name}`, term, share > 18 ? whole(`${name} ${format(term)}`) : "");
        return part;
      }),
    );
    bar.setAttribute(
      "aria-label",
      Object.entries(terms)
        .map(([name, term]) => `${name} ${format(term, 4)}`)
        .join(", "),
    );
    const numbers = {
      value,
      needed: needed((m) => bound(groups, now, m).value),
      occam: occam(now),
      norm2: Math.round(groups.reduce((sum, [N]) => sum + N, 0)),
      trace: Math.round(groups.reduce((sum, [, H]) => sum + H, 0)),
      noise: 1000 * noise,
    };
    for (const [key, number] of Object.entries(numbers)) put(facts[key], key, number);
    heads.noise.textContent = now.kind === "isotropic" ? "σ in thousandths" : "σ of b in thousandths";
    verdict.textContent = value < 1 ? "The bound promises less." : "The bound promises no less.";
  });
  return explorer.start();
}

export default { render };
