// @ts-check
/**
 * The shared parts of the explorers: page elements, two drawings, the arithmetic of the cube.
 *
 * One convention, the library's: index k of a table is the point whose bit b_i is bit i−1 of k, a subset S is the
 * mask with the same bits, and −1 means true. Looks live in ../site/elements.css; nothing here names a colour.
 */

/** @typedef {{ get(key: string): any, set(key: string, value: any): void, save_changes(): void,
 *     on(event: string, call: () => void): void, off(event: string, call: () => void): void }} Model */
/**
 * One thing to press or to read: `key` is its data-value, `name` what a screen reader says.
 * @typedef {{ key: string, name: string, value: number, text?: string, pressed?: boolean, look?: string,
 *     weight?: number, series?: number | string }} Cell
 */

// ---------------------------------------------------------------------------------------------- elements

/** @type {(node: Element, attributes: Record<string, any>) => void} */
export function attributes(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === false || value === null || value === undefined) node.removeAttribute(key);
    else if (node.getAttribute(key) !== String(value)) node.setAttribute(key, value === true ? "" : String(value));
  }
}

/**
 * An HTML element; functions among the attributes are listeners.
 * @type {(tag: string, given?: Record<string, any>, ...children: (Node | string)[]) => any}
 */
export function h(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  attributes(node, given);
  node.append(...children);
  return node;
}

/** An SVG element. @type {(tag: string, given?: Record<string, any>, ...children: (Node | string)[]) => any} */
export function svg(tag, given = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  attributes(node, given);
  node.append(...children);
  return node;
}

let serial = 0;
/** An id that is unique on the page. @type {(stem: string) => string} */
export const fresh = (stem) => `fx-${stem}-${++serial}`;

/**
 * Put a number on the page: rounded for the eye, complete for whoever checks it.
 * @type {(node: Element, key: string, value: number, text?: string) => void}
 */
export function put(node, key, value, text = format(value)) {
  attributes(node, { "data-value": key, "data-number": value });
  if (node.textContent !== text) node.textContent = text;
}

// ---------------------------------------------------------------------------------------------- controls

/**
 * What a slider shows besides its value: `mark` points at a value that matters; `number` and `text` are shown where
 * the slider's own value is only a place in a list.
 * @typedef {{ min?: number, max?: number, key?: string, mark?: number, number?: number, text?: string }} Limits
 */
/** @type {(options: { label: string, min: number, max: number, step?: number, onInput(value: number): void }) =>
 *     { root: any, label(text: string): void, show(value: number, limits?: Limits): void }} */
export function slider({ label, min, max, step = 1, onInput }) {
  const id = fresh("slider");
  const input = h("input", { type: "range", id, min, max, step, input: () => onInput(Number(input.value)) });
  const output = h("output", { for: id, class: "fx-number" });
  const title = h("label", { for: id }, label);
  const root = h("div", { class: "fx-control" }, title, input, output);
  return {
    root,
    label: (text) => void (title.textContent = text),
    show(value, limits = {}) {
      attributes(input, { min: limits.min ?? min, max: limits.max ?? max });
      input.value = String(value);
      attributes(root, {
        style:
          limits.mark === undefined ? null : `--mark: ${(limits.mark - Number(input.min)) / (input.max - input.min)}`,
      });
      put(output, limits.key ?? "n", limits.number ?? value, limits.text);
    },
  };
}

/** @type {(options: { label: string, choices: [string, string][], onChange(value: string): void }) =>
 *     { root: any, show(value: string): void, offer(choices: [string, string][]): void }} */
export function select({ label, choices, onChange }) {
  const id = fresh("select");
  const input = h("select", { id, change: () => onChange(input.value) });
  const offer = (/** @type {[string, string][]} */ choices) =>
    input.replaceChildren(...choices.map(([value, text]) => h("option", { value }, text)));
  offer(choices);
  const root = h("div", { class: "fx-control" }, h("label", { for: id }, label), input);
  return { root, offer, show: (value) => void (input.value = value) };
}

/** A line to type in, with a place for what is wrong with it.
 * @type {(options: { label: string, placeholder: string, onInput(text: string): void }) =>
 *     { root: any, show(text: string): void, complain(message: string): void }} */
export function field({ label, placeholder, onInput }) {
  const id = fresh("field");
  const input = h("input", {
    type: "text",
    id,
    placeholder,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    "aria-describedby": `${id}-error`,
    input: () => onInput(input.value),
  });
  const error = h("p", { id: `${id}-error`, class: "fx-error", role: "status" });
  const root = h("div", { class: "fx-control fx-wide" }, h("label", { for: id }, label), input, error);
  return {
    root,
    // what the reader is typing is never rewritten under the cursor
    show: (text) => void (document.activeElement !== input && (input.value = text)),
    complain(message) {
      attributes(input, { "aria-invalid": message ? "true" : null });
      error.textContent = message;
    },
  };
}

