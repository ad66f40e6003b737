// @ts-check
/**
 * A look inside a network: its wiring, its weights, its attention and what every position holds.
 *
 * State: { view, matrix, head, stage: names in the content, symbols: the input }. The content is what
 * flatcube.networks.anatomy writes down; the page computes with nothing else.
 */
import {
  accept,
  connect,
  format,
  h,
  options,
  product,
  put,
  roving,
  select,
  softmax,
  strip,
  transpose,
} from "../classroom/explorers/kit.js";

/** @typedef {{ view: string, matrix: string, head: string, stage: string, symbols: number[] }} State */
/** @typedef {{ path: string, title: string, kind: string, rows: string, columns: string, shape: number[],
 *     at: number[] | null, values: number[] }} Matrix */
/** @typedef {{ rows: string[][], columns: string[][], values: number[][], closed: boolean[][],
 *     size: number[] }} Table */
/** @typedef {{ layer: number, part: string, does: string, marks: [number, string][], lines: string }} Step */
/** @typedef {{ lanes: string[][], rows: Step[] }} Wiring */
/** @typedef {{ program: any, matrices: Matrix[], spaces: Record<string, string[][]>, inputs: number[][],
 *     choices: number[][], wiring: Wiring }} Content */

const MOST = 64; // rows and columns of a table that are drawn
const NOISE = 1e-12; // of 1 or the largest number in a table: what a network computes below that is rounding, and 0
const MARKS = /** @type {Record<string, [string, string]>} */ ({
  r: ["○", "reads"],
  w: ["●", "writes"],
  b: ["◐", "reads and writes"],
  q: ["◇", "asks"],
  k: ["◆", "is looked at"],
  a: ["◈", "asks and is looked at"],
  x: ["✕", "is dropped"],
  v: ["⊗", "is replaced"],
  j: ["⊕", "joins again"],
  n: ["▬", "is normed"],
  o: ["◎", "is the output"],
});
const LINES = /** @type {Record<string, string>} */ ({ s: "stream", p: "past", t: "both" });

/** A number for a small cell: three digits that count. @type {(value: number) => string} */
const short = (value) => {
  const size = Math.abs(value);
  if (size >= 0.001 && size < 1000)
    return String(Number(value.toPrecision(3)))
      .replace("-", "−")
      .replace(/^(−?)0\./, "$1.");
  return value.toExponential(0).replaceAll("-", "−").replace("+", "");
};

// ---------------------------------------------------------------------------------------------- arithmetic

/** A matrix as rows. @type {(matrix: Matrix) => number[][]} */
function dense({ shape: [rows, columns], at, values }) {
  const flat = new Array(rows * columns).fill(0);
  values.forEach((value, k) => (flat[at ? at[k] : k] = value));
  return Array.from({ length: rows }, (_, r) => flat.slice(r * columns, (r + 1) * columns));
}

/** @type {(left: number[][], right: number[][]) => number[][]} */
const plus = (left, right) => left.map((row, r) => row.map((value, c) => value + right[r][c]));
/** Add one row to all. @type {(matrix: number[][], row: number[]) => number[][]} */
const shifted = (matrix, row) => matrix.map((own) => own.map((value, c) => value + row[c]));

/**
 * A network that computes from its content.
 * @type {(content: Content) => (symbols: number[]) => Record<string, any>}
 */
