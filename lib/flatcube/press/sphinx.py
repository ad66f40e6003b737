"""The book's own pages, as a Sphinx extension: frame, styles, scripts, and repairs of the HTML that others write.

The theme's frame, styles, scripts and icon fonts (2.4 MB a page) are not loaded: the folder `theme` replaces them.
"""

from __future__ import annotations

import functools
import posixpath
import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from flatcube.press import cards, figures, front, symbols, teaching

__all__ = ["THEME", "setup", "contents", "polish"]

THEME = Path(__file__).parent / "theme"

# Files of the theme and of extensions that flatcube.css and site.js replace.
UNUSED = re.compile(
    r"styles/|scripts/|basic\.css|pygments\.css|togglebutton|copybutton|clipboard|mystnb|thebe|proof\.css|exercise\.css"
    r"|mathjax"  # formulas are set when the pages are finished
)
# Only the search page needs these; elsewhere the highlighter would write into figures.
SEARCH = re.compile(r"documentation_options\.js|doctools\.js|sphinx_highlight\.js")
LOADED = re.compile(r"_static/([\w./-]+)")
UNUSED_INLINE = re.compile(r"THEBE_JS_URL|MathJax|toggle|DOCUMENTATION_OPTIONS\.(pagename|search_as_you_type)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register styles, scripts, templates, directives and the last touch of every page."""
    app.add_css_file("flatcube/flatcube.css", priority=800)
    app.add_css_file("flatcube/elements.css", priority=801)
    app.add_js_file("flatcube/site.js", priority=800, defer="defer")
    app.add_css_file("flatcube/cards.css", priority=803)
    app.add_js_file("flatcube/loader.js", priority=801, defer="defer")
    app.add_js_file("flatcube/cards.js", priority=802, defer="defer")
    app.add_role("fig", figures.FigureRole())
    app.add_role("sym", symbols.SymbolRole())
    for name, directive in (front.DIRECTIVES | teaching.DIRECTIVES).items():
        app.add_directive(name, directive)
    app.connect("config-inited", lambda app, config: config.templates_path.insert(0, str(THEME / "templates")))
    app.connect("env-get-updated", _number, priority=900)  # after Sphinx has counted
    kept: dict[str, cards.Card] = {}
    app.connect("html-page-context", functools.partial(_dress, kept), priority=900)
    app.connect("build-finished", functools.partial(_deal, kept), priority=890)
    app.connect("build-finished", _prune, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # the cards of all pages are kept in one place


def _number(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """A chapter has the number of its file, whichever chapters before it are missing: 18-inside is chapter 18."""
    for page, sections in env.toc_secnumbers.items():
        if not (found := re.match(r"(\d+)-", posixpath.basename(page))):
            continue
        chapter = int(found[1])
        for numbers in (sections, *env.toc_fignumbers.get(page, {}).values()):  # theorems and formulas are "figures"
            numbers |= {place: (chapter, *number[1:]) for place, number in numbers.items() if number}
        for node in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
            if node.get("secnumber"):
                node["secnumber"] = [chapter, *node["secnumber"][1:]]
    return []


def _dress(
    kept: dict[str, cards.Card], app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Last touch of a page: only the files it needs, its place in the book, the repaired body, its cards kept."""
    body = context.get("body") or ""
    for kind in ("css_files", "script_files"):
        context[kind] = [file for file in context[kind] if _needed(file, body, search=pagename == "search")]
    context["chapter"] = next((row for row in front.plan() if row["slug"] == posixpath.basename(pagename)), None)
    tree = context["toctree"](maxdepth=1, collapse=True, includehidden=True, titles_only=True) or ""
    context["contents"] = contents(tree, context.get("toc") or "")
    if body:
        soup = _repaired(body)
        kept |= cards.gather(soup, pagename)
        context["body"] = _written(soup)


def _needed(file: Any, body: str, *, search: bool) -> bool:
    """Whether a page with this body uses a file (or an inline script) that some extension offers to all pages."""
    name, inline = str(file.filename or ""), str(file.attributes.get("body", ""))
    if SEARCH.search(name):
        return search
    if name.endswith(("sphinx-design.min.css", "design-tabs.js")):
        return "sd-" in body
    return not (UNUSED.search(name) or UNUSED_INLINE.search(inline))


def _deal(kept: dict[str, cards.Card], app: Sphinx, exception: Exception | None) -> None:
    """Give every finished page the cards of its links."""
    for page in sorted(app.env.found_docs) if not exception else ():
        path = Path(app.builder.get_outfilename(page))
        path.write_text(cards.deal(path.read_text(encoding="utf-8"), page, kept), encoding="utf-8")


def _prune(app: Sphinx, exception: Exception | None) -> None:
    """Take the files of the theme and of extensions that no page loads out of the site: half of its size."""
    if exception:
        return
    site, static, ours = Path(app.outdir), Path(app.outdir) / "_static", Path(app.confdir) / "_assets"
    pages = [path for path in site.rglob("*.html") if static not in path.parents]  # the theme has templates there
    loaded = {name for page in pages for name in LOADED.findall(page.read_text(encoding="utf-8"))}
    for path in sorted(static.rglob("*"), reverse=True):  # what a folder holds before the folder
        name = path.relative_to(static)
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif name.as_posix() not in loaded and not (ours / name).exists():
            path.unlink()


def contents(tree: str, sections: str) -> str:
    """The list of chapters: parts with their numerals, the sections of the present page, numbers in a column."""
    soup = BeautifulSoup(tree, "html.parser")
    here = soup.select_one("li.current")
    inner = BeautifulSoup(sections, "html.parser").select_one("ul > li > ul")
    if here and inner:
        for deeper in inner.select("ul"):
            deeper.decompose()
        here.append(inner)
    parts = {row["part"]: f"Part {row['numeral']} · {row['part']}" for row in front.plan()}
    for caption in soup.select(".caption-text"):
        caption.string = parts.get(caption.get_text(strip=True), caption.get_text(strip=True))
    for link in soup.find_all("a"):
        found = re.match(r"([\d.]+?)\.?\s+", link.get_text())
        if found and isinstance(link.contents[0], NavigableString):
            number = soup.new_tag("span", attrs={"class": "section-number"})
            number.string = found[1] + " "
            link.contents[0].replace_with(link.contents[0].lstrip("0123456789. "))
            link.insert(0, number)
    return str(soup)


def polish(body: str) -> str:
    """Repair what extensions write: folds that are real `details`, named tables, no repeated ids, no kernel scripts."""
    return _written(_repaired(body))


def _repaired(body: str) -> BeautifulSoup:
    soup = BeautifulSoup(body, "html.parser")
    for repair in REPAIRS:
        repair(soup)
    return soup


def _written(soup: BeautifulSoup) -> str:
    return soup.decode(formatter="minimal")


def _drop_scripts(soup: BeautifulSoup) -> None:
    for script in soup.find_all("script"):
        if script.get("type") == "text/x-thebe-config" or "kernelName" in script.get_text():
            script.decompose()


def _markers(soup: BeautifulSoup) -> None:
    """The first line that tells the notebook test to compare a cell's output says nothing to a reader."""
    for comment in soup.select(".cell_input .c1"):
        if comment.get_text().startswith("# NBVAL_"):
            rest = comment.next_sibling
            if isinstance(rest, NavigableString):
                rest.replace_with(rest.removeprefix("\n"))
            comment.decompose()


def _maths(soup: BeautifulSoup) -> None:
    """A line must not break between a formula and the comma after it."""
    for formula in soup.select("span.math"):
        rest = formula.next_sibling
        if isinstance(rest, NavigableString) and (found := re.match(r"[,.;:!?)\]’”]+", rest)):
            rest.replace_with(rest[found.end() :])
            formula.wrap(soup.new_tag("span", attrs={"class": "fc-joined"})).append(found[0])


def _numbers(soup: BeautifulSoup) -> None:
    """The number of a chapter or section stands alone, without its full stop."""
    for number in soup.select(".section-number"):
        number.string = number.get_text().strip().rstrip(".") + " "


def _plain_sections(soup: BeautifulSoup) -> None:
    """Proofs and exercises repeat the ids `proof-content`, …: an id must be unique."""
    for section in soup.select(".admonition > section"):
        section.name = "div"
        section.attrs = {"class": "fc-body"}


def _exercises(soup: BeautifulSoup) -> None:
    """A title like "Exercise 1.1 (If, then, else ●○○ 5 min)" has a number, a name and an effort: set them as such."""
    for title in soup.select(".exercise > .admonition-title:has(> .caption-number)"):
        words = title.contents[-1]
        found = re.fullmatch(r"\((.*?)\s*(?:([●○]+)(?: (\d+) min)?)?\)", str(words).strip(), re.DOTALL)
        if len(title.contents) != 2 or not isinstance(words, NavigableString) or not found:
            continue
        words.replace_with(f" {found[1]} ")
        if found[2]:
            seen, said = found[2], f"difficulty {found[2].count('●')} of {len(found[2])}"
            if found[3]:
                seen, said = f"{seen} {found[3]} min", f"{said}, {found[3]} minutes"
            effort = soup.new_tag("span", attrs={"class": "fc-effort", "role": "img", "aria-label": said})
            effort.string = seen
            title.append(effort)


def _proofs(soup: BeautifulSoup) -> None:
    """A proof says "Proof." in its first sentence, and all have one id: give it a title and take the id away."""
    for box in soup.select("div.proof.admonition#proof"):
        del box["id"]
        first = box.find("p")
        words = first.contents[0] if first and first.contents else None
        if isinstance(words, NavigableString) and words.startswith("Proof. "):
            words.replace_with(words.removeprefix("Proof. "))
        title = soup.new_tag("p", attrs={"class": "admonition-title"})
        title.string = "Proof"
        box.insert(0, title)
        box["class"] = [*box["class"], "fc-proof"]


def _fold(soup: BeautifulSoup) -> None:
    """A folded admonition becomes `details`, which needs no script and can be printed open."""
    for box in soup.select("div.admonition.dropdown, div.admonition.toggle"):
        title = box.find(class_="admonition-title", recursive=False)
        if title is None:
            continue
        for link in title.find_all("a"):
            link.unwrap()  # a link inside the fold's handle would be a button in a button
        box.name, title.name = "details", "summary"
        box["class"] = [c for c in box["class"] if c not in ("dropdown", "toggle")] + ["fc-fold"]


def _summaries(soup: BeautifulSoup) -> None:
    for summary in soup.select("details.hide > summary"):
        summary.attrs.pop("aria-label", None)  # its visible words are its name
        for words in summary.find_all("p"):
            words.name = "span"
            text = re.sub(r"code cell (source|content)", "the code", words.get_text())
            words.string = text.replace("code cell", "the")


def _notes(soup: BeautifulSoup) -> None:
    """Margin notes belong to their paragraph: notes, not landmarks of the page."""
    for note in soup.select("aside.margin, aside.sidebar"):
        note.name, note["role"] = "div", "note"
        for title in note.select(".sidebar-title"):
            if not title.get_text(strip=True):
                title.decompose()
    for entry in soup.select(".citation-list > .citation"):
        entry["role"] = "listitem"
    for list_ in soup.select("aside.footnote-list"):
        list_.name = "div"
        for footnote in list_.select("aside.footnote"):
            footnote.name = "div"


def _tables(soup: BeautifulSoup) -> None:
    """Tables scroll in a box of their own; an empty corner is no heading."""
    for table in soup.find_all("table"):
        for style in ("border", "style"):
            table.attrs.pop(style, None)
        for corner in table.find_all("th"):
            if not corner.get_text(strip=True) and not corner.find(["img", "svg", "input"]):
                corner.name = "td"
        box = table.parent
        if isinstance(box, Tag) and "pst-scrollable-table-container" in box.get("class", []):
            box["class"] = ["fc-table"]
        else:
            table.wrap(soup.new_tag("div", attrs={"class": "fc-table"}))


REPAIRS = (
    *(_drop_scripts, _markers, _maths, _numbers, _plain_sections, _exercises),
    *(_proofs, _fold, _summaries, _notes, _tables, symbols.anchor),
)
