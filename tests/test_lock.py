"""The lock: all that the book asks for but PyTorch, with hashes, and the same commands wherever it is installed."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests import lock

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PINNED = re.compile(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
PINS = {canonicalize_name(name): version for name, version, _ in PINNED.findall(TEXT)}


def test_the_lock_is_pins_with_hashes_and_nothing_else():
    assert PINNED.sub("", TEXT.removeprefix(lock.HEAD)).strip() == ""
    assert len(PINS) > 150
    assert "torch" not in PINS


def test_the_lock_has_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "sentences"}
    asked = [*project["dependencies"], *(one for wanted in extras.values() for one in wanted)]
    found = {canonicalize_name(one.name): one.specifier for one in map(Requirement, asked)}
    assert str(found.pop("torch")).startswith("==")  # the only pin of PyTorch
    assert {name: PINS.get(name) for name, wanted in found.items() if PINS.get(name) not in wanted} == {}


def test_the_lock_has_what_is_installed():
    assert {name: metadata.version(name) for name in PINS} == PINS


def test_every_place_installs_with_the_same_commands():
    made = re.findall(r"python -m pip install (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    binder = re.findall(r"python -m pip install (.*)", (ROOT / ".binder/postBuild").read_text(encoding="utf-8"))
    assert [words.replace("--disable-pip-version-check ", "") for words in made] == binder
    assert "RUN make .venv/.ready" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_make_takes_the_pythons_of_the_lock():
    """With another one pip would only say that hashes do not match."""
    given = re.search(r"\((\d), (\d+)\) <= v <= \((\d), (\d+)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    low, high = tuple(map(int, given.groups()[:2])), tuple(map(int, given.groups()[2:]))
    assert (low, high) == (lock.PYTHONS[0], lock.PYTHONS[-1])


def test_no_image_has_the_instructors_solutions():
    assert "instructor" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("toy-1.0-py3-none-any.whl", True),
        ("toy-1.0-py2.py3-none-any.whl", True),
        ("toy-1.1-py3-none-any.whl", False),
        ("toy-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("toy-1.0-cp313-cp313-macosx_11_0_arm64.whl", True),
        ("toy-1.0-cp39-abi3-win_amd64.whl", True),
        ("toy-1.0-cp310-cp310-manylinux2014_x86_64.whl", False),
        ("toy-1.0-cp314-cp314-manylinux2014_x86_64.whl", False),
        ("toy-1.0-cp313-cp313t-manylinux2014_x86_64.whl", False),
        ("toy-1.0-cp312-cp312-musllinux_1_2_x86_64.whl", False),
        ("toy-1.0-cp312-cp312-macosx_11_0_x86_64.whl", False),
        ("toy-1.0.tar.gz", False),
    ],
)
def test_wheels_for_supported_machines_are_chosen(file, wanted):
    assert lock.fits(file, Version("1.0")) == wanted


def test_the_source_is_chosen_only_where_there_is_no_wheel():
    page = "".join(f'<a href="x/{file}#sha256={digit * 64}">{file}</a>' for file, digit in [
        ("toy-1.0.tar.gz", "a"), ("toy-0.9.tar.gz", "b"), ("toy-1.0-py3-none-any.whl", "c"), ("toy-1.0.zip", "d"),
    ])  # fmt: skip
    listed = list(lock.files(page + '<a href="x/toy-1.0.exe">no hash</a>'))
    assert len(listed) == 4
    assert lock.chosen(listed, "1.0") == ["c" * 64]
    assert lock.chosen(listed, "0.9") == ["b" * 64]
    assert lock.chosen(listed, "2.0") == []
