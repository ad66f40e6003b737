"""The rows of the ledger and of the errata as HTML: one fold per chapter, with its counts, and a form that filters.

A page with all of its rows in sight is fifty thousand pixels tall. So the rows of a paper stand in `details`, one for
each chapter: find-in-page and links open them, and `ledger.js` hides what a reader does not ask for.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flatcube.classroom import claims
from flatcube.press import front

__all__ = ["SOURCES", "Places", "of_claims", "of_errata", "as_csv", "claims_form", "errata_form", "typeset", "link"]

SOURCES = claims.SOURCES | {"SUM": "a short summary of HR"}
ERRATA = {kind: words.split(":")[0] for kind, words in claims.ERRATA.items()}


@dataclass(frozen=True)
class Places:
    """Where rows lead to: `address` gives the address of a labelled row, `chapter` a chapter of the plan as a link."""

    address: Callable[[str], str]
    chapter: Callable[[dict[str, str]], str]


# --- claims -----------------------------------------------------------------------------------------------------------


def of_claims(source: str, data: Path, places: Places) -> str:
    """The claims of one paper, a fold for each chapter in which they first appear."""
    plan, known = _plan(data), claims.claims(data)
    folds: dict[int, list[tuple[str, str]]] = {}
    for entry in claims.ledger(data):
        if entry.claim.source == source:
            row = _claim(entry, plan, known, places, data)
            folds.setdefault(entry.claim.chapters[0], []).append((row, entry.status))
    return _folds(folds, plan, ("Claim", "What it says, and what shows it"), "claims")


def _claim(entry: claims.Entry, plan: Mapping, known: Mapping, places: Places, data: Path) -> str:
    claim, verdict = entry.claim, entry.status
    where = " and ".join(places.chapter(plan[number]) for number in claim.chapters)
    # Settings stand in sight where ours stand next to them, or where they say that the paper's formula is missing.
    beside = entry.measurement is not None or "missing" in claim.settings
    settings = f"<p><b>Settings in the paper.</b> {typeset(claim.settings, known)}</p>" if claim.settings else ""
    if entry.measurement and entry.measurement.ours:
        settings += f"<p><b>Settings of our runs.</b> {html.escape(entry.measurement.ours)} ({_setting(entry)}).</p>"
    command = f"<p><code>flatcube verify {claim.id}</code></p>"
    details = f"<p>{typeset(claim.check, known)}</p>{'' if beside else settings}{command}"
    words = [claim.id, claim.kind, verdict, claim.location, claim.claim, claim.check]
    asked = {"paper": claim.source, "kind": claim.kind, "verdict": verdict, "ground": entry.ground}
    asked |= {"chapter": "|".join(map(str, claim.chapters))}
    return (
        f'<tr id="claim-{claim.id}" {_asked(asked, words)}>'
        f'<th scope="row"><a href="#claim-{claim.id}">{claim.id}</a><small>{claim.kind.replace("-", ": ")}</small>'
        f'<span class="fc-status fc-{claims.family(verdict)}">{verdict}</span></th>'
        f"<td><p>{typeset(claim.claim, known)}</p>"
        f'<p class="fc-where">{html.escape(claim.location)}; {where}</p>'
        f"{settings if beside else ''}{_evidence(entry, places, data)}"
        f"<details><summary>How to check {claim.id}</summary>{details}</details></td></tr>"
    )


def _setting(entry: claims.Entry) -> str:
    """How our settings compare with the paper's, in words."""
    return html.escape(claims.SETTINGS[entry.measurement.setting])


def as_csv(data: Path) -> str:
    """The ledger as one table of text: each claim with its verdict and what shows it, one row each."""
    text = io.StringIO()
    rows = [_plainly(entry) for entry in claims.ledger(data)]
    write = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    write.writeheader()
    write.writerows(rows)
    return text.getvalue()


def _plainly(entry: claims.Entry) -> dict[str, object]:
    """One row of the table."""
    claim, ours, why = entry.claim, entry.measurement, entry.reason
    return {
        "id": claim.id,
        "source": claim.source,
        "location": claim.location,
        "kind": claim.kind,
        "chapters": " ".join(map(str, claim.chapters)),
        "claim": claim.claim,
        "verdict": entry.status,
        "ground": entry.ground,
        "reason": why.reason if why and entry.status == why.verdict else "",
        "settings": claim.settings,
        "our settings": ours.ours if ours else "",
        "our runs": ours.statement if ours else "",
        "notes": " · ".join(test.note for test in entry.tests if test.note),
        "tests": " ".join(test.test for test in entry.tests),
        "errata": " ".join(str(erratum.number) for erratum in entry.errata),
        "command": f"flatcube verify {claim.id}",
    }


