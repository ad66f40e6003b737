"""The weekly check of links: it finds the links of a site and names the dead ones."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests import links


class Answers(BaseHTTPRequestHandler):
    """Says 200 to /well, 403 to /shy and 404 to everything else."""

    def do_GET(self) -> None:
        self.send_response({"/well": 200, "/shy": 403}.get(self.path, 404))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_links_that_leave_the_site_are_found_once_with_their_page(tmp_path: Path):
    (tmp_path / "chapters").mkdir()
    one, two = "https://one.example/a", "http://two.example/"
    (tmp_path / "index.html").write_text(f'<a class="x" href="{one}#part">1</a> <a href="two.html">2</a>')
    (tmp_path / "chapters/b.html").write_text(f'<a href="{one}">1</a> <a href="{two}">2</a>')
    assert links.found(tmp_path) == {one: "chapters/b.html", two: "chapters/b.html"}


def test_only_dead_links_are_named(address: str):
    given = [f"{address}/well", f"{address}/shy", f"{address}/gone", "http://127.0.0.1:9/"]
    assert [link for link, _ in links.dead(given)] == given[2:]
    assert links.trouble(f"{address}/gone") == "answers 404"


@pytest.mark.parametrize(("path", "code"), [("well", 0), ("gone", 1)])
def test_the_outcome_is_the_exit_code(
    tmp_path: Path, address: str, path: str, code: int, capsys: pytest.CaptureFixture
):
    (tmp_path / "index.html").write_text(f'<a href="{address}/{path}">here</a>')
    assert links.main(tmp_path) == code
    assert (f"index.html: {address}/gone answers 404" in capsys.readouterr().err) == bool(code)


def test_a_site_without_links_is_no_success(tmp_path: Path):
    assert links.main(tmp_path) == 1
