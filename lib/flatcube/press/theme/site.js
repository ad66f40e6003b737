// @ts-check
// What every page needs besides its figures: light and dark, contents on a phone, copying code, keyboard, printing.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (/** @type {string} */ selector) =>
    /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);

  // What needs the height of the page waits until it is loaded: sections further down are laid out only then.
  const loaded = new Promise((resolve) => {
    const settle = () =>
      (window.requestIdleCallback ?? setTimeout)(() => {
        root.classList.remove("fc-young");
        resolve(null);
      });
    if (document.readyState === "complete") settle();
    else addEventListener("load", settle);
  });

  // Light and dark. Until the reader chooses, the page follows the system.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem("flatcube.theme");
    } catch {
      return null;
    }
  };
  const keep = (/** @type {string} */ theme) => {
    try {
      localStorage.setItem("flatcube.theme", theme);
    } catch {
      /* storage is off */
    }
  };
  all(".fc-theme").forEach((button) =>
    button.addEventListener("click", () => {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
    }),
  );
  system.addEventListener("change", () => {
    if (!["dark", "light"].includes(kept() ?? "")) root.dataset.theme = system.matches ? "dark" : "light";
  });

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
  requestAnimationFrame(() => {
    if (!contents || !(current instanceof HTMLElement)) return;
    const room = contents.clientHeight;
    if (current.offsetTop > room * 0.7) contents.scrollTop = current.offsetTop - room / 3;
  });
  const links = new Map(
    all("#contents a[href^='#']").map((link) => [decodeURIComponent(String(link.getAttribute("href")).slice(1)), link]),
  );
  const heads = [...links.keys()].map((id) => document.getElementById(id)).filter((section) => section !== null);
  const mark = () => {
    const reached = heads.filter((section) => section.getBoundingClientRect().top < 160).pop();
    links.forEach((link, id) => {
      if (reached?.id === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  if (heads.length) {
    addEventListener("scroll", mark, { passive: true });
    loaded.then(mark);
  }

  // A link lands at its place, whatever grows above it on the way: until the reader moves, every change of the page's
  // height leads there again. What comes after # and before ? is the place.
  /** @type {{ target: Element, height: number, top: number } | null} */
  let landing = null;
  const decoded = (/** @type {string} */ id) => {
    try {
      return decodeURIComponent(id);
    } catch {
      return id; // a lone %
    }
  };
  const land = () => {
    if (!landing) return;
    landing.target.scrollIntoView({ block: "start", behavior: "instant" });
    landing = { target: landing.target, height: document.body.offsetHeight, top: scrollY };
  };
  const aim = () => {
    const target = document.getElementById(decoded(location.hash.slice(1).split("?")[0]));
    landing = target && { target, height: 0, top: 0 };
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
    land();
  };
  const leave = () => {
    landing = null;
  };
  ["wheel", "touchmove", "keydown", "pointerdown"].forEach((event) =>
    addEventListener(event, leave, { passive: true, capture: true }),
  );
  addEventListener("scroll", () => {
    const still = landing && landing.height === document.body.offsetHeight;
    if (landing && still && Math.abs(scrollY - landing.top) > 2) leave(); // by hand, or by a find in the page
  });
  addEventListener("click", ({ target, defaultPrevented }) => {
    const link = target instanceof Element && !defaultPrevented && target.closest("a[href*='#']");
    if (link instanceof HTMLAnchorElement && link.href.split("#")[0] === location.href.split("#")[0]) setTimeout(aim);
  });
  addEventListener("hashchange", () => location.hash.includes("?") && aim());
  new ResizeObserver(land).observe(document.body);
  const entry = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"))[0];
  if (!["reload", "back_forward"].includes(entry?.type)) aim(); // there the browser remembers where the reader was

  // A box that scrolls sideways must be reachable with the keyboard; one that does not, need not be.
  const boxes = "pre, div.math, .fc-table, mjx-container[display='true']";
  const watch = new ResizeObserver((entries) =>
    entries.forEach(({ target }) => reach(/** @type {HTMLElement} */ (target))),
  );
  const reach = (/** @type {HTMLElement} */ box) => {
    const larger = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    const wide = larger && getComputedStyle(box).overflowX !== "visible";
    box.toggleAttribute("data-wide", wide);
    if (wide) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute(
        "aria-label",
        box.matches("pre")
          ? "Code, scrolls sideways"
          : box.matches(".fc-table")
            ? "Table, scrolls sideways"
            : "Formula, scrolls sideways",
      );
    } else if (box.getAttribute("role") === "group") {
      ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
  };
  loaded.then(async () => {
    all(boxes).forEach((box) => watch.observe(box));
    await document.fonts.ready; // they change widths inside
    all(boxes).forEach(reach);
  });

  // A search goes to its page by itself: the page's policy lets no form send anything anywhere.
  all("form[role='search']").forEach((form) =>
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { action } = /** @type {HTMLFormElement} */ (form);
      const asked = new FormData(/** @type {HTMLFormElement} */ (form)).get("q");
      location.href = `${action.split("?")[0]}?q=${encodeURIComponent(String(asked ?? ""))}`;
    }),
  );

  // Copying a code cell.
  const status = document.createElement("p");
  status.className = "fc-hidden";
  status.setAttribute("role", "status");
  document.querySelector("main")?.append(status);
  const offerCopy = (/** @type {HTMLElement} */ box) => {
    const code = box.querySelector("pre");
    if (!code || box.closest(".cell_output") || box.querySelector(".fc-copy")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fc-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.innerText);
        status.textContent = button.textContent = "Copied";
      } catch {
        status.textContent = button.textContent = "Not allowed";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1600);
    });
    box.append(button);
  };
  loaded.then(() => all(".cell_input .highlight, .fc-page div[class*='highlight-'] > .highlight").forEach(offerCopy));

  // On paper proofs and solutions are open, and all is black on white; the code of a figure stays folded.
  /** @type {{ theme?: string, folds: HTMLDetailsElement[] }} */
  const screen = { folds: [] };
  addEventListener("beforeprint", () => {
    screen.theme = root.dataset.theme;
    root.dataset.theme = "light";
    screen.folds = /** @type {HTMLDetailsElement[]} */ (all("details:not([open], .above-input)"));
    screen.folds.forEach((fold) => {
      fold.open = true;
    });
  });
  addEventListener("afterprint", () => {
    root.dataset.theme = screen.theme;
    screen.folds.forEach((fold) => {
      fold.open = false;
    });
  });

  // The address ?print prints the page as soon as all of it is there, ?print=exercises without its solutions.
  const paper = new URLSearchParams(location.search).get("print");
  root.classList.toggle("fc-unsolved", paper === "exercises");
  if (paper !== null)
    loaded.then(async () => {
      await Promise.all([/** @type {any} */ (window).flatcube?.everything(), document.fonts.ready]);
      print();
    });
})();
