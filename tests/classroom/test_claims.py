"""The ledger: its tables are sound, statuses follow from evidence, and a test that cannot fail is refused."""

import csv
import json
import re
import shutil

import pytest

from flatcube.classroom import claims
from flatcube.press import notebook
from tests import notes, rooms

PASSED = {"test": "tests/test_a.py::test_a", "outcome": "passed"}
MUTATION = {"replaces": "module.f", "sentence": "It is wrong.", "printed": False}


# --- the tables of this book ------------------------------------------------------------------------------------------


def test_our_tables_load_and_cover_all_papers_and_chapters():
    table = claims.claims()
    assert {claim.source for claim in table.values()} == set(claims.SOURCES)
    chapters = {chapter for claim in table.values() for chapter in claim.chapters}
    assert set(range(1, 19)) <= chapters <= set(map(int, rooms.ROOMS.values()))  # a new one may have none yet
    assert len(claims.errata()) >= 68
    assert claims.counts(claims.ledger())["total"] == len(table) >= 268


def test_every_claim_is_filed_under_a_chapter_that_tells_it():
    """The ledger links each claim to its chapters; those whose mark no chapter has are known by their tests alone."""
    told: dict[str, set[int]] = {}
    for path in notebook.chapters(claims.DATA.parent):
        for words in re.findall(r"{claim}`([^`]*)`", path.read_text(encoding="utf-8")):
            for name in words.split(","):
                told.setdefault(name.strip(), set()).add(int(path.stem[:2]))
    wrong = {key: (one.chapters, told[key]) for key, one in claims.claims().items()
             if key in told and told[key].isdisjoint(one.chapters)}  # fmt: skip
    assert not wrong and len(told) > 200


def test_every_status_has_words_and_every_entry_a_status():
    assert {entry.status for entry in claims.ledger()} <= set(claims.STATUSES)


def test_settings_that_point_to_another_claim_point_to_one_that_exists():
    table = claims.claims()
    pointers = [claim.settings.split(";")[0] for claim in table.values() if claim.settings.startswith("as ")]
    assert pointers
    assert all(pointer.removeprefix("as ").split()[0].rstrip(",") in table for pointer in pointers)


# --- statuses ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A small data folder: one theorem, one trend, one number, one extension."""
    tmp_path = tmp_path / "data"
    tmp_path.mkdir()
    rows = [
        ["id", "source", "location", "kind", "chapters", "claim", "check", "settings"],
        ["HR-T", "HR", "Sec. 1", "theorem", "1", "A theorem.", "Compute.", ""],
        ["HR-E", "HR", "Fig. 1", "experiment-trend", "12", "A trend.", "Train.", ""],
        ["HR-N", "HR", "Table 1", "experiment-number", "12", "A number.", "Train.", ""],
        ["VA-X", "VA", "App. E", "extension", "2 15", "A question.", "Try.", ""],
    ]
    _write(tmp_path / "claims.csv", rows)
    head = ["number", "source", "kind", "place", "printed", "right", "demonstration", "claims"]
    _write(tmp_path / "errata.csv", [head, ["1", "HR", "result", "Sec. 1", "Wrong.", "Right.", "1 ≠ 2.", "HR-T HR-N"]])
    _write(tmp_path / "measured.csv", [["id", "verdict", "statement", "results", "command"]])
    return tmp_path


def _write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows(rows)


def _status(folder, key, **records):
    """The status of one claim if the evidence of each claim is as given."""
    evidence = {name.replace("_", "-"): entries for name, entries in records.items()}
    (folder / "evidence.json").write_text(json.dumps(evidence), encoding="utf-8")
    return {entry.claim.id: entry.status for entry in claims.ledger(folder)}[key]


def test_without_evidence_a_claim_is_open(folder):
    assert _status(folder, "HR-T") == "open"


