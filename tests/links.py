"""Every link of the built site that leaves it: does it answer? For a machine with a network, once a week.

    python -m tests.links              all links of _build/html; names those that are dead
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS, AT_ONCE = 30, 8
BUSY = {403, 429, 503}  # servers that answer no program, or not now: the page is there
_LINK = re.compile(r'<a\s[^>]*href="(https?://[^"#]+)')
_AGENT = {"User-Agent": "Mozilla/5.0 (link check of a book)"}


def found(site: Path) -> dict[str, str]:
    """The addresses that the pages of a site link to, each with the first page that has it."""
    pages = sorted(site.rglob("*.html"))
    links = ((link, page) for page in pages for link in _LINK.findall(page.read_text(encoding="utf-8")))
    return {link: page.relative_to(site).as_posix() for link, page in reversed(list(links))}


def trouble(link: str) -> str | None:
    """What is wrong with a link, or None if it answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(link, headers=_AGENT), timeout=SECONDS):
            return None
    except urllib.error.HTTPError as error:
        return None if error.code in BUSY else f"answers {error.code}"
    except (OSError, ValueError) as error:
        return f"does not answer ({error})"


def dead(links: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The links that do not work, each with what is wrong."""
    links = list(links)
    with ThreadPoolExecutor(AT_ONCE) as several:
        yield from ((link, said) for link, said in zip(links, several.map(trouble, links), strict=True) if said)


def main(site: Path = ROOT / "_build" / "html") -> int:
    """Try all links; name the dead ones; 0 if there are none."""
    links = found(site)
    wrong = dict(dead(links))
    for link, said in wrong.items():
        print(f"✗ {links[link]}: {link} {said}.", file=sys.stderr)
    print(f"{len(links) - len(wrong)} of {len(links)} links answer.")
    return int(bool(wrong) or not links)


if __name__ == "__main__":
    raise SystemExit(main())