def _evidence(entry: claims.Entry, places: Places, data: Path) -> str:
    """The tests with their outcome and mutations, the measured row, and the errata that touch the claim."""
    parts = [_test(test, claims.source(test, data), entry.form(test)) for test in entry.tests]
    if entry.measurement:
        row = entry.measurement
        parts.append(f"<li>Our runs: {html.escape(row.statement)} <code>{row.command}</code></li>")
    if entry.reason and entry.reason.verdict == entry.status:
        parts.append(f"<li>{entry.status.capitalize()}: {html.escape(entry.reason.reason)}</li>")
    if entry.errata:
        links = ", ".join(link(places.address(f"erratum-{e.number}"), str(e.number)) for e in entry.errata)
        parts.append(f"<li>See erratum {links}.</li>")
    return f'<ul class="fc-evidence">{"".join(parts)}</ul>' if parts else ""


def _test(test: claims.Record, code: str, printed: str) -> str:
    file = test.test.split("::", 1)[0]
    note = f" ({html.escape(test.note)})" if test.note else ""
    broken = "".join(
        f"<li>{f'{printed.capitalize()}: ' if m.printed else ''}{html.escape(m.sentence)}"
        f" <small>In place of <code>{html.escape(m.replaces)}</code></small></li>"
        for m in test.mutations
    )
    count = len(test.mutations)
    fails = f"fails on {'its mutation' if count == 1 else f'its {count} mutations'}" if count else "has no mutation"
    outcome = test.outcome.capitalize() if test.outcome != "passed" else "Passes"
    return (
        f"<li>{_name(test)}{note}."
        f"<details><summary>{outcome}, and {fails}</summary><p><code>{html.escape(file)}</code></p>"
        f"<ul>{broken}</ul>{_code(code)}</details></li>"
    )


def _code(text: str) -> str:
    """The code of a test, in a box that the keyboard can scroll."""
    return f'<pre tabindex="0" role="group" aria-label="The test">{html.escape(text)}</pre>' if text else ""


def _name(test: claims.Record) -> str:
    """What a test shows, which is how it is named."""
    words = test.test.split("::", 1)[1].removeprefix("test_").replace("_", " ").replace("boolean", "Boolean")
    return html.escape(words[0].upper() + words[1:])


# --- errata -----------------------------------------------------------------------------------------------------------


def of_errata(source: str, data: Path, places: Places) -> str:
    """The errata of one paper, a fold for each chapter in which their first claim first appears."""
    plan, known, shown = _plan(data), claims.claims(data), _shown(data)
    folds: dict[int, list[tuple[str, str]]] = {}
    gravest_first = sorted(claims.errata(data), key=lambda erratum: list(ERRATA).index(erratum.kind))
    for erratum in gravest_first:
        if erratum.source == source:
            chapters = known[erratum.claims[0]].chapters
            row = _erratum(erratum, shown.get(erratum.number, []), known, places)
            folds.setdefault(chapters[0], []).append((row, ERRATA[erratum.kind]))
    return _folds(folds, plan, ("Erratum", "In print, and what is right"), "errata")


def _shown(data: Path) -> dict[int, list[claims.Record]]:
    """The tests that pass and speak of an erratum, by its number."""
    found: dict[int, list[claims.Record]] = {}
    for test in (test for tests in claims.evidence(data).values() for test in tests if test.outcome == "passed"):
        found.setdefault(test.erratum or 0, []).append(test)
    return found


def _erratum(erratum: claims.Erratum, tests: list[claims.Record], known: Mapping, places: Places) -> str:
    links = ", ".join(link(places.address(f"claim-{key}"), key) for key in erratum.claims)
    shown = "".join(f"<p><b>Shown by a test.</b> {_name(test)}.</p>" for test in tests)
    status, word = ("checked", "shown") if tests else ("open", "open")
    parts = [("Printed", erratum.printed), ("Right", erratum.right), ("Example", erratum.demonstration)]
    text = "".join(f"<p><b>{name}.</b> {typeset(words, known)}</p>" for name, words in parts)
    chapters = dict.fromkeys(number for key in erratum.claims for number in known[key].chapters)
    asked = {"paper": erratum.source, "kind": erratum.kind, "chapter": "|".join(map(str, chapters))}
    words = [f"erratum {erratum.number}", erratum.place, *erratum.claims, *(words for _, words in parts)]
    return (
        f'<tr id="erratum-{erratum.number}" {_asked(asked | {"verdict": word}, words)}>'
        f'<th scope="row"><a href="#erratum-{erratum.number}">{erratum.number}</a>'
        f"<small>{ERRATA[erratum.kind]}</small>"
        f'<span class="fc-status fc-{status}">{word}</span></th>'
        f'<td><p class="fc-where">{html.escape(erratum.place)}; {links}</p>{text}{shown}</td></tr>'
    )


# --- folds and forms --------------------------------------------------------------------------------------------------


