"""The marker `claim`: tests that speak for a claim, and the proof that they can fail.

This is a pytest plugin; `conftest.py` loads it. A test says which claim it speaks for and names at least one
*mutant*: a part of the library, a wrong replacement for it, and a sentence that says what is wrong::

    @pytest.mark.claim("HR-EQ17", mutant=("flatcube.fourier.transforms.transform", unscaled, "No factor 2^-n."))
    def test_average_sensitivity_is_the_mean_degree(): ...

The test runs once as it is and must pass. Then it runs once per mutant, with the replacement in place, and must fail
an assertion. For a mistake in print, `printed=(…)` is the mutant that follows the printed form, and `erratum=` its
number. A `note` says what was found; the test returns these numbers by name (`tests.notes`). The replacement reaches
only code that looks the name up in its module: write `fourier.transform(…)` in the test, not a name imported from it.

`make evidence` (`pytest --write-evidence`) writes what a whole run showed to `data/evidence.json`; any whole run
without the option fails if the file says something else. Numbers in notes may differ by what the rounding of another
processor makes of them, as in outputs of chapters; then the file is left as it is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flatcube.classroom import claims
from flatcube.press import compare
from tests import notes

COMMAND = "make evidence"
_MARKED = re.compile(r"^\s*@(pytest\.mark\.)?claim\(", re.MULTILINE)
_UNFINISHED = {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-evidence", action="store_true", help="write data/evidence.json after a whole run")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claim(id, *, mutant, printed, erratum, note): speaks for a claim of the ledger")
    config.pluginmanager.register(Evidence(config), "flatcube-evidence")


class Evidence:
    """Gathers what the claim tests of one session show, also from the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.data: Path = config.rootpath / "data"
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        self.files: set[str] = set()
        self.deselected = False
        self.message = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        marked = [item for item in items if item.get_closest_marker("claim")]
        if not marked:
            return
        known = claims.claims(self.data)
        mistakes = {erratum.number: erratum for erratum in claims.errata(self.data)}
        for item in marked:
            carried = [_carried(item, marker, known, mistakes) for marker in item.iter_markers("claim")]
            item.user_properties.append(("claims", sorted(carried, key=lambda entry: entry["id"])))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected |= any(item.get_closest_marker("claim") for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.deselected |= getattr(node, "workeroutput", {}).get("claims_deselected", True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a test with claims, put what it returns into its notes, and run it on its mutants."""
        markers = list(pyfuncitem.iter_markers("claim"))
        if not markers:
            return None
        found = pyfuncitem.obj(**_arguments(pyfuncitem))
        for entry in dict(pyfuncitem.user_properties)["claims"]:
            entry["note"] = notes.filled(entry["note"], found)
        for marker in markers:
            for mutant in _mutants(marker):
                _must_fail(pyfuncitem, *mutant)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.files.add(report.nodeid.split("::")[0])
        if report.when != "call" and report.passed:
            return
        for entry in dict(report.user_properties).get("claims", []):
            details = {key: value for key, value in entry.items() if key != "id"}
            self.records[entry["id"], report.nodeid] = {"test": report.nodeid, "outcome": report.outcome} | details

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["claims_deselected"] = self.deselected
            return
        writing, path = self.config.getoption("--write-evidence"), self.data / "evidence.json"
        stored = path.read_text(encoding="utf-8") if path.exists() else "{}\n"
        if not self._whole(session):
            self.message = f"{path.name} was not written: run all tests with claims." if writing else ""
        elif agree(stored, self.text()):
            self.message = f"{path.name} says that already." if writing else ""
        elif writing:
            path.write_text(self.text(), encoding="utf-8")
            self.message = f"{path.name} was written."
        else:
            self.message = f"data/{path.name} is not what this run showed: refresh it with `{COMMAND}`."
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.message:
            terminalreporter.write_line(self.message)

    def text(self) -> str:
        """What `evidence.json` holds: tests by claim, in an order that does not depend on the run."""
        found: dict[str, list[dict[str, Any]]] = {}
        for (key, _), record in sorted(self.records.items()):
            found.setdefault(key, []).append(record)
        return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    def _whole(self, session: pytest.Session) -> bool:
        """Whether every test with a claim ran: a run of some of them says nothing about the file."""
        stopped = session.shouldstop or session.shouldfail or session.exitstatus in _UNFINISHED
        named = any("::" in str(argument) for argument in self.config.args)
        if stopped or named or self.deselected or self.config.getoption("collectonly"):
            return False
        root, folders = self.config.rootpath, self.config.getini("testpaths") or ["tests"]
        files = [path for folder in folders for path in (root / folder).rglob("test_*.py")]
        with_claims = (path for path in files if _MARKED.search(path.read_text(encoding="utf-8")))
        return all(path.relative_to(root).as_posix() in self.files for path in with_claims)


def agree(stored: str, fresh: str) -> bool:
    """Whether two contents of `evidence.json` say the same: the numbers in notes to rounding, all else exactly."""
    try:
        contents = [json.loads(stored), json.loads(fresh)]
        said = [[record.pop("note") for key in sorted(found) for record in found[key]] for found in contents]
    except (ValueError, LookupError, TypeError, AttributeError):  # no file that this plugin has written
        return False
    return contents[0] == contents[1] and compare.of_data(*said) is None


def _carried(
    item: pytest.Item, marker: pytest.Mark, known: dict[str, claims.Claim], mistakes: dict[int, claims.Erratum]
) -> dict[str, Any]:
    """What one marker says, ready for the ledger; refused if it could not serve as evidence."""
    key, erratum = marker.args[0] if marker.args else None, marker.kwargs.get("erratum")
    unknown = sorted(set(marker.kwargs) - {"mutant", "printed", "erratum", "note"})
    if key not in known or len(marker.args) != 1 or unknown:
        raise pytest.UsageError(f"{item.nodeid}: claim{(*marker.args, *unknown)} must name one id of claims.csv.")
    mutants = _mutants(marker)
    if not mutants or not all(len(m) == 4 and isinstance(m[0], str) and isinstance(m[2], str) for m in mutants):
        raise pytest.UsageError(f"{item.nodeid}: {key} needs mutant=(what it replaces, replacement, sentence).")
    if (erratum is None) != ("printed" not in marker.kwargs):
        raise pytest.UsageError(f"{item.nodeid}: {key} needs both printed= and erratum=, or neither.")
    if erratum is not None and (erratum not in mistakes or key not in mistakes[erratum].claims):
        raise pytest.UsageError(f"{item.nodeid}: erratum={erratum} is not one of {key} in errata.csv.")
    return {
        "id": key,
        "note": marker.kwargs.get("note", ""),
        "erratum": erratum,
        "mutations": [{"replaces": m[0], "sentence": m[2], "printed": m[3]} for m in mutants],
    }


def _mutants(marker: pytest.Mark) -> list[tuple[str, Any, str, bool]]:
    """The mutants of a marker as (what it replaces, replacement, sentence, whether it is the printed form)."""
    given = marker.kwargs.get("mutant", [])
    given = [given] if isinstance(given, tuple) else given
    printed = [marker.kwargs["printed"]] if "printed" in marker.kwargs else []
    return [(*mutant, False) for mutant in given] + [(*mutant, True) for mutant in printed]


def _arguments(item: pytest.Function) -> dict[str, Any]:
    return {name: item.funcargs[name] for name in item._fixtureinfo.argnames}


def _must_fail(item: pytest.Function, replaces: str, replacement: Any, sentence: str, printed: bool) -> None:
    """Run the test with one part of the library replaced; it must fail an assertion."""
    mutation = f"the {'printed form' if printed else 'mutation'} of {replaces} ({sentence})"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replaces, replacement)
        try:
            item.obj(**_arguments(item))
        except Exception as error:
            if _is_assertion(error):
                return
            pytest.fail(f"stops with {type(error).__name__} under {mutation} before an assertion fails: {error}")
        except pytest.fail.Exception:
            return
    pytest.fail(f"survives {mutation}", pytrace=False)


def _is_assertion(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_assertion(part) for part in error.exceptions)
    return isinstance(error, AssertionError)
