"""What every door of the library asks of its arguments.

Each check returns its argument in the form that the library computes with, or refuses it in one sentence that names
the argument, what is allowed, and what came: TypeError for another kind of thing, ValueError for a value out of range.
"""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from types import EllipsisType
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "integer", "count", "number", "positive", "probability", "fraction", "samples", "word", "instance", "flag",
    "several", "function", "components", "generator", "shape", "together", "numbers", "table", "signs", "bits", "size",
    "room",
]  # fmt: skip

Shape = Sequence[int | str | EllipsisType]
Thing = TypeVar("Thing")

_LARGEST = 1e100  # numbers up to here can be squared
_LITTLE = 1 << 26  # bytes that are asked for without a look at what is free


# --- one number, one word ---------------------------------------------------------------------------------------------


def integer(value: int, name: str, least: int | None = None, most: int | None = None) -> int:
    """``value`` as an int, not below ``least`` nor above ``most``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}")
    if (least is not None and value < least) or (most is not None and value > most):
        allowed = f"≤ {most}" if least is None else f"≥ {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}: expected an integer {allowed}, got {_shown(value)}")
    return int(value)


def count(value: int, name: str, least: int = 1) -> int:
    """``value`` as an int that is at least ``least``."""
    return integer(value, name, least)


def number(value: float, name: str, least: float = -_LARGEST, most: float = _LARGEST) -> float:
    """``value`` as a finite float from ``least`` to ``most``."""
    if not _is_number(value):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name}: expected a number from {least:g} to {most:g}, got {_shown(value)}")
    return float(value)


def positive(value: float, name: str, least: float | None = None) -> float:
    """``value`` if it is above 0, or at least ``least``, and of a size that can be squared."""
    if not _is_number(value):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    if not (value > 0 if least is None else value >= least):
        raise ValueError(
            f"{name}: expected a number {'above 0' if least is None else f'≥ {least:g}'}, got {_shown(value)}"
        )
    return number(value, name, 1e-100 if least is None else least)


def probability(value: float, name: str) -> float:
    """``value`` if it lies strictly between 0 and 1."""
    if not _is_number(value):
        raise TypeError(f"{name}: expected a number between 0 and 1, got {type(value).__name__}")
    if not 0 < value < 1:
        raise ValueError(f"{name}: expected a number between 0 and 1, got {_shown(value)}")
    return value


def fraction(value: float, name: str) -> float:
    """``value`` if it is above 0 and at most 1."""
    if not _is_number(value):
        raise TypeError(f"{name}: expected a number above 0 and at most 1, got {type(value).__name__}")
    if not 1e-100 <= value <= 1:
        raise ValueError(f"{name}: expected a number above 0 and at most 1, got {_shown(value)}")
    return float(value)


def samples(m: float) -> float:
    """``m`` if it is a number of examples; it need not be whole."""
    if not _is_number(m) or not 1 <= m <= _LARGEST:
        raise ValueError(f"m: expected a number of examples ≥ 1, got {_shown(m)}")
    return float(m)


def word(value: str, name: str, allowed: Collection[str]) -> str:
    """``value`` if it is one of the ``allowed`` words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}: expected {' or '.join(map(repr, allowed))}, got {value!r}")
    return value


def instance(value: Thing, name: str, kind: type[Thing] | tuple[type, ...]) -> Thing:
    """``value`` if it is one of the given kinds of things."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise TypeError(f"{name}: expected {' or '.join(map(_title, kinds))}, got {_title(type(value))}")
    return value


def flag(value: bool, name: str) -> bool:
    """``value`` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def several(values: Iterable[Thing], name: str, kind: type | tuple[type, ...], least: int = 0) -> list[Thing]:
    """``values`` as a list of at least ``least`` things of the given kinds."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a list, got {values!r:.60}")
    found = [instance(value, f"{name}[{k}]", kind) for k, value in enumerate(values)]
    if len(found) < least:
        raise ValueError(f"{name}: expected {least} or more, got {len(found)}")
    return found


def function(value: Thing, name: str, does: str = "function") -> Thing:
    """``value`` if it can be called; the refusal says what it ``does``."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"{name}: expected a {does}, got {_title(type(value))}")
    return value


