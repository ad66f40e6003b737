"""Chapter 5's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "sparse_variables"
    smaller = {"SEED": 7, "T": 8}
