// @ts-check
/**
 * One network that learns to add, moment by moment: its numbers on a circle, its spectrum, its curves.
 *
 * State: { reading: which of the stored readings, circle: which of its three largest harmonics }.
 * What is drawn are the readings of network 0 in data/modular.csv.
 */
import { accept, attributes, bounds, connect, h, put, slider, stored, svg } from "../classroom/explorers/kit.js";

/** @typedef {{ reading: number, circle: number }} State */

/** @typedef {[number, number, number, number, number, number, number, number]} Row */
const ROWS = /** @type {Row[]} */ (stored.rows);
const SPECTRA = /** @type {number[][]} */ (stored.spectra);
const PLANES = /** @type {number[][][]} */ (stored.planes);
const FREQUENCIES = /** @type {number[]} */ (stored.frequencies);
const LAST = ROWS.length - 1;
const PHASES = ["memorising", "waiting", "finding", "settled"];
const SIDE = 300;
const WIDE = 480;
const TALL = 250;
const EDGE = { left: 40, right: 10, top: 28, bottom: 42 };

/** A full and valid state. @type {(given: any) => State} */
function clean(given) {
  const state = accept(given);
  if (state.reading > LAST) throw new Error(`reading: expected a whole number from 0 to ${LAST}, got ${state.reading}`);
  return state;
}

/** The largest coordinate that ever occurs in a plane. @type {(place: number) => number} */
const reach = (place) => Math.max(1, ...PLANES.map((planes) => Math.max(...planes[place].map(Math.abs))));
const END = ROWS[LAST][0];
const inner = WIDE - EDGE.left - EDGE.right;
const high = TALL - EDGE.top - EDGE.bottom;
/** @type {(epoch: number) => number} */
const along = (epoch) => EDGE.left + (inner * epoch) / END;
/** @type {(share: number) => number} */
const up = (share) => EDGE.top + high * (1 - share);
/** @type {(value: (row: Row) => number) => string} */
const path = (value) =>
  ROWS.map((row, k) => `${k ? "L" : "M"}${along(row[0]).toFixed(1)} ${up(value(row)).toFixed(1)}`).join("");
const MOST = ROWS[0][6];

