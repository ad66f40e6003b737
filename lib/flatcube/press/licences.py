"""Whose work the site contains: `licences.txt` names the origin of every script, style and font, with its licence, and
the page of licences lists the packages.

What stands under `_static/vendor` comes from npm packages, and a bundle contains what its package depends on. The rest
of `_static` comes from installed distributions. `_static/flatcube` and the search index are the book's own.
"""

from __future__ import annotations

import html
import json
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from flatcube import processes

__all__ = ["Package", "write", "shipped", "origins", "bundled"]

SCRIPTS = {".js", ".mjs", ".css", ".wasm"}
KINDS = SCRIPTS | {".woff", ".woff2", ".ttf", ".otf"}
OWN = ("_static/flatcube/", "searchindex.js")
# Other people's work inside a package that carries no text about it: a distribution that has the text.
CARRIED = {"pyodide": "typing_extensions"}  # the licence of Python itself, of which both have parts
TEXTS = re.compile(r"(licen[cs]e|copying|notice)", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.MULTILINE | re.DOTALL)
WIDEST = 200  # characters in a line of a comment; what looks like one and is wider is a string in a minified bundle
SAYS = re.compile(r"copyright|\(c\) \d{4}|licen[cs]e", re.IGNORECASE)
INTRODUCTION = """\
What this site contains, and under which licences.

The text and figures of the book are under CC BY 4.0, its code is under the MIT licence; both stand at the end. Below
is, for every script, style and font of the site, where it comes from; then the licences of all these packages, with
the notices that stand in their sources. A package may be listed with others that it can do without in a browser.
"""
RULE = "=" * 119
PAGE, PLACE = "chapters/licences.html", '<div id="licences-of-packages"></div>'


@dataclass(frozen=True)
class Package:
    """A name with its version, the licence that its metadata names, and the texts that come with it."""

    name: str
    licence: str
    texts: tuple[str, ...]


def write(site: Path, root: Path, vendor: Mapping[str, str], packages: Path) -> None:
    """Write `licences.txt` into the site; `vendor` maps places in `_static/vendor` to npm packages in `packages`.

    A file whose origin or licence is not known ends the build.
    """
    found = {path: origins(site, path, vendor, packages) for path in shipped(site) if not path.startswith(OWN)}
    everything = {package for origin in found.values() for package in origin}
    known = {package.licence for package in everything if package.texts}
    homeless = [path for path, origin in found.items() if not origin]
    homeless += sorted(p.name for p in everything if not p.texts and p.licence not in known)
    if homeless:
        raise SystemExit("The site would contain what no licence is known for:\n" + "\n".join(homeless))
    own = [f"Flat Minima on the Boolean Cube: {name}\n\n{_read(root / name)}" for name in ("LICENSE", "LICENSE-TEXT")]
    files = "\n".join(f"{path}: {', '.join(p.name for p in origin)}" for path, origin in found.items())
    parts = [INTRODUCTION, files, *_grouped(everything), *own]
    text = f"\n{RULE}\n".join(part.strip() + "\n" for part in parts)
    processes.replace(site / "licences.txt", text.encode())
    page = site / PAGE
    if page.is_file():
        processes.replace(page, page.read_text(encoding="utf-8").replace(PLACE, _table(found)).encode())


