"""The doors of the rooms: what they promise is there, once, and under no other name."""

import importlib
import pkgutil

import pytest

import flatcube
from tests.rooms import ROOMS

PACKAGES = [info.name for info in pkgutil.iter_modules(flatcube.__path__) if info.ispkg]
DOORS = [name for name in PACKAGES if hasattr(importlib.import_module(f"flatcube.{name}"), "__getattr__")]
WHOLE = sorted({"cube", "training", *ROOMS} & set(DOORS))  # rooms of mathematics: no other way in
APART = {"exercises", "explorer"}  # and experiments: they have their own readers


def room(name: str):
    return importlib.import_module(f"flatcube.{name}")


def modules(name: str) -> list[str]:
    """The modules of a room."""
    return [info.name for info in pkgutil.iter_modules(room(name).__path__)]


def homes(name: str) -> dict[str, list[str]]:
    """The ``__all__`` of every module of a room that is not private and no experiment."""
    found = {}
    for part in modules(name):
        module = importlib.import_module(f"flatcube.{name}.{part}")
        experiment = hasattr(module, "EXPERIMENT") or hasattr(module, "main")
        if not part.startswith("_") and not experiment:
            found[part] = getattr(module, "__all__", [])
    return found


def test_the_rooms_are_found():
    assert {"cube", "fourier", "training", "classroom", "pacbayes"} < set(DOORS)
    assert {"cube", "fourier", "training", "pacbayes"} < set(WHOLE)


@pytest.mark.parametrize("name", DOORS)
def test_every_name_at_the_door_is_public_in_its_module(name):
    for public in room(name).__all__:
        holding = [f"flatcube.{name}.{part}" for part, names in homes(name).items() if public in names]
        things = [getattr(importlib.import_module(module), public) for module in holding]
        assert any(thing is getattr(room(name), public) for thing in things), f"{public} is in no module's __all__"


@pytest.mark.parametrize("name", DOORS)
def test_no_name_is_also_a_module(name):
    """Or it would be replaced by the module as soon as somebody imports that."""
    assert set(room(name).__all__).isdisjoint(modules(name))


@pytest.mark.parametrize("name", DOORS)
def test_the_names_are_listed_once(name):
    assert dir(room(name)) == sorted(room(name).__all__)
    assert len(set(room(name).__all__)) == len(room(name).__all__)


@pytest.mark.parametrize("name", DOORS)
def test_an_unknown_name_gets_one_sentence(name):
    with pytest.raises(AttributeError, match=rf"^flatcube\.{name} has no 'nothing'; it has .*\.$") as caught:
        _ = room(name).nothing
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_module_says_is_public_is_at_the_door(name):
    named = {part: names for part, names in homes(name).items() if part not in APART}
    hidden = {part: set(names) - set(room(name).__all__) for part, names in named.items()}
    assert not any(hidden.values()), f"in the __all__ of a module, and not at the door flatcube/{name}: {hidden}"
