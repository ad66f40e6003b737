// @ts-check
// The filter on the page of claims: hides the rows that do not match and says how many are left.
{
  const form = /** @type {HTMLFormElement | null} */ (document.querySelector("form.fc-filter"));
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("table.fc-claims tr[data-words]")]);

  const filter = () => {
    const given = new FormData(/** @type {HTMLFormElement} */ (form));
    const words = String(given.get("words")).toLowerCase().split(/\s+/).filter(Boolean);
    const status = String(given.get("status")), chapter = String(given.get("chapter"));
    for (const row of rows) {
      const has = row.dataset;
      row.hidden = !(words.every((word) => has.words?.includes(word))
        && (!status || has.status === status)
        && (!chapter || has.chapters?.split(" ").includes(chapter)));
    }
    // A group or a paper without rows would be an empty heading.
    for (const body of document.querySelectorAll("table.fc-claims tbody")) {
      /** @type {HTMLElement} */ (body).hidden = !body.querySelector("tr[data-words]:not([hidden])");
    }
    for (const table of document.querySelectorAll("table.fc-claims")) {
      const section = table.closest("section");
      if (section) section.hidden = !table.querySelector("tbody:not([hidden])");
    }
    const left = rows.filter((row) => !row.hidden).length;
    const output = form?.querySelector("output");
    if (output) output.value = left === rows.length ? `${left} claims` : `${left} of ${rows.length} claims`;
  };

  if (form && rows.length) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    // A link to a hidden row shows everything again.
    addEventListener("hashchange", () => {
      const row = document.getElementById(location.hash.slice(1));
      if (row?.hidden) { form.reset(); filter(); row.scrollIntoView(); }
    });
    filter();
  }
}