/**
 * Let arrow keys (and `jump`) move a single tab stop through many parts.
 * @type {(root: Element, parts: () => any[], columns?: () => number, jump?: (key: string, at: number) => number) =>
 *     void}
 */
export function roving(root, parts, columns = () => 1, jump = () => NaN) {
  const stand = (/** @type {any} */ part) => {
    for (const other of parts()) attributes(other, { tabindex: other === part ? 0 : -1 });
  };
  root.addEventListener("focusin", (event) => stand(/** @type {Element} */ (event.target).closest("[tabindex]")));
  root.addEventListener("keydown", (/** @type {any} */ event) => {
    const all = parts();
    const at = all.indexOf(event.target);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(), ArrowUp: -columns() };
    const ends = { Home: 0, End: all.length - 1 };
    const to =
      ends[/** @type {"Home"} */ (event.key)] ??
      at + (steps[/** @type {"ArrowUp"} */ (event.key)] ?? jump(event.key, at) - at);
    if (at < 0 || !all[to]) return;
    event.preventDefault();
    all[to].focus();
  });
}

/** Press with a click, Enter or the space bar; tell which part is under the pointer or in focus.
 * @type {(root: Element, parts: () => any[], press?: (at: number) => void, point?: (at: number) => void) => void} */
function pressing(root, parts, press = () => {}, point = () => {}) {
  const at = (/** @type {any} */ event) => parts().findIndex((part) => part.contains(event.target));
  const when = (/** @type {(at: number) => void} */ call) => (/** @type {any} */ event) =>
    at(event) >= 0 && call(at(event));
  root.addEventListener("click", when(press));
  root.addEventListener("pointerover", when(point));
  root.addEventListener("focusin", when(point));
  root.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.target.localName === "button" || (event.key !== "Enter" && event.key !== " ") || at(event) < 0) return;
    event.preventDefault();
    press(at(event));
  });
}

/** A strip, or with `columns` a grid, of bits to press.
 * @type {(options: { label: string, onPress(at: number): void, onPoint?: (at: number) => void }) =>
 *     { root: any, show(cells: Cell[], columns?: number): void }} */
export function strip({ label, onPress, onPoint }) {
  const root = h("div", { class: "fx-strip", role: "group", "aria-label": label });
  let width = 0;
  const parts = () => [...root.children];
  pressing(root, parts, onPress, onPoint);
  roving(
    root,
    () => (width ? parts() : []),
    () => width,
  );
  return {
    root,
    show(cells, columns = 0) {
      if (root.children.length !== cells.length) {
        root.replaceChildren(
          ...cells.map((_, at) => h("button", { type: "button", class: "fx-cell", tabindex: at && columns ? -1 : 0 })),
        );
      }
      width = columns;
      attributes(root, { style: columns ? `--columns: ${columns}` : null });
      cells.forEach((cell, at) => {
        attributes(root.children[at], {
          "aria-pressed": cell.pressed ? "true" : "false",
          "aria-label": cell.name,
          "data-look": cell.look,
          style: cell.weight === undefined ? null : `--weight: ${100 * cell.weight}%`,
        });
        put(root.children[at], cell.key, cell.value, cell.text ?? "");
      });
    },
  };
}

// ---------------------------------------------------------------------------------------------- drawings

const PLOT = 128; // height of the bars' area in pixels

/**
 * Lines across a picture with marks beside it, marks below, and a title.
 * @type {(frame: { wide: number, tall: number, left: number, right: number, bottom: number },
 *     left: [number, string][], below: [number, string][], title: string) => any}
 */
export const axes = ({ wide, tall, left: start, right, bottom }, left, below, title) =>
  svg(
    "g",
    { "aria-hidden": "true" },
    ...left.map(([y]) => svg("g", { class: "fx-grid" }, svg("line", { x1: start, x2: wide - right, y1: y, y2: y }))),
    ...left.map(([y, text]) => svg("text", { class: "fx-end", x: start - 8, y: y + 5 }, text)),
    ...below.map(([x, text]) => svg("text", { class: "fx-mid", x, y: tall - bottom + 21 }, text)),
    svg("text", { class: "fx-mid", x: (start + wide - right) / 2, y: tall - 4 }, title),
  );

/**
 * @typedef {{ groups?: { text: string, size: number }[], low?: number, high?: number, values?: boolean }} BarOptions
 */
/** A chart of signed bars. With `onPick` every bar is a button; without, the chart is one picture with a text.
 * @type {(options: { label: string, onPick?: (at: number) => void, onPoint?: (at: number) => void }) =>
 *     { root: any, show(cells: Cell[], options?: BarOptions): void }} */
