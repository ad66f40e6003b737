// @ts-check
// What every page needs besides its figures: light and dark, contents on a phone, copying code, keyboard, printing.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (/** @type {string} */ selector) => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);

  // Light and dark. Until the reader chooses, the page follows the system.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("flatcube.theme"); } catch { return null; } };
  const keep = (/** @type {string} */ theme) => { try { localStorage.setItem("flatcube.theme", theme); } catch { /* storage is off */ } };
  all(".fc-theme").forEach((button) => button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    keep(root.dataset.theme);
  }));
  system.addEventListener("change", () => { if (!kept()) root.dataset.theme = system.matches ? "dark" : "light"; });

  // Contents as a drawer on narrow screens.
  const menu = document.querySelector(".fc-menu");
  const contents = document.getElementById("contents");
  const open = (/** @type {boolean} */ state) => {
    root.classList.toggle("fc-open", state);
    menu?.setAttribute("aria-expanded", String(state));
    const target = state ? contents?.querySelector("input, .fc-tree a") : menu;
    if (target instanceof HTMLElement) target.focus();
  };
  menu?.addEventListener("click", () => open(!root.classList.contains("fc-open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && root.classList.contains("fc-open")) open(false);
  });
  document.addEventListener("click", (event) => {
    if (!root.classList.contains("fc-open") || !(event.target instanceof Element)) return;
    const link = event.target.closest("#contents a");
    if (link || !event.target.closest("#contents, .fc-menu")) {
      root.classList.remove("fc-open");
      menu?.setAttribute("aria-expanded", "false");
    }
  });

  // The present place in the contents: keep it in sight, and mark the section being read.
  const current = contents?.querySelector(".current > a.current, a.current");
  if (contents && current instanceof HTMLElement) {
    const room = contents.clientHeight;
    if (current.offsetTop > room * 0.7) contents.scrollTop = current.offsetTop - room / 3;
  }
  const links = new Map(all("#contents a[href^='#']").map((link) => [decodeURIComponent(String(link.getAttribute("href")).slice(1)), link]));
  const heads = [...links.keys()].map((id) => document.getElementById(id)).filter((section) => section !== null);
  const mark = () => {
    const reached = heads.filter((section) => section.getBoundingClientRect().top < 160).pop();
    links.forEach((link, id) => {
      if (reached?.id === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  if (heads.length) { addEventListener("scroll", mark, { passive: true }); mark(); }

  // A box that scrolls sideways must be reachable with the keyboard; one that does not, need not be.
  const boxes = "pre, div.math, .fc-table, mjx-container[display='true']";
  const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => reach(/** @type {HTMLElement} */ (target))));
  const reach = (/** @type {HTMLElement} */ box) => {
    const larger = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    const wide = larger && getComputedStyle(box).overflowX !== "visible";
    if (wide) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", box.matches("pre") ? "Code, scrolls sideways" : box.matches(".fc-table") ? "Table, scrolls sideways" : "Formula, scrolls sideways");
    } else if (box.getAttribute("role") === "group") {
      ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
  };
  all(boxes).forEach((box) => { watch.observe(box); reach(box); });
  addEventListener("load", () => {
    const maths = /** @type {any} */ (window).MathJax?.startup?.promise;
    Promise.all([maths, document.fonts.ready]).then(() => all(boxes).forEach(reach));  // both change widths inside
  });

  // Copying a code cell.
  const status = document.createElement("p");
  status.className = "fc-hidden";
  status.setAttribute("role", "status");
  document.querySelector("main")?.append(status);
  all(".cell_input .highlight, .fc-page div[class*='highlight-'] > .highlight").forEach((box) => {
    const code = box.querySelector("pre");
    if (!code || box.closest(".cell_output") || box.querySelector(".fc-copy")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fc-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(code.innerText); status.textContent = button.textContent = "Copied"; }
      catch { status.textContent = button.textContent = "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    box.append(button);
  });

  // On paper proofs and solutions are open, and all is black on white; the code of a figure stays folded.
  /** @type {{ theme?: string, folds: HTMLDetailsElement[] }} */
  const screen = { folds: [] };
  addEventListener("beforeprint", () => {
    screen.theme = root.dataset.theme;
    root.dataset.theme = "light";
    screen.folds = /** @type {HTMLDetailsElement[]} */ (all("details:not([open], .above-input)"));
    screen.folds.forEach((fold) => { fold.open = true; });
  });
  addEventListener("afterprint", () => {
    root.dataset.theme = screen.theme;
    screen.folds.forEach((fold) => { fold.open = false; });
  });
})();
