// @ts-check
/**
 * Drives every slider and menu of a page's charts and explorers to its ends and through its options, and says what
 * breaks. Evaluates to a function: (pages' settings) → sentences, each with the figure's name and the state it is in.
 *
 * @typedef {{ name: string, values: (string | number)[], menu: boolean, own: string | number }} Control
 * @typedef {Record<string, string | number>} State
 */
(() => {
  const MOST = 40; // states of one figure; with more, one control moves while the others stay where they were
  const near = 1.5; // pixels

  /** @type {(controls: Control[]) => State[]} */
  function states(controls) {
    const own = Object.fromEntries(controls.map(({ name, own: value }) => [name, value]));
    if (controls.reduce((product, { values }) => product * values.length, 1) > MOST)
      return controls.flatMap(({ name, values }) => values.map((value) => ({ ...own, [name]: value })));
    return controls.reduce(
      (found, { name, values }) => found.flatMap((state) => values.map((value) => ({ ...state, [name]: value }))),
      [own],
    );
  }

  /** @type {(input: any) => Control} */
  function control(input) {
    const menu = input.localName === "select";
    const values = menu
      ? [...input.options].map((option) => option.value)
      : [...new Set([Number(input.min), Number(input.value), Number(input.max)])];
    return { name: input.name, values, menu, own: menu ? input.value : Number(input.value) };
  }

  // ------------------------------------------------------------------------------------------- what is looked at

  /** @type {(inner: DOMRect, outer: DOMRect, spare?: number) => boolean} */
  const within = (inner, outer, spare = near) =>
    inner.left >= outer.left - spare &&
    inner.right <= outer.right + spare &&
    inner.top >= outer.top - spare &&
    inner.bottom <= outer.bottom + spare;

  /** Words that a picture cuts off, or shortens to dots. @type {(picture: SVGSVGElement) => string[]} */
  function cut(picture) {
    const frame = picture.getBoundingClientRect();
    return [...picture.querySelectorAll("text")]
      .filter((text) => text.textContent?.trim() && getComputedStyle(text).opacity !== "0")
      .filter((text) => text.textContent?.endsWith("…") || !within(text.getBoundingClientRect(), frame))
      .map((text) => `cut off: ${text.textContent}`);
  }

  /** All marks of a chart with their plots. @type {(view: any) => any[]} */
  function marks(view) {
    const found = /** @type {any[]} */ ([]);
    const walk = (/** @type {any} */ mark) => {
      if (/axis|legend|title|header/.test(mark.role ?? "")) return;
      if (mark.marktype !== "group") found.push(mark);
      else for (const item of mark.items) item.items.forEach(walk);
    };
    walk(view.scenegraph().root);
    return found.map((mark) => ({ ...mark, items: mark.items.filter((/** @type {any} */ i) => i.opacity !== 0) }));
  }

  /** @type {(mark: any, item: any) => boolean} */
  function isOutside(mark, { x = 0, y = 0, x2, y2, width = 0, height = 0, size = 0 }) {
    const spare = near + (mark.marktype === "symbol" ? 0.75 * Math.sqrt(size) : 0); // one may hang on its axis
    const across = [x, x2 ?? x + width];
    const up = [y, y2 ?? y + height];
    const beyond = (/** @type {number[]} */ places, /** @type {number} */ length) =>
      places.some((place) => !(place >= -spare && place <= length + spare));
    return beyond(across, mark.group.width) || beyond(up, mark.group.height);
  }

  /** @type {(view: any) => string[]} */
  function outside(view) {
    const shown = marks(view).filter((mark) => mark.items.length);
    if (!shown.length) return ["nothing is drawn"];
    return shown
      .filter((mark) => mark.marktype !== "text")
      .filter((mark) => mark.items[mark.clip ? "every" : "some"]((/** @type {any} */ item) => isOutside(mark, item)))
      .map((mark) => `outside the axes: ${mark.marktype} of ${mark.items.length}`);
  }

  const AXES = ".role-axis-title text, .axis_title_marks text";
  const TITLES = `.role-title text, ${AXES}`;

  /** @type {(el: Element, selector: string) => string[]} */
  const words = (el, selector) => [...el.querySelectorAll(selector)].map((text) => text.textContent?.trim() ?? "");

  /** Whether a text has this option as a word of its own. @type {(text: string, option: string) => boolean} */
  const says = (text, option) =>
    new RegExp(
      `(?<![\\p{L}\\p{N}.])${option.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}(?![\\p{L}\\p{N}]|\\.\\d)`,
      "u",
    ).test(text);

  /**
   * Titles that name another option than the one that is chosen.
   * @type {(titles: string[], controls: Control[], state: State) => string[]}
   */
  function stale(titles, controls, state) {
    return titles.flatMap((title) =>
      controls
        .filter(({ menu, name }) => menu && !says(title, String(state[name])))
        .flatMap(({ name, values }) =>
          values
            .map(String)
            .filter((option) => says(title, option) && !says(String(state[name]), option))
            .map((option) => `says ${option} where ${state[name]} is chosen: ${title}`),
        ),
    );
  }

  /** Ends of an axis whose labels do not stand where their ticks do. @type {(picture: Element) => string[]} */
  function shifted(picture) {
    return [...picture.querySelectorAll(".role-axis-label")].flatMap((axis) => {
      const labels = [...axis.querySelectorAll("text")];
      const sides = new Set(labels.map((label) => label.getAttribute("text-anchor")));
      return sides.size > 1 ? [`labels beside their ticks: ${labels.map((label) => label.textContent).join(" ")}`] : [];
    });
  }

  /** @type {(el: Element, titles: string, controls: Control[], state: State) => string[]} */
  function told(el, titles, controls, state) {
    const nameless = words(el, AXES).filter((title) => /(^|\bof )value$|\bchosen\b/i.test(title));
    return [
      ...nameless.map((title) => `an axis is called ${title}`),
      ...stale(words(el, titles), controls, state),
      ...shifted(el),
    ];
  }

  /** Several series in colours that nothing explains. @type {(el: Element, view: any, spec: any) => string[]} */
  function unexplained(el, view, spec) {
    const coloured = /** @type {any[]} */ ([]);
    JSON.stringify(spec, (key, value) => {
      if (key === "color" && value?.field && ["nominal", "ordinal"].includes(value.type)) coloured.push(value);
      return key === "datasets" ? undefined : value;
    });
    const labelled = el.querySelector(".role-legend") || marks(view).some(({ marktype }) => marktype === "text");
    return coloured.length && !labelled ? [`series without a legend: ${coloured[0].field}`] : [];
  }

  // ------------------------------------------------------------------------------------------- colours

  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  /** Red, green, blue and opacity of a colour, all up to 1. @type {(colour: string) => number[]} */
  function channels(colour) {
    if (!brush) throw new Error("no canvas");
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].map((channel) => channel / 255);
  }

  /** The relative luminance of WCAG 2. @type {(rgb: number[]) => number} */
  function luminance(rgb) {
    const [r, g, b] = rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  /**
   * The contrast of a colour, laid thinly on the paper, to the paper.
   * @type {(colour: string, opacity: number) => number}
   */
  function contrast(colour, opacity) {
    const paper = channels(getComputedStyle(document.documentElement).getPropertyValue("--fc-paper")).slice(0, 3);
    const [r, g, b, a] = channels(colour);
    const seen = [r, g, b].map((c, at) => a * opacity * c + (1 - a * opacity) * paper[at]);
    const [low, high] = [luminance(seen), luminance(paper)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  }

  /** Marks that can hardly be seen; what is laid on thinly is meant as a shade. @type {(view: any) => string[]} */
  function pale(view) {
    const looks = new Map();
    for (const mark of marks(view)) {
      for (const { fill, stroke, opacity = 1, fillOpacity = 1, strokeOpacity = 1 } of mark.items) {
        const layers = [
          [fill, opacity * fillOpacity],
          [stroke, opacity * strokeOpacity],
        ];
        const least = ["rect", "area"].includes(mark.marktype) ? 0.75 : 0.5;
        const painted = layers.filter(([colour, thick]) => colour && colour !== "transparent" && thick >= least);
        if (painted.length) looks.set(JSON.stringify([mark.marktype, ...painted]), [mark.marktype, painted]);
      }
    }
    return [...looks.values()]
      .map(([kind, painted]) => [
        kind,
        painted[0][0],
        Math.max(...painted.map((/** @type {[string, number]} */ layer) => contrast(...layer))),
      ])
      .filter(([kind, , most]) => most < (kind === "text" ? 4.5 : 3))
      .map(([kind, colour, most]) => `pale: ${kind} in ${colour}, ${most.toFixed(1)}`);
  }

  /** Colours that stay when the page turns dark. @type {(spec: any) => string[]} */
  function fixed(spec) {
    const { datasets: _, ...drawn } = spec;
    const found = JSON.stringify(drawn).match(
      /#[0-9a-f]{3,8}\b|"(color|fill|stroke|scheme)":"(?!var|transparent|none)\w+"/gi,
    );
    return [...new Set(found ?? [])].map((colour) => `a fixed colour: ${colour}`);
  }

  // ------------------------------------------------------------------------------------------- charts

  /** @type {(el: Element) => Promise<string[]>} */
  async function chart(el) {
    const view = /** @type {any} */ (window).flatcube.views.get(el);
    const spec = JSON.parse(el.querySelector("script")?.textContent ?? "{}");
    const controls = [...el.querySelectorAll(".vega-bind [name]")].map(control);
    const found = [];
    for (const state of states(controls)) {
      for (const [name, value] of Object.entries(state)) view.signal(name, value);
      await view.runAsync();
      const picture = /** @type {SVGSVGElement} */ (el.querySelector("svg"));
      const faults = [
        ...cut(picture),
        ...outside(view),
        ...told(el, TITLES, controls, state),
        ...unexplained(el, view, spec),
        ...pale(view),
        ...fixed(spec),
      ];
      found.push(...faults.map((fault) => [JSON.stringify(state), fault]));
    }
    for (const { name, own } of controls) view.signal(name, own);
    await view.runAsync();
    return named(words(el, ".role-title text")[0] ?? "", found);
  }

  /**
   * The different faults of a figure, each with the states that have it.
   * @type {(figure: string, found: string[][]) => string[]}
   */
  function named(figure, found) {
    const where = /** @type {Map<string, string[]>} */ (new Map());
    for (const [state, fault] of found) where.set(fault, [...(where.get(fault) ?? []), state]);
    return [...where].map(([fault, places]) => `${figure} | ${fault} | ${places.length}× ${places[0]}`);
  }

  // ------------------------------------------------------------------------------------------- explorers

  /** @type {(input: any, value: string | number) => void} */
  function set(input, value) {
    input.value = String(value);
    for (const event of ["input", "change"]) input.dispatchEvent(new Event(event, { bubbles: true }));
  }

  /** Words and curves of an explorer that stand outside what surrounds them. @type {(el: HTMLElement) => string[]} */
  function spilled(el) {
    const faults = [];
    const whole = document.createRange();
    for (const part of el.querySelectorAll(".fx-title, output, dd, b, label, legend, strong, .fx-shares span")) {
      whole.selectNodeContents(part);
      const [words, box] = [whole.getBoundingClientRect(), part.getBoundingClientRect()];
      const hidden = !part.checkVisibility() || words.top > box.bottom - near;
      if (!hidden && words.right > box.right + near && getComputedStyle(part).overflowX !== "visible")
        faults.push(`cut off: ${part.textContent}`);
    }
    const frame = el.getBoundingClientRect();
    for (const text of el.querySelectorAll("text"))
      if (text.checkVisibility() && text.textContent?.trim() && !within(text.getBoundingClientRect(), frame, 4))
        faults.push(`cut off: ${text.textContent}`);
    for (const curve of el.querySelectorAll("svg :is(path, polyline, circle, rect, line)")) {
      const picture = /** @type {SVGElement} */ (curve).ownerSVGElement;
      const outer = picture?.getBoundingClientRect();
      if (outer && picture && curve.checkVisibility() && getComputedStyle(picture).overflow !== "visible")
        if (!within(curve.getBoundingClientRect(), outer)) faults.push(`outside the axes: ${curve.localName}`);
    }
    return faults;
  }

  /** @type {(el: HTMLElement) => Promise<string[]>} */
  async function explorer(el) {
    const found = [];
    const visible = () =>
      [...el.querySelectorAll("input[type=range], select")].filter((input) => input.checkVisibility());
    for (let at = 0; at < visible().length; at++) {
      const { values, own } = control(visible()[at]);
      for (const value of values) {
        const input = /** @type {HTMLInputElement} */ (visible()[at]);
        if (!input) break;
        set(input, value);
        await new Promise((resolve) => setTimeout(resolve));
        for (const fault of spilled(el)) found.push([`${el.dataset.state}`, fault]);
      }
      if (visible()[at]) set(visible()[at], own);
    }
    return named(el.dataset.name ?? "", found);
  }

  return async () => {
    const found = [];
    for (const el of document.querySelectorAll(".fc-chart")) found.push(...(await chart(el)));
    for (const el of document.querySelectorAll(".fc-explorer"))
      found.push(...(await explorer(/** @type {HTMLElement} */ (el))));
    return found;
  };
})();
