"""The examples in docstrings, of every module of the library, do what they show."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import flatcube

ROOT = Path(flatcube.__file__).parent
SOURCES = {
    ".".join(["flatcube", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
EXAMPLES = {name: len(re.findall(r"^ *>>> ", path.read_text(), re.MULTILINE)) for name, path in SOURCES.items()}


def test_every_module_of_the_library_is_looked_at():
    found = {module.name for module in pkgutil.walk_packages(flatcube.__path__, "flatcube.")}
    assert found == SOURCES.keys() - {"flatcube"} and sum(map(bool, EXAMPLES.values())) >= 10


@pytest.mark.parametrize("name", [name for name, count in EXAMPLES.items() if count])
def test_the_examples_in_docstrings(name: str):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted == EXAMPLES[name]  # an example outside of a docstring would never run
