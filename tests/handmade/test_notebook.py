"""Chapter 4's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "handmade"
    smaller = {"SEED": 7, "T": 6}
