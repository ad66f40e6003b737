// @ts-check
/**
 * An image as sixteen tokens: noise on some of them, what three networks say, and where each of them is sensitive.
 *
 * State: { image: its class, sigma: of the noise, patches: 1 for each that gets noise, seed: which noise }. Weights and
 * images are those of data/pocket.csv; the page draws the noise and evaluates the networks, and explorer.py says what
 * must come out.
 */
import {
  accept,
  attributes,
  bounds,
  connect,
  h,
  normals,
  options,
  put,
  select,
  slider,
  softmax,
  stored,
  strip,
  svg,
} from "../classroom/explorers/kit.js";

/** @typedef {{ image: number, sigma: number, patches: string, seed: number }} State */
/** @typedef {(tokens: Float64Array) => number[]} Network */

const T = 16;
const D = 16; // pixels of a patch
const GRID = 4;
const SIZE = 4;
const SIDE = 16;
const DRAWS = 8;
const CLASSES = 10;
const PLACES = Array.from({ length: T }, (_, at) => at);
const IMAGES = /** @type {[string, number, string][]} */ (stored.images);
const NAMES = { mlp: "MLP", cnn: "CNN", vit: "Vision transformer" };

// ---------------------------------------------------------------------------------------------- networks

/** Weights by number, in the order of their text. @type {(text: string) => (count: number) => Float64Array} */
function reader(text) {
  const values = Float64Array.from(text.split(" "), Number);
  let at = 0;
  return (count) => values.subarray(at, (at += count));
}

/** @typedef {{ weight: Float64Array, bias: Float64Array, wide: number }} Map */
/** From `wide` numbers. @type {(take: (count: number) => Float64Array, wide: number, out: number) => Map} */
const affine = (take, wide, out) => ({ weight: take(wide * out), bias: take(out), wide });

/** The map on every row of x. @type {(map: Map, x: Float64Array) => Float64Array} */
function apply({ weight, bias, wide }, x) {
  const out = bias.length;
  const result = new Float64Array((x.length / wide) * out);
  for (let row = 0, to = 0; row < x.length; row += wide) {
    for (let j = 0, from = 0; j < out; j++, to++) {
      let sum = bias[j];
      for (let i = 0; i < wide; i++) sum += weight[from++] * x[row + i];
      result[to] = sum;
    }
  }
  return result;
}

/** @type {(x: number) => number} */
const leaky = (x) => (x < 0 ? 0.01 * x : x);

/** The error function, by a series of positive terms. @type {(x: number) => number} */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [1, 1];
  for (let k = 1; term > 1e-17 * sum; k++) sum += term *= (2 * x * x) / (2 * k + 1);
  return (2 / Math.sqrt(Math.PI)) * x * Math.exp(-x * x) * sum;
}
/** @type {(x: number) => number} */
const gelu = (x) => (x / 2) * (1 + erf(x / Math.SQRT2));

/** Rows of `wide` numbers normed, then scaled and moved. @type {(map: Map, x: Float64Array) => Float64Array} */
function norm({ weight, bias, wide }, x) {
  const result = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += wide) {
    const part = x.subarray(row, row + wide);
    const mean = part.reduce((a, b) => a + b, 0) / wide;
    const spread = Math.sqrt(part.reduce((sum, value) => sum + (value - mean) ** 2, 0) / wide + 1e-5);
    for (let i = 0; i < wide; i++) result[row + i] = ((part[i] - mean) / spread) * weight[i] + bias[i];
  }
  return result;
}
/** @type {(take: (count: number) => Float64Array, wide: number) => Map} */
const normed = (take, wide) => ({ weight: take(wide), bias: take(wide), wide });

/** @type {(text: string) => Network} */
function mlp(text) {
  const take = reader(text);
  const [enter, leave] = [affine(take, T * D, 24), affine(take, 24, CLASSES)];
  return (tokens) => [...apply(leave, apply(enter, tokens).map(leaky))];
}

