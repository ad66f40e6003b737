"""`make lock`: the versions of this environment, with the hashes of every file that a supported machine may install.

    python -m tests.lock > requirements.lock

The hashes are those that the package index states. A lock with them installs the same bytes everywhere or nothing;
where they were downloaded does not matter, so no address is recorded. PyTorch is not in the lock: each of its builds
(with libraries for GPUs, for processors only) has files of its own, and pyproject.toml pins its version.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import requests
from bs4 import BeautifulSoup
from packaging import tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pip._internal.models.index import PyPI

HEAD = """\
# Every package of the book but PyTorch, pinned, with the hashes of its files for Python 3.11 to 3.13 on Linux, Windows
# and Macs with Apple silicon: flatcube with its extras torch, book, cluster and test. 'make lock' writes it.
"""
PYTHONS = ((3, 11), (3, 12), (3, 13))
PLATFORMS = re.compile(r"any|(many)?linux.*_(x86_64|aarch64)|macosx_.*_(arm64|universal2)|win_amd64")
# What a wheel may ask of the interpreter: pairs such as (cp311, cp311), (cp38, abi3) or (py3, none).
KINDS = {
    (tag.interpreter, tag.abi)
    for python in PYTHONS
    for tag in (
        *tags.cpython_tags(python, abis=[f"cp{python[0]}{python[1]}"], platforms=["any"]),
        *tags.compatible_tags(python, f"cp{python[0]}{python[1]}", ["any"]),
    )
}
AT_ONCE, SECONDS = 8, 60
PIP = [sys.executable, "-m", "pip"]


def pins() -> list[tuple[str, str]]:
    """Name and version of every installed package but flatcube, pip and PyTorch."""
    call = [*PIP, "freeze", "--all", "--exclude-editable", "--exclude", "pip", "--exclude", "torch"]
    said = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    return [tuple(line.split("==")) for line in said.splitlines()]


def fits(file: str, version: Version) -> bool:
    """Whether a wheel of this name has this version, and a supported machine may install it."""
    try:
        _, found, _, made_for = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return False
    return found == version and any(
        (tag.interpreter, tag.abi) in KINDS and PLATFORMS.fullmatch(tag.platform) for tag in made_for
    )


def chosen(listed: Iterable[tuple[str, str]], version: str) -> list[str]:
    """The hashes among the (file, hash) of an index that belong into the lock: wheels, or else the source."""
    listed = list(listed)
    wheels = {digest for file, digest in listed if fits(file, Version(version))}
    return sorted(wheels or {digest for file, digest in listed if _source(file, Version(version))})


def _source(file: str, version: Version) -> bool:
    return file.endswith(".tar.gz") and parse_sdist_filename(file)[1] == version


def files(page: str) -> Iterator[tuple[str, str]]:
    """The files that a page of the index links to, each with the SHA-256 that its address states."""
    for link in BeautifulSoup(page, "html.parser").find_all("a"):
        if found := re.search(r"#sha256=([0-9a-f]{64})$", link["href"]):
            yield link.get_text(strip=True), found[1]


def entry(name: str, version: str, index: str) -> str:
    """The lines of one package in the lock."""
    answer = requests.get(f"{index}/{canonicalize_name(name)}/", headers={"Accept": "text/html"}, timeout=SECONDS)
    answer.raise_for_status()
    hashes = chosen(files(answer.text), version)
    if not hashes:
        raise SystemExit(f"{name}=={version}: the index has no file of it with a hash.")
    return " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in hashes)])


def _index() -> str:
    """The address of the index that pip uses."""
    said = subprocess.run([*PIP, "config", "get", "global.index-url"], capture_output=True, text=True)
    return (said.stdout.strip() or PyPI.simple_url).rstrip("/")


def main() -> None:
    """Write the lock to the standard output."""
    index = _index()
    with ThreadPoolExecutor(AT_ONCE) as several:
        entries = list(several.map(lambda pin: entry(*pin, index), pins()))
    print(HEAD + "\n".join(entries))


if __name__ == "__main__":
    main()
