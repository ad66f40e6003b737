"""Results that are published are not computed again: whoever has the tables goes on from them, without the journal."""

import dataclasses
import json
import math
import shutil

import pytest

from flatcube import cli
from flatcube.experiments import engine, publish, store
from tests.experiments import toy


def _measured(rows):
    return [{"id": "HR-F1", "verdict": "agrees", "statement": f"{len(rows)} rows."}]


def _experiment(count: int, log="", **changed) -> engine.Experiment:
    """The trials of the first ``count`` numbers; its log is part of them, as of any configuration."""
    return dataclasses.replace(toy.experiment(count, log=log), measured=_measured, **changed)


def _run(experiment, folder, data, count=None):
    """Compute all trials of the book's grid, or the first few."""
    grid = experiment.grids["book"][:count]
    engine.run(dataclasses.replace(experiment, grids={"book": grid}), "book", folder=folder, data=data, progress=False)


@pytest.fixture
def places(tmp_path):
    """Where things are: of what was computed a list, the tables, and the journal of a new machine for every name."""
    for name in ("log", "data"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def part(places):
    """Two of five trials, published."""
    experiment = _experiment(5, places / "log")
    _run(experiment, places / "first", None, 2)
    assert publish.export(experiment, folder=places / "first", data=places / "data") == 4
    return experiment


def test_a_new_machine_goes_on_from_what_is_published(part, places):
    data = places / "data"
    made = store.manifest(data)["toy.csv"]
    assert (made["trials"], made["planned"], store.missing(made)) == (2, 5, 3)
    assert not (data / "measured.csv").exists()  # nothing is said of claims
    with pytest.raises(ValueError, match=r"toy\.csv: expected all 5 trials, got 2; flatcube run toy .* completes it$"):
        store.load("toy", folder=data)
    _run(part, places / "second", data, 4)
    publish.export(part, folder=places / "second", data=data)
    _run(part, places / "third", data)
    assert toy.computed(places / "log") == [0, 1, 2, 3, 4]  # each once, on three machines
    assert publish.export(part, folder=places / "third", data=data) == 10
    assert store.load("measured", folder=data)[0]["statement"] == "10 rows."

    other = places / "whole"
    _run(part, other, None)
    publish.export(part, folder=other, data=other)
    assert (data / "toy.csv").read_bytes() == (other / "toy.csv").read_bytes()
    described, whole = (store.manifest(folder)["toy.csv"] for folder in (data, other))
    told = ("command", "config", "machine", "parts", "planned", "scale", "seeds", "sha256", "trials", "version")
    assert {key: described[key] for key in told} == {key: whole[key] for key in told}


def test_rows_come_from_the_journal_and_from_what_is_published(part, places):
    found = engine.run(part, "book", folder=places / "second", data=places / "data", progress=False)
    right = engine.run(toy.experiment(5), progress=False)
    assert [str(row["n"]) for row in found] == [str(row["n"]) for row in right]
    assert [float(row["value"]) for row in found] == pytest.approx([row["value"] for row in right], rel=1e-5)
    assert part.summary(found)["all"][0]["mean"] == pytest.approx(part.summary(right)["all"][0]["mean"], rel=1e-5)


def test_what_is_published_counts_as_done(part, places):
    data = places / "data"
    seconds = store.manifest(data)["toy.csv"]["seconds"]
    for folder, done in (("nowhere", 2), ("first", 2)):
        book = publish.status(part, folder=places / folder, data=data)[-1]
        assert (book.scale, book.trials, book.done, book.left) == ("book", 5, done, 3.0)
    assert publish.status(part, folder=places / "nowhere", data=data)[-1].spent == pytest.approx(seconds)
    assert publish.status(part, folder=places / "nowhere")[-1].done == 0
    assert not (places / "nowhere").exists()


def test_seconds_and_machines_are_those_of_all_trials(part, places):
    data = places / "data"
    entries = store.manifest(data)
    entries["toy.csv"] |= {"seconds": 1000, "machine": "an abacus", "ended": "2999-01-01T00:00:00+00:00"}
    (data / "manifest.json").write_text(store._json(entries))
    _run(part, places / "second", data)
    publish.export(part, folder=places / "second", data=data)
    made = store.manifest(data)["toy.csv"]
    assert made["seconds"] == 1000 and made["ended"] == "2999-01-01T00:00:00+00:00"
    assert made["machine"] == "; ".join(sorted(["an abacus", store.machine()]))


def test_a_table_of_another_version_is_not_used(part, places):
    other = dataclasses.replace(part, version="2")
    _run(other, places / "second", places / "data")
    assert toy.computed(places / "log") == [0, 0, 1, 1, 2, 3, 4]
    assert publish.status(other, folder=places / "nowhere", data=places / "data")[-1].done == 0


def test_a_part_does_not_take_the_place_of_a_whole(part, places):
    data = places / "data"
    _run(part, places / "first", data)
    publish.export(part, folder=places / "first", data=data)
    before = (data / "toy.csv").read_bytes()
    other = dataclasses.replace(part, version="2")
    _run(other, places / "first", data, 3)
    message = r"toy\.csv: it is complete, and 3 of 5 other trials would take its place; flatcube run toy --scale book"
    with pytest.raises(ValueError, match=message):
        publish.export(other, folder=places / "first", data=data)
    assert (data / "toy.csv").read_bytes() == before
    larger = _experiment(7, places / "log")  # of which the whole is a part
    _run(larger, places / "second", data, 6)
    assert publish.export(larger, folder=places / "second", data=data) == 12
    assert store.missing(store.manifest(data)["toy.csv"]) == 1


def _one_digit(data):
    content = (data / "toy.csv").read_text()
    (data / "toy.csv").write_text(content.replace("0.", "1.", 1))


def _no_entry(data):
    (data / "manifest.json").unlink()


def _entry(data, **changed):
    entries = json.loads((data / "manifest.json").read_text())
    entries["toy.csv"] |= changed
    (data / "manifest.json").write_text(json.dumps(entries))


def _one_row_less(data):
    address, count = store.manifest(data)["toy.csv"]["parts"][0]
    _entry(data, parts=[[address, count - 1]])


@pytest.mark.parametrize(
    ("damage", "said"),
    [(_one_digit, r"toy\.csv: its checksum is not the one in manifest\.json"),
     (_no_entry, r"toy\.csv: its checksum is not in manifest\.json"),
     (_one_row_less, r"toy\.csv: expected the 1 rows that manifest\.json lists, got 4$"),
     (lambda data: _entry(data, parts=[1, 2]), r"manifest\.json: expected pairs as parts of toy\.csv \("),
     (lambda data: _entry(data, parts=None), r"manifest\.json: expected pairs as parts of toy\.csv \(")],
)  # fmt: skip
def test_a_table_that_is_not_vouched_for_is_refused_by_name(part, places, damage, said):
    data = places / "data"
    damage(data)
    for call in (engine.run, publish.export):
        with pytest.raises(ValueError, match=said):
            call(part, "book", folder=places / "second", data=data)
    with pytest.raises(ValueError, match=said):
        publish.status(part, folder=places / "second", data=data)
    assert toy.computed(places / "log") == [0, 1]


def test_a_whole_journal_heals_a_damaged_table(part, places):
    """Also one that was replaced when the machine went off before the manifest was."""
    data = places / "data"
    _run(part, places / "first", None)
    _one_digit(data)
    publish.export(part, folder=places / "first", data=data)
    assert len(store.load("toy", folder=data)) == 10


@dataclasses.dataclass(frozen=True)
class Odd:
    n: int


VALUES = [1e-7 / 3, 123456789.0, -0.0, math.nan, math.inf, 0.1 + 0.2, 1e300, 2, True, None, "0.10", "1e3", ' a, "b"\nc']


def _odd(trial: Odd) -> list[dict[str, object]]:
    return [{"n": trial.n, "value": value, "turned": VALUES[(k + trial.n) % len(VALUES)]}
            for k, value in enumerate(VALUES)]  # fmt: skip


def test_rows_of_any_values_stay_as_they_are_published(places):
    grid = [Odd(n) for n in range(4)]
    odd = engine.Experiment("odd", "1", "Odd values", "none", {"book": grid}, _odd, lambda trial: 1.0, lambda rows: {})
    _run(odd, places / "first", None, 2)
    publish.export(odd, folder=places / "first", data=places / "data")
    _run(odd, places / "second", places / "data")
    publish.export(odd, folder=places / "second", data=places / "data")
    _run(odd, places / "whole", None)
    publish.export(odd, folder=places / "whole", data=places / "whole")
    assert (places / "data/odd.csv").read_bytes() == (places / "whole/odd.csv").read_bytes()
    assert len(store.load("odd", folder=places / "data")) == 4 * len(VALUES)


def test_rows_with_other_columns_are_not_mixed(part, places):
    def trial(trial):
        return [row | {"more": 1} for row in toy.trial(trial)]

    changed = dataclasses.replace(part, trial=trial)
    _run(changed, places / "second", places / "data")
    with pytest.raises(ValueError, match="^toy: expected the same columns in all rows, got 2 kinds of rows; if its"):
        publish.export(changed, folder=places / "second", data=places / "data")


# --- the book's own tables --------------------------------------------------------------------------------------------


def _never(trial):
    raise AssertionError("this is stored")


MADE = store.manifest(store.DATA)
WHOLE = [e.name for e in engine.named() if f"{e.name}.csv" in MADE and not store.missing(MADE[f"{e.name}.csv"])]


@pytest.mark.parametrize("name", WHOLE)
def test_the_book_s_results_need_not_be_computed_again(name, tmp_path):
    experiment = dataclasses.replace(engine.named(name)[0], trial=_never)
    data = shutil.copytree(store.DATA, tmp_path / "data")
    before = {path.name: path.read_bytes() for path in data.glob("*.csv")}
    rows = engine.run(experiment, "book", folder=tmp_path / "runs", data=data, progress=False)
    assert rows == store.load(name)
    publish.export(experiment, folder=tmp_path / "runs", data=data)
    assert {path.name: path.read_bytes() for path in data.glob("*.csv")} == before
    old, new = (store.manifest(folder)[f"{name}.csv"] for folder in (store.DATA, data))
    same = old.keys() - {"cores", "versions"}  # of whoever publishes
    assert {key: new[key] for key in same} == {key: old[key] for key in same}


def test_the_command_says_what_is_done(tmp_path, capsys, monkeypatch):
    (tmp_path / "_toc.yml").touch()
    part = _experiment(3)
    monkeypatch.setattr(engine, "named", lambda name=None: [part])
    _run(part, tmp_path / "runs", None, 2)

    def said(*arguments: str) -> str:
        assert cli.main(["--root", str(tmp_path), *arguments]) == 0
        return capsys.readouterr().out

    assert said("export", "toy").endswith("It has 2 of 3 trials: nothing is said of claims before it has all.\n")
    assert "s of one core, 2 of 3 trials\n" in said("experiments")
    shutil.rmtree(tmp_path / "runs")
    assert "book   2 of 3 trials done" in said("status", "toy")
    assert [line.split()[0] for line in said("status", "toy").splitlines()] == list(part.grids)
    assert [line.split()[0] for line in said("status", "toy", "--scale", "book").splitlines()] == ["book"]
    said("run", "toy", "--scale", "book", "--workers", "1")
    assert publish.status(part, folder=tmp_path / "runs")[-1].done == 1
    said("run", "toy", "--scale", "book", "--workers", "1", "--again")
    assert publish.status(part, folder=tmp_path / "runs")[-1].done == 3
    assert "It has" not in said("export", "toy")
