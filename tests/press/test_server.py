"""The site is served to many at once, and nothing else is."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flatcube.press import server
from tests.press.small import until


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[server.Server]:
    """A server of a small site: a page, a folder with an index and one without; beside it lies a secret."""
    html = tmp_path / "html"
    for name in ("index.html", "chapters/index.html", "_static/a.js"):
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / name).write_text(f"this is {name}")
    (tmp_path / "secret.txt").write_text("secret")
    serving = server.Server(html)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield serving
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture
def port(serving: server.Server) -> int:
    return serving.server_port


def ask(port: int, line: bytes) -> bytes:
    """The whole answer to a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(line + b" HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    ("line", "status", "body"),
    [
        (b"GET /", b"200", b"this is index.html"),
        (b"GET /chapters/?a=1", b"200", b"this is chapters/index.html"),
        (b"GET /chapters", b"301", b""),
        (b"GET /_static/a.js", b"200", b"this is _static/a.js"),
        (b"HEAD /", b"200", b""),
        (b"GET /_static/", b"404", None),
        (b"GET /nothing", b"404", None),
        (b"GET /../secret.txt", b"404", None),
        (b"GET /%2e%2e/secret.txt", b"404", None),
        (b"GET /..%2f..%5csecret.txt", b"404", None),
        (b"GET /%00", b"404", None),
        (b"GET /index.html%00.js", b"404", None),
        (b"HEAD /%00", b"404", b""),
        (b"GET /%ed%a0%80", b"404", None),
        (b"GET /%ff%fe", b"404", None),
        (b"GET /" + b"a" * 5000, b"404", None),
        (b"GET /a" + b"/a" * 5000, b"404", None),
        (b"POST /", b"501", None),
        (b"PUT /new.html", b"501", None),
        (b"DELETE /index.html", b"501", None),
        (b"TRACE /", b"501", None),
    ],
)
def test_files_are_given_and_nothing_else(port: int, capsys, line: bytes, status: bytes, body: bytes | None):
    head, _, content = ask(port, line).partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert b"secret" not in content and b"a.js" not in content.replace(b"this is _static/a.js", b"")
    assert body is None or content == body
    assert "Traceback" not in capsys.readouterr().err


def test_a_script_is_a_script_whatever_the_system_says(port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server.http.server.mimetypes, "guess_type", lambda path: ("text/plain", None))
    assert b"Content-type: text/javascript" in ask(port, b"GET /_static/a.js")


def _allow_open_files(count: int) -> None:
    """Both ends of every connection are in this process; some systems let it have 256 open files unless asked."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def test_200_clients_at_once_are_all_served_by_few_threads(port: int, monkeypatch: pytest.MonkeyPatch):
    """None is served until all have called: each of them has to be let in, by a thread or into the queue."""
    _allow_open_files(1024)
    called, go, working, most = threading.Semaphore(0), threading.Event(), [], []
    monkeypatch.setattr(server.Handler, "log_message", lambda *_: None)
    answer = server.Handler.do_GET

    def patient(handler: server.Handler) -> None:
        working.append(handler)
        most.append(len(working))
        assert go.wait(60)
        answer(handler)
        working.remove(handler)

    monkeypatch.setattr(server.Handler, "do_GET", patient)

    def client(_: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(b"GET /_static/a.js HTTP/1.0\r\n\r\n")
            called.release()
            line.settimeout(60)
            return b"".join(iter(lambda: line.recv(65536), b""))

    with ThreadPoolExecutor(200) as clients:
        answers = [clients.submit(client, k) for k in range(200)]
        try:
            assert all(called.acquire(timeout=30) for _ in range(200))
        finally:
            go.set()
        assert all(done.result().endswith(b"this is _static/a.js") for done in answers)
    assert 1 < max(most) <= server.THREADS <= 128


def test_a_client_that_goes_away_leaves_no_trace(serving: server.Server, capsys):
    with socket.create_connection(("127.0.0.1", serving.server_port)) as client:
        client.sendall(b"GET /index.html HTTP/1.0\r\nA: ")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # hangs up without a goodbye
    assert ask(serving.server_port, b"GET /").endswith(b"this is index.html")
    until(lambda: serving._free._value == server.THREADS)  # both clients have been dealt with
    assert "Error" not in capsys.readouterr().err


def test_the_next_free_port_is_taken(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with server._first_free(tmp_path, port) as serving:
            assert port < serving.server_port < port + 50
