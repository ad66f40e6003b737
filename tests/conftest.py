"""What all tests share: the marker `claim` with the ledger's evidence, pages in a browser, chapters at other sizes."""

import pytest
from hypothesis import settings

# A busy machine is no mistake, and every run tries the same examples; --hypothesis-profile=explore tries others.
settings.register_profile("flatcube", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("flatcube")

# Failed comparisons show both sides in what rooms derive their tests from, too.
pytest.register_assert_rewrite(
    "tests.browser.figure_tests",
    "tests.browser.hand",
    "tests.classroom.exercise_tests",
    "tests.notebooks.notebook_tests",
)

pytest_plugins = ["tests.evidence", "tests.browser.fixtures", "tests.notebooks.fixtures", "pytester"]
