"""Chapter 14's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "sparse_functions"
    smaller = {"SEED": 1, "T": 30}
