"""One call with one changed argument: what came of it."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import flatcube

__all__ = ["EXCUSABLE", "OFFENCES", "VERDICTS", "judge"]

# In the order of the table. "raw (kind)" is an error of numpy, torch or Python about another kind of thing than is
# documented; the same about a value of the right kind is an offence.
VERDICTS = ("clear", "fine", "raw (kind)", "harmless", "raw", "nonsense", "NaN", "memory", "hang", "crash")
OFFENCES = ("raw", "nonsense", "NaN", "memory", "hang", "crash")
EXCUSABLE = OFFENCES[:3]  # by an entry with a reason in `harmless`; then counted as such. Nothing excuses the rest

_LIBRARY = str(Path(flatcube.__file__).parent)
_TESTS = str(Path(__file__).parents[1])
_NETWORK = os.path.join("torch", "nn", "modules", "module.py")
_SENTENCE = 600  # characters: longer is no sentence


def judge(call: Callable[[], Any], *, argument: str, nonsense: bool, typed: bool) -> tuple[str, str]:
    """The verdict on a call and what there is to say about it."""
    try:
        result = call()
        if isinstance(result, Iterator):
            result = list(itertools.islice(result, 100))
        if nonsense:
            return "nonsense", _shown(result)
        return ("NaN", _shown(result)) if _has_nan(result) else ("fine", "")
    except MemoryError as error:
        return "memory", str(error)
    except Exception as error:
        if "allocate" in str(error) and "memory" in str(error):  # torch
            return "memory", str(error)
        if _is_clear(error, argument):
            return "clear", ""
        if _is_the_readers(error):
            return "fine", ""
        return "raw (kind)" if typed else "raw", f"{type(error).__name__}: {error}"


def _is_clear(error: Exception, argument: str) -> bool:
    """Whether the library itself raised it, as one sentence that names the argument, or what it calls it, or a file."""
    trace, text = error.__traceback__, str(error)
    while trace.tb_next:
        trace = trace.tb_next
    if isinstance(error, TypeError) and "unexpected keyword argument" in text:  # Python says it well
        return True
    place = trace.tb_frame.f_code.co_filename
    ours = place.startswith(_LIBRARY) and linecache.getline(place, trace.tb_lineno).strip().startswith("raise ")
    named = re.search(rf"\b{re.escape(argument)}\b", text) or re.match(r"[\w\[\], '’./-]+: ", text)
    sentence = "\n" not in text and len(text) <= _SENTENCE
    return ours and isinstance(error, (ValueError, TypeError, FileNotFoundError)) and bool(named) and sentence


def _is_the_readers(error: Exception) -> bool:
    """Whether a function or network of the reader's own raised it, which the library was given and called."""
    places = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [k for k, place in enumerate(places) if place.startswith(_LIBRARY)]
    if not inside:
        return False
    own = any(place.startswith(_TESTS) for place in places[inside[0] :])
    networks = [k for k, place in enumerate(places) if place.endswith(_NETWORK)]
    return own or (bool(networks) and networks[0] > inside[-1])


def _has_nan(result: Any, depth: int = 4) -> bool:
    """Whether a NaN stands anywhere in a result."""
    if isinstance(result, (float, np.floating)):
        return math.isnan(result)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        return bool(result.detach().isnan().any())
    if isinstance(result, np.ndarray):
        return result.dtype.kind in "fc" and bool(np.isnan(result).any())
    if not depth:
        return False
    if isinstance(result, Mapping):
        inside = list(result.values())
    elif isinstance(result, (list, tuple)):
        inside = result
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        inside = [getattr(result, part.name) for part in dataclasses.fields(result)]
    else:
        return False
    return any(_has_nan(part, depth - 1) for part in inside)


def _shown(result: Any) -> str:
    try:
        return f"{result!r:.80}".replace("\n", " ")
    except Exception as error:
        return f"a result that cannot be shown: {error}"
