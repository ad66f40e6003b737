// @ts-check
/**
 * Mounts what is alive on a page: charts (.fc-chart), explorers (.fc-explorer), questions (.fc-question) and the
 * panel of answers (.fc-answers). A classic script without modules, so that the site also works from file://.
 *
 * window.flatcube = { register(name, { render }), ready: promise when everything is mounted, views: element → Vega view }.
 * An element that fails keeps its fallback and gets one sentence; it never leaves a blank.
 */
(() => {
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  /** @type {Map<string, { render(home: any): any }>} */
  const registered = new Map();
  /** @type {Map<string, Promise<void>>} */
  const loading = new Map();
  /** @type {Map<Element, any>} */
  const views = new Map();

  /** Load a script once, by its path next to this one. @type {(path: string) => Promise<void>} */
  function load(path) {
    if (!loading.has(path)) {
      loading.set(path, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(path, here).href;
        script.onload = () => resolve();
        script.onerror = () => reject(new Error(`the file ${path} is missing`));
        document.head.append(script);
      }));
    }
    return /** @type {Promise<void>} */ (loading.get(path));
  }

  /** The model of anywidget, as far as explorers use it. @type {(state: any) => any} */
  function makeModel(state) {
    const data = /** @type {Record<string, any>} */ ({ state });
    const listeners = /** @type {Map<string, Set<() => void>>} */ (new Map());
    return {
      get: (/** @type {string} */ key) => data[key],
      set(/** @type {string} */ key, /** @type {any} */ value) {
        data[key] = value;
        for (const call of listeners.get(`change:${key}`) ?? []) call();
      },
      on: (/** @type {string} */ event, /** @type {() => void} */ call) => void listeners.set(event, (listeners.get(event) ?? new Set()).add(call)),
      off: (/** @type {string} */ event, /** @type {() => void} */ call) => void listeners.get(event)?.delete(call),
      save_changes() {},
    };
  }

  // -------------------------------------------------------------------------------------------- charts

  /** The chart's colours and type, read from the page; where it is narrow, the legend goes on top. */
  function look(narrow = false) {
    const style = getComputedStyle(document.documentElement);
    const read = (/** @type {string} */ name) => style.getPropertyValue(`--fc-${name}`).trim();
    const [ink, muted, line, accent, paper] = ["ink", "muted", "line", "accent", "paper"].map(read);
    const font = read("sans");
    const text = { labelColor: muted, titleColor: ink, labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500 };
    return {
      background: "transparent",
      aria: false, // the whole picture has one name; its parts would be unnamed graphics
      font,
      view: { stroke: "transparent" },
      axis: { ...text, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.6 },
      legend: { ...text, ...(narrow && { orient: "top" }) },
      header: text,
      title: { color: ink, subtitleColor: muted, font, subtitleFont: font, fontSize: 14, fontWeight: 600, anchor: "start" },
      mark: { color: accent },
      text: { color: ink, font },
      rule: { color: muted },
      style: { "guide-label": { fill: muted, font }, "guide-title": { fill: ink, font }, cell: { stroke: "transparent" } },
      range: { category: [1, 2, 3, 4, 5, 6].map((i) => read(`cat-${i}`)), diverging: [read("minus"), paper, read("plus")], ramp: [paper, accent], heatmap: [paper, accent] },
    };
  }

  /** Deep merge; `over` wins. @type {(under: any, over: any) => any} */
  function merge(under, over) {
    if (!under || !over || typeof under !== "object" || typeof over !== "object" || Array.isArray(over)) return over ?? under;
    return Object.fromEntries([...new Set([...Object.keys(under), ...Object.keys(over)])].map((key) => [key, merge(under[key], over[key])]));
  }

  /** What the reader has set in a chart: values of its params and the stores of its selections. @type {(view: any, spec: any) => any} */
  function settings(view, spec) {
    const names = (spec.params ?? []).map((/** @type {any} */ param) => param.name);
    return view.getState({
      signals: (/** @type {string} */ name) => names.includes(name),
      data: (/** @type {string} */ name) => names.some((/** @type {string} */ param) => name === `${param}_store`),
      recurse: false,
    });
  }

  /** @type {(el: HTMLElement, spec: any) => Promise<void>} */
  async function drawChart(el, spec) {
    const old = views.get(el);
    const kept = old && settings(old, spec);
    const place = document.createElement("div");
    place.className = "fx-view";
    el.querySelector(".fx-view")?.remove();
    old?.finalize();
    el.append(place);
    const { view } = await /** @type {any} */ (window).vegaEmbed(place, { ...spec, config: merge(spec.config, look(el.clientWidth < 500)) }, { renderer: "svg", actions: false, ast: false });
    views.set(el, view);
    if (kept) await view.setState(kept).runAsync();
    // the frame around the chart carries its name already; inside, one picture with the same name is enough
    for (const part of [place, ...place.querySelectorAll("[role], [aria-roledescription], [aria-hidden]")]) {
      for (const name of ["role", "aria-roledescription", "aria-label", "aria-hidden"]) part.removeAttribute(name);
    }
    const picture = place.querySelector("svg");
    picture?.setAttribute("role", "img");
    picture?.setAttribute("aria-label", el.getAttribute("aria-label") ?? "chart");
  }

  /** @type {(el: HTMLElement, spec: any) => Promise<void>} */
  async function mountChart(el, spec) {
    for (const file of ["vega", "vega-lite", "vega-embed"]) await load(`../vendor/${file}.min.js`);
    await drawChart(el, spec);
  }

  /** Draw all charts again when light turns to dark or back. */
  function followTheme() {
    let theme = JSON.stringify(look());
    const redraw = () => {
      if (JSON.stringify(look()) === theme) return;
      theme = JSON.stringify(look());
      for (const el of views.keys()) drawChart(/** @type {HTMLElement} */ (el), payload(el)).catch((error) => excuse(/** @type {HTMLElement} */ (el), error));
    };
    new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  // -------------------------------------------------------------------------------------------- mounting

  /** @type {(el: Element) => any} */
  const payload = (el) => JSON.parse(el.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}");

  /** @type {(el: HTMLElement, name: string, path: string, content: any) => Promise<void>} */
  async function mountScript(el, name, path, content) {
    await load(path);
    const found = registered.get(name);
    if (!found) throw new Error(`nothing is registered as ${name}`);
    if (content.label) {
      el.setAttribute("role", "figure");
      el.setAttribute("aria-label", content.label);
    }
    await found.render({ model: makeModel(content.state), el, payload: content });
  }

  /** One sentence in place of what could not be drawn; the fallback stays. @type {(el: HTMLElement, error: any) => void} */
  function excuse(el, error) {
    for (const child of [...el.children]) if (child.localName !== "script" && !child.classList.contains("fc-fallback")) child.remove();
    for (const fallback of el.querySelectorAll(":scope > .fc-fallback")) /** @type {HTMLElement} */ (fallback).hidden = false;
    const note = document.createElement("p");
    note.className = "fx-excuse";
    const chart = el.classList.contains("fc-chart");
    note.textContent = chart ? `This chart could not be drawn here. It shows: ${el.getAttribute("aria-label")}` : "This part of the page could not be made interactive here.";
    el.append(note);
    el.dataset.mounted = "false";
    console.warn("flatcube:", error);
  }

  /** @type {Record<string, (el: HTMLElement, content: any) => Promise<void>>} */
  const mounts = {
    chart: mountChart,
    explorer: (el, content) => mountScript(el, content.name, `explorers/${content.name}.js`, content),
    question: (el, content) => mountScript(el, "question", "questions.js", content),
    answers: (el, content) => mountScript(el, "answers", "questions.js", content),
  };

  /** @type {(el: HTMLElement, kind: string) => Promise<void>} */
  async function mount(el, kind) {
    try {
      await mounts[kind](el, payload(el));
      for (const fallback of el.querySelectorAll(":scope > .fc-fallback")) /** @type {HTMLElement} */ (fallback).hidden = true;
      el.dataset.mounted = "true";
    } catch (error) {
      excuse(el, error);
    }
  }

  async function everything() {
    if (document.readyState === "loading") await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
    const found = Object.keys(mounts).flatMap((kind) => [...document.querySelectorAll(`.fc-${kind}`)].map((el) => /** @type {[HTMLElement, string]} */ ([el, kind])));
    // what the reader sees first comes first; the rest follows at once, for print and for search in the page
    const far = new Map(found.map(([el]) => [el, Math.abs(el.getBoundingClientRect().top)]));
    found.sort(([a], [b]) => Number(far.get(a)) - Number(far.get(b)));
    await Promise.all(found.map(([el, kind]) => mount(el, kind)));
    if (views.size) followTheme();
  }

  const flatcube = { register: (/** @type {string} */ name, /** @type {any} */ what) => void registered.set(name, what), views, ready: Promise.resolve() };
  Object.assign(window, { flatcube });
  flatcube.ready = everything();
})();