/** The pixels of an image, row by row. @type {(tokens: Float64Array) => Float64Array} */
function pixels(tokens) {
  const image = new Float64Array(SIDE * SIDE);
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const patch = GRID * Math.floor(y / SIZE) + Math.floor(x / SIZE);
      image[SIDE * y + x] = tokens[D * patch + SIZE * (y % SIZE) + (x % SIZE)];
    }
  }
  return image;
}

/** Squares of 3 × 3 pixels through an affine map, one every `step` pixels.
 * @type {(map: Map, x: Float64Array, side: number, step: number) => Float64Array} */
function convolve({ weight, bias, wide }, x, side, step) {
  const [channels, left] = [wide / 9, Math.floor((side - 3) / step) + 1];
  const result = new Float64Array(bias.length * left * left);
  for (let out = 0, to = 0; out < bias.length; out++) {
    for (let y = 0; y < left; y++) {
      for (let z = 0; z < left; z++, to++) {
        let sum = bias[out];
        for (let c = 0, from = wide * out; c < channels; c++)
          for (let k = 0; k < 3; k++)
            for (let l = 0; l < 3; l++) sum += weight[from++] * x[side * (side * c + step * y + k) + step * z + l];
        result[to] = leaky(sum);
      }
    }
  }
  return result;
}

/** @type {(text: string) => Network} */
function cnn(text) {
  const take = reader(text);
  const [first, second] = [affine(take, 9, 6), affine(take, 54, 6)];
  const [dense, leave] = [affine(take, 150, 24), affine(take, 24, CLASSES)];
  return (tokens) => {
    const maps = convolve(second, convolve(first, pixels(tokens), SIDE, 2), SIDE / 2 - 1, 1);
    return [...apply(leave, apply(dense, maps).map(leaky))];
  };
}

/** @type {(text: string) => Network} */
function vit(text) {
  const [wide, heads, hidden] = [16, 4, 32];
  const each = wide / heads;
  const take = reader(text);
  const positions = take(T * wide);
  const [before, after] = [normed(take, D), normed(take, wide)];
  const embedding = affine(take, D, wide);
  const blocks = [0, 1].map(() => ({
    inputs: affine(take, wide, 3 * wide),
    output: affine(take, wide, wide),
    enter: affine(take, wide, hidden),
    leave: affine(take, hidden, wide),
    first: normed(take, wide),
    second: normed(take, wide),
  }));
  const [last, readout] = [normed(take, wide), affine(take, wide, CLASSES)];
  const attend = (/** @type {Float64Array} */ all) => {
    const mixed = new Float64Array(T * wide);
    for (let head = 0; head < heads; head++) {
      for (const i of PLACES) {
        const logits = PLACES.map((j) => {
          let sum = 0;
          for (let c = head * each; c < (head + 1) * each; c++) {
            sum += all[3 * wide * i + c] * all[3 * wide * j + wide + c];
          }
          return sum / Math.sqrt(each);
        });
        softmax(logits).forEach((share, j) => {
          for (let c = head * each; c < (head + 1) * each; c++) {
            mixed[wide * i + c] += share * all[3 * wide * j + 2 * wide + c];
          }
        });
      }
    }
    return mixed;
  };
  return (tokens) => {
    let x = norm(after, apply(embedding, norm(before, tokens))).map((value, at) => value + positions[at]);
    for (const block of blocks) {
      const seen = apply(block.output, attend(apply(block.inputs, norm(block.first, x))));
      x = x.map((value, at) => value + seen[at]);
      const bent = apply(block.leave, apply(block.enter, norm(block.second, x)).map(gelu));
      x = x.map((value, at) => value + bent[at]);
    }
    const mean = Float64Array.from({ length: wide }, (_, c) => PLACES.reduce((sum, i) => sum + x[wide * i + c], 0) / T);
    return [...apply(readout, norm(last, mean))];
  };
}

const NETWORKS = /** @type {[keyof typeof NAMES, Network][]} */ ([
  ["mlp", mlp(stored.weights.mlp)],
  ["cnn", cnn(stored.weights.cnn)],
  ["vit", vit(stored.weights.vit)],
]);

/** The class with the largest number. @type {(outputs: number[]) => number} */
const decision = (outputs) => outputs.indexOf(Math.max(...outputs));

