// @ts-check
/**
 * Mounts what is alive on a page: charts (.fc-chart), explorers (.fc-explorer), questions (.fc-question) and the
 * panel of answers (.fc-answers). A classic script without modules, so that the site also works from file://.
 *
 * All of them wait until the page is loaded. Questions are mounted then. Charts and explorers keep the height that the
 * press has reserved for them until they come within a screen of what the reader sees; the others follow one by one
 * when the browser has nothing else to do, so that paper shows everything.
 *
 * window.flatcube = { register(name, { render }, looks), ready: promise when what the reader sees first is mounted,
 *   everything(): mounts all the rest now, views: element → Vega view }; looks are a style sheet, as text.
 * An element that fails keeps its fallback and gets one sentence; it never leaves a blank.
 *
 * The address of an explorer may carry a state: #fourier-explorer?n=4&name=parity sets these entries of it.
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
      loading.set(
        path,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = new URL(path, here).href;
          script.onload = () => resolve();
          script.onerror = () => reject(new Error(`the file ${path} is missing`));
          document.head.append(script);
        }),
      );
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
      on: (/** @type {string} */ event, /** @type {() => void} */ call) =>
        void listeners.set(event, (listeners.get(event) ?? new Set()).add(call)),
      off: (/** @type {string} */ event, /** @type {() => void} */ call) => void listeners.get(event)?.delete(call),
      save_changes() {},
    };
  }

  // -------------------------------------------------------------------------------------------- charts

  /** How much larger than on a page charts are drawn: on slides. */
  const scale = () => Number(getComputedStyle(document.body).getPropertyValue("--fc-scale")) || 1;

  /** The chart's colours and type, read from the page; where it is narrow, the legend goes on top. */
  function look(narrow = false) {
    const style = getComputedStyle(document.documentElement);
    const large = scale();
    const read = (/** @type {string} */ name) => style.getPropertyValue(`--fc-${name}`).trim();
    const [ink, muted, line, accent, paper] = ["ink", "muted", "line", "accent", "paper"].map(read);
    const font = read("sans");
    const text = {
      labelColor: muted,
      titleColor: ink,
      labelFont: font,
      titleFont: font,
      labelFontSize: 12 * large,
      titleFontSize: 13 * large,
      titleFontWeight: 500,
    };
    const axis = { ...text, labelFlush: false, labelLimit: 180 * large };
    return {
      background: "transparent",
      aria: false, // the whole picture has one name; its parts would be unnamed graphics
      font,
      view: { stroke: "transparent" },
      autosize: { type: "pad", resize: true }, // room for words that a slider or a menu makes longer
      axis: { ...axis, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.6 },
      legend: { ...text, labelLimit: 160 * large, ...(narrow && { orient: "top" }) },
      header: text,
      title: {
        color: ink,
        subtitleColor: muted,
        font,
        subtitleFont: font,
        fontSize: 14 * large,
        subtitleFontSize: 11 * large,
        fontWeight: 600,
        anchor: "start",
      },
      mark: { color: accent },
      ...Object.fromEntries(["point", "circle", "square"].map((kind) => [kind, { opacity: 1 }])), // or some are pale
      text: { color: ink, font },
      rule: { color: muted },
      style: {
        "guide-label": { fill: muted, font },
        "guide-title": { fill: ink, font },
        cell: { stroke: "transparent" },
      },
      range: {
        category: [1, 2, 3, 4, 5, 6].map((i) => read(`cat-${i}`)),
        diverging: [read("minus"), paper, read("plus")],
        ramp: [paper, accent],
        heatmap: [paper, accent],
      },
    };
  }

  /** The chart with the page's colours, light or dark, where it names them. @type {(spec: any) => any} */
  function coloured(spec) {
    const style = getComputedStyle(document.documentElement);
    const named = (/** @type {string} */ _, /** @type {string} */ name) => style.getPropertyValue(name).trim();
    return JSON.parse(JSON.stringify(spec).replace(/var\((--fc-[\w-]+)\)/g, named));
  }

  /** The chart as high as the page wants it. @type {(spec: any) => any} */
  const tall = (spec) => (typeof spec.height === "number" ? { ...spec, height: spec.height * scale() } : spec);

  /** Deep merge; `over` wins. @type {(under: any, over: any) => any} */
  function merge(under, over) {
    if (!under || !over || typeof under !== "object" || typeof over !== "object" || Array.isArray(over))
      return over ?? under;
    return Object.fromEntries(
      [...new Set([...Object.keys(under), ...Object.keys(over)])].map((key) => [key, merge(under[key], over[key])]),
    );
  }

  /**
   * What the reader has set in a chart: values of its params and the stores of its selections.
   * @type {(view: any, spec: any) => any}
   */
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
    const { view } = await /** @type {any} */ (window).vegaEmbed(
      place,
      { ...tall(coloured(spec)), config: merge(spec.config, look(el.clientWidth < 500)) },
      { renderer: "svg", actions: false, ast: false },
    );
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
    if (views.size === 1) followTheme();
  }

  /** Draw all charts again when light turns to dark or back. */
  function followTheme() {
    let theme = JSON.stringify(look());
    const redraw = () => {
      if (JSON.stringify(look()) === theme) return;
      theme = JSON.stringify(look());
      for (const el of views.keys())
        drawChart(/** @type {HTMLElement} */ (el), payload(el)).catch((error) =>
          excuse(/** @type {HTMLElement} */ (el), error),
        );
    };
    new MutationObserver(redraw).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  // -------------------------------------------------------------------------------------------- states in the address

  /** A text starts with none of these where it stands for itself; a list or a text in quotes does. */
  const quoted = (/** @type {string} */ text) => /^["[]/.test(text);
  /** An entry in an address: a text as it is, the rest as JSON. @type {(value: any, own: any) => string} */
  const written = (value, own) =>
    typeof value === "string" && typeof own === "string" && !quoted(value) ? value : JSON.stringify(value);

  /** @type {(key: string, text: string, own: Record<string, any>) => any} */
  function readEntry(key, text, own) {
    if (!(key in own)) throw new Error(`it has no ${key}`);
    if (typeof own[key] === "string" && !quoted(text)) return text;
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(`${key} cannot be read`);
    }
  }

  /** What differs from an explorer's own state, for its address. @type {(state: any, own: any) => string} */
  const query = (state, own) =>
    new URLSearchParams(
      Object.keys(state)
        .filter((key) => JSON.stringify(state[key]) !== JSON.stringify(own[key]))
        .map((key) => [key, written(state[key], own[key])]),
    ).toString();

  /** One sentence under an explorer, in the place of the last one. @type {(el: HTMLElement, text: string) => void} */
  function say(el, text) {
    const place = el.querySelector(":scope > .fx-link > [role=status]");
    if (place) place.textContent = text;
  }

  /** Set an explorer as the address says. @type {(el: HTMLElement, model: any, own: any) => void} */
  function followAddress(el, model, own) {
    const [id, given] = location.hash.slice(1).split("?");
    if (id !== el.id || !given) return;
    say(el, "");
    const refuse = (/** @type {string} */ reason) =>
      say(el, `The address asks for a state that does not exist here (${reason}); it is ignored.`);
    const hear = (/** @type {any} */ event) => refuse(event.detail);
    el.addEventListener("fx-refused", hear, { once: true });
    try {
      const entries = [...new URLSearchParams(given)].map(([key, text]) => [key, readEntry(key, text, own)]);
      model.set("state", { ...own, ...Object.fromEntries(entries) });
    } catch (error) {
      refuse(/** @type {Error} */ (error).message);
    }
    el.removeEventListener("fx-refused", hear);
  }

  /** A link that leads to what an explorer shows; a click copies it. @type {(el: HTMLElement, own: any) => void} */
  function offerLink(el, own) {
    const link = document.createElement("a");
    link.textContent = "Copy link to this state";
    const large = document.createElement("a");
    large.textContent = "Project";
    const file = location.pathname.split("/").pop() ?? "";
    const page = /^\d\d(?=-)/.exec(file)?.[0] ?? file.replace(/\.html$/, "");
    const point = () => {
      const changed = query(JSON.parse(el.dataset.state ?? "{}"), own);
      link.href = `#${el.id}${changed && `?${changed}`}`;
      large.href = new URL(`../../project/${page}-${el.id}.html${new URL(link.href).hash}`, here).href;
    };
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      history.replaceState(null, "", link.href);
      try {
        await navigator.clipboard.writeText(link.href);
        say(el, "Copied.");
      } catch {
        say(el, "It stands in the address bar.");
      }
    });
    const row = document.createElement("p");
    row.className = "fx-link";
    row.append(link, document.createElement("span"));
    row.lastElementChild?.setAttribute("role", "status");
    if (document.body.matches(".fc-chapter, .fc-front, .fc-plain, .fc-deck")) link.before(large, " ");
    el.append(row);
    point();
    new MutationObserver(point).observe(el, { attributes: true, attributeFilter: ["data-state"] });
  }

  /** On the projector the address follows what is shown. @type {(el: HTMLElement, own: any) => void} */
  function keepAddress(el, own) {
    const follow = () => {
      const changed = query(JSON.parse(el.dataset.state ?? "{}"), own);
      history.replaceState(null, "", `#${el.id}${changed && `?${changed}`}`);
    };
    new MutationObserver(follow).observe(el, { attributes: true, attributeFilter: ["data-state"] });
  }

  // -------------------------------------------------------------------------------------------- mounting

  /** @type {(el: Element) => any} */
  const payload = (el) => JSON.parse(el.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}");

  /** Gives the model it made. @type {(el: HTMLElement, name: string, path: string, content: any) => Promise<any>} */
  async function mountScript(el, name, path, content) {
    await load(path);
    const found = registered.get(name);
    if (!found) throw new Error(`nothing is registered as ${name}`);
    if (content.label) {
      el.setAttribute("role", "figure");
      el.setAttribute("aria-label", content.label);
    }
    const model = makeModel(content.state);
    await found.render({ model, el, payload: content });
    return model;
  }

  /** @type {(el: HTMLElement, content: any) => Promise<void>} */
  async function mountExplorer(el, content) {
    const model = await mountScript(el, content.name, `explorers/${content.name}.js`, content);
    if (!el.id) return;
    const own = JSON.parse(el.dataset.state ?? "{}");
    offerLink(el, own);
    followAddress(el, model, own);
    addEventListener("hashchange", () => followAddress(el, model, own));
    if (document.body.matches(".fc-projector")) keepAddress(el, own);
  }

  /**
   * One sentence in place of what could not be drawn; the fallback stays.
   * @type {(el: HTMLElement, error: any) => void}
   */
  function excuse(el, error) {
    for (const child of [...el.children])
      if (child.localName !== "script" && !child.classList.contains("fc-fallback")) child.remove();
    for (const fallback of el.querySelectorAll(":scope > .fc-fallback"))
      /** @type {HTMLElement} */ (fallback).hidden = false;
    const note = document.createElement("p");
    note.className = "fx-excuse";
    const chart = el.classList.contains("fc-chart");
    note.textContent = chart
      ? `This chart could not be drawn here. It shows: ${el.getAttribute("aria-label")}`
      : "This part of the page could not be made interactive here.";
    el.append(note);
    el.dataset.mounted = "false";
    console.warn("flatcube:", error);
  }

  /** @type {Record<string, (el: HTMLElement, content: any) => Promise<void>>} */
  const mounts = {
    chart: mountChart,
    explorer: mountExplorer,
    async question(el, content) {
      await load("questions.js");
      if (content.kind === "proof") await mountScript(el, "proof", "proofs.js", content);
      else await mountScript(el, "question", "questions.js", content);
    },
    answers: (el, content) => mountScript(el, "answers", "questions.js", content),
    async progress(el, content) {
      await load("questions.js");
      await mountScript(el, content.of, "progress.js", content);
    },
  };

  /** @type {(el: HTMLElement, kind: string) => Promise<void>} */
  async function mount(el, kind) {
    try {
      await mounts[kind](el, payload(el));
      for (const fallback of el.querySelectorAll(":scope > .fc-fallback"))
        /** @type {HTMLElement} */ (fallback).hidden = true;
      el.dataset.mounted = "true";
    } catch (error) {
      excuse(el, error);
    }
  }

  // -------------------------------------------------------------------------------------------- when

  const NOW = ["question", "answers", "progress"];
  /** Everything on the page that is to be mounted, by its kind. @type {Map<HTMLElement, string>} */
  const parts = new Map();
  /** @type {Map<HTMLElement, Promise<void>>} */
  const begun = new Map();

  /** Mount an element, once. @type {(el: HTMLElement) => Promise<void>} */
  function begin(el) {
    const mounted = begun.get(el) ?? mount(el, String(parts.get(el)));
    begun.set(el, mounted);
    return mounted;
  }

  async function find() {
    if (document.readyState === "loading")
      await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
    for (const kind of Object.keys(mounts))
      for (const el of document.querySelectorAll(`.fc-${kind}`)) parts.set(/** @type {HTMLElement} */ (el), kind);
  }
  const found = find();

  /** Mount what comes near; resolves when what is near at first is mounted. @type {() => Promise<any>} */
  const watch = () =>
    new Promise((resolve) => {
      const near = new IntersectionObserver(
        (entries) => {
          const close = entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target);
          for (const el of close) near.unobserve(el);
          resolve(Promise.all(close.map((el) => begin(/** @type {HTMLElement} */ (el)))));
        },
        { rootMargin: "100% 0px" },
      );
      for (const el of parts.keys()) near.observe(el);
      if (!parts.size) resolve(null);
    });

  /** Resolves when the page is loaded. */
  async function arrival() {
    if (document.readyState !== "complete") await new Promise((resolve) => addEventListener("load", resolve));
  }

  /** Resolves when the page is loaded and the browser has nothing else to do, which may be never. */
  async function leisure() {
    await arrival();
    await new Promise((resolve) => (window.requestIdleCallback ?? setTimeout)(resolve));
  }

  /** Mount one by one what is far away; what is folded has no width yet and waits until it is opened. */
  async function followLater() {
    for (const el of parts.keys()) {
      await leisure();
      if (el.getClientRects().length) await begin(el);
    }
  }

  /** Answer boxes, and buttons that run code: a small script, which loads Python only when one of them is pressed. */
  async function offerPython() {
    if (!document.querySelector(".cell.tag_runs-here")) return;
    try {
      await load("questions.js");
      await load("python.js");
    } catch (error) {
      console.warn("flatcube:", error);
    }
  }

  async function start() {
    await found;
    await arrival();
    const first = [...parts].filter(([, kind]) => NOW.includes(kind)).map(([el]) => begin(el));
    await Promise.all([...first, offerPython(), watch()]);
    followLater();
  }

  /** Mount all that is left. */
  async function everything() {
    await found;
    await Promise.all([...parts.keys()].map(begin));
  }
  addEventListener("beforeprint", everything);

  const flatcube = {
    register(/** @type {string} */ name, /** @type {{ render(home: any): any }} */ what, looks = "") {
      registered.set(name, what);
      const style = document.createElement("style");
      style.textContent = looks;
      if (looks) document.head.append(style);
    },
    views,
    everything,
    ready: Promise.resolve(),
  };
  Object.assign(window, { flatcube });
  flatcube.ready = start();
})();
