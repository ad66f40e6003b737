"""What a reader may pass by mistake: an argument that is right, changed in one way."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["KEYWORDS", "Mutation", "mutations"]

KEYWORDS = "**"  # the annotation of options that are passed on, whose own are not known
CODED = ("bits", "signs", "points", "x", "base", "inputs")  # names of arguments that hold bits or signs


class Mutation(NamedTuple):
    """One change. ``nonsense``: no result can be right; ``typed``: another kind of thing than is documented."""

    label: str
    change: Callable[[Any], Any]
    nonsense: bool = False
    typed: bool = False


def mutations(name: str, value: Any, annotation: str, optional: bool) -> Iterator[Mutation]:
    """The changes of an argument, by the kind of its value, or by its annotation where it is None."""
    if isinstance(value, np.random.Generator) or name in ("rng", "seed"):
        yield Mutation("None for randomness", lambda _: None, True, True)
        yield Mutation("string", lambda _: "zero", True, True)
        return
    if not optional:
        yield Mutation("None", lambda _: None, not isinstance(value, bool), True)
    if not isinstance(value, (str, bool)) and "str" not in annotation and "Any" not in annotation:
        yield Mutation("string", lambda _: "abc", True, True)
    if value is None:
        value = 2 if "int" in annotation else 0.5 if "float" in annotation else None
    yield from _by_kind(name, value, annotation)


def _by_kind(name: str, value: Any, annotation: str) -> Iterator[Mutation]:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        yield from _of_number(value, annotation)
    elif isinstance(value, str):
        yield from _of_word(value)
    elif isinstance(value, np.ndarray) or _is_tensor(value):
        yield from _of_array(name, value)
    elif isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_fields"):
        yield from _of_collection(name, value)
    elif isinstance(value, Mapping):
        yield from _of_mapping(value, annotation)
    elif callable(value) and not isinstance(value, type) and not hasattr(value, "parameters"):
        yield from _of_function()


def _of_number(value: float, annotation: str) -> Iterator[Mutation]:
    whole = isinstance(value, (int, np.integer))
    yield Mutation("NaN", lambda _: math.nan, True, whole)
    yield Mutation("inf", lambda _: math.inf, True, whole)
    yield Mutation("-inf", lambda _: -math.inf, True, whole)
    for other in (-1, 0, 10**6, 10**18) if whole else (-1.0, 0.0, 1e-300, 1e300):
        yield Mutation(f"{other:g}", lambda _, other=other: other)
    if whole and "int" in annotation and "float" not in annotation:
        yield Mutation("a half more", lambda _: value + 0.5, True, True)
        yield Mutation("10**30", lambda _: 10**30)


def _of_word(word: str) -> Iterator[Mutation]:
    if len(set(word)) > 1:
        i = next(i for i in range(len(word) - 1) if word[i] != word[i + 1])
        yield Mutation("misspelt", lambda _: word[:i] + word[i + 1] + word[i] + word[i + 2 :], True)
    yield Mutation("number for a word", lambda _: 3, True, True)
    yield Mutation("empty word", lambda _: "")


def _of_array(name: str, array: Any) -> Iterator[Mutation]:
    yield Mutation("empty", lambda old: old[:0] if old.ndim else old)
    yield Mutation("one more axis", lambda old: old[None])
    yield Mutation("flat", lambda old: old.reshape(-1))
    yield Mutation("complex", lambda old: old * 1j, True, True)
    if array.ndim:
        yield Mutation("last axis shorter", lambda old: old[..., :-1])
        yield Mutation("first axis shorter", lambda old: old[:-1])
    if math.prod(array.shape):
        yield Mutation("a number", lambda old: old.reshape(-1)[0])
        for special in (math.nan, math.inf):
            yield Mutation(f"{special} inside", lambda old, special=special: _with(old, special), True)
        for large in (10**6, -7.5):
            yield Mutation(f"{large:g} inside", lambda old, large=large: _with(old, large))
        if name in CODED and (coded := _other_coding(array)) is not None:
            yield Mutation("the other coding", lambda _: coded, True)


def _with(array: Any, special: float) -> Any:
    """A copy whose last entry is special, as floats if need be."""
    changed = array * 1.0
    changed = changed.clone().detach() if _is_tensor(changed) else np.array(changed)
    changed[(-1,) * changed.ndim] = special
    return changed


def _other_coding(array: Any) -> Any:
    """Bits for signs, signs for bits; None for what is neither, or would be only ones, which are both."""
    found = set(np.unique(np.asarray(array.detach().cpu() if _is_tensor(array) else array)).tolist())
    if found == {-1, 1}:
        return (1 - array) // 2
    return 1 - 2 * array if found == {0, 1} and array.dtype != bool else None


def _of_collection(name: str, old: Any) -> Iterator[Mutation]:
    kind = type(old)
    yield Mutation("empty", lambda _: kind())
    if not old or isinstance(old, (set, frozenset)):
        return
    yield Mutation("shorter", lambda _: kind(list(old)[:-1]))
    yield Mutation("last twice", lambda _: kind([*old, list(old)[-1]]))
    last = list(old)[-1]
    for inner in mutations(name, last, "", optional=last is None):
        changed = kind([*list(old)[:-1], inner.change(copy.deepcopy(last))])
        yield inner._replace(label=f"element: {inner.label}", change=lambda _, changed=changed: changed)


def _of_mapping(old: Mapping, annotation: str) -> Iterator[Mutation]:
    yield Mutation("empty", lambda _: {})
    if not old:
        return
    key = list(old)[-1]
    rest = {name: value for name, value in old.items() if name != key}
    yield Mutation("without a key", lambda _: rest)
    if isinstance(key, str):
        yield Mutation("misspelt key", lambda _: rest | {key + "t": old[key]}, True)
    for inner in mutations(str(key), old[key], "", optional=old[key] is None or annotation == KEYWORDS):
        changed = rest | {key: inner.change(copy.deepcopy(old[key]))}
        yield inner._replace(label=f"value: {inner.label}", change=lambda _, changed=changed: changed)


def _of_function() -> Iterator[Mutation]:
    def after(change: Callable[[Any], Any]) -> Callable[[Callable], Callable]:
        return lambda f: lambda *args, **kwargs: change(f(*args, **kwargs))

    yield Mutation("returns NaN", after(lambda values: values * math.nan), True)
    yield Mutation("returns None", after(lambda values: None), True, True)
    yield Mutation("returns words", after(lambda values: "abc"), True, True)
    yield Mutation("returns one value less", after(lambda values: values[:-1]))
    yield Mutation("returns one more axis", after(lambda values: values[None]))


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