export function bars({ label, onPick, onPoint }) {
  const plot = svg("svg", onPick ? { role: "group", "aria-label": label } : { role: "img" });
  const axis = h("div", { class: "fx-axis", "aria-hidden": "true" });
  const root = h("div", { class: "fx-bars" }, axis, plot);
  const lines = svg("g", { class: "fx-grid" });
  const heads = svg("g", { class: "fx-heads" });
  const parts = svg("g");
  plot.append(lines, heads, parts);
  pressing(parts, () => [...parts.children], onPick, onPoint);
  if (onPick) roving(parts, () => [...parts.children]);
  const build = (/** @type {number} */ at) =>
    svg(
      "g",
      { class: "fx-slot", ...(onPick && { role: "button", tabindex: at ? -1 : 0 }) },
      svg("rect", { class: "fx-hit", rx: 3 }),
      svg("rect", { class: "fx-bar" }),
      svg("text", { class: "fx-tick" }),
    );
  return {
    root,
    show(cells, { groups = [], low = -1, high = 1, values = false } = {}) {
      const top = Math.max(high, ...cells.map((cell) => cell.value));
      const bottom = Math.min(low, ...cells.map((cell) => cell.value));
      const head = values ? 18 : 8;
      const foot = values && bottom < 0 ? 14 : 0; // room for a number on the highest bar and under the lowest
      const y = (/** @type {number} */ value) => head + ((top - value) / (top - bottom)) * (PLOT - head - foot);
      const gap = groups.length > 1 ? Math.max(0.6, cells.length / 60) : 0;
      const slot = 100 / (cells.length + gap * Math.max(0, groups.length - 1));
      const longest = Math.max(0, ...cells.map((cell) => (cell.text ?? "").length));
      const steep = longest > 1 && cells.length > 8;
      const wide = cells.length > 64 ? 1 : 0.72; // of a slot; gaps between very many bars would only blur them
      const feet = longest === 0 ? 4 : steep ? 10 + 7 * longest : 18;
      attributes(root, {
        "data-many": cells.length > 64 ? true : null,
        "data-crowded": cells.length > 9 ? true : null,
      });
      attributes(plot, {
        height: PLOT + feet + (groups.length ? 20 : 4),
        ...(!onPick && { "aria-label": `${label}: ${cells.map((cell) => cell.name).join("; ")}` }),
      });
      const marks = [...new Set([bottom, 0, top])];
      axis.replaceChildren(
        ...marks.map((value) => h("span", { style: `top: ${y(value)}px` }, format(value))),
        ...(groups.length ? [h("span", { style: `top: ${PLOT + feet + 10}px` }, "|S|")] : []),
      );
      lines.replaceChildren(
        ...marks.map((value) =>
          svg("line", { x1: 0, x2: "100%", y1: y(value), y2: y(value), class: value === 0 && "fx-zero" }),
        ),
      );
      if (parts.children.length !== cells.length) parts.replaceChildren(...cells.map((_, at) => build(at)));
      let x = 0;
      let at = 0;
      heads.replaceChildren();
      for (const group of groups.length ? groups : [{ text: "", size: cells.length }]) {
        heads.append(svg("text", { x: `${x + (slot * group.size) / 2}%`, y: PLOT + feet + 14 }, group.text));
        for (let i = 0; i < group.size; i++, at++, x += slot) {
          const cell = cells[at];
          const part = parts.children[at];
          const [hit, bar, text] = part.children;
          attributes(part, {
            "data-value": cell.key,
            "data-number": cell.value,
            "data-look": cell.look,
            "data-series": cell.series,
            ...(onPick && { "aria-label": cell.name, "aria-pressed": cell.pressed ? "true" : "false" }),
          });
          attributes(hit, { x: `${x}%`, width: `${slot}%`, y: 2, height: PLOT + feet - 2 });
          attributes(bar, {
            x: `${x + (slot * (1 - wide)) / 2}%`,
            width: `${slot * wide}%`,
            y: Math.min(y(0), y(cell.value)) - 0.75,
            height: Math.abs(y(0) - y(cell.value)) + 1.5,
            class: `fx-bar fx-${look(cell.value)}`,
          });
          text.textContent = cell.text ?? "";
          attributes(text, { x: `${x + slot / 2}%`, y: PLOT + 13, class: steep ? "fx-tick fx-steep" : "fx-tick" });
          if (!values) continue;
          if (!part.children[3]) part.append(svg("text", { class: "fx-amount" }));
          part.children[3].textContent = format(cell.value, 2);
          attributes(part.children[3], {
            x: `${x + slot / 2}%`,
            y: cell.value < -1e-9 ? y(cell.value) + 12 : Math.max(10, y(cell.value) - 4),
          });
        }
        x += slot * gap;
      }
    },
  };
}

