"""Chapter 12's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "length"
    smaller = {"SEED": 7, "N": 3}
