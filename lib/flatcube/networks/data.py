"""The inputs of a network, in the forms in which people have them: a tensor, keywords, batches, a loader."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from flatcube import checks
from flatcube.networks import tensors

__all__ = ["Inputs", "gathered", "checked", "count", "part", "split", "answers", "told", "bar"]

Inputs = Tensor | dict[str, Tensor]  # (batch, …), or (batch, …) by keyword

_MOST = 10**8  # inputs of a loader, so that one without an end has one


def gathered(
    x: Any, y: Tensor | np.ndarray | None = None, *, progress: bool = False
) -> tuple[Inputs, Tensor | np.ndarray | None]:
    """Inputs as one tensor (batch, …) or one for each keyword, and their targets.

    x is a tensor or array, a dict of them by keyword, or an iterable of batches: inputs, or pairs (inputs, targets).
    Batches are read once and kept, so that every shift of the weights meets the same inputs.
    """
    if isinstance(x, Mapping):
        return _keywords(x), y
    if not _has_batches(x):
        return tensors.tensor(x, "x"), y
    if y is not None:
        raise TypeError("y: expected None, since x has batches, which come with their targets, got targets")
    inputs, targets = [], []
    for batch in bar(x, "reading", shown=progress):
        some, goal = batch if isinstance(batch, (tuple, list)) and len(batch) == 2 else (batch, None)
        inputs.append(_keywords(some) if isinstance(some, Mapping) else _rows(some, "x"))
        targets += [] if goal is None else [_rows(goal, "y")]
        if sum(map(count, inputs)) > _MOST:
            raise ValueError(f"x: expected at most {_MOST:,} inputs in all batches, got more")
    if not inputs or (targets and len(targets) != len(inputs)):
        raise ValueError(f"x: expected batches, with targets or without, got {len(inputs)} and {len(targets)} targets")
    return _joined(inputs), _cat(targets, "y") if targets else None


def _has_batches(x: Any) -> bool:
    if isinstance(x, (Tensor, np.ndarray, str, bytes)) or not isinstance(x, Iterable) and not hasattr(x, "__getitem__"):
        return False
    if isinstance(x, (list, tuple)):
        first = x[0] if x else None
        first = first[0] if isinstance(first, (tuple, list)) and first else first  # of a pair
        return isinstance(first, Mapping) or (isinstance(first, (Tensor, np.ndarray)) and first.ndim > 0)
    return hasattr(x, "__iter__") and not hasattr(x, "__array__")


def _keywords(x: Mapping[str, Any]) -> dict[str, Tensor]:
    found = {name: _rows(values, f"x[{name!r}]") for name, values in x.items()}
    lengths = set(map(len, found.values()))
    if len(lengths) != 1 or not all(isinstance(name, str) for name in found):
        raise ValueError(f"x: expected tensors of one length by keyword, got lengths {sorted(lengths)}")
    return found


def checked(x: Inputs) -> Inputs:
    """Inputs, if there are any and all their numbers are finite."""
    for name, values in x.items() if isinstance(x, dict) else [("x", x)]:
        _rows(tensors.finite(values, name), name)
    return x


def _rows(values: Any, name: str) -> Tensor:
    values = tensors.tensor(values, name)
    if not values.ndim or not len(values):
        raise ValueError(f"{name}: expected at least one input, (batch, …), got shape {tuple(values.shape)}")
    return values


def _joined(batches: list[Inputs]) -> Inputs:
    if all(isinstance(batch, dict) and batch.keys() == batches[0].keys() for batch in batches):
        return {name: _cat([batch[name] for batch in batches], f"x[{name!r}]") for name in batches[0]}
    return _cat(batches, "x")


def _cat(parts: list[Any], name: str) -> Tensor:
    checks.room(sum(part.nbytes for part in parts if isinstance(part, Tensor)), name)
    try:
        return torch.cat(parts)
    except (RuntimeError, TypeError):
        got = ", ".join(str(tuple(getattr(part, "shape", ("keywords",)))) for part in parts[:4])
        raise ValueError(f"{name}: expected batches of one shape, got {got}") from None


def count(x: Inputs) -> int:
    """How many inputs there are."""
    return len(next(iter(x.values()))) if isinstance(x, dict) else len(x)


def part(x: Inputs, rows: slice) -> Inputs:
    """The inputs at ``rows``."""
    return {name: values[rows] for name, values in x.items()} if isinstance(x, dict) else x[rows]


def split(x: Inputs, rows: int) -> Iterator[Inputs]:
    """The inputs, ``rows`` at a time."""
    return (part(x, slice(start, start + rows)) for start in range(0, count(x), rows))


def answers(model: nn.Module, x: Inputs) -> Tensor:
    """The outputs (batch, …) of a network, if they are a tensor."""
    return told(model(**x) if isinstance(x, dict) else model(x))


def told(found: Any) -> Tensor:
    """What a network returned, if it is a tensor."""
    if not isinstance(found, Tensor):
        kind = type(found).__name__
        raise TypeError(f"model: expected one that returns a tensor, got {kind}; networks.Adapter chooses what to read")
    return found


def bar(things: Iterable | None, label: str, *, total: float | None = None, shown: bool = True) -> tqdm:
    """A progress bar with the time left; stored notebooks carry none."""
    silent = not checks.flag(shown, "progress") or "FLATCUBE_PRESS" in os.environ
    form = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}, {remaining} left"
    return tqdm(things, desc=label, total=total, disable=silent, bar_format=form if total else None)
