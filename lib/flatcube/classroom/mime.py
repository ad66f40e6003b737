"""The two kinds of output by which notebooks and pages understand each other."""

__all__ = ["CHART", "ELEMENT"]

CHART = "application/vnd.vegalite.v5+json"  # a Vega-Lite specification, which JupyterLab draws by itself
ELEMENT = "application/vnd.flatcube+json"  # {"element": "explorer" or "question", …}, the payload of an element of ours
