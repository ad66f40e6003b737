"""Serving the built site on this machine: its files, and nothing else."""

from __future__ import annotations

import functools
import http.server
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from flatcube.press import audience, site

__all__ = ["serve", "Server"]

THREADS = 100  # requests that are answered at once; the next ones wait their turn


class Handler(http.server.SimpleHTTPRequestHandler):
    """GET and HEAD of files; a folder is its index.html or nothing."""

    timeout = 10  # seconds that a client may keep a thread without a word
    # Windows asks its registry, which may say that a script is plain text.
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".json": "application/json",
        ".svg": "image/svg+xml", ".woff2": "font/woff2",
    }  # fmt: skip

    def send_head(self) -> Any:
        try:
            return super().send_head()
        except (OSError, ValueError):  # no name of a file: a NUL, half a character, more than the system takes
            self.send_error(404)
            return None

    def list_directory(self, path: str) -> None:
        self.send_error(404)


class Server(http.server.ThreadingHTTPServer):
    """Holds hundreds of clients: those that get no thread at once wait in the queue of the system."""

    request_queue_size = 512
    allow_reuse_address = os.name != "nt"  # on Windows this would let two servers have one port

    def __init__(self, folder: Path, port: int = 0) -> None:
        self._free = threading.BoundedSemaphore(THREADS)
        super().__init__(("127.0.0.1", port), functools.partial(Handler, directory=str(folder)))

    def process_request(self, request: socket.socket, client_address: Any) -> None:
        self._free.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._free.release()
            raise

    def process_request_thread(self, request: socket.socket, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: socket.socket, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):  # a client that went away is no event
            print(f"✗ {type(error).__name__}: {error}", file=sys.stderr)


def serve(root: Path, port: int = 8000, for_whom: str = audience.READER) -> None:
    """Serve the built site on 127.0.0.1 until interrupted, on `port` or the next free one."""
    server = _first_free(site.built(root, for_whom), port)
    print(f"The book is at http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nStopped.")
    finally:
        server.server_close()


def _first_free(folder: Path, port: int) -> Server:
    for candidate in range(port, min(port + 50, 1 << 16)):
        try:
            return Server(folder, candidate)
        except OSError:
            continue
    raise SystemExit(f"port={port}: this port and the 49 after it are taken; choose another with --port.")
