// @ts-check
// A deck of slides: reveal.js turns them, the loader brings their charts, explorers and questions to life.
(() => {
  "use strict";
  const root = document.documentElement;
  const { Reveal, RevealNotes } = /** @type {any} */ (window);
  const on = (/** @type {string} */ selector, /** @type {() => void} */ call) =>
    document.querySelector(selector)?.addEventListener("click", call);

  // Light or dark, as on the pages.
  /** @type {string | null} */
  let kept = null;
  try {
    kept = localStorage.getItem("flatcube.theme");
  } catch {
    /* storage is off */
  }
  const paper = /print-pdf/.test(location.search);
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark && !paper ? "dark" : "light";
  on(".fc-theme", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("flatcube.theme", String(root.dataset.theme));
    } catch {
      /* storage is off */
    }
  });

  // A key that an explorer, a chart or a question uses does not turn the slide.
  const alive = ".fc-explorer, .fc-chart, .fc-question";
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const deck = new Reveal(document.querySelector(".reveal"), {
    disableLayout: !paper,
    width: 1280,
    height: 800,
    margin: 0,
    center: false,
    hash: true,
    history: false,
    slideNumber: "c/t",
    showSlideNumber: paper ? "none" : "all",
    transition: calm ? "none" : "fade",
    backgroundTransition: "none",
    viewDistance: 2,
    pdfSeparateFragments: false,
    pdfMaxPagesPerSlide: 1,
    plugins: [RevealNotes],
    keyboardCondition: () => !document.activeElement?.closest(alive),
  });
  // What scrolls is reached with the keyboard; a button of the deck does not keep the focus, so that arrows turn on.
  const reach = () => {
    for (const slide of document.querySelectorAll(".fc-slide")) {
      const wide = slide.scrollHeight > slide.clientHeight + 1;
      slide.toggleAttribute("tabindex", false);
      if (wide && slide.closest(".present")) slide.setAttribute("tabindex", "0");
    }
  };
  on(".fc-overview", () => {
    deck.toggleOverview();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  for (const event of ["ready", "slidechanged", "resize"]) deck.on(event, reach);
  const { flatcube } = /** @type {any} */ (window);
  // On paper nothing scrolls: what is higher than its page, now that it is drawn, is made smaller.
  const fit = async () => {
    await Promise.all([flatcube.everything(), document.fonts.ready]);
    for (const page of document.querySelectorAll(".pdf-page")) {
      const slide = /** @type {HTMLElement} */ (page.querySelector(".fc-slide"));
      slide.style.scale = String(Math.min(1, page.clientHeight / slide.scrollHeight));
    }
  };
  if (paper) deck.on("pdf-ready", fit);
  Object.assign(window, { deck, ready: deck.initialize() });
})();
