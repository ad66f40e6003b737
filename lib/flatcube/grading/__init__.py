"""Handing out and marking: assignments as notebooks, and marks that a submission cannot give itself.

A submission is executed in a place of its own (`sandbox`), which knows its cells and nothing else. From there it only
answers calls: the grader sends the arguments of fresh instances as JSON, gets plain numbers back, and judges them in
its own process, with the machinery that judges every exercise (`marks`). To replace `check`, to change the library or
to read its solutions gains nothing: none of it is asked.
"""

from flatcube.grading.assignments import write
from flatcube.grading.marks import Mark, Marking, Marks
from flatcube.grading.report import grade
from flatcube.grading.sandbox import Limits

__all__ = ["write", "Marking", "Marks", "Mark", "Limits", "grade"]