def test_a_theorem_with_a_test_that_can_fail_holds(folder):
    assert _status(folder, "HR-T", HR_T=[PASSED | {"mutations": [MUTATION]}]) == "holds"


@pytest.mark.parametrize(
    "record",
    [
        PASSED | {"outcome": "failed", "mutations": [MUTATION]},
        PASSED | {"outcome": "skipped", "mutations": [MUTATION]},
        PASSED | {"mutations": []},
    ],
)
def test_one_bad_test_among_good_ones_makes_a_claim_failing(folder, record):
    good = PASSED | {"mutations": [MUTATION]}
    assert _status(folder, "HR-T", HR_T=[good, record]) == "failing"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("result", "false as printed"),
        ("repair", "holds with a correction"),
        ("slip", "holds with a correction"),
        ("unjudged", "holds"),
        ("remark", "holds"),
    ],
)
def test_what_the_printed_form_loses_depends_on_the_kind_of_its_erratum(folder, kind, status):
    text = (folder / "errata.csv").read_text(encoding="utf-8")
    (folder / "errata.csv").write_text(text.replace(",result,", f",{kind},"), encoding="utf-8")
    record = PASSED | {"mutations": [MUTATION | {"printed": True}], "erratum": 1}
    assert _status(folder, "HR-T", HR_T=[record]) == status


def test_true_statements_of_ours_are_not_shown_as_failed():
    """The theorem of chapter 9 and what the book proves itself; corrected arguments do not condemn them."""
    found = {entry.claim.id: entry.status for entry in claims.ledger()}
    assert found["HR-T6"] == found["HR-T6b"] == "holds with a correction"
    assert found["ED-A7"] == found["ED-A9"] == found["ED-X2"] == found["HR-D-SH"] == "holds"
    accused = {key for key, status in found.items() if status == "false as printed"}
    assert accused == {"HR-S5-HESS", "HR-SUM-CLAIM", "VA-P31"}


def test_an_erratum_that_accuses_is_demonstrated():
    shown = {test.erratum for tests in claims.evidence().values() for test in tests}
    accusing = {erratum.number for erratum in claims.errata() if erratum.kind in ("result", "repair", "slip")}
    assert sorted(accusing - shown) == []


def test_a_trend_needs_a_measured_row(folder):
    record = PASSED | {"mutations": [MUTATION]}
    assert _status(folder, "HR-E", HR_E=[record]) == "open"
    row = ["HR-E", "agrees", "Slope 0.05 ± 0.01.", "data/results/length.csv", "flatcube run length"]
    _write(folder / "measured.csv", [["id", "verdict", "statement", "results", "command"], row])
    assert _status(folder, "HR-E") == "holds at our scale"


@pytest.mark.parametrize(
    ("verdict", "setting", "status", "ground"),
    [
        ("agrees", "same", "holds at our scale", "same setting"),
        ("agrees", "", "holds at our scale", "smaller scale"),
        ("agrees in part", "smaller", "holds in part at our scale", "smaller scale"),
        ("differs", "smaller", "does not hold at our scale", "smaller scale"),
        ("agrees", "stand-in", "a trend on stand-in data", "stand-in data"),
        ("agrees in part", "stand-in", "a part of the trend on stand-in data", "stand-in data"),
        ("differs", "stand-in", "no such trend on stand-in data", "stand-in data"),
        ("cannot be run here", "stand-in", "cannot be run here", "cannot be run here"),
    ],
)
@pytest.mark.parametrize("key", ["HR-E", "HR-N"])
def test_a_verdict_says_in_which_setting_it_was_found(folder, key, verdict, setting, status, ground):
    row = [key, verdict, setting, "Slope 0.05 ± 0.01.", "data/length.csv", "flatcube run length"]
    _write(folder / "measured.csv", [["id", "verdict", "setting", "statement", "results", "command"], row])
    assert _status(folder, key) == status
    found = {entry.claim.id: entry.ground for entry in claims.ledger(folder)}
    assert found[key] == ground
    assert claims.grounds(claims.ledger(folder)) == dict.fromkeys(claims.GROUNDS, 0) | {ground: 1, "open": 3}