const WIDTH = 520;
const HEIGHT = 450;
const MARGIN = 34;
const ROOM = 20; // for the bits above the highest and below the lowest corner
const NAMED = 3; // dimensions up to which corners have their bits beside them
/**
 * Where each coordinate's edges point (right, up, and away, for turning), chosen for 2, …, 5 dimensions so that no
 * corner lies on an edge of others.
 */
const DIRECTIONS = /** @type {number[][][]} */ ([
  [],
  [[1, 0, 0.4]],
  [
    [1, 0, 0.4],
    [0, 0.86, 0.1],
  ],
  [
    [1.096, 0.047, 0.5],
    [0.003, 0.881, 0.1],
    [0.498, 0.44, -1],
  ],
  [
    [1.147, 0.01, 0.5],
    [0, 0.89, 0.1],
    [0.563, 0.217, -1],
    [0.168, -0.479, 0.6],
  ],
  [
    [1.791, 0.075, 0.6],
    [0.2, 0.885, 0.1],
    [0.902, 0.241, -1],
    [0.313, -0.401, 0.6],
    [-0.454, 1.761, 0.5],
  ],
]);
const RADII = [30, 30, 30, 27, 22, 15];

/**
 * Positions in the drawing of the 2^n corners, the cube being turned by `angle`.
 * @type {(n: number, angle?: number) => { x: number, y: number }[]}
 */
export function project(n, angle = 0) {
  const place = (/** @type {number} */ angle) =>
    Array.from({ length: 1 << n }, (_, k) =>
      DIRECTIONS[n].reduce(
        ([x, y], [right, up, away], i) =>
          (k >> i) & 1 ? [x + right * Math.cos(angle) + away * Math.sin(angle), y + up] : [x, y],
        [0, 0],
      ),
    );
  // the frame is that of the cube at rest, so that turning does not look like breathing
  const [xs, ys] = [0, 1]
    .map((axis) => place(0).map((point) => point[axis]))
    .map((all) => [Math.min(...all), Math.max(...all)]);
  const high = HEIGHT - 2 * MARGIN - (n > NAMED ? 0 : 2 * ROOM);
  const scale = Math.min((WIDTH - 2 * MARGIN) / (xs[1] - xs[0]), high / (ys[1] - ys[0]));
  const turned = place(angle);
  const middle = turned.reduce((sum, point) => sum + point[0], 0) / turned.length;
  return turned.map(([x, y]) => ({
    x: WIDTH / 2 + scale * (x - middle),
    y: HEIGHT / 2 - scale * (y - (ys[0] + ys[1]) / 2),
  }));
}

const MINUS = "M-5 0H5";
const PLUS = "M-5 0H5M0 -5V5";

/**
 * The parts of a corner: rim, disc and glyph; `dress` gives them a value and one to compare it with.
 * @type {(radius: number) => any[]}
 */
const corner = (radius) => [
  svg("circle", { class: "fx-rim", r: radius - 1.5 }),
  svg("circle", { class: "fx-disc" }),
  svg("path", { class: "fx-glyph" }),
];

/** @type {(parts: any[], radius: number, value: number, other: number) => void} */
function dress([rim, disc, glyph], radius, value, other) {
  const same = value === other;
  attributes(rim, { class: `fx-rim fx-${look(other)}` });
  attributes(disc, { class: `fx-disc fx-${look(value)}`, style: `r: ${same ? radius : radius * 0.6}px` });
  attributes(glyph, { d: value < 0 ? MINUS : PLUS, transform: `scale(${radius / (same ? 16 : 22)})` });
}

/** One corner as a small picture, for a legend. @type {(value: number, other: number) => any} */
export function mark(value, other) {
  const parts = corner(15);
  dress(parts, 15, value, other);
  return svg(
    "svg",
    {
      viewBox: "-16 -16 32 32",
      "aria-hidden": "true",
      class: "fx-corner",
      "data-look": value === other ? "agree" : "differ",
    },
    ...parts,
  );
}

/** @typedef {Cell & { other: number, score?: { key: string, value: number, text: string } }} Corner */
/** The cube with a function on its corners (the discs) and a second one to compare with (the rims): where the two
 * agree a corner is one whole disc, where they differ a small disc inside a broken rim. A corner with a `score` shows
 * that number instead of its sign, in a full disc if it is true and in a ring if not. Edges in the directions of `mask`
 * are marked, unless `edgeLook` says how the edge from corner k in direction i looks.
 * @type {(options: { label: string, hint: string, onPress(at: number): void, onPoint?: (at: number) => void }) =>
 *     { root: any, turn(angle: number): void,
 *       show(corners: Corner[], mask: number, edgeLook?: (k: number, i: number) => Record<string, any>): void }} */
