"""What the channels of a network are called and what each is for: names that live with the network.

A network is a chain of *spaces*, each with its channels, and they are called as in ``interface``:

    embedding         what enters the first layer
    layers.k.mixed    U, after the heads of layer k
    layers.k.mlp.l    the units of its MLP
    layers.k.output   what layer k leaves behind
    tokens, appended  the symbols, and those that follow every input

A space without names of its own takes those of what entered the layer, if it is as wide, and numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from flatcube import checks

if TYPE_CHECKING:
    from flatcube.networks.blocks import Layer
    from flatcube.networks.circuit import Circuit

__all__ = ["Channel", "Channels", "named", "spaces"]


class Channel(NamedTuple):
    """A channel's name and its job, in a few words."""

    name: str
    job: str = ""


Channels = Mapping[str, Sequence[Channel]]


def named(channels: Mapping[str, Sequence[Channel | tuple[str, str] | str]] | None) -> dict[str, tuple[Channel, ...]]:
    """The names of some spaces in normal form: a channel is a ``Channel``, a pair (name, job) or a name."""
    found: dict[str, tuple[Channel, ...]] = {}
    for space, given in checks.instance({} if channels is None else channels, "channels", Mapping).items():
        parts = checks.several(given, f"channels: {space}", (str, tuple))
        made = [Channel(part) if isinstance(part, str) else _pair(part, space) for part in parts]
        if len({channel.name for channel in made}) < len(made):
            raise ValueError(f"channels: {space}: expected names that differ, got {[c.name for c in made]!r:.60}")
        found[space] = tuple(made)
    return found


def spaces(model: Circuit) -> dict[str, tuple[Channel, ...]]:
    """The channels of every space of a network, in the order of the computation."""
    given = dict(model.channels)
    found = {"tokens": _taken(given, "tokens", model.symbols, [Channel(str(k)) for k in range(model.symbols)])}
    symbols = [found["tokens"][int(k)].name for k in model.appended]
    last = ["out"] if symbols in (["0"], ["1"]) else symbols
    found["appended"] = _taken(given, "appended", len(model.appended), [Channel(name) for name in _different(last)])
    x = found["embedding"] = _taken(given, "embedding", model.tokens.shape[-1], _numbered(model.tokens.shape[-1]))
    for k, layer in enumerate(model.layers):
        inside = f"layers.{k}."
        mixed, units, out = widths(layer)
        u = x if mixed == len(x) else _numbered(mixed, "u")
        u = found[inside + "mixed"] = _taken(given, inside + "mixed", mixed, u)
        for place, count in enumerate(units):
            own = [Channel(f"relu {unit}") for unit in range(1, count + 1)]
            found[f"{inside}mlp.{place}"] = _taken(given, f"{inside}mlp.{place}", count, own)
        z = x if out == len(x) else u if out == len(u) else _numbered(out, "z")
        x = found[inside + "output"] = _taken(given, inside + "output", out, z)
    for space in given:
        raise ValueError(f"channels: expected names of spaces such as {', '.join(list(found)[2:5])}, got {space!r}")
    return found


def widths(layer: Layer) -> tuple[int, list[int], int]:
    """How many channels a layer mixes (0 without heads and skip), how many units its MLP has, how many it leaves."""
    sizes = {axes[1]: values.shape[-1] for _, values, axes in layer._parts()}
    units = [] if layer.mlp is None else [weight.shape[-1] for weight in layer.mlp.weights][:-1]
    mixed = sizes.get("U", 0)
    return mixed, units, sizes.get("Z", mixed)


def _pair(part: tuple, space: str) -> Channel:
    if not 1 <= len(part) <= 2 or not all(isinstance(word, str) for word in part):
        raise ValueError(f"channels: {space}: expected pairs (name, job), got {part!r:.60}")
    return Channel(*part)


def _taken(given: dict, space: str, width: int, otherwise: Sequence[Channel]) -> tuple[Channel, ...]:
    found = given.pop(space, tuple(otherwise))
    if len(found) != width:
        raise ValueError(f"channels: {space}: expected {width} of them, got {len(found)}")
    return tuple(found)


def _numbered(width: int, letter: str = "") -> list[Channel]:
    return [Channel("f")] if letter and width == 1 else [Channel(f"{letter}{k}") for k in range(1, width + 1)]


def _different(names: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(names, 1)]
