"""The two kinds of output by which notebooks and pages understand each other, and what their folds need."""

import json
import re
from typing import Any

__all__ = ["CHART", "ELEMENT", "TRIANGLE", "checked_label", "has_logarithmic_axis"]

CHART = "application/vnd.vegalite.v5+json"  # a Vega-Lite specification, which JupyterLab draws by itself
ELEMENT = "application/vnd.flatcube+json"  # {"element": "explorer" or "question", …}, the payload of an element of ours
# of a <summary>: JupyterLab's MyST extension hides the triangle of every fold, also where nothing of ours has run
TRIANGLE = 'style="list-style: revert"'


def has_logarithmic_axis(chart: dict[str, Any]) -> bool:
    """Whether a chart's specification has an axis on which very small numbers are as visible as large ones."""
    return '"type": "log"' in json.dumps(chart)


def checked_label(label: str) -> str:
    """The label by which the text refers to a figure, or nothing; ValueError if it is not of the form fig-name."""
    if not isinstance(label, str) or not re.fullmatch(r"(?:fig(?:-[a-z0-9]+)+)?", label):
        raise ValueError(f"label: expected small letters and digits such as 'fig-butterfly', got {label!r}")
    return label