def components(values: Iterable[tuple[Iterable[int], float]], name: str = "components") -> list[tuple[tuple, float]]:
    """``values`` as a list of pairs (subset, finite weight); the subsets are for ``cube.mask`` to look at."""
    pairs = []
    for k, pair in enumerate(several(values, name, (tuple, list))):
        if len(pair) != 2 or isinstance(pair[0], str) or not isinstance(pair[0], Iterable):
            raise ValueError(f"{name}[{k}]: expected a pair (subset, weight), got {pair!r:.60}")
        pairs.append((tuple(pair[0]), number(pair[1], f"{name}[{k}]")))
    return pairs


def generator(rng: np.random.Generator | int | Sequence[int], name: str = "rng") -> np.random.Generator:
    """``rng`` itself, or the generator of a seed or of several; never one that no one can have again."""
    if isinstance(rng, np.random.Generator):
        return rng
    seeds = rng if isinstance(rng, (list, tuple)) and rng else [rng]
    if not all(isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0 for seed in seeds):
        raise TypeError(f"{name}: expected a numpy Generator or a seed ≥ 0, got {rng!r:.60}")
    return np.random.default_rng(rng)


def _title(kind: type) -> str:
    """As readers write it: handmade.Design, nn.Module, int."""
    home = re.sub(r"^flatcube\.(\w+).*|^builtins$|^torch\.(?=nn)|(?<=nn)\.modules\.\w+$", r"\1", kind.__module__)
    return f"{home}.{kind.__name__}".lstrip(".")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


# --- arrays -----------------------------------------------------------------------------------------------------------


def shape(found: Sequence[int], name: str, wanted: Shape, sizes: dict[str, int] | None = None) -> None:
    """Refuse the shape ``found`` unless it is the ``wanted`` one: an axis is a length or a name.

    A first ``...`` stands for any leading axes. ``sizes`` holds the lengths of named axes and learns those it does not
    hold: ("D", "D") is a square.
    """
    sizes = {} if sizes is None else sizes
    before = dict(sizes)
    axes = wanted[1:] if wanted and wanted[0] is ... else wanted
    last = found[max(len(found) - len(axes), 0) :] if len(axes) < len(wanted) else found
    if len(last) != len(axes) or any(
        length != (sizes.setdefault(axis, length) if isinstance(axis, str) else axis)
        for length, axis in zip(last, axes, strict=True)
    ):
        known = ", ".join(f"{axis} = {before[axis]}" for axis in dict.fromkeys(wanted) if axis in before)
        words = ", ".join("…" if axis is ... else str(axis) for axis in wanted) + "," * (len(wanted) == 1)
        raise ValueError(f"{name}: expected shape ({words}){' with ' * bool(known)}{known}, got {tuple(found)}")


def together(**shapes: Sequence[int]) -> None:
    """Refuse shapes, by the names of their arguments, that do not broadcast."""
    try:
        np.broadcast_shapes(*map(tuple, shapes.values()))
    except ValueError:
        got = " and ".join(str(tuple(shape)) for shape in shapes.values())
        raise ValueError(f"{', '.join(shapes)}: expected shapes that fit together, got {got}") from None


def numbers(
    values: np.ndarray, name: str, wanted: Shape | None = None, sizes: dict[str, int] | None = None
) -> np.ndarray:
    """``values`` as an array of finite real numbers, of the ``shape`` that is wanted."""
    values = _real(values, name)
    if wanted is not None:
        shape(values.shape, name, wanted, sizes)
    # the extrema show every NaN and infinity, and need no memory
    if values.dtype.kind == "f" and not np.isfinite([values.min(initial=0), values.max(initial=0)]).all():
        raise ValueError(f"{name}: expected finite numbers, got {values[~np.isfinite(values)][0]}")
    return values