def test_the_sizes_of_our_runs_come_from_the_manifest(folder):
    row = ["HR-E", "agrees", "Slope 0.05.", "data/length.csv", "flatcube run length"]
    _write(folder / "measured.csv", [["id", "verdict", "statement", "results", "command"], row])
    made = {"length.csv": {"config": {"n": [4, 12, 8], "width": [64], "seed": [0, 1]}}}
    (folder / "manifest.json").write_text(json.dumps(made), encoding="utf-8")
    assert claims.measurements(folder)["HR-E"].ours == "n 4, 8, 12; width 64"


def test_every_row_of_ours_names_its_sizes_beside_those_of_the_paper():
    assert [key for key, row in claims.measurements().items() if not row.ours] == []


def test_a_claim_without_a_verdict_says_why(folder):
    why = [["id", "verdict", "reason"], ["HR-E", "cannot be run here", "It needs a thousand processors for a year."]]
    why += [["HR-T", "cannot be judged", "The formula is missing from our text."]]
    why += [["HR-N", "open", "Nobody has trained it for long enough."]]
    _write(folder / "reasons.csv", why)
    tests = {key: [PASSED | {"mutations": [MUTATION]}] for key in ("HR_T", "HR_N")}
    assert _status(folder, "HR-E", **tests) == "cannot be run here"
    assert _status(folder, "HR-T", **tests) == "cannot be judged"  # what passes is ours
    assert _status(folder, "HR-N", **tests) == "holds"  # evidence has come


def test_none_of_ours_is_open_without_a_reason():
    assert [entry.claim.id for entry in claims.ledger() if entry.status == "open" and entry.reason is None] == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["HR-Z", "open", "Nobody has trained it for long enough."], "HR-Z is not an id of claims.csv"),
        (["HR-T", "holds", "Nobody has trained it for long enough."], "verdict 'holds' is none of cannot be judged"),
        (["HR-T", "open", "No."], "HR-T has no reason"),
    ],
)
def test_a_slip_in_the_reasons_is_named_with_its_row(folder, row, words):
    _write(folder / "reasons.csv", [["id", "verdict", "reason"], row])
    with pytest.raises(ValueError, match=r"reasons\.csv, row 1") as caught:
        claims.reasons(folder)
    assert words in str(caught.value)


def test_a_test_that_is_gone_speaks_for_nothing(folder):
    evidence = {"HR_T": [PASSED | {"mutations": [MUTATION]}]}
    (folder.parent / "tests").mkdir()
    path = folder.parent / "tests" / "test_a.py"
    path.write_text("def test_a(): pass\n", encoding="utf-8")
    assert _status(folder, "HR-T", **evidence) == "holds"
    path.write_text("def test_another(): pass\n", encoding="utf-8")
    assert _status(folder, "HR-T", **evidence) == "open"
    assert claims.lost(folder) == [("HR-T", "tests/test_a.py::test_a")]
    path.unlink()
    assert _status(folder, "HR-T", **evidence) == "open"


def test_all_tests_of_our_evidence_are_there():
    assert claims.lost() == []


def test_a_measured_row_is_no_evidence_for_a_theorem(folder):
    row = ["HR-T", "agrees", "It seems so.", "data/results/length.csv", "flatcube run length"]
    _write(folder / "measured.csv", [["id", "verdict", "statement", "results", "command"], row])
    assert _status(folder, "HR-T") == "open"


def test_an_exact_recomputation_speaks_for_a_printed_number(folder):
    assert _status(folder, "HR-N", HR_N=[PASSED | {"mutations": [MUTATION]}]) == "holds"


def test_counts_name_every_status_and_the_total(folder):
    found = claims.counts(claims.ledger(folder))
    assert found == dict.fromkeys(claims.STATUSES, 0) | {"open": 4, "total": 4}