def _table(found: Mapping[str, list[Package]]) -> str:
    """All packages with their licences and the files that contain them, as a table for the page of licences."""
    files: dict[Package, list[str]] = {}
    for path, origin in found.items():
        for package in origin:
            files.setdefault(package, []).append(path.removeprefix("_static/").removeprefix("vendor/"))
    rows = "".join(
        f"<tr><td>{html.escape(package.name)}</td><td>{html.escape(package.licence)}</td><td>{_some(paths)}</td></tr>"
        for package, paths in sorted(files.items(), key=lambda item: item[0].name.lstrip("@").lower())
    )
    head = "".join(f'<th scope="col">{words}</th>' for words in ("Package", "Licence", "Stands in"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="fc-stack"><div class="fc-table">{table}</div></div>'


def _some(paths: list[str]) -> str:
    """A few files by name; of many the first, and how many more there are."""
    rest = f" and {len(paths) - 1} more files" if len(paths) > 3 else ""
    return f"{html.escape(', '.join(paths[:1] if rest else paths))}{rest}"


def shipped(site: Path) -> list[str]:
    """Every script, style and font of the site, by its path in it."""
    return sorted(p.relative_to(site).as_posix() for p in site.rglob("*") if p.suffix in KINDS)


def origins(site: Path, path: str, vendor: Mapping[str, str], packages: Path) -> list[Package]:
    """The packages from which a file of the site was made; none if that is not known."""
    place = path.removeprefix("_static/vendor/")
    if place == path:
        return [_distribution(name) for name in _owners(site / path)]
    names = [name for start, name in vendor.items() if place == start or place.startswith(f"{start}/")]
    depth = None if Path(path).suffix in SCRIPTS else 1  # a font contains nothing but itself
    notice = _font(site / path) if path.endswith(".woff") else ""
    fonts = [Package(Path(path).name, "as it says itself", (notice,))] if notice else []
    return fonts + [_npm(folder) for name in names for folder in bundled(packages, name)[:depth]]


def _grouped(everything: set[Package]) -> list[str]:
    """The texts, each once, under the names of all packages that come with it."""
    groups: dict[tuple[str, ...], list[Package]] = {}
    for package in sorted(everything, key=lambda package: package.name):
        texts = package.texts or (f"The text of {package.licence} stands with another package.",)
        groups.setdefault(texts, []).append(package)
    return [
        "\n".join(f"{p.name} ({p.licence})" for p in members) + "\n\n" + "\n\n".join(texts)
        for texts, members in groups.items()
    ]


# --- npm packages -----------------------------------------------------------------------------------------------------


def bundled(packages: Path, name: str) -> list[Path]:
    """The folders of an npm package and of all it depends on, found as Node finds them."""
    found: list[Path] = []
    waiting = [_resolved(packages.parent, name)]
    while waiting:
        folder = waiting.pop()
        if folder in found:
            continue
        found.append(folder)
        about = json.loads(_read(folder / "package.json"))
        waiting += [_resolved(folder, other) for other in reversed(about.get("dependencies", {}))]
    return found


def _resolved(folder: Path, name: str) -> Path:
    for home in (folder, *folder.parents):
        if (home / "node_modules" / name / "package.json").is_file():
            return home / "node_modules" / name
    raise SystemExit(f"The npm package {name} is missing beside {folder}: its licence must come with the site.")


@cache
def _npm(folder: Path) -> Package:
    about = json.loads(_read(folder / "package.json"))
    files = sorted(p for p in folder.iterdir() if p.is_file() and TEXTS.match(p.name) and p.suffix not in KINDS)
    return Package(
        f"{about['name']} {about['version']}",
        str(about.get("license", "unknown")),
        tuple(_read(path) for path in files) + tuple(_embedded(folder)) + _carried(about["name"], folder),
    )


def _carried(name: str, folder: Path) -> tuple[str, ...]:
    """The texts in the archives that a package holds, and of work inside it whose text stands elsewhere."""
    found = []
    for archive in sorted(folder.glob("pkg/*.tar.gz")):
        with tarfile.open(archive) as tar:
            members = [m for m in tar if m.isfile() and TEXTS.match(Path(m.name).name) and "/recipe/" not in m.name]
            found += [tar.extractfile(member).read().decode("utf-8", "replace") for member in members]
    return tuple(dict.fromkeys(found)) + (_distribution(CARRIED[name]).texts if name in CARRIED else ())


def _embedded(folder: Path) -> Iterator[str]:
    """The comments in a package's own sources that speak of copyright or licences, each once."""
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        inner = "node_modules" in path.relative_to(folder).parts
        if inner or path.suffix not in {".js", ".mjs", ".ts"} or not SAYS.search(text := _read(path)):
            continue
        for comment in COMMENT.finditer(text):
            words = re.sub(r"[\W_]+", " ", comment[0])
            written = max(map(len, comment[0].splitlines())) <= WIDEST
            if written and SAYS.search(comment[0]) and words not in seen:
                seen.add(words)
                yield re.sub(r"^[ \t]+", "", comment[0], flags=re.MULTILINE).strip()


def _font(path: Path) -> str:
    """What a WOFF font says of itself in its table of names: copyright (entry 0) and licence (entry 13)."""
    data = path.read_bytes()
    for at in range(44, 44 + 20 * struct.unpack_from(">H", data, 12)[0], 20):
        tag, start, size, length = struct.unpack_from(">4sIII", data, at)
        if tag != b"name":
            continue
        table = data[start : start + size] if size == length else zlib.decompress(data[start : start + size])
        _, count, strings = struct.unpack_from(">HHH", table)
        entries = [struct.unpack_from(">6H", table, 6 + 12 * k) for k in range(count)]
        said = [table[strings + e[5] :][: e[4]].decode("utf-16-be") for e in entries if e[0] == 3 and e[3] in (0, 13)]
        return "\n\n".join(said)
    return ""


# --- Python distributions ---------------------------------------------------------------------------------------------


def _owners(path: Path) -> list[str]:
    """The distributions that have this very file, or a template of its name."""
    size, content = path.stat().st_size, path.read_bytes()
    same = {name for name, file in _static() if file.stat().st_size == size and file.read_bytes() == content}
    return sorted(same or {name for name, file in _static() if file.name in (f"{path.name}_t", f"{path.name}.jinja")})


@cache
def _static() -> list[tuple[str, Path]]:
    """All files of installed distributions that a site may have been given, with the names of the distributions."""
    kinds = KINDS | {".js_t", ".css_t", ".jinja"}
    return [
        (distribution.name, path)
        for distribution in metadata.distributions()
        for file in distribution.files or []
        if file.suffix in kinds and (path := Path(file.locate())).is_file()
    ]


@cache
def _distribution(name: str) -> Package:
    found = metadata.distribution(name)
    about = found.metadata
    texts = [Path(f.locate()) for f in found.files or [] if ".dist-info" in f.parts[0] and TEXTS.match(f.name)]
    stated = about.get("License-Expression") or about.get("License") or ""
    classified = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License ::")]
    licence = stated if stated and "\n" not in stated else ", ".join(classified) or "as below"
    return Package(f"{found.name} {found.version}", licence, tuple(map(_read, sorted(texts))))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")