def table(values: np.ndarray, *, axis: int = -1, name: str = "table", finite: bool = True) -> np.ndarray:
    """``values`` as an array of real numbers whose ``axis`` has length 2^n; truth values become ±1.

    ``finite=False`` leaves the search for NaN and infinities to a caller that sees them anyway.
    """
    values, axis = _real(values, name), integer(axis, "axis")
    if values.ndim == 0 or not -values.ndim <= axis < values.ndim:
        raise ValueError(f"{name}: expected an array with an axis {axis}, got shape {values.shape}")
    length = values.shape[axis]
    if length == 0 or length & (length - 1):
        raise ValueError(f"{name}: expected a length that is a power of two, got {length}")
    if values.dtype == bool:
        return np.where(values, np.int32(-1), np.int32(1))
    return numbers(values, name) if finite else values


def signs(values: np.ndarray, *, name: str = "signs") -> np.ndarray:
    """``values`` as an array of ±1 of any shape; an array of bits is refused by name."""
    values = _coded(values, name)
    if values.dtype.kind in "if" and (np.abs(values) == 1).all():  # the usual case, at half the price
        return values
    if values.dtype == bool or (values == 0).any():
        raise ValueError(f"{name}: expected −1 and +1, got bits; convert them with cube.to_signs")
    if not ((values == 1) | (values == -1)).all():
        raise ValueError(f"{name}: expected −1 and +1, got {_example(values, (-1, 1))}")
    return values


def bits(values: np.ndarray, wanted: Shape | None = None, *, name: str = "bits") -> np.ndarray:
    """``values`` as an array of 0 and 1 (or truth values) of the ``shape`` wanted; signs are refused by name."""
    values = _coded(values, name)
    if wanted is not None:
        shape(values.shape, name, wanted)
    if (values == -1).any():
        raise ValueError(f"{name}: expected 0 and 1, got −1; these are signs, convert them with cube.to_bits")
    if not ((values == 0) | (values == 1)).all():
        raise ValueError(f"{name}: expected 0 and 1, got {_example(values, (0, 1))}")
    return values


def array(values: np.ndarray, name: str) -> np.ndarray:
    """``values`` as an array of anything."""
    try:
        return np.asarray(values)
    except ValueError:  # numpy says so in several sentences
        raise ValueError(f"{name}: expected an array, got lists of unequal lengths") from None


def _coded(values: np.ndarray, name: str) -> np.ndarray:
    values = array(values, name)
    if values.dtype.kind == "c":
        raise TypeError(f"{name}: expected real numbers, got dtype {values.dtype}")
    return values


def _real(values: np.ndarray, name: str) -> np.ndarray:
    values = array(values, name)
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise TypeError(f"{name}: expected real numbers of at most 64 bits, got dtype {values.dtype}")
    return values


def _example(values: np.ndarray, allowed: tuple[int, int]) -> object:
    """The first entry that is none of the allowed values, for a message."""
    return values[~np.isin(values, allowed)].flat[0]


# --- memory -----------------------------------------------------------------------------------------------------------


def size(n: int, *, itemsize: int) -> int:
    """``n``, if 2^n entries of ``itemsize`` bytes fit in the memory that is free."""
    n = integer(n, "n", 0)
    if n > 62 or (itemsize << n > _LITTLE and itemsize << n > _free()):
        wanted = f"{itemsize << n:,}" if n <= 62 else f"{itemsize} × 2^{_shown(n)}"
        raise ValueError(f"n: tables with n = {_shown(n)} take {wanted} bytes, but this machine has {_free():,} free")
    return n


def room(size: int, name: str) -> None:
    """Refuse ``name`` if what it asks for, ``size`` bytes, is more than the memory that is free."""
    if size > _LITTLE and size > (free := _free()):
        wanted = f"{size:,}" if size < 10**30 else "far more"
        raise ValueError(f"{name}: expected what fits in the {free:,} bytes that are free, got {wanted} bytes")


def _free() -> int:
    """Bytes of memory that can be had now; all there are, or 16 GiB, where the system says no more."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/meminfo") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 1 << 34


def _shown(value: float) -> str:
    """A number for a message, which an integer may be too large for."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"one of {value.bit_length()} bits"
    return f"{value!r:.60}" if isinstance(value, str) else str(value)
