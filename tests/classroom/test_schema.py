"""The schemas of the states: what Python refuses, the page refuses with the same sentence."""

import json

import pytest

from flatcube.classroom import explorers
from flatcube.classroom.explorers import Schema, names, schema
from tests.javascript.tools import node

WHOLE = {"kind": "whole", "min": 2, "max": 5}
OPEN = {"kind": "whole", "min": 0, "none": True}
REAL = {"kind": "number", "min": 0, "max": 1, "step": 0.05}
GRID = {"kind": "number", "min": 0, "max": 10, "step": 0.1, "grid": True}
WORDS = {"kind": "choice", "options": [["hard", "with a mask"], ["soft", "without"]]}
MENU = {"kind": "choice", "options": [0, 1e-10, 1]}
BITS = {"kind": "bits", "min": 2, "max": 4}
ODD = {"kind": "bits", "min": 3, "max": 15, "step": 2}
EIGHT = {"kind": "bits", "min": 8, "max": 8}
ITEMS = {"kind": "items", "min": 1, "max": 2, "what": "positions"}
LINE = {"kind": "line", "max": 4}

FITS = [
    *((WHOLE, value) for value in (2, 5)),
    *((OPEN, value) for value in (None, 0, 10**9)),
    *((REAL, value) for value in (0, 1, 0.123)),
    *((GRID, k / 10) for k in range(101)),
    *((WORDS, value) for value in ("hard", "soft")),
    *((MENU, value) for value in (0, 1e-10, 1)),
    *((BITS, value) for value in ("01", "0110")),
    *((ODD, value) for value in ("010", "01001")),
    (EIGHT, "01100110"),
    *((ITEMS, value) for value in ([1], [1, 2])),
    *((LINE, value) for value in ("", "x1&", "🙂🙂🙂🙂")),
]
REFUSED = [
    *((WHOLE, value, "an integer from 2 to 5") for value in (1, 6, 2.5, True, "3", None, [3])),
    *((OPEN, value, "None or an integer ≥ 0") for value in (-1, 0.5, False, "")),
    *((REAL, value, "a number from 0 to 1") for value in (-0.01, 1.01, True, "0.5", None)),
    *((GRID, value, "a multiple of 0.1 from 0 to 10") for value in (0.05, -0.1, 10.1, True, "1")),
    *((WORDS, value, "one of hard, soft") for value in ("sink", "", 0, None, ["hard"])),
    *((MENU, value, "one of 0, 1e-10, 1") for value in (2, True, False, "0", None)),
    *((BITS, value, "2 to 4 characters 0 and 1") for value in ("0", "01010", "012", 10, None, ["0", "1"])),
    *((ODD, value, "3, 5, … or 15 characters 0 and 1") for value in ("01", "0101", "0" * 17)),
    *((EIGHT, value, "8 characters 0 and 1") for value in ("0", "0" * 9)),
    *((ITEMS, value, "1 to 2 positions") for value in ([], [1, 2, 3], "ab", 1, None)),
    *((LINE, value, "at most 4 characters") for value in ("x1&x2", 12, None)),
]


def field(entry):
    return Schema({"it": {**entry, "default": None}})["it"]


