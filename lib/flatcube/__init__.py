"""flatcube: functions on the Boolean cube, and the transformers that compute and learn them."""

__version__ = "0.1.0"
