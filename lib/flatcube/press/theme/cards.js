// @ts-check
// Cards beside links: on hover, on focus and on tap. Their content stands in the page, in <template id="fc-cards">.
(() => {
  "use strict";
  const store = document.getElementById("fc-cards");
  if (!(store instanceof HTMLTemplateElement)) return;
  const wait = { open: 150, close: 300 }; // in ms: a passing pointer opens nothing; the way into the card is free
  const card = document.createElement("div");
  card.id = "fc-card";
  card.className = "fc-card";
  card.popover = "manual"; // above everything, cut off by nothing
  card.tabIndex = -1;
  card.setAttribute("role", "group");
  /** @type {HTMLAnchorElement | null} the link whose card is open */
  let shown = null;
  let timer = 0;
  let touch = false;

  /** The link with a card that an event is about. @type {(event: Event) => HTMLAnchorElement | null} */
  const linkOf = (event) => (event.target instanceof Element ? event.target.closest("a[data-card]") : null);
  const inCard = (/** @type {EventTarget | null} */ target) => target instanceof Node && card.contains(target);

  function place() {
    if (!shown) return;
    const [link, box, gap, edge] = [shown.getBoundingClientRect(), card.getBoundingClientRect(), 8, 16];
    const width = document.documentElement.clientWidth;
    const left = Math.max(edge, Math.min(link.left - edge, width - box.width - edge));
    const below = link.bottom + gap + box.height <= innerHeight || link.top < box.height + gap;
    const top = below ? link.bottom + gap : link.top - gap - box.height;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${top + scrollY}px`;
  }

  function close() {
    clearTimeout(timer);
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    card.remove();
  }

  /** @type {(link: HTMLAnchorElement) => void} */
  function open(link) {
    clearTimeout(timer);
    if (link === shown) return;
    close();
    const content = /** @type {HTMLTemplateElement} */ (store).content.children[Number(link.dataset.card)];
    card.replaceChildren(...[...content.children].map((part) => part.cloneNode(true)));
    card.setAttribute("aria-label", link.getAttribute("aria-label") ?? link.textContent ?? "");
    shown = link;
    link.after(card); // so that Tab leads into it, and out of it to what follows
    card.showPopover();
    link.setAttribute("aria-describedby", card.id);
    reach();
  }

  /** A card that scrolls can be scrolled with keys. */
  function reach() {
    const larger = card.scrollHeight > card.clientHeight || card.scrollWidth > card.clientWidth;
    card.tabIndex = larger ? 0 : -1;
    place();
  }

  const later = (/** @type {() => void} */ call, /** @type {number} */ delay) => {
    clearTimeout(timer);
    timer = setTimeout(call, delay);
  };

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const link = linkOf(event);
    if (link) later(() => open(link), wait.open);
    else if (inCard(event.target)) clearTimeout(timer);
    else if (shown && !shown.matches(":focus-visible") && !card.matches(":focus-within")) later(close, wait.close);
    else clearTimeout(timer);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link?.matches(":focus-visible")) open(link);
    else if (!link && !inCard(event.target)) close();
  });
  document.addEventListener("pointerdown", (event) => {
    touch = event.pointerType !== "mouse";
    if (!linkOf(event) && !inCard(event.target)) close();
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (!link || !touch || link === shown) return; // a second tap follows the link
    event.preventDefault();
    open(link);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    if (card.matches(":focus-within")) shown.focus();
    close();
  });
  addEventListener("resize", place);
  addEventListener("beforeprint", close);
})();
