"""Chapter 7's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "blowup"
    smaller = {"SEED": 3, "BITS": 31}