function machine(content) {
  const known = /** @type {Map<number, number[][]>} */ (new Map());
  const m = (/** @type {number} */ number) => {
    if (!known.has(number)) known.set(number, dense(content.matrices[number]));
    return /** @type {number[][]} */ (known.get(number));
  };
  const program = content.program;
  /** @type {(norm: any, x: number[][]) => number[][]} */
  const normed = (norm, x) =>
    x.map((row) => {
      const mean = norm.centre ? row.reduce((a, b) => a + b, 0) / row.length : 0;
      const spread = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length + norm.eps;
      const factor = spread > 0 ? 1 / Math.sqrt(spread) : 0;
      return row.map(
        (value, c) =>
          (value - mean) * factor * (norm.gain === null ? 1 : m(norm.gain)[0][c]) +
          (norm.bias === null ? 0 : m(norm.bias)[0][c]),
      );
    });
  /** @type {(head: any, x: number[][]) => { weights: number[][], mixed: number[][] }} */
  const attend = (head, x) => {
    const asked = product(x, m(head.query_key));
    const logits = product(head.lean === null ? asked : shifted(asked, m(head.lean)[0]), transpose(x));
    const closed = head.mask === null ? null : m(head.mask);
    const weights = logits.map((row, i) => softmax(row.map((value, j) => (closed?.[i][j] ? -Infinity : value))));
    let mixed = product(product(weights, x), m(head.value));
    if (head.output !== null) mixed = product(mixed, m(head.output));
    return { weights, mixed: head.offset === null ? mixed : shifted(mixed, m(head.offset)[0]) };
  };
  /** @type {(layer: any, x: number[][], inside: string, seen: Record<string, any>) => number[][]} */
  const pass = (layer, x, inside, seen) => {
    const before = program.before;
    const source = before ? normed(layer.norm_attention, x) : x;
    const parts = layer.skip === null ? [] : [product(x, m(layer.skip))];
    layer.heads.forEach((/** @type {any} */ head, /** @type {number} */ at) => {
      const { weights, mixed } = attend(head, source);
      seen[`${inside}attention.${at}`] = weights;
      parts.push(mixed);
    });
    let u = parts.reduce(plus);
    seen[`${inside}mixed`] = u;
    if (layer.norm_attention && !before) u = seen[`${inside}normed`] = normed(layer.norm_attention, u);
    const ends = layer.bypass === null ? [] : [product(x, m(layer.bypass))];
    if (layer.keep !== null) ends.push(product(u, m(layer.keep)));
    if (layer.mlp) {
      let y = before ? normed(layer.norm, u) : u;
      layer.mlp.weights.forEach((/** @type {number} */ weight, /** @type {number} */ at) => {
        if (at) seen[`${inside}mlp.${at - 1}`] = y;
        y = product(at ? y.map((row) => row.map((value) => Math.max(0, value))) : y, m(weight));
        if (layer.mlp.biases[at] !== null) y = shifted(y, m(layer.mlp.biases[at])[0]);
      });
      ends.push(y);
    }
    let z = ends.length ? ends.reduce(plus) : u;
    if (layer.norm && !before) {
      seen[`${inside}sum`] = z;
      z = normed(layer.norm, z);
    }
    seen[`${inside}output`] = z;
    return z;
  };
  return (symbols) => {
    const whole = [...symbols, ...program.appended];
    const tokens = m(program.tokens);
    let x = plus(
      whole.map((symbol) => tokens[symbol]),
      m(program.positions),
    );
    const seen = /** @type {Record<string, any>} */ ({ embedding: x });
    program.layers.forEach((/** @type {any} */ layer, /** @type {number} */ k) => {
      x = pass(layer, x, `layers.${k}.`, seen);
    });
    let row = [x[program.read < 0 ? x.length + program.read : program.read]];
    if (program.norm) row = normed(program.norm, row);
    if (program.readout !== null) row = product(row, m(program.readout));
    seen.output = row[0][0] + (program.shift === null ? 0 : m(program.shift)[0][0]);
    return seen;
  };
}

// ---------------------------------------------------------------------------------------------- what there is

const STAGES = /** @type {Record<string, string>} */ ({
  embedding: "what enters the first layer",
  mixed: "after the heads",
  normed: "after the first norm",
  mlp: "before the ReLUs",
  sum: "before the norm",
  output: "what it leaves",
});

/** The matrices, heads and stages with their names. @type {(content: Content) => Record<string, [string, string][]>} */
function parts(content) {
  const { program, matrices } = content;
  const found = /** @type {Record<string, [string, string][]>} */ ({
    matrix: matrices.map(({ path, title }) => [path, title]),
    head: [],
    stage: program ? [["embedding", STAGES.embedding]] : [],
  });
  (program?.layers ?? []).forEach((/** @type {any} */ layer, /** @type {number} */ k) => {
    const inside = `layers.${k}.`;
    layer.heads.forEach((/** @type {any} */ _, /** @type {number} */ at) =>
      found.head.push([`${inside}attention.${at}`, `layer ${k + 1}, head ${at + 1}`]),
    );
    const names = [
      "mixed",
      ...(layer.norm_attention && !program.before ? ["normed"] : []),
      ...(layer.mlp?.weights.slice(1) ?? []).map((/** @type {any} */ _, /** @type {number} */ at) => `mlp.${at}`),
      ...(layer.norm && !program.before ? ["sum"] : []),
      "output",
    ];
    for (const name of names) found.stage.push([inside + name, `layer ${k + 1}: ${STAGES[name.split(".")[0]]}`]);
  });
  return found;
}

