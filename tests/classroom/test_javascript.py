"""Our JavaScript: one format, lines that fit, and types that the compiler agrees with."""

import json

import pytest

from tests.javascript.tools import HERE, ours, prettier, schemas, tsc


def test_every_script_and_schema_is_formatted():
    done = prettier("--check", *map(str, ours() + schemas()))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nmake format puts it right"


def test_a_badly_formatted_script_would_be_noticed(tmp_path):
    (tmp_path / "bad.js").write_text("const a = 1,\n b = 2\n", encoding="utf-8")
    assert prettier("--check", str(tmp_path / "bad.js")).returncode == 1


@pytest.mark.parametrize("path", ours(), ids=lambda path: path.name)
def test_no_line_is_longer_than_120(path):  # prettier leaves comments and texts as they are
    long = [k for k, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > 120]
    assert long == []


def test_the_types_are_right():
    done = tsc("--project", str(HERE / "tsconfig.json"))
    assert done.returncode == 0, done.stdout


def test_a_wrong_type_would_be_noticed(tmp_path):
    options = json.loads((HERE / "tsconfig.json").read_text(encoding="utf-8")) | {"include": ["*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(options), encoding="utf-8")
    (tmp_path / "bad.js").write_text("/** @type {number} */\nexport const a = String(1);\n", encoding="utf-8")
    done = tsc("--project", str(tmp_path / "tsconfig.json"))
    assert done.returncode and "'string' is not assignable to type 'number'" in done.stdout


@pytest.mark.parametrize("path", ours(), ids=lambda path: path.name)
def test_nothing_is_hidden_from_the_compiler(path):
    text = path.read_text(encoding="utf-8")
    assert not any(word in text for word in ("@ts-ignore", "@ts-nocheck", "@ts-expect-error"))
