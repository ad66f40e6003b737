// @ts-check
/**
 * Proofs in stages: choose the next step, put steps in order, spot the false line. A stage opens when the one before
 * it is right; at the end the whole proof is shown. How many stages are passed is kept with the reader's answers.
 */
(() => {
  /** @typedef {{ text: string, feedback: string, right: boolean, weaker?: boolean }} Choice */
  /** @typedef {{ text: string, feedback: string, needs: number[] }} Step */
  /** @typedef {{ kind: "choose" | "spot", prompt: string, choices: Choice[] }} Asking */
  /** @typedef {{ kind: "arrange", prompt: string, steps: Step[], right: number[] }} Arranging */
  /** @typedef {Asking | Arranging} Stage */
  /** @typedef {{ id: string, prompt: string, stages: Stage[], conclusion: string[] }} Payload */
  /** @typedef {{ nodes: Node[], solve(): void }} Drawn  what a stage shows, and how it is shown as solved */

  const { flatcube } = /** @type {any} */ (window);
  const { h, verdict, look, keep, recall, changed, panelOnce } = flatcube.answers;
  const WORDS = { right: "Right.", wrong: "Not yet." };
  const FOLLOWS = "Every step uses only what stands above it.";
  let shown = 0;

  /** Where feedback is spoken; `say` shows a verdict and its words. */
  function voice() {
    const el = h("div", { class: "fx-feedback", role: "status" });
    return {
      el,
      /** @type {(right: boolean, weaker: boolean | undefined, words: string) => void} */
      say(right, weaker, words) {
        el.dataset.right = look(right, weaker);
        el.replaceChildren(h("p", {}, verdict(right, weaker, WORDS), " ", h("span", { html: words })));
      },
      /** @type {(text: string) => void} */
      advise(text) {
        delete el.dataset.right;
        el.replaceChildren(...(text ? [h("p", {}, text)] : []));
      },
    };
  }

  /** Radio buttons and a check. @type {(stage: Asking, passed: () => void) => Drawn} */
  function choosing({ choices }, passed) {
    const name = `fx-proof-${++shown}`;
    const { el, say, advise } = voice();
    const inputs = choices.map((_, at) =>
      h("input", { type: "radio", name, id: `${name}-${at}`, change: () => advise("") }),
    );
    const rows = choices.map(({ text }, at) =>
      h("div", { class: "fx-choice" }, inputs[at], h("label", { for: inputs[at].id, html: text })),
    );
    const button = h("button", { type: "button", class: "fx-button", click: check }, "Check");

    function check() {
      const at = inputs.findIndex((input) => input.checked);
      if (at < 0) return advise("Choose an answer first.");
      const { right, weaker, feedback } = choices[at];
      if (right) settle();
      say(right, weaker, feedback);
      if (right) passed();
    }
    function settle() {
      for (const input of [...inputs, button]) input.disabled = true;
    }
    function solve() {
      const at = choices.findIndex((choice) => choice.right);
      inputs[at].checked = true;
      settle();
      say(true, false, choices[at].feedback);
    }
    return { nodes: [...rows, h("div", { class: "fx-verdict" }, button, el)], solve };
  }

  /** Lines to press, each with its feedback. @type {(stage: Asking, passed: () => void) => Drawn} */
  function spotting({ choices }, passed) {
    const { el, say } = voice();
    const lines = choices.map(({ text }, at) =>
      h("button", { type: "button", class: "fx-line", "aria-pressed": "false", html: text, click: () => press(at) }),
    );
    /** @type {(at: number) => void} */
    function show(at) {
      lines.forEach((line, k) => line.setAttribute("aria-pressed", String(k === at)));
      const { right, feedback } = choices[at];
      for (const line of lines) line.disabled = right;
      say(right, false, feedback);
    }
    /** @type {(at: number) => void} */
    function press(at) {
      show(at);
      if (choices[at].right) passed();
    }
    const solve = () => show(choices.findIndex((choice) => choice.right));
    return { nodes: [h("div", {}, ...lines), h("div", { class: "fx-verdict" }, el)], solve };
  }

  /** Steps with buttons that move them up and down. @type {(stage: Arranging, passed: () => void) => Drawn} */
  function arranging({ steps, right }, passed) {
    const { el, say, advise } = voice();
    const order = steps.map((_, at) => at);
    const list = h("ol", { class: "fx-steps" });
    const rows = steps.map(({ text }, at) => {
      const words = h("span", { html: text });
      const move = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ name) =>
        h(
          "button",
          {
            type: "button",
            class: "fx-button",
            click: () => shift(at, by),
            "aria-label": `${name}: ${words.textContent}`,
          },
          sign,
        );
      return h("li", {}, words, move(-1, "↑", "Move up"), move(1, "↓", "Move down"));
    });
    const button = h("button", { type: "button", class: "fx-button", click: check }, "Check");

    /** Put the rows where the order says; the ends cannot move further. @type {(settled?: boolean) => void} */
    function draw(settled = false) {
      list.replaceChildren(...order.map((at) => rows[at]));
      order.forEach((at, place) => {
        const [up, down] = rows[at].querySelectorAll("button");
        delete rows[at].dataset.early;
        up.disabled = settled || place === 0;
        down.disabled = settled || place === order.length - 1;
      });
      button.disabled = settled;
    }
    /** @type {(at: number, by: number) => void} */
    function shift(at, by) {
      const place = order.indexOf(at);
      [order[place], order[place + by]] = [order[place + by], at];
      draw();
      const [up, down] = rows[at].querySelectorAll("button");
      const [wished, other] = by < 0 ? [up, down] : [down, up];
      (wished.disabled ? other : wished).focus(); // the row was taken out and put back
      advise(`Now step ${place + by + 1} of ${order.length}.`);
    }
    function check() {
      const place = order.findIndex((at, k) => !steps[at].needs.every((need) => order.slice(0, k).includes(need)));
      draw(place < 0);
      if (place < 0) {
        say(true, false, FOLLOWS);
        return passed();
      }
      const { text, feedback } = steps[order[place]];
      rows[order[place]].dataset.early = "true";
      say(false, false, `Step ${place + 1} comes too early: “${text}” ${feedback}`);
    }
    function solve() {
      order.splice(0, order.length, ...right);
      draw(true);
      say(true, false, FOLLOWS);
    }
    draw();
    return { nodes: [list, h("div", { class: "fx-verdict" }, button, el)], solve };
  }

  /** @type {(stage: Stage, passed: () => void) => Drawn} */
  function drawn(stage, passed) {
    if (stage.kind === "arrange") return arranging(stage, passed);
    return stage.kind === "spot" ? spotting(stage, passed) : choosing(stage, passed);
  }

  /** @type {(home: { el: HTMLElement, payload: Payload }) => void} */
  function proof({ el, payload: { id, prompt, stages, conclusion } }) {
    const place = h("div", {});
    let done = 0;
    const whole = () =>
      h(
        "div",
        { class: "fx-whole" },
        h("p", { class: "fx-kind" }, "The whole proof"),
        conclusion.length > 1
          ? h("ol", {}, ...conclusion.map((step) => h("li", { html: step })))
          : h("p", { html: conclusion[0] }),
      );

    /** Open stage number `at`, or the end. @type {(at: number) => Drawn | void} */
    function open(at) {
      if (at === stages.length) return place.append(whole());
      const made = drawn(stages[at], () => pass(at));
      const legend = h(
        "legend",
        {},
        h("span", { class: "fx-number-of" }, `Stage ${at + 1} of ${stages.length}`),
        " ",
        h("span", { class: "fx-prompt", html: stages[at].prompt }),
      );
      place.append(h("fieldset", { class: "fx-stage", "data-kind": stages[at].kind }, legend, ...made.nodes));
      return made;
    }
    /** @type {(at: number) => void} */
    function pass(at) {
      done = at + 1;
      keep(id, { kind: "proof", answer: `${done} of ${stages.length}`, right: done === stages.length });
      open(done);
    }
    /** Show what the browser remembers: the stages that were passed, solved, and the next one. */
    function restore() {
      const known = Number.parseInt(recall(id)?.answer ?? "0", 10);
      done = Math.min(Math.max(known || 0, 0), stages.length);
      place.replaceChildren();
      for (let at = 0; at < done; at++) open(at)?.solve();
      open(done);
    }

    el.append(
      h(
        "section",
        { class: "fx-box fx-question fx-proof", "aria-label": "Proof" },
        h("p", { class: "fx-kind" }, "Prove it"),
        h("p", { class: "fx-prompt", html: prompt }),
        place,
      ),
    );
    restore();
    changed.addEventListener("clear", restore);
    changed.addEventListener("elsewhere", () => {
      if (Number.parseInt(recall(id)?.answer ?? "0", 10) !== done) restore();
    });
    panelOnce();
  }

  flatcube.register("proof", { render: proof });
})();