/** A matrix with its names; `crop` leaves out rows and columns of zeros, and what is beyond MOST goes too.
 * @type {(values: number[][], rows: string[][], columns: string[][], crop?: boolean, mask?: number[][] | null) =>
 *     Table} */
function table(values, rows, columns, crop = false, mask = null) {
  const least = crop ? 0 : NOISE * values.reduce((most, row) => Math.max(most, ...row.map(Math.abs)), 1);
  values = values.map((row) => row.map((value) => (Math.abs(value) > least ? value : 0)));
  const all = (/** @type {number} */ length) => Array.from({ length }, (_, k) => k);
  const used = [
    all(rows.length).filter((r) => !crop || values[r].some((value) => value !== 0)),
    all(columns.length).filter((c) => !crop || values.some((row) => row[c] !== 0)),
  ].map((kept) => kept.slice(0, MOST));
  return {
    rows: used[0].map((r) => rows[r]),
    columns: used[1].map((c) => columns[c]),
    values: used[0].map((r) => used[1].map((c) => values[r][c])),
    closed: used[0].map((r) => used[1].map((c) => Boolean(mask?.[r][c]))),
    size: [rows.length, columns.length],
  };
}

// ---------------------------------------------------------------------------------------------- pictures

/** The wiring as a table: lanes are columns, steps are rows. @type {(wiring: Wiring) => any} */
function diagram({ lanes, rows }) {
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, h("span", { class: "fx-unseen" }, "Step")),
    ...lanes.map(([name, job]) => h("th", { scope: "col", title: job || null }, h("span", {}, name))),
  );
  let above = ".".repeat(lanes.length);
  let layer = -1;
  const body = rows.map((row, r) => {
    const marks = new Map(row.marks);
    const places = row.marks.map(([lane]) => lane);
    const does = row.marks.map((mark) => mark[1]).join("");
    const carries = /r|b/.test(does) && /w|b/.test(does) && places.length > 1;
    const [first, last] = carries ? [Math.min(...places), Math.max(...places)] : [1, 0];
    const cells = lanes.map((_, lane) => {
      const mark = marks.get(lane);
      const cell = h("td", {
        "data-above": LINES[above[lane]] ?? null,
        "data-below": r + 1 < rows.length ? (LINES[row.lines[lane]] ?? null) : null,
        "data-across": lane >= first && lane <= last ? (lane === first ? "from" : lane === last ? "to" : "over") : null,
      });
      if (mark) {
        const [glyph, says] = MARKS[mark];
        const words = `${lanes[lane][0]} ${says}`;
        cell.append(
          h("span", { "data-value": `m:${r}:${lane}`, role: "img", "aria-label": words, title: words }, glyph),
        );
      }
      return cell;
    });
    const begins = row.layer !== layer;
    above = row.lines;
    layer = row.layer;
    const title = row.layer ? `Layer ${row.layer}` : "";
    return h(
      "tr",
      { "data-begins": begins && r > 0 },
      h(
        "th",
        { scope: "row" },
        h("strong", {}, `${begins && title ? `${title} · ` : ""}${row.part}`),
        h("span", {}, row.does),
      ),
      ...cells,
    );
  });
  return h(
    "table",
    { class: "fx-wires", style: `--lanes: ${lanes.length}` },
    h("thead", {}, head),
    h("tbody", {}, ...body),
  );
}

