"""Calls of the public functions, as the tests of the library make them: where the fuzzer's arguments come from.

The tests run once in this process, each with its first parameters only, while every public name is wrapped. Of the
calls that succeed a few for every name are kept, with copies of their arguments. A test ends early when its calls
bring nothing new; a limit of time, which hangs on the machine, is for those that would take very long.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import flatcube

__all__ = ["Door", "modules", "doors", "record"]

CLOSED = ("experiments", "classroom", "press")  # no reader calls what runs experiments and makes pages
CALLED_BY_TORCH = ("extra_repr",)
KEPT = 5  # calls of one door
LARGEST = 200_000  # entries of all arguments of a call that is kept
IDLE = 60  # calls in a row that are not kept, after which a test ends
SECONDS = 20.0  # of the processor, after which it ends anyway; the longest takes two

Arguments = dict[str, Any]


@dataclass
class Door:
    """A public function, class or method, and calls of it that succeeded: name of argument → value."""

    name: str  # the room's, a dot, and its own
    function: Callable[..., Any]
    signature: inspect.Signature
    calls: dict[tuple, Arguments] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]


def modules() -> Iterator[ModuleType]:
    """What readers import: the rooms, and the module for black boxes."""
    yield importlib.import_module("flatcube.sampling")
    for found in pkgutil.iter_modules(flatcube.__path__, "flatcube."):
        if found.ispkg and found.name.removeprefix("flatcube.") not in CLOSED:
            yield importlib.import_module(found.name)


def doors(places: list[ModuleType]) -> dict[int, Door]:
    """What ``__all__`` of the modules names and can be called, by identity: functions, classes and their methods.

    A plain record, whose constructor only stores what it gets, is what functions return and not a door.
    """
    found: dict[int, Door] = {}
    for place in places:
        for name in getattr(place, "__all__", ()):
            thing = getattr(place, name)
            if id(thing) in found or not getattr(thing, "__module__", "").startswith("flatcube"):
                continue
            if inspect.isfunction(inspect.unwrap(thing)):
                found[id(thing)] = _door(thing.__name__, thing)
            if not inspect.isclass(thing):
                continue
            if hasattr(thing, "__post_init__") or (inspect.isfunction(thing.__init__) and not is_dataclass(thing)):
                found[id(thing)] = _door(thing.__name__, thing)
            for method, body in vars(thing).items():
                if inspect.isfunction(body) and not method.startswith("_") and method not in CALLED_BY_TORCH:
                    found[id(body)] = _door(f"{thing.__name__}.{method}", body)
    return found


def _door(name: str, function: Callable[..., Any]) -> Door:
    return Door(
        f"{function.__module__.removeprefix('flatcube.').partition('.')[0]}.{name}",
        function,
        inspect.signature(function),
    )


def record(files: list[Path]) -> list[Door]:
    """The doors with the calls that the first case of every test in ``files`` makes."""
    found = doors(list(modules()))
    plugin = _Sparing()
    _wrap(found, plugin)
    pytest.main(["-q", "--tb=no", "--no-header", "--no-summary", "-p", "no:cacheprovider", *map(str, files)], [plugin])
    return sorted(found.values(), key=lambda door: door.name)


class _Sparing:
    """A plugin: of a test with parameters only the first case runs, and no test runs longer than it is of use."""

    active = False  # while a test runs
    idle = 0  # calls since the last one that was new

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        seen: dict[tuple, pytest.Item] = {}
        for item in items:
            seen.setdefault((item.path, getattr(item, "cls", None), getattr(item, "originalname", item.name)), item)
        items[:] = seen.values()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        return (yield from self._limited())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        return (yield from self._limited())

    def _limited(self) -> Iterator[None]:
        self.active, self.idle = True, 0
        signal.signal(signal.SIGVTALRM, lambda *_: pytest.skip("long enough"))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            return (yield)
        finally:
            self.active = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def saw(self, new: bool) -> None:
        self.idle = 0 if new else self.idle + 1
        if self.idle > IDLE:
            pytest.skip("nothing new")


def _wrap(found: dict[int, Door], plugin: _Sparing) -> None:
    """Replace every door by one that keeps calls, wherever a module or a class of the library holds it."""
    for door in found.values():
        if inspect.isclass(door.function):
            door.function.__init__ = _keeping(door, door.function.__init__, plugin, method=True)
    for place in [module for name, module in sys.modules.items() if name.split(".")[0] == "flatcube"]:
        for holder in [place, *(thing for thing in vars(place).values() if inspect.isclass(thing))]:
            for name, thing in list(vars(holder).items()):
                if id(thing) in found and not inspect.isclass(thing):
                    setattr(holder, name, _keeping(found[id(thing)], thing, plugin))


def _keeping(door: Door, function: Callable[..., Any], plugin: _Sparing, method: bool = False) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not plugin.active or sys._getframe(1).f_globals.get("__name__") == function.__module__:
            return function(*args, **kwargs)
        kept = _copied(door, args[method:], kwargs) if len(door.calls) < KEPT else None
        result = function(*args, **kwargs)
        if kept is not None:
            door.calls.setdefault(*kept)
        plugin.saw(kept is not None)
        return result

    return call


def _copied(door: Door, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, Arguments] | None:
    """The kind of a call and a copy of its arguments, or None if they are too large or cannot be copied."""
    try:
        bound = door.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        key = tuple((name, _kind(value)) for name, value in bound.arguments.items())
        if key in door.calls or sum(map(_entries, bound.arguments.values())) > LARGEST:
            return None
        return key, copy.deepcopy(bound.arguments)
    except Exception:  # a call that fails, or an argument in use: there are others
        return None


def _kind(value: Any) -> tuple:
    shown = value if isinstance(value, (str, bool, type(None))) else getattr(value, "ndim", None)
    return type(value).__name__, shown


def _entries(value: Any) -> int:
    """The entries of arrays, tensors and collections; networks count as nothing, they are small in the tests."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            raise TypeError("a tensor inside a transformation means nothing outside of it")
        return value.numel()
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(map(_entries, value))
    return getattr(value, "size", 1) if hasattr(value, "ndim") else 1