def _folds(folds: Mapping[int, list[tuple[str, str]]], plan: Mapping, head: tuple[str, str], noun: str) -> str:
    """One fold per chapter: its rows, and in the handle how many there are of each kind."""
    columns = "".join(f'<th scope="col">{words}</th>' for words in head)
    parts = []
    for number, rows in sorted(folds.items()):
        title = f"Chapter {number} · {html.escape(plan[number]['title'])}"
        table = f"<thead><tr>{columns}</tr></thead><tbody>{''.join(row for row, _ in rows)}</tbody>"
        parts.append(
            f'<details class="fc-group"><summary><b>{title}</b> <span>{_tally([kind for _, kind in rows], noun)}</span>'
            f'</summary><table class="fc-claims">{table}</table></details>'
        )
    return "".join(parts)


def _tally(kinds: list[str], noun: str) -> str:
    """Counts in words.

    >>> _tally(["holds", "open", "holds", "false as printed"], "claims")
    '4 claims; holds: 2, open: 1, false as printed: 1'
    """
    each = ", ".join(f"{kind}: {count}" for kind, count in Counter(kinds).most_common())
    one = {"claims": "claim", "errata": "erratum"}[noun]
    return f"{len(kinds)} {noun if len(kinds) > 1 else one}; {each}"


def _asked(given: Mapping[str, str], words: Iterable[str]) -> str:
    """What the form may ask of a row, as attributes."""
    given = {**given, "words": " ".join(words).lower()}
    return " ".join(f'data-{key}="{html.escape(value)}"' for key, value in given.items())


def claims_form(data: Path) -> str:
    """The filter of the claims: words, paper, chapter, kind, verdict, and what the verdict rests on."""
    entries = claims.ledger(data)
    chapters = {number for entry in entries for number in entry.claim.chapters}
    papers = {entry.claim.source for entry in entries}
    choices = _choices(data, papers, chapters) | {
        "Kind": _those(claims.KINDS, {entry.claim.kind for entry in entries}),
        "Verdict": _those(claims.STATUSES, {entry.status for entry in entries}),
        "Ground": _those(claims.GROUNDS, {entry.ground for entry in entries}),
    }
    return _form("claims", choices)


def _those(known: Iterable[str], found: set[str]) -> dict[str, str]:
    """The options that would leave a row, in their order."""
    return {name: name.replace("-", ": ") if name in claims.KINDS else name for name in known if name in found}


def errata_form(data: Path) -> str:
    """The filter of the errata: words, paper, chapter, kind, and whether a test shows them."""
    found, known = claims.errata(data), claims.claims(data)
    chapters = {number for erratum in found for key in erratum.claims for number in known[key].chapters}
    papers = {erratum.source for erratum in found}
    choices = _choices(data, papers, chapters) | {"Kind": ERRATA, "Verdict": {"shown": "shown", "open": "open"}}
    return _form("errata", choices)


def _choices(data: Path, papers: set[str], chapters: set[int]) -> dict[str, dict[str, str]]:
    titles = {str(number): f"{number} {row['title']}" for number, row in _plan(data).items() if number in chapters}
    return {"Paper": {key: f"{key}: {name}" for key, name in SOURCES.items() if key in papers}, "Chapter": titles}


def _form(noun: str, choices: Mapping[str, Mapping[str, str]]) -> str:
    """A filter with these choices, and a button that opens all folds. It stays hidden where scripts do not run."""
    fields = ""
    for name, options in choices.items():
        listed = "".join(f'<option value="{value}">{html.escape(words)}</option>' for value, words in options.items())
        fields += f'<label>{name} <select name="{name.lower()}"><option value="">all</option>{listed}</select></label>'
    return (
        f'<form class="fc-filter" hidden role="search" aria-label="Filter the {noun}" data-noun="{noun}">'
        '<label>Words or id <input type="search" name="words" autocomplete="off"></label>'
        f'{fields}<button type="button" class="fc-all">Open all</button><output aria-live="polite"></output></form>'
    )


# --- small things -----------------------------------------------------------------------------------------------------


def _plan(data: Path) -> dict[int, dict[str, str]]:
    return {int(row["number"]): row for row in front.plan(data)}


def typeset(text: str, known: Iterable[str] = ()) -> str:
    """Plain text as HTML: x_i and n^(1/4) get real indices and exponents, ids of claims become links.

    >>> typeset("as_n ≤ n^(1/4)")
    'as<sub>n</sub> ≤ n<sup>1/4</sup>'
    """
    text = html.escape(text, quote=False)
    text = re.sub(r"(?<=[\w‖)}])\^(?:\{([^}]+)\}|\(((?:[^()]|\([^()]*\))+)\)|(\w+))", r"<sup>\1\2\3</sup>", text)
    text = re.sub(r"(?<=[^\W_]|[‖)∏∑])_(?:\{([^}]+)\}|([A-Za-z0-9Α-ω]+|[∞∅]))", r"<sub>\1\2</sub>", text)
    ids = set(known)
    return re.sub(
        r"\b[A-Z]{2}-[A-Za-z0-9-]*[A-Za-z0-9]",
        lambda match: link(f"#claim-{match[0]}", match[0]) if match[0] in ids else match[0],
        text,
    )


def link(address: str, words: str) -> str:
    """A link, or the words alone if there is no address."""
    return f'<a href="{html.escape(address)}">{words}</a>' if address else words
