"""What leads to the pages: descriptions, a map, a card, a page for lost readers, a link for hubs, the search."""

import io
import json
import re
import struct
from pathlib import Path

import pytest
import yaml

from flatcube.press import signposts
from tests.press.small import build_pages

BASE = "https://book.example/flat"
PAGES = {
    "index": "# A book\n\nWith $\\mathbb{E}[f]$ first.\n\nIts *second* part & more.\n\n```{toctree}\n01-fourier\n```\n",
    "01-fourier": "# Fourier\n\nParities of $\\mathbb{E}$ and\n\n$$\\widehat{f}$$\n\n"
                  "<table><tr><td>corner</td><td>stone</td></tr></table>\n",
}
CONF = """
project = "Flat <b> Minima"
extensions += ["flatcube.press.signposts"]
myst_enable_extensions = ["dollarmath"]
"""


def build(folder: Path, conf: str = ""):
    pages, warnings = build_pages(folder, PAGES, CONF + conf)
    assert warnings == ""
    return pages, folder / "html"


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return build(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return build(tmp_path_factory.mktemp("published"), f"html_baseurl = '{BASE}'\n")


def _meta(page) -> dict[str, str]:
    return {tag.get("property") or tag["name"]: tag["content"] for tag in page.select("meta[property], meta[name]")}


def test_every_page_is_described_in_words(local):
    pages, _ = local
    assert _meta(pages["index"])["description"] == "Its second part & more."
    blurb = next(row["blurb"] for row in signposts.front.plan() if row["slug"] == "01-fourier")
    assert _meta(pages["01-fourier"])["description"] == blurb == _meta(pages["01-fourier"])["og:description"]
    assert _meta(pages["01-fourier"])["og:title"] == "Fourier"
    assert _meta(pages["search"])["description"] == signposts.PROMISE


def test_a_long_description_ends_at_a_word():
    long = signposts.nodes.document(None, None)
    long += signposts.nodes.paragraph(text="many words, " * 30)
    words = signposts.description("page", long)
    assert len(words) <= signposts.LONGEST + 2
    assert words.endswith(("many …", "words …"))


def test_without_an_address_nothing_is_absolute(local):
    pages, site = local
    assert not any(value.startswith("http") for page in pages.values() for value in _meta(page).values())
    assert not (site / "sitemap.xml").exists() and not (site / signposts.CARD).exists()
    assert (site / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert re.findall(r'href="([^"]*)"', (site / "404.html").read_text()) == ["index.html", "search.html"]


def test_with_an_address_there_are_a_map_and_a_card(published):
    pages, site = published
    meta = _meta(pages["01-fourier"])
    assert meta["og:url"] == f"{BASE}/01-fourier.html"
    assert meta["og:image"] == f"{BASE}/{signposts.CARD}"
    assert re.findall("<loc>(.*)</loc>", (site / "sitemap.xml").read_text()) == [
        f"{BASE}/01-fourier.html", f"{BASE}/index.html"
    ]  # fmt: skip
    assert (site / "robots.txt").read_text().endswith(f"Sitemap: {BASE}/sitemap.xml\n")
    assert f'href="{BASE}/index.html"' in (site / "404.html").read_text()


def test_the_card_is_a_picture_of_the_size_that_sites_expect(published):
    data = (published[1] / signposts.CARD).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1200, 630)


def test_the_page_for_lost_readers_loads_nothing(published):
    text = (published[1] / "404.html").read_text()
    assert not re.search(r"<script|<link|<img|src=|url\(", text)
    assert "Flat &lt;b&gt; Minima" in text


def test_the_search_knows_words_and_no_latex(local):
    text = (local[1] / "searchindex.js").read_text()
    terms = json.load(io.StringIO(text.removeprefix("Search.setIndex(").removesuffix(")")))["terms"]
    assert any(term.startswith("pariti") for term in terms)
    assert not {"mathbb", "widehat"} & set(terms)
    assert {"corner", "stone"} <= set(terms)  # two cells, two words


@pytest.mark.parametrize("repository", ["", "https://github.com/ada/cube"])
def test_the_link_for_a_hub_names_the_repository(tmp_path, repository):
    theme = f"html_theme = 'sphinx_book_theme'\nhtml_theme_options = {{'repository_url': '{repository}'}}\n"
    pages, _ = build_pages(tmp_path, {"index": "# Hub\n\n```{hub-link}\n```\n"}, CONF + theme)
    link = pages["index"].select_one("main pre, pre").get_text().strip()
    assert link.startswith("https://HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2F")
    assert f"urlpath=lab%2Ftree%2F{'cube' if repository else 'NAME'}%2Fchapters%2Fnotebooks%2F01-fourier.ipynb" in link


def test_the_project_has_the_title_of_the_book():
    """Jupyter Book would call it "Project name not set"; links to the book show its name."""
    config = yaml.safe_load((Path(__file__).parents[2] / "_config.yml").read_text(encoding="utf-8"))
    assert config["sphinx"]["config"]["project"] == config["title"]