export function hypercube({ label, hint, onPress, onPoint }) {
  const about = fresh("about");
  const edges = svg("g", { class: "fx-edges" });
  const names = svg("g", { class: "fx-names", "aria-hidden": "true" });
  const dots = svg("g");
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": label, "aria-describedby": about },
    edges,
    names,
    dots,
  );
  const root = h("div", { class: "fx-cube" }, picture, h("p", { id: about, class: "fx-hint" }, hint));
  const parts = () => [...dots.children];
  let n = -1;
  pressing(dots, parts, onPress, onPoint);
  roving(
    dots,
    parts,
    () => 1,
    (key, at) => (key >= "1" && key <= String(n) ? at ^ (1 << (Number(key) - 1)) : NaN),
  );
  const build = (/** @type {number} */ at) =>
    svg(
      "g",
      { class: "fx-corner", role: "button", tabindex: at ? -1 : 0 },
      svg("circle", { class: "fx-target", r: Math.max(RADII[n], 20) }),
      svg("circle", { class: "fx-halo", r: RADII[n] + 4 }),
      ...corner(RADII[n]),
    );
  /** @type {(angle: number) => void} */
  const turn = (angle) => {
    const points = project(n, angle);
    points.forEach(({ x, y }, k) =>
      attributes(dots.children[k], { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` }),
    );
    let edge = 0;
    for (let k = 0; k < points.length; k++) {
      for (let i = 0; i < n; i++) {
        if ((k >> i) & 1) continue;
        const a = points[k];
        const b = points[k | (1 << i)];
        attributes(edges.children[edge++], {
          x1: a.x.toFixed(2),
          y1: a.y.toFixed(2),
          x2: b.x.toFixed(2),
          y2: b.y.toFixed(2),
        });
      }
    }
    for (let k = 0; k < names.children.length; k++) {
      const { x, y } = points[k]; // edges lead to the middle, so that the names stand above and below
      attributes(names.children[k], {
        x: x.toFixed(2),
        y: (y < HEIGHT / 2 ? y - RADII[n] - 9 : y + RADII[n] + 20).toFixed(2),
      });
    }
  };
  return {
    root,
    turn,
    show(corners, mask, edgeLook = (k, i) => ({ "data-look": (mask >> i) & 1 ? "crossing" : null })) {
      const size = Math.log2(corners.length);
      if (size !== n) {
        n = size;
        dots.replaceChildren(...corners.map((_, at) => build(at)));
        edges.replaceChildren(...Array.from({ length: (n << n) / 2 }, () => svg("line")));
        names.replaceChildren(...(n > NAMED ? [] : corners.map((_, k) => svg("text", {}, bits(k, n)))));
        turn(0);
      }
      let edge = 0;
      for (let k = 0; k < corners.length; k++) {
        for (let i = 0; i < n; i++) if (!((k >> i) & 1)) attributes(edges.children[edge++], edgeLook(k, i));
        const { key, name, value, other, score } = corners[k];
        const dot = dots.children[k];
        attributes(dot, {
          "data-value": key,
          "data-number": value,
          "aria-label": name,
          "aria-pressed": value < 0 ? "true" : "false",
          "data-look": value === other ? "agree" : "differ",
        });
        dress([...dot.children].slice(2, 5), RADII[n], value, other);
        if (!score) continue;
        if (!dot.children[5]) dot.append(svg("text", { class: "fx-score" }));
        attributes(dot.children[5], {
          style: `font-size: ${Math.min(RADII[n] - 1, 22, (2.6 * RADII[n]) / score.text.length)}px`,
        });
        attributes(dot, {
          "data-score": Math.abs(value) === 1 ? "whole" : "part",
          style: `--weight: ${45 * Math.min(1, Math.abs(value))}%`,
        });
        put(dot.children[5], score.key, score.value, score.text);
      }
    },
  };
}

// ---------------------------------------------------------------------------------------------- words

/**
 * A number for the eye: at most `digits` decimals, a true minus sign.
 * @type {(value: number, digits?: number) => string}
 */
export function format(value, digits = 3) {
  return String(Number(value.toFixed(digits))).replace("-", "−");
}

/** Words that stay in one line. @type {(text: string) => string} */
export const whole = (text) => text.replaceAll(" ", "\u00a0");

/** @type {(value: number) => "minus" | "plus" | "zero"} */
export const look = (value) => (Math.abs(value) < 1e-12 ? "zero" : value < 0 ? "minus" : "plus");
/** The bits b_1 … b_n of an index. @type {(k: number, n: number) => string} */
export const bits = (k, n) => Array.from({ length: n }, (_, i) => (k >> i) & 1).join("");
/** @type {(mask: number) => number[]} */
export const members = (mask) =>
  Array.from({ length: 32 - Math.clz32(mask) }, (_, i) => i + 1).filter((i) => (mask >> (i - 1)) & 1);
/** @type {(mask: number) => string} */
export const subsetName = (mask) => (mask ? `{${members(mask).join(", ")}}` : "∅");

// ---------------------------------------------------------------------------------------------- arithmetic

/** @type {(k: number) => number} */
export function popcount(k) {
  let ones = 0;
  for (; k; k &= k - 1) ones++;
  return ones;
}

/** χ_S at the point k. @type {(mask: number, k: number) => number} */
export const character = (mask, k) => (popcount(mask & k) & 1 ? -1 : 1);

/**
 * The Fourier coefficients of a table, computed in place: n rounds of sums and differences, then 1/2^n.
 * @type {(table: Float64Array) => Float64Array}
 */
export function transform(table) {
  for (let half = 1; half < table.length; half *= 2) {
    for (let start = 0; start < table.length; start += 2 * half) {
      for (let k = start; k < start + half; k++) {
        const a = table[k];
        const b = table[k + half];
        table[k] = a + b;
        table[k + half] = a - b;
      }
    }
  }
  for (let k = 0; k < table.length; k++) table[k] /= table.length;
  return table;
}

/**
 * The table of a predicate on indices: −1 where it is true.
 * @type {(n: number, truth: (k: number) => boolean) => Float64Array}
 */
export const tableOf = (n, truth) => Float64Array.from({ length: 1 << n }, (_, k) => (truth(k) ? -1 : 1));

/**
 * The functions of the cast by their names in flatcube.cube.
 * @type {Record<string, (n: number, parameter: number) => Float64Array>}
 */
export const named = {
  parity: (n) => tableOf(n, (k) => popcount(k) % 2 === 1),
  majority: (n) => tableOf(n, (k) => 2 * popcount(k) > n),
  first: (n) => tableOf(n, (k) => k % 2 === 1),
  mean: (n) => Float64Array.from({ length: 1 << n }, (_, k) => (n - 2 * popcount(k)) / n),
  conjunction: (n) => tableOf(n, (k) => popcount(k) === n),
  disjunction: (n) => tableOf(n, (k) => k > 0),
  threshold: (n, least) => tableOf(n, (k) => popcount(k) >= least),
  address: (n, width) => tableOf(n, (k) => (k >> (width + (k & ((1 << width) - 1)))) % 2 === 1),
  tribes: (n, width) =>
    tableOf(n, (k) => {
      for (let start = 0; start < n; start += width)
        if (((k >> start) & ((1 << width) - 1)) === (1 << width) - 1) return true;
      return false;
    }),
};

/** @typedef {{ kind: string, parts: Tree[], number: bigint }} Tree */
const LEVELS = [
  ["or", "|"],
  ["xor", "^"],
  ["and", "&"],
]; // weakest first
const DEEPEST = 100;
const BLANKS = " \t\n\r\f\v\u00a0";
/** A character beyond the first 65536 counts once, though it takes two places. @type {(text: string) => number} */
const characters = (text) => [...text].length;
const TOKEN = /[ \t\n\r\f\v\u00a0]*(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+)|([~&^|(),])|([^ \t\n\r\f\v\u00a0]))/uy;

/** Without the blanks at its end; these are the blanks of the grammar, fewer than the browser's own. A search for
 * blanks before the end would start again at every blank inside the text. @type {(text: string) => string} */
export function trimEnd(text) {
  let end = text.length;
  while (end && BLANKS.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

/** @typedef {{ text: string, column: number, shown: string }} Token
 *     Its text as the grammar spells it, its place in characters counted from 1, and what the reader typed. */

/** The tokens of a formula, in one pass. @type {(text: string) => Token[]} */
function tokenise(text) {
  const trimmed = trimEnd(text);
  const tokens = /** @type {Token[]} */ ([]);
  let column = 1;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < trimmed.length;) {
    const match = /** @type {RegExpExecArray} */ (TOKEN.exec(trimmed));
    const shown = match[1] ?? match[2] ?? match[3] ?? match[4];
    column += characters(match[0]);
    tokens.push({ text: shown.toLowerCase(), column: column - characters(shown), shown });
  }
  return [...tokens, { text: "", column, shown: "the end" }];
}

/**
 * The syntax tree of a formula, by the grammar and with the messages of flatcube.formula.
 * @type {(text: string) => Tree}
 */
export function parse(text) {
  const tokens = tokenise(text);
  let next = 0;
  let depth = 0;

  const fail = (/** @type {string} */ expected) => {
    const shown = Array.from(tokens[next].shown).slice(0, 20).join("");
    throw new Error(`formula, column ${tokens[next].column}: expected ${expected}, found ${shown}`);
  };
  const accept = (/** @type {string[]} */ ...texts) => {
    const found = texts.includes(tokens[next].text);
    if (found && tokens[next].text) next++;
    return found;
  };
  const node = (/** @type {string} */ kind, /** @type {Tree[]} */ parts, number = 0n) => ({ kind, parts, number });
  /** @type {(level: number) => Tree} */
  const binary = (level) => {
    if (level === LEVELS.length) return negation();
    const parts = [binary(level + 1)];
    while (accept(...LEVELS[level])) parts.push(binary(level + 1));
    return parts.length === 1 ? parts[0] : node(LEVELS[level][0], parts);
  };
  const negation = () => {
    let negated = false;
    while (accept("~", "not")) negated = !negated;
    const inner = atom();
    return negated ? node("not", [inner]) : inner;
  };
  const inside = () => {
    if (++depth > DEEPEST) fail(`at most ${DEEPEST} nested parentheses`);
    const tree = binary(0);
    depth--;
    return tree;
  };
  /** @type {() => Tree} */
  const atom = () => {
    const { text } = tokens[next];
    if (accept("(")) {
      const tree = inside();
      if (!accept(")")) fail("an operator (& ^ |) or )");
      return tree;
    }
    if (accept("maj")) {
      if (!accept("(")) fail("( after maj");
      const parts = [inside()];
      while (accept(",")) parts.push(inside());
      if (!accept(")")) fail("an operator (& ^ |) or , or )");
      return node("maj", parts);
    }
    if (accept("0", "1")) return node("constant", [], BigInt(text));
    if (/^x[1-9][0-9]{0,15}$/.test(text)) {
      next++;
      return node("variable", [], BigInt(text.slice(1)));
    }
    return fail(
      /^x[0-9]*$/.test(text) ? "variables to be numbered x1, x2, …" : "a variable such as x1, 0, 1, ~, maj or (",
    );
  };
  const tree = binary(0);
  if (!accept("")) fail("an operator (& ^ |) or the end");
  return tree;
}

/** The largest variable that occurs in a formula. @type {(tree: Tree) => bigint} */
export const largest = (tree) =>
  tree.parts.map(largest).reduce((a, b) => (a > b ? a : b), tree.kind === "variable" ? tree.number : 0n);

/** @type {(tree: Tree, k: number) => boolean} */
function truth(tree, k) {
  const { kind, parts, number } = tree;
  if (kind === "variable") return (k >> (Number(number) - 1)) % 2 === 1;
  if (kind === "constant") return number === 1n;
  const ones = parts.filter((part) => truth(part, k)).length;
  if (kind === "not") return ones === 0;
  if (kind === "maj") return 2 * ones > parts.length;
  return kind === "or" ? ones > 0 : kind === "and" ? ones === parts.length : ones % 2 === 1;
}

/** The ±1 table of a formula in n variables. @type {(text: string, n: number) => Float64Array} */
export function formula(text, n) {
  const tree = parse(text);
  if (largest(tree) > n) throw new Error(`formula: uses x${largest(tree)}, but n = ${n}`);
  return tableOf(n, (k) => truth(tree, k));
}

// ---------------------------------------------------------------------------------------------- numbers by chance

/**
 * Numbers below 2^32: counters, scrambled by multiplications and shifts; chance.py computes the same.
 * @type {(seed: number, stream: number) => () => number}
 */
export function words(seed, stream) {
  let count = 0;
  const key = Math.imul(8 * seed + stream + 1, 0x85ebca6b);
  return () => {
    let word = (Math.imul(++count, 0x9e3779b9) + key) | 0;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };
}

/**
 * Standard normal numbers, one from every two words (Box and Muller).
 * @type {(seed: number, stream: number) => () => number}
 */
export function normals(seed, stream) {
  const next = words(seed, stream);
  return () => Math.sqrt(-2 * Math.log((next() + 1) / 2 ** 32)) * Math.cos((2 * Math.PI * next()) / 2 ** 32);
}

// ---------------------------------------------------------------------------------------------- networks

/** The product of two matrices, each a list of rows. @type {(left: number[][], right: number[][]) => number[][]} */
export const product = (left, right) =>
  left.map((row) => right[0].map((_, j) => row.reduce((sum, value, k) => sum + value * right[k][j], 0)));
/** @type {(matrix: number[][]) => number[][]} */
export const transpose = (matrix) => matrix[0].map((_, j) => matrix.map((row) => row[j]));
/** @type {(logits: number[]) => number[]} */
export function softmax(logits) {
  const top = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

// ---------------------------------------------------------------------------------------------- state

/** What an explorer's Python half hands over besides the state, put in when its script is made. @type {any} */
export const stored = null;

/** The names of the cast; each is also the series with its colour. Put in when the script is made. @type {string[]} */
export const cast = [];

/**
 * What an entry of the state may be; flatcube.classroom.explorers.schema explains the kinds.
 * @typedef {{ kind?: string, expected?: string, min?: number, max?: number | null, step?: number, grid?: boolean,
 *     none?: boolean, options?: [string | number, string][], when?: [string, (string | number)[]] }} Rule
 */
/** Every entry of the state by its name, put in when the script is made. @type {Record<string, Rule>} */
export const schema = {};

/** @type {(rule: Rule, value: number) => boolean} */
const within = ({ min = -Infinity, max }, value) => value >= min && value <= (max ?? Infinity);
/** @type {(rule: Rule, value: number) => boolean} */
const onGrid = ({ min = 0, step = 1 }, value) => {
  const parts = Math.round(1 / step); // a division gives the nearest number to k/10, a product with 0.1 does not
  return step < 1 ? Math.round(value * parts) / parts === value : (value - min) % step === 0;
};
/** @type {Record<string, (rule: Rule, value: any) => boolean>} */
const FITS = {
  whole: (rule, value) => (value === null ? Boolean(rule.none) : Number.isInteger(value) && within(rule, value)),
  number: (rule, value) => Number.isFinite(value) && within(rule, value) && (!rule.grid || onGrid(rule, value)),
  choice: (rule, value) => allowed(rule).includes(value),
  bits: (rule, value) =>
    typeof value === "string" && /^[01]*$/.test(value) && within(rule, value.length) && onGrid(rule, value.length),
  items: (rule, value) => Array.isArray(value) && within(rule, value.length),
  line: (rule, value) => typeof value === "string" && within(rule, characters(value)),
};
/** @type {(rule: Rule) => (string | number)[]} */
const allowed = ({ options = [] }) => options.map(([value]) => value);

/** Refuse a value of an entry in one sentence. @type {(key: string, value: any) => void} */
export function inspect(key, value) {
  const rule = schema[key];
  if (!rule.kind || FITS[rule.kind](rule, value)) return;
  const got = rule.kind === "line" && typeof value === "string" ? characters(value) : JSON.stringify(value);
  throw new Error(`${key}: expected ${rule.expected}, got ${got}`);
}

/** Whether an entry matters in a state. @type {(key: string, state: Record<string, any>) => boolean} */
export const counts = (key, state) => !schema[key].when || schema[key].when[1].includes(state[schema[key].when[0]]);

/** The state with all its entries and no others, each of them allowed by itself. @type {(given: any) => any} */
export function accept(given) {
  for (const key of Object.keys(schema)) if (counts(key, given)) inspect(key, given[key]);
  return Object.fromEntries(Object.keys(schema).map((key) => [key, given[key]]));
}

/** The ends and the step of an entry, of its length if it is a text or a list.
 * @type {(key: string) => { min: number, max: number, step: number }} */
export function bounds(key) {
  const { min = 0, max, step = 1 } = schema[key];
  return { min, max: max ?? Infinity, step };
}

/** The values that an entry may have, with their names, for a menu. @type {(key: string) => [string, string][]} */
export const options = (key) => (schema[key].options ?? []).map(([value, text]) => [String(value), text]);

/** Tie an explorer to its model. `clean` turns anything into a full valid state or throws; a state that is refused
 * leaves the last good one on the page, and the event fx-refused says why. States are never changed in place: every
 * change is a new object. A button in the explorer's box leads back to the state with which it began.
 * @template State
 * @param {Model} model
 * @param {HTMLElement} el
 * @param {(given: any) => State} clean
 * @param {(state: State) => void} draw
 * @returns {{ change(patch: Partial<State>): void, start(): () => void }} */
export function connect(model, el, clean, draw) {
  let state = clean(model.get("state"));
  const first = state;
  const show = () => {
    draw(state);
    attributes(el, { "data-state": JSON.stringify(state), "data-mounted": "true" });
  };
  const differs = (/** @type {any} */ other) => JSON.stringify(other) !== JSON.stringify(state);
  const arrive = () => {
    let next = state;
    try {
      next = clean(model.get("state"));
    } catch (refused) {
      console.warn(`flatcube: ${refused}`);
      el.dispatchEvent(new CustomEvent("fx-refused", { detail: /** @type {Error} */ (refused).message }));
    }
    if (!differs(next)) return;
    state = next;
    show();
  };
  /** @type {(patch: Partial<State>) => void} */
  const change = (patch) => {
    const next = clean({ ...state, ...patch });
    if (differs(next)) {
      state = next;
      model.set("state", next);
      model.save_changes();
    }
    show(); // also when nothing changed: a control may stand where the state is not
  };
  return {
    change,
    start() {
      // JupyterLab has shortcuts on the arrow keys; it leaves alone what carries this mark.
      el.addEventListener("focusin", (event) =>
        attributes(/** @type {Element} */ (event.target), { "data-lm-suppress-shortcuts": true }),
      );
      const back = h("button", { type: "button", class: "fx-reset", click: () => change(first) }, "Start again");
      (el.querySelector(".fx-box") ?? el).append(back);
      show();
      model.on("change:state", arrive);
      return () => model.off("change:state", arrive);
    },
  };
}
