// @ts-check
// The pages of claims and errata: a form hides the rows that do not match, and a link to a row opens its fold.
{
  const FEW = 40; // rows that are shown at once; more stay folded, with their number in the handle
  const form = /** @type {HTMLFormElement | null} */ (document.querySelector("form.fc-filter"));
  const folds = /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.fc-group")]);
  const rows = (/** @type {ParentNode} */ part) =>
    /** @type {HTMLElement[]} */ ([...part.querySelectorAll("tr[data-words]")]);
  const left = (/** @type {ParentNode} */ part) => rows(part).filter((row) => !row.hidden).length;

  /** Whether a row has what one field of the form asks for. */
  const has = (/** @type {HTMLElement} */ row, /** @type {[string, string]} */ [name, asked]) => {
    const said = row.dataset[name] ?? "";
    if (name !== "words") return !asked || said.split("|").includes(asked);
    return asked
      .toLowerCase()
      .split(/\s+/)
      .every((word) => said.includes(word));
  };

  const filter = (/** @type {HTMLFormElement} */ form) => {
    const asked = [...new FormData(form)].map(([name, value]) => /** @type {[string, string]} */ ([name, `${value}`]));
    const all = rows(document);
    for (const row of all) row.hidden = !asked.every((field) => has(row, field));
    const count = left(document);
    const some = asked.some(([, value]) => value.trim());
    for (const fold of folds) {
      const [kept, total] = [left(fold), rows(fold).length];
      fold.hidden = !kept; // an empty fold, like a paper without rows, says nothing
      fold.open = some && count <= FEW;
      const tally = fold.querySelector("summary > span");
      if (tally)
        tally.textContent = `${kept < total ? `${kept} of ` : ""}${tally.textContent?.replace(/^\d+ of /, "")}`;
    }
    for (const section of document.querySelectorAll("section:has(> .fc-group)")) {
      /** @type {HTMLElement} */ (section).hidden = !left(section);
    }
    const output = form.querySelector("output");
    const noun = form.dataset.noun;
    if (output) output.value = count === all.length ? `${count} ${noun}` : `${count} of ${all.length} ${noun}`;
    name(form);
  };

  const button = (/** @type {HTMLFormElement} */ form) =>
    /** @type {HTMLButtonElement} */ (form.querySelector("button.fc-all"));
  const seen = () => folds.filter((fold) => !fold.hidden);
  const allOpen = () => seen().length > 0 && seen().every((fold) => fold.open);
  const name = (/** @type {HTMLFormElement} */ form) => {
    button(form).textContent = allOpen() ? "Close all" : "Open all";
  };

  /** A link to a row opens the folds around it, and shows everything again if the form had hidden it. */
  const arrive = (/** @type {HTMLFormElement} */ form) => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row?.matches("tr[data-words]")) return;
    if (row.hidden) {
      form.reset();
      filter(form);
    }
    const fold = row.closest("details");
    if (fold) fold.open = true;
    row.scrollIntoView({ behavior: "instant" });
  };

  if (form && folds.length) {
    form.hidden = false;
    // An address such as claims.html?chapter=4&verdict=open is a question, too.
    for (const [name, value] of new URLSearchParams(location.search)) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = value;
    }
    form.addEventListener("input", () => filter(form));
    form.addEventListener("submit", (event) => event.preventDefault());
    folds.forEach((fold) => fold.addEventListener("toggle", () => name(form)));
    button(form).addEventListener("click", () => {
      const open = !allOpen();
      for (const fold of seen()) fold.open = open;
    });
    addEventListener("hashchange", () => arrive(form));
    addEventListener("load", () => arrive(form));
    filter(form);
    arrive(form);
  }
}