/** The jobs of the lanes that have any, once for each run of equal words. @type {(wiring: Wiring) => any} */
function jobs({ lanes }) {
  const groups = /** @type {{ names: string[], job: string }[]} */ ([]);
  for (const [name, job] of lanes) {
    if (!job) continue;
    const last = groups.at(-1);
    const same = last && last.job.replace(/\d+/g, "#") === job.replace(/\d+/g, "#");
    if (last && same) last.names.push(name);
    else groups.push({ names: [name], job });
  }
  return h(
    "ul",
    { class: "fx-jobs" },
    ...groups.map(({ names, job }) =>
      h(
        "li",
        {},
        h("strong", {}, names.length > 2 ? `${names[0]} … ${names.at(-1)}` : names.join(", ")),
        h("span", {}, names.length > 1 ? `${job}, and so on` : job),
      ),
    ),
  );
}

/** What the marks of the wiring mean; only those that occur. @type {(wiring: Wiring) => any} */
function legend({ rows }) {
  const used = new Set(rows.flatMap((row) => row.marks.map((mark) => mark[1])));
  const past = rows.some((row) => /[pt]/.test(row.lines));
  return h(
    "p",
    { class: "fx-key" },
    ...Object.entries(MARKS)
      .filter(([mark]) => used.has(mark))
      .map(([, [glyph, says]]) => h("span", {}, h("i", { "aria-hidden": "true" }, glyph), says)),
    h("span", {}, h("i", { class: "fx-solid", "aria-hidden": "true" }), "may differ from 0"),
    ...(past ? [h("span", {}, h("i", { class: "fx-dashed", "aria-hidden": "true" }), "bypass")] : []),
  );
}

/** A table of numbers with one tab stop; `most` is the number with the full colour.
 * @type {(label: string, corner: string[],
 *     tell: (row: string, column: string, value: number, closed: boolean) => string, point: (text: string) => void) =>
 *     { root: any, show(table: Table, most: number, chosen?: number): void }} */
function grid(label, [from, to], tell, point) {
  const root = h("div", { class: "fx-sheet" });
  const cells = () => [...root.querySelectorAll("td")];
  let columns = 1;
  roving(root, cells, () => columns);
  const said = (/** @type {any} */ event) =>
    event.target.closest?.("td") && point(event.target.closest("td").ariaLabel);
  root.addEventListener("focusin", said);
  root.addEventListener("pointerover", said);
  return {
    root,
    show(shown, most, chosen = -1) {
      columns = shown.columns.length;
      const body = shown.rows.map((row, r) =>
        h(
          "tr",
          { "data-chosen": r === chosen },
          h("th", { scope: "row", title: row[1] || null }, row[0]),
          ...shown.columns.map(([column], c) => {
            const value = shown.values[r][c];
            const closed = shown.closed[r][c];
            const words = tell(row[0], column, value, closed);
            const cell = h("td", { tabindex: r + c ? -1 : 0, "aria-label": words });
            if (closed) cell.dataset.look = "closed";
            else if (value !== 0) {
              const share = Math.min(1, Math.abs(value) / most);
              cell.dataset.look = value < 0 ? "minus" : "plus";
              cell.style.setProperty("--weight", `${22 + 63 * Math.cbrt(share)}%`);
              put(cell, `v:${r}:${c}`, value, "");
              cell.append(h("span", { "aria-hidden": "true" }, short(value)));
            }
            return cell;
          }),
        ),
      );
      const names = shown.columns.map(([name, job]) =>
        h("th", { scope: "col", title: job || null }, h("span", {}, name)),
      );
      root.replaceChildren(
        h(
          "table",
          { class: "fx-grid-of", style: `--lanes: ${columns}`, "data-many": columns > 16, "aria-label": label },
          h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "fx-unseen" }, `${from}, ${to}`)), ...names)),
          h("tbody", {}, ...body),
        ),
      );
    },
  };
}

// ---------------------------------------------------------------------------------------------- the explorer

