"""Chapter 6's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "parity"
    smaller = {"SEED": 7, "LONG": 500}
