// @ts-check
/**
 * Quick questions, predictions, and the panel with the reader's answers.
 *
 * Answers stay in this browser under one key: { page: { id: { kind, answer, right } } }. A page is named by its file,
 * so that the same book keeps its answers whether it is served or opened from a disk.
 */
(() => {
  /** @typedef {{ text: string, feedback: string, right: boolean, weaker?: boolean }} Choice */
  /**
   * @typedef {{ kind: "quick" | "predict", id: string, prompt: string, choices?: Choice[], number?: { value: number,
   *     tolerance: number }, reveal?: string }} Payload
   */
  /** @typedef {{ kind: string, answer: string, right: boolean }} Answer */

  const KEY = "flatcube.answers";
  const page = decodeURIComponent(location.pathname.split("/").pop() ?? "").replace(/\.html$/, "") || "index";
  const changed = new EventTarget();
  const LOSS = " Some of what it had kept was damaged and is ignored.";

  /** @typedef {Record<string, Record<string, Answer>>} Answers */

  /** @type {Answers} */
  let memory = {};
  let lasting = true; // whether the browser lets us keep anything
  let damaged = false; // whether it held something that is not ours, or no longer whole

  /** The entries of an object, each as `passes` gives it; anything else is damage.
   * @type {(found: any, passes: (value: any) => any) => any} */
  function whole(found, passes) {
    const proper = typeof found === "object" && found !== null && !Array.isArray(found);
    const entries = Object.entries(proper ? found : {}).map(([key, value]) => [key, passes(value)]);
    const passed = entries.filter(([, value]) => value !== undefined);
    damaged ||= !proper || passed.length < entries.length;
    return proper ? Object.fromEntries(passed) : undefined;
  }
  /** @type {(found: any) => Answer | undefined} */
  function answered(found) {
    const words = [found?.kind, found?.answer].every((word) => typeof word === "string");
    return words && typeof found.right === "boolean" ? found : undefined;
  }

  /** What of the text is answers; nothing if it is something else. @type {(text: string) => Answers | undefined} */
  function understood(text) {
    try {
      return whole(JSON.parse(text), (page) => whole(page, answered));
    } catch {
      damaged = true;
    }
  }

  /** Take in what other tabs have kept since; what this tab cannot store, or another has spoilt, stays with it. */
  function refresh() {
    if (!lasting) return;
    try {
      memory = understood(localStorage.getItem(KEY) ?? "{}") ?? memory;
    } catch {
      lasting = false;
    }
  }

  function save() {
    try {
      localStorage.setItem(KEY, JSON.stringify(memory));
    } catch {
      lasting = false;
    }
    changed.dispatchEvent(new Event("change"));
  }
  /** @type {(id: string) => Answer | undefined} */
  const recall = (id) => memory[page]?.[id];
  /** @type {(id: string, answer: Answer) => void} */
  function keep(id, answer) {
    refresh();
    memory = { ...memory, [page]: { ...memory[page], [id]: answer } };
    save();
  }
  /** @type {(id: string) => void} */
  function forget(id) {
    refresh();
    const { [page]: here = {}, ...elsewhere } = memory;
    const rest = Object.entries(here).filter(([other]) => other !== id);
    memory = rest.length ? { ...elsewhere, [page]: Object.fromEntries(rest) } : elsewhere;
    save();
  }
  refresh();
  addEventListener("storage", ({ key }) => {
    if (key !== KEY && key !== null) return; // null: the whole storage was cleared
    refresh();
    for (const event of ["change", "elsewhere"]) changed.dispatchEvent(new Event(event));
  });

  /** @type {(tag: string, given?: Record<string, any>, ...children: (Node | string)[]) => any} */
  function h(tag, given = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(given)) {
      if (typeof value === "function") node.addEventListener(key, value);
      else if (key === "html")
        node.innerHTML = value; // made by flatcube.classroom.questions, which escapes
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  /** A decimal or a fraction; NaN if it is neither. @type {(text: string) => number} */
  function read(text) {
    const [above, below = "1", more] = text
      .trim()
      .replace("−", "-")
      .replace(",", ".")
      .split("/")
      .map((part) => part.trim());
    return above === "" || below === "" || more !== undefined ? NaN : Number(above) / Number(below);
  }

  // ------------------------------------------------------------------------------------------ a question

  const WORDS = {
    quick: { title: "Quick question", button: "Check", right: "Right.", wrong: "Not yet." },
    predict: { title: "Predict first", button: "Commit", right: "As you predicted.", wrong: "Not what happens." },
  };
  let shown = 0;

  /**
   * A verdict in bold, with its sign: right, true but weaker than the answer, or wrong.
   * @type {(right: boolean, weaker: boolean | undefined, words: { right: string, wrong: string }) => any}
   */
  function verdict(right, weaker, words) {
    const [sign, said] = right ? ["✓ ", words.right] : weaker ? ["◐ ", "True, but weaker."] : ["✗ ", words.wrong];
    return h("strong", {}, h("span", { "aria-hidden": "true" }, sign), said);
  }
  /** How a verdict looks: "true", "weaker" or "false". @type {(right: boolean, weaker?: boolean) => string} */
  const look = (right, weaker) => (weaker ? "weaker" : String(right));

  /** @type {(home: { el: HTMLElement, payload: Payload }) => void} */
  function question({ el, payload }) {
    const { kind, id, prompt, choices, number, reveal } = payload;
    const words = WORDS[kind];
    const name = `fx-question-${++shown}`;
    const feedback = h("div", { class: "fx-feedback", role: "status" });
    const button = h("button", { type: "submit", class: "fx-button" }, words.button);
    const inputs = /** @type {HTMLInputElement[]} */ (
      choices
        ? choices.map((_, at) => h("input", { type: "radio", name, value: at, id: `${name}-${at}` }))
        : [h("input", { type: "text", inputmode: "decimal", id: `${name}-0`, autocomplete: "off" })]
    );
    const rows = inputs.map((input, at) =>
      choices
        ? h("div", { class: "fx-choice" }, input, h("label", { for: input.id, html: choices[at].text }))
        : h("div", { class: "fx-choice fx-guess" }, h("label", { for: input.id }, "Your number"), input),
    );
    const group = h(
      "fieldset",
      { "data-kind": kind },
      h("legend", {}, h("span", { class: "fx-kind" }, words.title), h("span", { class: "fx-prompt", html: prompt })),
      ...rows,
    );
    const form = h(
      "form",
      { class: "fx-box fx-question", submit: check, input: forget },
      group,
      h("div", { class: "fx-verdict" }, button, feedback),
    );

    /** Speak one sentence of advice. @type {(text: string) => void} */
    const advise = (text) => feedback.replaceChildren(h("p", {}, text));

    /** @type {(answer: Answer, choice?: Choice) => void} */
    function tell(answer, choice) {
      feedback.dataset.right = look(answer.right, choice?.weaker);
      const said = verdict(answer.right, choice?.weaker, words);
      feedback.replaceChildren(
        h("p", {}, said, " ", h("span", { html: choice?.feedback ?? "" })),
        ...(reveal ? [h("p", { html: reveal })] : []),
      );
      if (kind === "quick") return;
      for (const input of [...inputs, button]) input.disabled = true; // a prediction is made once
      button.textContent = "Committed";
    }

    /** @type {(event: Event) => void} */
    function check(event) {
      event.preventDefault();
      const at = inputs.findIndex((input) => input.checked);
      const guess = read(inputs[0].value);
      if (choices && at < 0) return advise("Choose an answer first.");
      if (number && !Number.isFinite(guess)) return advise("Type a number, such as 0.75 or 3/4.");
      const right = choices
        ? choices[at].right
        : Math.abs(guess - Number(number?.value)) <= Number(number?.tolerance) + 1e-12;
      const answer = { kind, answer: choices ? rows[at].textContent : inputs[0].value.trim(), right };
      tell(answer, choices?.[at]);
      keep(id, answer);
      told = JSON.stringify(answer);
    }

    function forget() {
      feedback.replaceChildren();
      delete feedback.dataset.right;
    }

    let told = ""; // the answer that is shown as given

    /** Show what the browser remembers, or nothing after all was cleared. */
    function restore() {
      const known = recall(id);
      told = JSON.stringify(known ?? null);
      const at = choices ? rows.findIndex((row) => row.textContent === known?.answer) : 0;
      forget();
      for (const input of inputs) Object.assign(input, { checked: false, disabled: false });
      Object.assign(button, { disabled: false, textContent: words.button });
      if (!choices) inputs[0].value = known?.answer ?? "";
      if (!known || at < 0) return;
      if (choices) inputs[at].checked = true;
      tell(known, choices?.[at]);
    }

    el.append(form);
    restore();
    changed.addEventListener("clear", restore);
    changed.addEventListener("elsewhere", () => {
      if (told !== JSON.stringify(recall(id) ?? null)) restore(); // else leave alone what the reader is typing
    });
    panelOnce();
  }

  // ------------------------------------------------------------------------------------------ the panel

  function download() {
    const content = { book: "Flat Minima on the Boolean Cube", exported: new Date().toISOString(), answers: memory };
    const link = h("a", {
      href: URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" })),
      download: "flat-minima-answers.json",
    });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** @type {(home: { el: HTMLElement }) => void} */
  function panel({ el }) {
    const count = h("p", { role: "status" });
    const send = h("button", { type: "button", class: "fx-button", click: download }, "Export");
    const clear = h("button", { type: "button", class: "fx-button", click: ask, blur: calm }, "Clear");
    let asked = false;
    function calm() {
      asked = false;
      clear.textContent = "Clear";
    }
    function ask() {
      asked = !asked;
      if (asked) return void (clear.textContent = "Clear all answers?");
      memory = {};
      damaged = false;
      calm();
      save();
      changed.dispatchEvent(new Event("clear"));
    }
    function update() {
      const pages = Object.values(memory);
      /** Without the exercises, which are no questions. @type {(answers: Record<string, Answer>) => number} */
      const questions = (answers) => Object.values(answers).filter(({ kind }) => kind !== "code").length;
      const all = pages.reduce((sum, answers) => sum + questions(answers), 0);
      const here = questions(memory[page] ?? {});
      const asked = document.querySelectorAll(".fc-question").length;
      const where = lasting
        ? "They are kept in this browser and sent nowhere."
        : "This browser keeps nothing for this page: export them before you leave.";
      const place = `${asked} ${asked === 1 ? "question" : "questions"} on this page, ${all} in the whole book`;
      count.textContent = `You have answered ${here} of ${place}. ${where}${damaged ? LOSS : ""}`;
      send.disabled = clear.disabled = pages.every((answers) => Object.keys(answers).length === 0);
    }
    el.append(
      h(
        "section",
        { class: "fx-box fx-answers", "aria-label": "Your answers" },
        h("p", { class: "fx-kind" }, "Your answers"),
        count,
        h("div", { class: "fx-buttons" }, send, clear),
      ),
    );
    changed.addEventListener("change", update);
    update();
  }

  /** A page with questions ends with the panel, unless it has placed one itself. */
  function panelOnce() {
    if (document.querySelector(".fc-answers")) return;
    const el = h("div", { class: "fc-answers", "data-mounted": "true" });
    (document.querySelector("article") ?? document.querySelector("main") ?? document.body).append(el);
    panel({ el });
  }

  const { flatcube } = /** @type {any} */ (window);
  const { register } = flatcube;
  /** All answers that this browser keeps. @type {() => Answers} */
  const all = () => memory;
  /**
   * The answers in the text of an exported file; nothing if it is none.
   * @type {(text: string) => Answers | undefined}
   */
  function exported(text) {
    const before = damaged;
    try {
      return whole(JSON.parse(text).answers, (page) => whole(page, answered));
    } catch {
      return undefined;
    } finally {
      damaged = before; // somebody else's file says nothing about what is kept here
    }
  }
  /** Add answers to those that are kept; where both have one, the new one stays. @type {(more: Answers) => void} */
  function add(more) {
    refresh();
    const pages = [...new Set([...Object.keys(memory), ...Object.keys(more)])];
    memory = Object.fromEntries(pages.map((name) => [name, { ...memory[name], ...more[name] }]));
    save();
    changed.dispatchEvent(new Event("elsewhere"));
  }
  const answers = { h, verdict, look, keep, forget, recall, changed, panelOnce, all, exported, add, download };
  flatcube.answers = answers; // for others
  register("question", { render: question });
  register("answers", { render: panel });
})();
