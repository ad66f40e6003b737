"""Every explorer of a page has a page of its own, which leads back."""

from bs4 import BeautifulSoup

from flatcube.press import projector

EXPLORER = (
    '<div class="fc-explorer" data-name="cube" id="{}">'
    '<script type="application/json">{{"label":"A {} & more"}}</script>'
    '<div class="fc-fallback"><p>run it</p></div></div>'
)


def test_each_explorer_of_each_chapter_gets_a_page(tmp_path):
    (tmp_path / "chapters").mkdir()
    head = '<meta content="self" http-equiv="Content-Security-Policy"/><link href="../_static/flatcube/elements.css"/>'
    pages = {"04-one.html": ["a-explorer", "a-explorer-2"], "05-two.html": ["a-explorer"], "index.html": []}
    for name, places in pages.items():
        explorers = "".join(EXPLORER.format(place, place) for place in places)
        (tmp_path / "chapters" / name).write_text(f"<head>{head}</head>{explorers}", encoding="utf-8")
    made = projector.write(tmp_path)
    assert [path.name for path in made] == ["04-a-explorer.html", "04-a-explorer-2.html", "05-a-explorer.html"]
    page = BeautifulSoup(made[1].read_text(encoding="utf-8"), "html.parser")
    assert page.h1.get_text() == "A a-explorer-2 & more"
    assert page.select_one("main > .fc-explorer#a-explorer-2 > script")
    assert "run it" not in page.get_text()
    assert page.find("a", string="In the chapter")["href"] == "../chapters/04-one.html#a-explorer-2"
    assert page.select_one("meta[http-equiv]") and page.select_one("link[href$='elements.css']")