def test_an_entry_knows_the_errata_that_touch_it(folder):
    touched = {entry.claim.id: [erratum.number for erratum in entry.errata] for entry in claims.ledger(folder)}
    assert touched == {"HR-T": [1], "HR-E": [], "HR-N": [1], "VA-X": []}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["HR-T", "HR", "S", "theorem", "1", "C.", "", ""], "row 5: the id HR-T occurs twice"),
        (["XX-1", "XX", "S", "theorem", "1", "C.", "", ""], "source 'XX' is none of HR, SP, VA, ED"),
        (["HR-1", "VA", "S", "theorem", "1", "C.", "", ""], "the id HR-1 must begin with VA-"),
        (["HR-1", "HR", "S", "lemma", "1", "C.", "", ""], "kind 'lemma' is none of definition"),
        (["HR-1", "HR", "S", "theorem", "0", "C.", "", ""], "chapters '0' must be numbers from 1 to 99"),
        (["HR-1", "HR", "S", "theorem", "", "C.", "", ""], "chapters '' must be numbers from 1 to 99"),
        (["HR-1", "HR", "", "theorem", "1", "C.", "", ""], "HR-1 has no statement or no location"),
    ],
)
def test_a_slip_in_the_table_is_named_with_its_row(folder, row, words):
    with (folder / "claims.csv").open("a", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerow(row)
    with pytest.raises(ValueError, match=r"claims\.csv, row 5") as caught:
        claims.claims(folder)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["3", "HR", "slip", "S", "p", "r", "d", "HR-T"], "number '3', expected 2"),
        (["2", "HR", "A", "S", "p", "r", "d", "HR-T"], "kind 'A' is none of result, repair, slip, unjudged, remark"),
        (["2", "HR", "slip", "S", "p", "r", "d", "HR-Z"], "claims 'HR-Z' must be ids of claims.csv"),
    ],
)
def test_a_slip_in_the_errata_is_named_with_its_row(folder, row, words):
    with (folder / "errata.csv").open("a", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerow(row)
    with pytest.raises(ValueError, match=r"errata\.csv, row 2") as caught:
        claims.errata(folder)
    assert words in str(caught.value)


def test_evidence_for_an_unknown_claim_is_refused(folder):
    with pytest.raises(ValueError, match="HR-Q is not an id of claims.csv"):
        _status(folder, "HR-T", HR_Q=[PASSED | {"mutations": [MUTATION]}])


# --- the marker -------------------------------------------------------------------------------------------------------

HEAD = """
import math
import pytest
wrong = lambda x: -1.0
"""


@pytest.fixture
def book(pytester, folder, monkeypatch):
    """A small project with the data folder above; returns a function that runs its tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the workers of xdist start much faster
    shutil.copytree(folder, pytester.path / "data")
    pytester.makeini("[pytest]\ntestpaths = tests\naddopts = --import-mode=importlib --strict-markers")

    def run(body, *arguments, name="tests/test_a.py"):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + body, encoding="utf-8")
        return pytester.runpytest("-p", "tests.evidence", "-p", "xdist", *arguments)

    run.evidence = pytester.path / "data" / "evidence.json"
    return run


GOOD = """
@pytest.mark.claim("HR-T", mutant=("math.sqrt", wrong, "Roots are negative."), note="four")
def test_root(): assert math.sqrt(4) == 2
"""


def test_a_test_that_passes_and_fails_on_its_mutant_is_recorded(book):
    result = book(GOOD, "--write-evidence")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    mutation = {"replaces": "math.sqrt", "sentence": "Roots are negative.", "printed": False}
    record = {"test": "tests/test_a.py::test_root", "outcome": "passed", "note": "four", "erratum": None}
    assert json.loads(book.evidence.read_text(encoding="utf-8")) == {"HR-T": [record | {"mutations": [mutation]}]}


def test_a_test_that_survives_its_mutant_fails(book):
    result = book(GOOD.replace("== 2", "< 3"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*survives the mutation of math.sqrt (Roots are negative.)*"])


def test_a_test_that_cannot_see_the_replacement_fails(book):
    result = book("root = math.sqrt" + GOOD.replace("math.sqrt(4)", "root(4)"))
    result.stdout.fnmatch_lines(["*survives the mutation of math.sqrt*"])


def test_a_mutant_that_only_breaks_the_code_is_no_proof(book):
    result = book("def wrong(x): raise TypeError('no')" + GOOD)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*stops with TypeError under the mutation of math.sqrt*"])


def test_failing_where_an_error_was_expected_counts_as_failing(book):
    body = GOOD.replace("assert math.sqrt(4) == 2", "pytest.raises(ValueError, math.sqrt, -1)")
    book(body).assert_outcomes(passed=1)


def test_the_replacement_is_undone(book):
    result = book(GOOD + "\ndef test_after(): assert math.sqrt(9) == 3\n")
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('"HR-ZZ", mutant=("math.sqrt", wrong, "s")', "must name one id of claims.csv"),
        ("", "must name one id of claims.csv"),
        ('"HR-T", mutants=("math.sqrt", wrong, "s")', "must name one id of claims.csv"),
        ('"HR-T"', "needs mutant="),
        ('"HR-T", mutant=("math.sqrt", wrong)', "needs mutant="),
        ('"HR-T", printed=("math.sqrt", wrong, "s")', "needs both printed= and erratum="),
        ('"HR-T", printed=("math.sqrt", wrong, "s"), erratum=2', "erratum=2 is not one of HR-T"),
        ('"HR-E", printed=("math.sqrt", wrong, "s"), erratum=1', "erratum=1 is not one of HR-E"),
    ],
)
def test_a_marker_that_cannot_serve_is_an_error_at_collection(book, arguments, words):
    result = book(f"@pytest.mark.claim({arguments})\ndef test_root(): assert math.sqrt(4) == 2\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()


def test_the_printed_form_is_recorded_as_such(book):
    marker = '@pytest.mark.claim("HR-T", printed=("math.sqrt", wrong, "As printed."), erratum=1)'
    book(f"{marker}\ndef test_root(): assert math.sqrt(4) == 2\n", "--write-evidence")
    record = json.loads(book.evidence.read_text(encoding="utf-8"))["HR-T"][0]
    assert record["erratum"] == 1
    assert record["mutations"][0]["printed"]


def test_one_test_may_speak_for_two_claims(book):
    second = '@pytest.mark.claim("HR-N", mutant=[("math.sqrt", wrong, "One."), ("math.sqrt", wrong, "Two.")])'
    book(GOOD.replace("\ndef", f"\n{second}\ndef"), "--write-evidence").assert_outcomes(passed=1)
    found = json.loads(book.evidence.read_text(encoding="utf-8"))
    assert [len(found[key][0]["mutations"]) for key in ("HR-N", "HR-T")] == [2, 1]


# --- notes ----------------------------------------------------------------------------------------------------------


def test_no_note_of_ours_has_a_number_that_its_test_does_not_have():
    files = sorted((claims.DATA.parent / "tests").glob("*/test_*.py"))
    assert [slip for path in files for slip in notes.slips(path)] == []


def test_a_note_says_what_its_test_found(book):
    body = GOOD.replace("four", "the root of 4 is {root:.1f}")
    body = body.replace("== 2", "== 2; return {'root': math.sqrt(4)}")
    book(body, "--write-evidence").assert_outcomes(passed=1)
    assert json.loads(book.evidence.read_text(encoding="utf-8"))["HR-T"][0]["note"] == "the root of 4 is 2.0"
    book(body.replace("{root", "{size")).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("note", "wrong"),
    [
        ("all tables with n ≤ 16, two of 1,000", []),
        ("all tables with n ≤ 18", ["18"]),  # the range ends before 17
        ("n ≤ 16, up to 2 % beyond {most:.2f} and 10⁻³", []),
        ("within 3 %", ["3"]),
        ("up to 10⁻⁴", ["1e-4"]),
        ("never above 0.13, at most 12.5", []),
        ("never above 0.14", ["0.14"]),
        ("from 10⁶ on", []),
    ],
)
def test_a_planted_contradiction_between_a_note_and_its_test_is_found(tmp_path, note, wrong):
    path = tmp_path / "test_it.py"
    path.write_text(
        "LARGEST = 12.5\n"
        "def helper(draws=1000): return 0.128 * draws\n"
        f"@claim('HR-T', mutant=('a.b', 1, 'x'), note={note!r})\n"
        "def test_it():\n"
        "    for n in range(1, 17): assert helper() < 0.02 + 1e-3 + 10**6\n",
        encoding="utf-8",
    )
    assert notes.slips(path) == ([f"test_it.py::test_it, HR-T: {', '.join(wrong)}"] if wrong else [])


# --- the file of evidence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_whole_run_fails_until_the_evidence_is_refreshed(book, workers):
    stale = book(GOOD, *workers)
    assert stale.ret == pytest.ExitCode.TESTS_FAILED
    stale.stdout.fnmatch_lines(["data/evidence.json is not what this run showed: refresh it with *"])
    assert book(GOOD, "--write-evidence", *workers).ret == 0
    assert book(GOOD, *workers).ret == 0
    assert book(GOOD.replace("negative", "false"), *workers).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    "part", [("-k", "other"), ("tests/test_b.py",), ("tests/test_a.py::test_other",), ("-k", "other", "-n", "2")]
)
def test_a_run_of_some_tests_says_nothing_about_the_evidence(book, part):
    book("\ndef test_nothing(): pass\n", name="tests/test_b.py")
    body = GOOD + "\ndef test_other(): assert True\n"
    assert book(body, *part).ret == 0
    refused = book(body, "--write-evidence", *part)
    assert refused.ret == 0
    assert not book.evidence.exists()
    refused.stdout.fnmatch_lines(["*evidence.json was not written*"])


@pytest.mark.parametrize(
    ("before", "after", "same"), [(0.1249999, 0.1250001, True), (0.125, 0.145, False), (0.125, -0.125, False)]
)
def test_what_another_processor_rounds_otherwise_is_no_news(book, before, after, same):
    body = GOOD.replace("four", "off by {off:.2f}").replace("== 2", "== 2; return {'off': OFF}")
    book(f"OFF = {before}\n{body}", "--write-evidence")
    first = book.evidence.read_text(encoding="utf-8")
    assert book(f"OFF = {after}\n{body}").ret == (0 if same else pytest.ExitCode.TESTS_FAILED)
    book(f"OFF = {after}\n{body}", "--write-evidence")
    assert (book.evidence.read_text(encoding="utf-8") == first) == same
    book.evidence.write_text(first[:-9], encoding="utf-8")  # torn
    assert book(f"OFF = {before}\n{body}").ret == pytest.ExitCode.TESTS_FAILED
    book(f"OFF = {before}\n{body}", "--write-evidence")
    assert book.evidence.read_text(encoding="utf-8") == first


def test_the_evidence_does_not_depend_on_the_order_of_the_tests(book):
    other = GOOD.replace("test_root", "test_again")
    book(GOOD + other, "--write-evidence")
    first = book.evidence.read_text(encoding="utf-8")
    book(other + GOOD, "--write-evidence")
    assert book.evidence.read_text(encoding="utf-8") == first


def test_a_failing_claim_test_is_recorded_as_failing(book):
    result = book(GOOD.replace("== 2", "== 3"), "--write-evidence")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert json.loads(book.evidence.read_text(encoding="utf-8"))["HR-T"][0]["outcome"] == "failed"