/** @param {{ model: import("../classroom/explorers/kit.js").Model, el: HTMLElement, payload?: any }} home */
function render({ model, el, payload }) {
  /** @type {Content} */
  const content = payload?.content ?? model.get("content");
  const known = parts(content);
  const run = content.program && machine(content);
  const largest = Math.max(
    1e-300,
    ...content.matrices
      .filter(({ kind }) => kind === "weight")
      .flatMap(({ values }) => [values.reduce((most, v) => Math.max(most, Math.abs(v)), 0)]),
  );

  /** A full and valid state. @type {(given: any) => State} */
  function clean(given) {
    const state = accept(given);
    for (const key of ["matrix", "head", "stage"]) {
      const names = known[key].map(([name]) => name);
      if (state[key] === "") state[key] = names[0] ?? "";
      else if (!names.includes(state[key]))
        throw new Error(`${key}: expected one of ${names.slice(0, 4).join(", ") || "none"}, …, got ${state[key]}`);
    }
    if (!content.program) state.view = "weights";
    if (state.view === "attention" && !known.head.length)
      throw new Error("view: expected wiring, weights or stream, because there is no head, got attention");
    if (!Array.isArray(state.symbols)) throw new Error(`symbols: expected a list, got ${state.symbols}`);
    /** @type {number[]} */
    const symbols = state.symbols.length ? state.symbols : content.inputs[0];
    const own = content.choices;
    if (symbols.length !== own.length || symbols.some((s, j) => !own[j].includes(s)))
      throw new Error(`symbols: expected ${own.length} of the network's symbols, got ${symbols}`);
    return { ...state, symbols };
  }

  /** @type {State} */
  let state;
  const tokens = (content.spaces.tokens ?? []).map(([name]) => name);
  const views = options("view").filter(([view]) => content.program && (view !== "attention" || known.head.length > 0));
  const view = select({
    label: "Show",
    choices: views.length ? views : options("view").filter(([name]) => name === "weights"),
    onChange: (view) => explorer.change({ view }),
  });
  view.root.hidden = views.length < 2; // a menu of one thing is none
  const menu = (/** @type {"matrix" | "head" | "stage"} */ key, /** @type {string} */ label) =>
    select({ label, choices: known[key], onChange: (value) => explorer.change({ [key]: value }) });
  const menus = { matrix: menu("matrix", "Matrix"), head: menu("head", "Head"), stage: menu("stage", "Stage") };
  const given = select({
    label: "Input",
    choices: /** @type {[string, string][]} */ ([
      ...content.inputs.map((symbols, at) => [String(at), symbols.map((symbol) => tokens[symbol]).join(" ")]),
      ["", "your own"],
    ]),
    onChange: (at) => explorer.change({ symbols: content.inputs[Number(at || 0)] }),
  });
  const input = strip({
    label: "The input; press a symbol to change it",
    onPress: (at) => {
      const own = content.choices[at];
      const symbols = [...state.symbols];
      symbols[at] = own[(own.indexOf(symbols[at]) + 1) % own.length];
      explorer.change({ symbols });
    },
  });
  const readout = h("p", { class: "fx-readout", role: "status" });
  const point = (/** @type {string} */ text) => void (readout.textContent = text);
  const sheet = grid(
    "The numbers of this view",
    ["rows", "columns"],
    (row, column, value, closed) => sentence(row, column, value, closed),
    point,
  );
  const note = h("p", { class: "fx-sentence" });
  const answer = h("b");
  const count = h("b");
  const total = h("b");
  const typed = h("div", { class: "fx-control fx-wide" }, h("span", { class: "fx-label" }, "Input"), input.root);
  const wires = content.wiring
    ? h(
        "div",
        {},
        h("div", { class: "fx-sheet" }, diagram(content.wiring)),
        legend(content.wiring),
        jobs(content.wiring),
      )
    : h("div");
  el.append(
    h(
      "div",
      { class: "fx-box fx-network" },
      h("div", { class: "fx-controls" }, view.root, ...Object.values(menus).map(({ root }) => root), given.root, typed),
      note,
      wires,
      sheet.root,
      readout,
    ),
  );

  /** What a cell says. @type {(row: string, column: string, value: number, closed: boolean) => string} */
  function sentence(row, column, value, closed) {
    const amount = format(value, Math.abs(value) < 0.01 && value !== 0 ? 8 : 4);
    if (state.view === "attention")
      return closed
        ? `Position ${row} may not look at ${column}`
        : `Position ${row} looks at ${column} with weight ${amount}`;
    if (state.view === "stream") return `Position ${row}, channel ${column}: ${amount}`;
    return `${row ? `From ${row} to ${column}` : column}: ${amount}`;
  }

  /** @type {(shown: Table) => string} */
  function thinned({ rows, columns, size }) {
    if (rows.length === size[0] && columns.length === size[1]) return "";
    return ` Shown are ${rows.length} of ${size[0]} rows and ${columns.length} of ${size[1]} columns${
      state.view === "weights" && Math.max(rows.length, columns.length) < MOST ? "; the others are 0" : ""
    }.`;
  }

  function drawWeights() {
    const matrix = content.matrices[known.matrix.findIndex(([path]) => path === state.matrix)];
    const { spaces } = content;
    const shown = table(dense(matrix), spaces[matrix.rows], spaces[matrix.columns], true);
    put(count, "nonzero", matrix.values.length);
    put(total, "entries", matrix.shape[0] * matrix.shape[1]);
    const words = {
      weight: "Rows are read, columns are written. ",
      wire: "A wire is part of the architecture and is not trained. ",
      mask: "Where there is a mark, the position of the row may not look at that of the column. ",
    };
    note.replaceChildren(
      words[/** @type {"weight"} */ (matrix.kind)],
      count,
      " of ",
      total,
      ` numbers ${matrix.values.length === 1 ? "is" : "are"} not 0.`,
      thinned(shown),
      ...(matrix.kind === "weight"
        ? [` The colours of all matrices reach from −${short(largest)} to ${short(largest)}.`]
        : []),
      ...([...shown.rows, ...shown.columns].some(([name]) => name.endsWith("✕"))
        ? [" A ReLU with a ✕ has no effect."]
        : []),
    );
    sheet.show(shown, matrix.kind === "weight" ? largest : 1);
  }

  function drawValues() {
    const seen = run(state.symbols);
    const places = content.spaces.places;
    const read = content.program.read < 0 ? places.length + content.program.read : content.program.read;
    put(answer, "output", seen.output);
    let shown;
    if (state.view === "attention") {
      const [, k, , at] = state.head.split(".");
      const mask = content.program.layers[Number(k)].heads[Number(at)].mask;
      shown = table(seen[state.head], places, places, false, mask === null ? null : dense(content.matrices[mask]));
      note.replaceChildren("Each row is a position, and adds up to 1 over those it looks at. Output: ", answer, ".");
    } else {
      const space = state.stage.replace(".normed", ".mixed").replace(".sum", ".output");
      shown = table(seen[state.stage], places, content.spaces[space]);
      note.replaceChildren("Each row is a position, each column a channel. Output: ", answer, ".");
    }
    note.append(thinned(shown));
    const most = Math.max(1e-300, ...shown.values.flat().map(Math.abs));
    sheet.show(shown, state.view === "attention" ? 1 : most, read);
  }

  /** @type {(next: State) => void} */
  function draw(next) {
    state = next;
    const values = state.view === "attention" || state.view === "stream";
    view.show(state.view);
    for (const [key, of] of /** @type {[keyof State, string][]} */ ([
      ["matrix", "weights"],
      ["head", "attention"],
      ["stage", "stream"],
    ])) {
      const { root, show } = menus[/** @type {"matrix"} */ (key)];
      root.hidden = state.view !== of;
      show(String(state[key]));
    }
    typed.hidden = !values;
    given.root.hidden = !values || content.inputs.length < 2;
    const at = content.inputs.findIndex((own) => String(own) === String(state.symbols));
    given.show(at < 0 ? "" : String(at));
    if (values)
      input.show(
        state.symbols.map((symbol, j) => ({
          key: `x:${j + 1}`,
          name: `position ${j + 1}: symbol ${tokens[symbol]}`,
          value: symbol,
          text: tokens[symbol],
          pressed: symbol !== content.choices[j][0],
        })),
        state.symbols.length,
      );
    wires.hidden = state.view !== "wiring";
    sheet.root.hidden = state.view === "wiring";
    readout.hidden = state.view === "wiring";
    readout.textContent = "";
    if (state.view === "wiring") note.replaceChildren("Time runs down. Every lane is a channel of the stream.");
    else if (values) drawValues();
    else drawWeights();
  }

  const explorer = connect(model, el, clean, draw);
  return explorer.start();
}

export default { render };
