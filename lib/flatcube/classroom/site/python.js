// @ts-check
/**
 * Python in the page: an answer box under every exercise, and Run and Edit at every cell that can run here.
 *
 * Nothing is loaded before the reader asks: at the first run come the packs (the interpreter, numpy, the library), at
 * the first focus the editor. Python runs in a worker, which is ended and started anew to stop it. What the reader
 * writes is kept with the other answers, and leaves the page only when the reader exports it.
 */
(() => {
  /** @typedef {{ notes: string[], text: string, value: string, html: string, error: string, status?: string,
   *    wrong?: number, hint?: string }} Outcome */
  /** @typedef {{ el: HTMLElement, own: string, exercise: string, source(): string, right: boolean,
   *    wrong: number }} Cell */

  const { flatcube } = /** @type {any} */ (window);
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  const SIZES = /* bytes of each pack, written by the press */ { core: 0, numpy: 0, library: 0 };
  /** @type {Record<string, string>} */
  const PARTS = { core: "the Python interpreter", numpy: "numpy", library: "the book's library" };
  const SECONDS = 60; // after which a cell is stopped
  const ASKS = /^(?:check|score)\("(\d+\.\d+)"/m;
  const megabytes = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(1);

  // -------------------------------------------------------------------------------------------- the interpreter

  /** @type {Record<string, string>} */
  const files = {};
  flatcube.pack = (/** @type {string} */ _, /** @type {Record<string, string>} */ given) =>
    void Object.assign(files, given);

  /** @type {(path: string) => Promise<void>} */
  function load(path) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(path, here).href;
      script.onload = () => {
        script.remove(); // its text is long, and kept in `files`
        resolve();
      };
      script.onerror = () => reject(new Error("missing"));
      document.head.append(script);
    });
  }

  /** @type {Promise<Worker> | null} */
  let worker = null;
  /** @type {Map<number, { resolve(answer: any): void, reject(error: Error): void }>} */
  const waiting = new Map();
  let last = 0;

  /** @typedef {(text: string, share?: number) => void} Say what is going on, and how much of it is done */

  /** Load what is not there yet, and start Python. @type {(say: Say) => Promise<Worker>} */
  async function started(say) {
    const whole = Object.values(SIZES).reduce((sum, size) => sum + size, 0);
    let done = 0;
    for (const [name, size] of Object.entries(SIZES)) {
      const place = name === "library" ? "python-library.js" : `../vendor/python/${name}.js`;
      say(`Loading ${PARTS[name]}: ${megabytes(done)} of ${megabytes(whole)} MB are here …`, done / whole);
      if (!flatcube.packed?.has(name)) await load(place);
      flatcube.packed = (flatcube.packed ?? new Set()).add(name);
      done += size;
    }
    say("Starting Python …", 1);
    const { "worker.js": code, ...rest } = files;
    const text = await new Response(
      new Blob([Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0))])
        .stream()
        .pipeThrough(new DecompressionStream("gzip")),
    ).text();
    const made = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    await new Promise((resolve, reject) => {
      made.onmessage = ({ data }) => (data.ready ? resolve(null) : reject(new Error(data.failed)));
      made.onerror = (event) => reject(new Error(event.message));
      made.postMessage({ files: rest });
    });
    made.onerror = null;
    made.onmessage = ({ data }) => {
      const { resolve, reject } = waiting.get(data.id) ?? {};
      waiting.delete(data.id);
      if ("answer" in data) resolve?.(JSON.parse(data.answer));
      else reject?.(new Error(data.failed));
    };
    await ask(made, { ask: "open", cells: cells.map(({ own, exercise }) => [own, exercise]) });
    return made;
  }

  /** @type {(python: Worker, request: any) => Promise<any>} */
  const ask = (python, request) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      python.postMessage({ id: last, request: JSON.stringify(request) });
    });

  /** End Python and all that waits for it; the next run starts it anew. @type {(why: string) => void} */
  function stop(why) {
    worker?.then((python) => python.terminate()).catch(() => {});
    worker = null;
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
  }

  /**
   * An answer from Python, with a sentence if there is none.
   * @type {(request: any, say: Say) => Promise<any>}
   */
  async function asked(request, say) {
    /** @type {any} */
    let clock;
    try {
      worker ??= started(say);
      const [starting, turn] = [worker, -++last];
      const python = await new Promise((resolve, reject) => {
        waiting.set(turn, { resolve, reject }); // so that it can be stopped before it runs
        starting.then(resolve, reject);
      });
      waiting.delete(turn);
      say("Running …");
      clock = setTimeout(
        () => stop(`It was stopped after ${SECONDS} seconds. Your text is as it was.`),
        SECONDS * 1000,
      );
      return await ask(python, request);
    } catch (error) {
      const words = /** @type {Error} */ (error).message;
      if (words === "missing") {
        worker = null;
        return { error: "This copy of the book comes without Python; the notebook of this chapter runs this code." };
      }
      if (worker) stop("");
      const sentence = /^(It|You) /.test(words) ? words : `Python ended here (${words}); the next run starts it anew.`;
      return { error: sentence };
    } finally {
      clearTimeout(clock);
    }
  }

  // -------------------------------------------------------------------------------------------- the cells

  const { h, keep, forget, recall, changed } = flatcube.answers;
  /** @type {Cell[]} */
  const cells = [];

  /** @type {(label: string, act: () => void, more?: Record<string, any>) => HTMLButtonElement} */
  const button = (label, act, more = {}) =>
    h("button", { type: "button", class: "fx-button", click: act, ...more }, label);

  /** What came of a run, in words first. @type {(place: HTMLElement, outcome: Partial<Outcome>) => void} */
  function show(place, { notes = [], text = "", value = "", html = "", error = "", hint = "" }) {
    const parts = notes.map((note) => h("p", { class: "fc-note" }, note));
    if (text) parts.push(h("pre", {}, text));
    if (value) parts.push(h("pre", {}, value));
    if (html) parts.push(h("div", { html }));
    if (hint) parts.push(h("p", { class: "fc-check" }, h("em", {}, "Hint: "), ...coded(hint)));
    if (error) parts.push(h("p", { class: "fc-error" }, ...coded(error)));
    if (!parts.length) parts.push(h("p", { class: "fc-note" }, "It ran, and shows nothing."));
    place.replaceChildren(...parts);
  }
  /** Text with `code` marked. @type {(text: string) => (Node | string)[]} */
  const coded = (text) => text.split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part));

  /** An editor: a plain field until it is used. @type {(text: string, label: string, changed: () => void) => any} */
  function editor(text, label, changed) {
    const field = h("textarea", { class: "fc-code", "aria-label": label, spellcheck: "false", autocapitalize: "off" });
    const place = h("div", { class: "fc-editor" }, field);
    field.value = text;
    field.rows = text.split("\n").length + 1;
    field.addEventListener("input", changed);
    /** @type {{ text(): string, set(text: string): void, focus(): void } | null} */
    let better = null;
    field.addEventListener(
      "focus",
      async () => {
        try {
          if (!flatcube.edit) await load("../vendor/editor/editor.js");
          const active = document.activeElement === field;
          better = flatcube.edit(place, field.value, label, changed);
          field.remove();
          if (active) better?.focus();
        } catch {
          /* the plain field does as well */
        }
      },
      { once: true },
    );
    return {
      place,
      text: () => (better ? better.text() : field.value),
      set(/** @type {string} */ other) {
        if (better) better.set(other);
        else field.value = other;
      },
      focus: () => (better ? better.focus() : field.focus()),
    };
  }

  /**
   * Run a cell, or ask for its hint, with everything that depends on the others as they are now.
   * @type {(at: number, what: "run" | "hint", bar: { say: Say, busy(is: boolean): void }) => Promise<any>}
   */
  async function act(at, what, bar) {
    bar.busy(true);
    const others = cells.map((cell, k) => [k, cell.source(), cell.right]);
    const { wrong } = cells[at];
    const outcome = await asked({ ask: what, at, source: cells[at].source(), wrong, others }, bar.say);
    bar.busy(false);
    bar.say("");
    return outcome;
  }

  /** A row of buttons with one that stops, and a place for words. @type {(...buttons: HTMLButtonElement[]) => any} */
  function row(...buttons) {
    const words = h("span", { class: "fc-busy", role: "status" });
    const meter = h("progress", { max: "1", "aria-label": "How much of Python is loaded", hidden: "" });
    const halt = button("Stop", () => stop("You stopped it. Your text is as it was."), { hidden: "" });
    return {
      el: h("div", { class: "fc-tools" }, ...buttons, halt, meter, words),
      /** @type {Say} */
      say(text, share) {
        words.textContent = text;
        meter.hidden = share === undefined;
        meter.value = share ?? 0;
      },
      busy(/** @type {boolean} */ is) {
        halt.hidden = !is;
        for (const one of buttons) one.disabled = is;
      },
    };
  }

  /** The answer box of an exercise. @type {(cell: HTMLElement, at: number, exercise: string, own: string) => Cell} */
  function answerBox(cell, at, exercise, own) {
    const id = `exercise ${exercise}`;
    const known = recall(id);
    const live = h("div", { class: "fc-live", role: "status" });
    const save = () => {
      self.right = false;
      store();
    };
    const store = () => {
      const answer = edit.text();
      if (answer !== own) keep(id, { kind: "code", answer, right: self.right, wrong: self.wrong });
      else forget(id); // nothing is answered yet, or no longer
    };
    const edit = editor(known?.answer ?? own, `Your answer to exercise ${exercise}`, save);
    const run = async () => {
      const outcome = await act(at, "run", tools);
      self.right = outcome.status === "right";
      self.wrong = outcome.wrong ?? self.wrong;
      store();
      show(live, outcome);
    };
    const hint = async () => show(live, await act(at, "hint", tools));
    const reset = () => {
      edit.set(own);
      live.replaceChildren();
      save();
    };
    const tools = row(button("Check", run), button("Hint", hint), button("Reset", reset));
    /** @type {Cell} */
    const self = { el: cell, own, exercise, source: edit.text, right: known?.right ?? false, wrong: known?.wrong ?? 0 };
    const head = h("p", { class: "fx-kind" }, "Answer here");
    cell.classList.add("fc-asked");
    cell.append(
      h(
        "section",
        { class: "fx-box fc-answer", "aria-label": `Answer to ${exercise}` },
        head,
        edit.place,
        tools.el,
        live,
      ),
    );
    changed.addEventListener("clear", () => {
      edit.set(own);
      live.replaceChildren();
      Object.assign(self, { right: false, wrong: 0 });
    });
    return self;
  }

  /** Run and Edit at a cell of the text. @type {(cell: HTMLElement, at: number, own: string) => Cell} */
  function runBox(cell, at, own) {
    const live = h("div", { class: "fc-live", role: "status" });
    /** @type {any} */
    let edit = null;
    const run = async () => show(live, await act(at, "run", tools));
    const open = () => {
      if (!edit) {
        edit = editor(own, "The code of this cell", () => {});
        tools.el.before(edit.place);
        cell.classList.add("fc-edited");
        reset.hidden = false;
      }
      edit.focus();
    };
    const reset = button(
      "Reset",
      () => {
        edit?.place.remove();
        edit = null;
        live.replaceChildren();
        cell.classList.remove("fc-edited");
        reset.hidden = true;
      },
      { hidden: "" },
    );
    const tools = row(button("Run", run), button("Edit", open), reset);
    cell.querySelector(".cell_input")?.append(tools.el);
    cell.append(live);
    return { el: cell, own, exercise: "", source: () => edit?.text() ?? own, right: false, wrong: 0 };
  }

  /**
   * Say at a cell that does not run here what it lacks, and where it runs.
   * @type {(cell: HTMLElement, exercise: string) => void}
   */
  function elsewhere(cell, exercise) {
    const lacks = /tag_needs-(\S+)/.exec(cell.className)?.[1];
    const what = exercise ? `Exercise ${exercise}` : "This cell";
    const notebook = /** @type {HTMLAnchorElement | null} */ (document.querySelector('a[href$=".ipynb"]'));
    const link = notebook ? h("a", { href: notebook.href, download: "" }, "the notebook") : "the notebook";
    const why = lacks === "more" ? "more than runs in the page" : `${lacks}, which does not run in the page`;
    const words = h("p", { class: "fc-needs" }, `${what} needs ${why}: `, link, " runs it.");
    (cell.querySelector(".cell_input") ?? cell).after(words);
  }

  const visible = '.cell.tag_runs-here, .cell[class*="tag_needs-"]';
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(visible))) {
    const own = (cell.querySelector(".cell_input pre")?.textContent ?? "").trimEnd();
    const exercise = ASKS.exec(own)?.[1] ?? "";
    const at = cells.length;
    if (!cell.classList.contains("tag_runs-here")) {
      elsewhere(cell, exercise);
      cells.push({ el: cell, own, exercise: "", source: () => own, right: false, wrong: 0 });
    } else cells.push(exercise ? answerBox(cell, at, exercise, own) : runBox(cell, at, own));
  }
})();
