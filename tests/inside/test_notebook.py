"""Chapter 18's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "inside"
    smaller = {"SEED": 1, "N": 5}
