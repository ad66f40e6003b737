"""Every experiment runs on the command line at its live scale, and its book scale fits into an hour of two cores."""

import math
import re

import pytest

from flatcube import cli
from flatcube.experiments import engine, journal, publish, store
from flatcube.press import compare

NAMES = [experiment.name for experiment in engine.named()]
MADE = {name: made for name in NAMES if (made := store.manifest(store.DATA).get(f"{name}.csv"))}
STORED = [name for name, made in MADE.items() if not store.missing(made)]  # of the others nothing is said yet


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sharper"])  # which test_sharper runs
def test_it_runs_live_and_says_what_it_found(name, tmp_path, capsys):
    (tmp_path / "_toc.yml").touch()
    assert cli.main(["--root", str(tmp_path), "run", name, "--scale", "live", "--workers", "1"]) == 0
    (experiment,) = engine.named(name)
    said = capsys.readouterr().out
    rows = engine.run(experiment, "live", folder=tmp_path / "runs", progress=False)  # all from the journal
    assert len({tuple(row) for row in rows}) == 1  # the same columns everywhere
    for table, lines in experiment.summary(rows).items():
        assert lines and re.search(rf"^{table}$", said, re.MULTILINE), table
    stored = [{key: str(value) for key, value in row.items()} for row in rows]
    for table, lines in experiment.summary(stored).items():  # as it comes from a file
        for mine, theirs in zip(experiment.summary(rows)[table], lines, strict=True):
            assert mine.keys() == theirs.keys()
            for key, value in mine.items():
                same = value == theirs[key] or (isinstance(value, float) and math.isnan(value))
                assert same or value == pytest.approx(theirs[key]), (table, key)


@pytest.mark.parametrize("name", NAMES)
def test_the_book_scale_takes_an_hour_of_two_cores_at_most(name):
    (experiment,) = engine.named(name)
    assert experiment.grids.keys() == {"live", "book", "paper"} and experiment.figures
    live, book, paper = map(experiment.hours, experiment.grids)
    assert 0 < live < 0.02 and live < book <= 2 and live < paper


@pytest.mark.parametrize("name", MADE)
def test_what_is_published_belongs_to_the_book_scale(name):
    (experiment,) = engine.named(name)
    assert (MADE[name]["scale"], MADE[name]["version"]) == ("book", experiment.version)
    known = {journal.short(at) for at in experiment.addresses("book")}
    assert {at for at, _ in MADE[name]["parts"]} <= known and MADE[name]["planned"] == len(known)


@pytest.mark.parametrize("name", STORED)
def test_what_is_whole_is_the_whole_book_scale(name):
    (experiment,) = engine.named(name)
    made = store.manifest(store.DATA)[f"{name}.csv"]
    assert (made["scale"], made["version"]) == ("book", experiment.version)
    assert made["trials"] == len(experiment.trials("book"))
    assert made["command"] == f"flatcube run {name} --scale book && flatcube export {name} --scale book"
    assert made["seconds"] <= 7200 and {"machine", "versions", "seeds"} <= made.keys()
    configs = [journal.configuration(trial) for trial in experiment.trials("book")]
    assert made["config"] == {key: publish._distinct(configs, key) for key in configs[0]}


def test_verdicts_are_those_of_the_stored_results():
    said = {row["id"]: row for row in store.load("measured")}
    found = [row for name in STORED for row in engine.named(name)[0].measured(store.load(name))]
    assert found and {row["id"] for row in found} == said.keys()
    for row in found:
        assert compare.of_data({key: said[row["id"]][key] for key in row}, row) is None