/** The first reading of every phase after the first that occurs. @type {Row[]} */
const EVENTS = ROWS.filter((row, k) => k > 0 && row[7] !== ROWS[k - 1][7]);

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement }} home */
function render({ model, el }) {
  const time = slider({ label: "Epoch", ...bounds("reading"), onInput: (reading) => explorer.change({ reading }) });
  const which = slider({ label: "Circle", ...bounds("circle"), onInput: (circle) => explorer.change({ circle }) });
  const plane = svg("svg", { role: "img", viewBox: `0 0 ${SIDE} ${SIDE}` });
  const spectrum = svg("svg", { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` });
  const now = svg("line", { class: "fx-now", y1: EDGE.top, y2: up(0) });
  const curves = svg(
    "svg",
    { role: "img", viewBox: `0 0 ${WIDE} ${TALL}` },
    svg(
      "g",
      { "aria-hidden": "true" },
      ...[0, 0.5, 1].map((y) => svg("text", { class: "fx-end", x: EDGE.left - 6, y: up(y) + 5 }, String(y))),
      ...[0, END].map((x) => svg("text", { class: x ? "fx-end" : "", x: along(x), y: TALL - 22 }, String(x))),
      svg("text", { class: "fx-mid", x: EDGE.left + inner / 2, y: TALL - 6 }, "epoch"),
      ...EVENTS.map((row) =>
        svg("line", { class: "fx-event", x1: along(row[0]), x2: along(row[0]), y1: EDGE.top - 6, y2: up(0) }),
      ),
    ),
    svg("path", { class: "fx-curve fx-train", d: path((row) => row[1]) }),
    svg("path", { class: "fx-curve fx-test", d: path((row) => row[2]) }),
    svg("path", { class: "fx-curve fx-noise", d: path((row) => row[4]) }),
    svg("path", { class: "fx-curve fx-few", d: path((row) => row[6] / MOST) }),
    now,
  );
  const told = Object.fromEntries(
    ["epoch", "train", "test", "unmirrored", "sensitivity", "norm", "effective", "frequency", "share"].map((key) => [
      key,
      h("b"),
    ]),
  );
  const name = h("b");
  const phase = h("b");
  el.append(
    h(
      "div",
      { class: "fx-box fx-grok" },
      h("div", { class: "fx-controls" }, time.root, which.root),
      h(
        "div",
        { class: "fx-halves" },
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "The numbers 0 … 58 in the plane of one harmonic"),
          plane,
          h(
            "p",
            { class: "fx-sentence" },
            "Harmonic ",
            told.frequency,
            " has ",
            told.share,
            " thousandths of the embedding’s variance.",
          ),
        ),
        h(
          "div",
          {},
          h("p", { class: "fx-title" }, "Accuracy, sensitivity and number of harmonics against the epoch"),
          curves,
          h("p", { class: "fx-title" }, "Share of each harmonic, in thousandths"),
          spectrum,
        ),
      ),
      h(
        "p",
        { class: "fx-sentence", role: "status" },
        "Epoch ",
        told.epoch,
        ", phase ",
        phase,
        " (",
        name,
        "). Right: ",
        told.train,
        " of the training pairs, ",
        told.test,
        " of the test pairs, ",
        told.unmirrored,
        " of those without a mirror. Sensitivity ",
        told.sensitivity,
        ", norm ",
        told.norm,
        ", effective number of harmonics ",
        told.effective,
        ".",
      ),
      h(
        "p",
        { class: "fx-hint" },
        "Curves: dotted, training accuracy; blue, test accuracy; dashed, number of harmonics as a share of its " +
          "start; the other, sensitivity. Upright lines separate the phases. In the plane, neighbours on the line " +
          "are those that the harmonic puts next to each other, and the large dot is 0.",
      ),
    ),
  );

  const explorer = connect(model, el, clean, (/** @type {State} */ { reading, circle }) => {
    const row = ROWS[reading];
    const [epoch, train, test, unmirrored, sensitivity, norm, effective, stage] = row;
    const k = FREQUENCIES[circle - 1];
    time.show(reading, { max: LAST, key: "epoch", number: epoch });
    which.show(circle, { key: "circle" });
    const shares = SPECTRA[reading];
    const values = { epoch, train, test, unmirrored, sensitivity, norm, effective, frequency: k, share: shares[k - 1] };
    Object.entries(values).forEach(([key, value]) => put(told[key], key, value));
    put(phase, "phase", stage);
    name.textContent = PHASES[stage - 1];
    attributes(now, { x1: along(epoch), x2: along(epoch) });
    attributes(curves, {
      "aria-label": `Curves over ${END} epochs; at epoch ${epoch} test accuracy ${test}, sensitivity ${sensitivity}`,
    });
    const points = PLANES[reading][circle - 1];
    const count = points.length / 2;
    const scale = (0.46 * SIDE) / reach(circle - 1);
    /** @type {(a: number) => [number, number]} */
    const place = (a) => [SIDE / 2 + scale * points[2 * a], SIDE / 2 - scale * points[2 * a + 1]];
    // the harmonic's own order: the number at position t is the one with k·a = t
    const order = Array.from({ length: count }, (_, a) => a).sort((a, b) => ((a * k) % count) - ((b * k) % count));
    const ring = order.map(
      (a, t) =>
        `${t ? "L" : "M"}${place(a)
          .map((value) => value.toFixed(1))
          .join(" ")}`,
    );
    plane.replaceChildren(
      svg("path", { class: "fx-ring", d: `${ring.join("")}Z` }),
      ...order.map((a) => {
        const [cx, cy] = place(a);
        return svg("circle", { class: a ? "fx-dot" : "fx-zero", cx, cy, r: a ? 4 : 7 });
      }),
    );
    attributes(plane, {
      "aria-label": `The ${count} numbers in the plane of harmonic ${k} at epoch ${epoch}, phase ${PHASES[stage - 1]}`,
    });
    const top = Math.max(...SPECTRA.map((some) => Math.max(...some)));
    const step = inner / shares.length;
    spectrum.replaceChildren(
      ...shares.map((share, i) =>
        svg("rect", {
          class: "fx-bar",
          "data-chosen": i + 1 === k ? "" : null,
          x: EDGE.left + step * i + 1,
          width: Math.max(1, step - 2),
          y: up(share / top),
          height: (high * share) / top,
        }),
      ),
      svg("text", { class: "fx-end", x: EDGE.left - 6, y: up(1) + 5, "aria-hidden": "true" }, String(top)),
      svg("text", { class: "fx-end", x: EDGE.left - 6, y: up(0) + 5, "aria-hidden": "true" }, "0"),
      svg("text", { class: "fx-mid", x: EDGE.left + step / 2, y: TALL - 22, "aria-hidden": "true" }, "1"),
      svg("text", { class: "fx-end", x: WIDE - EDGE.right, y: TALL - 22, "aria-hidden": "true" }, `${shares.length}`),
      svg("text", { class: "fx-mid", x: EDGE.left + inner / 2, y: TALL - 6, "aria-hidden": "true" }, "frequency k"),
    );
    attributes(spectrum, {
      "aria-label":
        `Shares of ${shares.length} harmonics at epoch ${epoch}; ` +
        `the largest has ${Math.max(...shares)} thousandths`,
    });
  });
  return explorer.start();
}

export default { render };
