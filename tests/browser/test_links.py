"""Every link leads to a page that exists, and to a place that exists on it; every command can be copied."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from flatcube.experiments import store

SITE = Path(__file__).parents[2] / "_build" / "html"


class Links(HTMLParser):
    """Collects the targets of links and the names of places."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        for key in ("href", "src"):
            if given.get(key):
                self.links.append(given[key])


def parsed(path: Path) -> Links:
    parser = Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def broken(site: Path) -> list[str]:
    """Links of all pages below `site` that lead nowhere, as "page → target"."""
    pages = {path.resolve(): parsed(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        for link in page.links:
            split = urlsplit(link)
            if split.scheme or split.netloc:
                continue
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            exists = target.is_file()
            if exists and split.fragment and target in pages:
                exists = unquote(split.fragment).partition("?")[0] in pages[target].places  # then a state
            if not exists:
                found.append(f"{path.relative_to(site.resolve())} → {link}")
    return sorted(set(found))


def test_internal_links_resolve():
    assert broken(SITE) == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="b.html#gone">x</a><a href="c.html">x</a>')
    (tmp_path / "b.html").write_text('<p id="here">x</p>')
    assert broken(tmp_path) == ["a.html → b.html#gone", "a.html → c.html"]


def test_commands_that_repeat_stored_results_stand_there_as_they_are_typed():
    page = (SITE / "chapters/results.html").read_text(encoding="utf-8")
    code = " ".join(unescape(re.sub(r"<[^>]*>", "", part)) for part in re.findall(r"<code.*?</code>", page, re.DOTALL))
    for made in store.manifest(store.DATA).values():
        assert made["command"] in code
