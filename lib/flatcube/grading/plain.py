"""Values as JSON and back: numbers, texts, lists, tuples, dictionaries, arrays. Nothing that could run."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["packed", "unpacked"]

DEEPEST = 50


def packed(value: Any, depth: int = 0) -> Any:
    """`value` in what JSON has; TypeError with half a sentence if it is made of something else."""
    if depth > DEEPEST:
        raise TypeError("it gives a value that is nested too deeply")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.tolist(), "type": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    for kind, name in ((tuple, "tuple"), (list, "list")):
        if isinstance(value, kind):
            return {name: [packed(each, depth + 1) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[packed(key, depth + 1), packed(each, depth + 1)] for key, each in value.items()]}
    raise TypeError(f"it gives a value of type {type(value).__name__}, which is not made of numbers")


def unpacked(value: Any, depth: int = 0) -> Any:
    """The value that was `packed`; ValueError if it is nothing of the kind."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        if depth > DEEPEST:
            raise ValueError
        if "array" in value:
            kind, shape = np.dtype(str(value["type"])), tuple(map(int, value["shape"]))
            if kind.kind not in "biuf":
                raise ValueError
            return np.array(value["array"], kind).reshape(shape)
        ((name, parts),) = value.items()
        if name == "dict":
            return {unpacked(key, depth + 1): unpacked(each, depth + 1) for key, each in parts}
        return {"tuple": tuple, "list": list}[name](unpacked(each, depth + 1) for each in parts)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise ValueError("the answer is not made of numbers") from None
