"""`flatcube verify`: one claim at a time, by its tests or from stored results; what the ledger has wrong is noticed."""

import csv
import json
import shutil

import pytest

from flatcube import cli
from flatcube.classroom import claims
from flatcube.press import compare
from flatcube.press.verify import verify

ROOT = claims.DATA.parent


def _said(root, key):
    said = []
    return verify(root, key, said.append), "\n".join(said)


def test_the_command_runs_the_tests_of_a_claim_and_names_their_mutations(capsys):
    assert cli.main(["--root", str(ROOT), "verify", "HR-EQ17"]) == 0
    said = capsys.readouterr().out
    for test in claims.evidence()["HR-EQ17"]:
        assert test.test in said and all(mutation.sentence in said for mutation in test.mutations)
    assert "Verdict: holds." in said


def test_a_measured_claim_is_computed_again_from_what_is_stored():
    well, said = _said(ROOT, "SP-F8")
    told = [line.partition("): ")[2] for line in said.splitlines()]
    stored = claims.measurements()["SP-F8"].statement
    assert well and any(compare.of_texts(stored, line) is None for line in told)


@pytest.fixture
def book(tmp_path):
    """A book with our data, to be spoilt, and one test."""
    shutil.copytree(claims.DATA, tmp_path / "data")
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one():\n    assert False, 'broken here'\n")
    return tmp_path


def test_a_claim_without_evidence_is_said_to_be_open(book):
    measured = book / "data" / "measured.csv"
    lines = measured.read_text(encoding="utf-8").splitlines(keepends=True)
    measured.write_text("".join(line for line in lines if not line.startswith("VA-X2,")), encoding="utf-8")
    well, said = _said(book, "VA-X2")
    assert well and "Verdict: open." in said


def test_a_row_that_says_something_else_is_noticed(book):
    with (book / "data" / "measured.csv").open(encoding="utf-8", newline="") as handle:
        rows = [row | {"statement": "All is well."} for row in csv.DictReader(handle)]
    with (book / "data" / "measured.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    well, said = _said(book, "SP-F8")
    assert not well and "not what the ledger says" in said


def test_a_test_that_fails_now_is_shown_with_its_message(book):
    record = {"test": "tests/test_one.py::test_one", "outcome": "passed"}
    record["mutations"] = [{"replaces": "a.b", "sentence": "Wrong.", "printed": False}]
    (book / "data" / "evidence.json").write_text(json.dumps({"HR-EQ17": [record]}), encoding="utf-8")
    well, said = _said(book, "HR-EQ17")
    assert not well and "broken here" in said and "Verdict" not in said


def test_an_unknown_id_is_refused_in_one_sentence(capsys):
    assert cli.main(["--root", str(ROOT), "verify", "HR-XYZ"]) == 1
    assert "id: expected one of data/claims.csv, such as HR-" in capsys.readouterr().err
