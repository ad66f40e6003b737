"""Chapter 9's notebook keeps what all notebooks promise, and runs at a smaller size."""

from tests.notebooks.notebook_tests import NotebookTests


class TestNotebook(NotebookTests):
    room = "sharpness"
    smaller = {"SEED": 7, "BITS": 33}