def in_the_page(tmp_path, cases):
    """What ``accept`` of the kit says about each state, by the rules that come with it: the state or a sentence."""
    kit = explorers._put((explorers._HERE / "kit.js").read_text(encoding="utf-8"), "schema = {}", {})
    (tmp_path / "kit.mjs").write_text(kit, encoding="utf-8")
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    (tmp_path / "ask.mjs").write_text(
        """import { accept, schema } from "./kit.mjs";
import { readFileSync } from "node:fs";
const said = JSON.parse(readFileSync(new URL("cases.json", import.meta.url), "utf8")).map(([rules, state]) => {
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, rules);
  try { return accept(state); } catch (refused) { return refused.message; }
});
console.log(JSON.stringify(said));""",
        encoding="utf-8",
    )
    done = node(str(tmp_path / "ask.mjs"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_python_takes_what_fits():
    for entry, value in FITS:
        assert field(entry).check("it", value) == value


@pytest.mark.parametrize(("entry", "value", "expected"), REFUSED)
def test_python_refuses_the_rest_in_one_sentence(entry, value, expected):
    with pytest.raises(ValueError) as refused:
        field(entry).check("it", value)
    got = len(value) if entry is LINE and isinstance(value, str) else repr(value)
    assert str(refused.value) == f"it: expected {expected}, got {got}"


def test_the_page_takes_and_refuses_the_same(tmp_path):
    ask = [({"it": field(entry).rule()}, {"it": value, "other": 1}) for entry, value, *_ in [*FITS, *REFUSED]]
    said = in_the_page(tmp_path, ask)
    assert said[: len(FITS)] == [{"it": value} for _, value in FITS]
    for (entry, value, expected), answer in zip(REFUSED, said[len(FITS) :], strict=True):
        got = len(value) if entry is LINE and isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        assert answer == f"it: expected {expected}, got {got}"


def test_an_entry_counts_only_where_it_matters(tmp_path):
    rules = Schema({"kind": {**WORDS, "default": "hard"}, "n": {**WHOLE, "when": ["kind", ["hard"]], "default": 2}})
    assert rules.accept({"kind": "soft", "n": 0}) == {"kind": "soft", "n": 0}
    with pytest.raises(ValueError, match="n: expected an integer from 2 to 5, got 0"):
        rules.accept({"kind": "hard", "n": 0})
    soft, hard = in_the_page(tmp_path, [(rules.rules(), {"kind": kind, "n": 0}) for kind in ("soft", "hard")])
    assert soft == {"kind": "soft", "n": 0} and hard == "n: expected an integer from 2 to 5, got 0"


def test_the_default_is_a_fresh_copy():
    rules = Schema({"list": {"default": [1]}})
    rules.default["list"].append(2)
    assert rules.default == {"list": [1]} and rules.rules() == {"list": {}}


@pytest.mark.parametrize("entry", [{"kind": "vector"}, {**WHOLE, "most": 9}, {"kind": "whole"}])
def test_a_schema_with_a_mistake_is_noticed(entry):
    with pytest.raises((KeyError, TypeError)):
        field(entry)


def edges(rule):
    """Values at and beyond the limits of a field."""
    if isinstance(rule, (schema.Whole, schema.Number)):
        step = getattr(rule, "step", 1)
        return [rule.min, rule.min - step, *([] if rule.max is None else [rule.max, rule.max + step]), None, "1"]
    if isinstance(rule, schema.Choice):
        return [*rule.values, "nothing", None, -1]
    low, high = getattr(rule, "min", 0), rule.max
    sizes = {size for size in (low - 1, low, high, high + 1) if size >= 0}
    return [([1] if isinstance(rule, schema.Items) else "0") * size for size in sizes]


@pytest.mark.parametrize("name", names())
def test_both_halves_of_every_explorer_agree_at_the_limits(name, tmp_path):
    rules = Schema.beside(explorers._scripts()[name])
    states = [{**rules.default, key: value} for key, rule in rules.items() for value in edges(rule)]
    for state, said in zip(states, in_the_page(tmp_path, [(rules.rules(), state) for state in states]), strict=True):
        try:
            expected = rules.accept(state)
        except ValueError as refused:
            expected = str(refused).split(", got ")[0]
            said = said.split(", got ")[0]
        assert said == expected
    assert rules.default == rules.accept(rules.default)


@pytest.mark.parametrize("name", names())
def test_the_script_brings_the_schema(name):
    rules = Schema.beside(explorers._scripts()[name]).rules()
    sent = json.dumps(rules, separators=(",", ":"), ensure_ascii=False)
    assert f"const schema = {sent};" in explorers.bundle(name)
    assert explorers.explorer(name).schema.rules() == rules
