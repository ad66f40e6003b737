// @ts-check
// The frame of a projector page: light or dark, the whole screen.
(() => {
  "use strict";
  const root = document.documentElement;
  /** @type {string | null} */
  let kept = null;
  try {
    kept = localStorage.getItem("flatcube.theme");
  } catch {
    /* storage is off */
  }
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "dark" : "light";
  document.querySelector(".fc-theme")?.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("flatcube.theme", String(root.dataset.theme));
    } catch {
      /* storage is off */
    }
  });
  const whole = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  document.querySelector(".fc-whole")?.addEventListener("click", whole);
})();
