// @ts-check
/**
 * What readers answered across all chapters: one reader's own answers ("own"), which this browser keeps, and those of
 * a class ("class"), from the files that its readers have exported. Nothing leaves the page.
 */
(() => {
  /** @typedef {{ id: string, prompt: string, choices: { text: string, right: boolean }[] }} Asked */
  /** @typedef {{ page: string, title: string, questions: Asked[] }} Page */
  /** @typedef {{ kind: string, answer: string, right: boolean }} Answer */
  /** @typedef {Record<string, Record<string, Answer>>} Answers */

  const { flatcube } = /** @type {any} */ (window);
  const { h, changed, all, exported, add, download } = flatcube.answers;
  /** HTML as the plain text that an answer is kept as. @type {(html: string) => string} */
  const plain = (html) => h("p", { html }).textContent;
  const number = (/** @type {Page} */ { page }) => `${Number(page.slice(0, 2))}`;
  /** Where a chapter stands, from a page beside it or one folder below. @type {(page: string) => string} */
  const address = (page) => `${location.pathname.includes("/teaching/") ? "../" : ""}${page}.html`;

  /** To choose files or drop them; `take` gets name and text. @type {(words: string, take: any) => any} */
  function drop(words, take) {
    const input = h("input", { type: "file", multiple: "", accept: ".json,application/json", change: chosen });
    const zone = h(
      "div",
      { class: "fx-box fx-drop", dragover: hold, drop: dropped },
      h("label", {}, `${words} `, input),
    );
    /** @type {(files: Iterable<File>) => Promise<void>} */
    async function read(files) {
      for (const file of files) take(file.name, await file.text());
      input.value = "";
    }
    function chosen() {
      read([...input.files]);
    }
    /** @type {(event: DragEvent) => void} */
    function hold(event) {
      event.preventDefault();
    }
    /** @type {(event: DragEvent) => void} */
    function dropped(event) {
      event.preventDefault();
      read([...(event.dataTransfer?.files ?? [])]);
    }
    return zone;
  }

  // ------------------------------------------------------------------------------------------ one reader

  /** @type {(home: { el: HTMLElement, payload: { pages: Page[] } }) => void} */
  function own({ el, payload }) {
    const status = h("p", { role: "status" });
    const place = h("div");
    /** @type {(name: string, text: string) => void} */
    function take(name, text) {
      const found = exported(text);
      if (found) add(found);
      status.textContent = found ? `${name} was added.` : `${name} is no file of answers, and was left out.`;
    }
    function show() {
      const answers = /** @type {Answers} */ (all());
      place.replaceChildren(...payload.pages.map((page) => chapter(page, answers[page.page] ?? {})));
    }
    el.append(
      h("div", { class: "fx-box" }, h("button", { type: "button", class: "fx-button", click: download }, "Export")),
      drop("Import answers from a file (or drop it here):", take),
      status,
      place,
    );
    changed.addEventListener("change", show);
    changed.addEventListener("elsewhere", show);
    show();
  }

  /** @type {(page: Page, given: Record<string, Answer>) => any} */
  function chapter(page, given) {
    const known = page.questions.map(({ id }) => id);
    const more = Object.keys(given).filter((id) => !known.includes(id));
    const rows = [
      ...page.questions.map(({ id, prompt }) => row(plain(prompt), given[id])),
      ...more.map((id) => row(given[id].kind === "proof" ? `Proof ${id}` : id, given[id])),
    ];
    const right = Object.values(given).filter((answer) => answer.right).length;
    const done = Object.keys(given).length;
    const words = `${done} of ${known.length + more.length} answered${done ? `, ${right} right` : ""}`;
    const head = h("summary", {}, `${number(page)} ${page.title}: ${words}`);
    const link = h("p", {}, h("a", { href: address(page.page) }, "To the chapter"));
    return h("details", { class: "fx-chapter" }, head, h("ul", {}, ...rows), link);
  }

  /** @type {(prompt: string, answer: Answer | undefined) => any} */
  function row(prompt, answer) {
    const sign = answer ? (answer.right ? "✓" : "✗") : "○";
    const said = answer ? `${answer.answer} (${answer.right ? "right" : "not right"})` : "not answered yet";
    return h("li", {}, h("span", { "aria-hidden": "true" }, `${sign} `), `${prompt} `, h("b", {}, said));
  }

  // ------------------------------------------------------------------------------------------ a class

  /** @type {(home: { el: HTMLElement, payload: { pages: Page[] } }) => void} */
  function whole({ el, payload }) {
    const files = /** @type {Map<string, Answers>} */ (new Map()); // by their texts: the same file counts once
    const status = h("p", { role: "status" });
    const place = h("div");
    /** @type {(name: string, text: string) => void} */
    function take(name, text) {
      const found = exported(text);
      const again = files.has(text);
      if (found) files.set(text, found);
      const trouble = found ? (again ? ` ${name} was there already.` : "") : ` ${name} is no file of answers.`;
      status.textContent = `${files.size} ${files.size === 1 ? "reader" : "readers"}.${trouble}`;
      show();
    }
    function show() {
      const readers = [...files.values()];
      const tallies = payload.pages.flatMap((page) => page.questions.map((asked) => tally(page, asked, readers)));
      const some = tallies.filter(({ given }) => given.length);
      const hard = some
        .filter(({ wrong }) => wrong > 0)
        .sort((a, b) => b.wrong / b.given.length - a.wrong / a.given.length);
      const first = hard
        .slice(0, 5)
        .map((one) => h("li", {}, `${one.where}: ${plain(one.asked.prompt)} `, h("b", {}, share(one))));
      const none = h("p", {}, "Nobody has erred yet.");
      const where = hard.length ? h("ol", {}, ...first) : none;
      const pages = payload.pages
        .map((page) => ({ page, found: some.filter((one) => one.page === page) }))
        .filter(({ found }) => found.length)
        .map(({ page, found }) =>
          h("details", {}, h("summary", {}, `${number(page)} ${page.title}`), ...found.map(counted)),
        );
      place.replaceChildren(
        ...(files.size ? [h("h2", {}, "Where the class errs"), where, h("h2", {}, "All answers"), ...pages] : []),
      );
    }
    el.append(drop("Choose the exported files of your readers (or drop them here):", take), status, place);
  }

  /** @typedef {{ page: Page, asked: Asked, where: string, given: Answer[], wrong: number }} Tally */

  /** @type {(page: Page, asked: Asked, readers: Answers[]) => Tally} */
  function tally(page, asked, readers) {
    const given = readers.map((answers) => answers[page.page]?.[asked.id]).filter((answer) => answer !== undefined);
    return { page, asked, where: `Chapter ${number(page)}`, given, wrong: given.filter(({ right }) => !right).length };
  }

  /** @type {(one: { given: Answer[], wrong: number }) => string} */
  const share = ({ given, wrong }) => `${wrong} of ${given.length} not right`;

  /** One question with how many gave each answer, the right one marked. @type {(one: Tally) => any} */
  function counted({ asked, given, wrong }) {
    const choices = asked.choices.map(({ text, right }) => ({ text: plain(text), right }));
    const others = [...new Set(given.map(({ answer }) => answer))].filter(
      (text) => !choices.some((one) => one.text === text),
    );
    const free = others.map((text) => ({ text, right: given.some((one) => one.answer === text && one.right) }));
    const rows = [...choices, ...free].map(({ text, right }) => {
      const count = given.filter(({ answer }) => answer === text).length;
      const bar = h("meter", { min: 0, max: given.length, value: count, "aria-label": `${text}: ${count}` });
      return h("tr", {}, h("td", {}, `${right ? "✓ " : ""}${text}`), h("td", {}, bar), h("td", {}, String(count)));
    });
    const names = ["Answer", "Share", "Readers"].map((words) => h("th", { scope: "col" }, words));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...names)), h("tbody", {}, ...rows));
    return h(
      "div",
      { class: "fx-counted" },
      h("p", {}, h("b", {}, plain(asked.prompt)), ` ${share({ given, wrong })}`),
      table,
    );
  }

  flatcube.register("own", { render: own });
  flatcube.register("class", { render: whole });
})();