// ---------------------------------------------------------------------------------------------- images

/** The tokens of an image, patch by patch. @type {(image: number) => Float64Array} */
function tokensOf(image) {
  const grey = IMAGES[image][2].split(" ").map((text) => Number(text) / 255);
  const place = (/** @type {number} */ at) => {
    const [patch, y, x] = [Math.floor(at / D), Math.floor(at / SIZE) % SIZE, at % SIZE];
    return SIDE * (SIZE * Math.floor(patch / GRID) + y) + SIZE * (patch % GRID) + x;
  };
  return Float64Array.from(grey, (_, at) => grey[place(at)]);
}

/** The tokens with noise on those patches for which `on` holds.
 * @type {(tokens: Float64Array, noise: Float64Array, sigma: number, on: (patch: number) => boolean) => Float64Array} */
const shaken = (tokens, noise, sigma, on) =>
  tokens.map((value, at) => (on(Math.floor(at / D)) ? value + sigma * noise[at] : value));

/** @type {(seed: number) => Float64Array[]} */
const noises = (seed) =>
  Array.from({ length: DRAWS }, (_, draw) => Float64Array.from({ length: T * D }, normals(seed, draw)));

/** A square of SIZE × SIZE pixels, and what makes it show an image. @returns {{ root: any, rects: any[] }} */
function tile() {
  const rects = Array.from({ length: D }, (_, at) =>
    svg("rect", { x: at % SIZE, y: Math.floor(at / SIZE), width: 1.02, height: 1.02 }),
  );
  return { root: svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" }, ...rects), rects };
}

// ---------------------------------------------------------------------------------------------- the page

/** What stands on the page for one network. @type {(key: string, title: string) => any} */
function card(key, title) {
  const [before, after, share] = [h("b"), h("b"), h("b")];
  const verdict = h("span", { class: "fx-verdict" });
  const squares = PLACES.map((at) => {
    const box = svg("rect", { x: (at % GRID) + 0.03, y: Math.floor(at / GRID) + 0.03, width: 0.94, height: 0.94 });
    const text = svg("text", { x: (at % GRID) + 0.5, y: Math.floor(at / GRID) + 0.64 });
    return { box, text };
  });
  const map = svg(
    "svg",
    { class: "fx-map", role: "img", viewBox: `0 0 ${GRID} ${GRID}` },
    ...squares.flatMap(({ box, text }) => [box, text]),
  );
  const root = h(
    "div",
    { "data-network": key },
    h("p", { class: "fx-step-title" }, title),
    h("p", { class: "fx-said" }, before, " → ", after, verdict),
    map,
    h("p", { class: "fx-title" }, "sensitivity here: ", share),
  );
  return { root, before, after, verdict, squares, map, share };
}

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  /** @type {State} */
  let state;
  const image = select({
    label: "Image",
    choices: options("image"),
    onChange: (value) => explorer.change({ image: Number(value) }),
  });
  const sigma = slider({
    label: "Noise σ",
    ...bounds("sigma"),
    onInput: (value) => explorer.change({ sigma: value }),
  });
  const press = (/** @type {string} */ text, /** @type {() => Partial<State>} */ patch) =>
    h("button", { type: "button", class: "fx-button", click: () => explorer.change(patch()) }, text);
  const noise = h(
    "div",
    { class: "fx-control", role: "group", "aria-label": "Noise" },
    press("New noise", () => ({ seed: (state.seed + 1) % 10000 })),
    press("On all patches", () => ({ patches: "1".repeat(T) })),
    press("On none", () => ({ patches: "0".repeat(T) })),
  );
  const patches = strip({
    label: "Patches of the image; press one to add noise to it or to take it away",
    onPress: (at) => {
      const on = state.patches[at] === "1" ? "0" : "1";
      explorer.change({ patches: state.patches.slice(0, at) + on + state.patches.slice(at + 1) });
    },
  });
  const tiles = PLACES.map(tile);
  const cards = NETWORKS.map(([key]) => card(key, NAMES[key]));
  const noisy = h("b");
  const told = h("span");
  el.append(
    h(
      "div",
      { class: "fx-box fx-tokens" },
      h("div", { class: "fx-controls" }, image.root, sigma.root, noise),
      h(
        "div",
        { class: "fx-sides" },
        h("div", {}, h("p", { class: "fx-title" }, "Press a patch"), patches.root),
        h("div", { class: "fx-cards" }, ...cards.map(({ root }) => root)),
      ),
      h("p", { class: "fx-sentence", role: "status" }, "Noise on ", noisy, told),
      h(
        "p",
        { class: "fx-hint" },
        `Squares: in how many of ${DRAWS} draws noise on this patch alone changes the answer (· is never). ` +
          "Images: Fashion-MNIST, at half its size.",
      ),
    ),
  );

  let known = "";
  /** @type {number[][]} */
  let maps = [];
  const explorer = connect(model, el, /** @type {(given: any) => State} */ (accept), (now) => {
    state = now;
    const on = (/** @type {number} */ patch) => now.patches[patch] === "1";
    const tokens = tokensOf(now.image);
    const drawn = noises(now.seed);
    const shown = shaken(tokens, drawn[0], now.sigma, on);
    image.show(String(now.image));
    sigma.show(now.sigma, { key: "sigma" });
    patches.show(
      PLACES.map((at) => ({
        key: `patch:${at + 1}`,
        value: on(at) ? 1 : 0,
        pressed: on(at),
        name: `patch ${at + 1}, row ${Math.floor(at / GRID) + 1}, column ${(at % GRID) + 1}`,
      })),
      GRID,
    );
    PLACES.forEach((patch) => {
      if (!tiles[patch].root.isConnected) patches.root.children[patch].append(tiles[patch].root);
      tiles[patch].rects.forEach((rect, at) => {
        const grey = Math.round(100 * Math.min(1, Math.max(0, shown[D * patch + at])));
        attributes(rect, { fill: `color-mix(in srgb, white ${grey}%, black)` });
      });
    });
    const key = [now.image, now.sigma, now.seed].join();
    const first = NETWORKS.map(([, network]) => decision(network(tokens)));
    if (known !== (known = key)) {
      maps = NETWORKS.map(([, network], k) =>
        PLACES.map(
          (place) =>
            drawn.filter(
              (noise) => decision(network(shaken(tokens, noise, now.sigma, (patch) => patch === place))) !== first[k],
            ).length,
        ),
      );
    }
    const changed = NETWORKS.filter(([name, network], k) => {
      const said = decision(network(shown));
      const { before, after, verdict, squares, map, share } = cards[k];
      attributes(before, { "data-value": `before:${name}` });
      attributes(after, { "data-value": `after:${name}` });
      before.textContent = IMAGES[first[k]][0];
      after.textContent = IMAGES[said][0];
      verdict.textContent = said === first[k] ? " (same)" : " (changed)";
      attributes(cards[k].root, { "data-changed": said === first[k] ? null : "" });
      squares.forEach((/** @type {any} */ { box, text }, /** @type {number} */ at) => {
        const count = maps[k][at];
        attributes(box, { "data-value": `map:${name}:${at + 1}`, "data-number": count, "fill-opacity": count / DRAWS });
        attributes(text, { "data-strong": 2 * count > DRAWS });
        text.textContent = count ? String(count) : "·";
      });
      attributes(map, {
        "aria-label":
          `${NAMES[name]}: of ${DRAWS} draws these change the answer, patch by patch: ` +
          [0, 1, 2, 3].map((row) => maps[k].slice(GRID * row, GRID * row + GRID).join(" ")).join("; "),
      });
      put(share, `s:${name}`, maps[k].reduce((a, b) => a + b, 0) / (T * DRAWS));
      return said !== first[k];
    }).map(([name]) => NAMES[name]);
    const count = PLACES.filter(on).length;
    put(noisy, "noisy", count);
    told.textContent =
      ` of 16 patches of the ${IMAGES[now.image][0]}: ` +
      (changed.length
        ? `${changed.join(", ")} change${changed.length > 1 ? "" : "s"} the answer.`
        : "no answer changes.");
  });
  return explorer.start();
}

export default { render };
