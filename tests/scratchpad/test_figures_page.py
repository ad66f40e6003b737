"""Chapter 11's figures: what its charts with inputs must show, and its explorer, in a browser."""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import torch

from flatcube import handmade, parity, scratchpad, sensitivity
from tests.browser.figure_tests import FigureTests, Row


def turned(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The influences of twelve bits on the verdict about the chosen language."""
    table = scratchpad.transduce(scratchpad.AUTOMATA[state["language"]], 12)[-1]
    yield from ({"i": i, "influence": value} for i, value in enumerate(sensitivity.influences(table), 1))


SAMPLE = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1]


def parted(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The states of the run on a string, and of the run after a flip from just before it on, a little higher."""
    table, flip, q, r = scratchpad.AUTOMATA[state["language"]].table, int(state["flip"]), 0, 0
    yield {"run": "the string", "t": 0, "state": 0}
    for t, bit in enumerate(SAMPLE, 1):
        if t == flip:
            yield {"run": "bit flipped", "t": t - 1, "state": r + 0.08}
        q, r = table[q, bit], table[r, bit ^ (t == flip)]
        yield {"run": "the string", "t": t, "state": q}
        if t >= flip:
            yield {"run": "bit flipped", "t": t, "state": r + 0.08}


def looked(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Softmax over eight symbols and t states, with logit log(7·loud) for the two equal codes."""
    t, logit = int(state["t"]), math.log(7 * state["loud"])
    names = [f"x{j}" for j in range(1, 9)] + [f"q{j}" for j in range(t)]
    weights = torch.tensor([logit * (name in (f"x{t}", f"q{t - 1}")) for name in names]).double().softmax(0)
    yield from ({"name": name, "weight": weight} for name, weight in zip(names, weights.tolist(), strict=True))


def teeth(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The wave at its kinks, and 1 or 0 at the possible means."""
    degree = int(state["read"])
    kinks = {round(8 * degree * row["a"]) / (8 * degree) for row in stored if row["read"] == state["read"]}
    places = kinks | {k / degree for k in range(degree + 1)}
    yield from ({"a": a, "value": handmade.wave([a], degree)[0]} for a in places)


@torch.no_grad()
def fates(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Where each of sixteen noisy chains first writes what the automaton does not."""
    sigma, draws = float(state["sigma"]), torch.Generator().manual_seed(11)
    for chain in range(1, 17):
        network = parity.scratchpad_network(16, code="binary")
        for name, weights in network.named_parameters():
            if name != "positions":
                weights.add_(torch.randn(weights.shape, generator=draws, dtype=weights.dtype), alpha=sigma)
        bits = torch.randint(2, (1, 16), generator=draws)
        truth, kind = scratchpad.AUTOMATA["parity"].run(bits.numpy())[0, 1:], "right, after right states"
        for t, same in enumerate(parity.run(network, bits)[0, 1:].numpy() == truth, 1):
            if kind == "first wrong state":
                kind = "whatever comes after it"
            elif not same and kind == "right, after right states":
                kind = "first wrong state"
            yield {"chain": chain, "t": t, "kind": kind}


def promised(state: dict, stored: list[Row]) -> Iterator[Row]:
    """log δ in units of the best that could be promised: a quarter for a pass, 1/4T for each step of a chain."""
    sigma = float(state["sigma"])
    for T in (4, 8, 16, 32, 64, 128):
        wave = scratchpad.one_pass(T)
        room, norm = 1 - 2 * sigma**2 * wave.trace, 0.16 * wave.norm2 / (sigma**2 * 1e12)
        yield {"T": T, "kind": "one pass, without the condition", "value": norm - room**2}
        if room > 0:
            yield {"T": T, "kind": "one pass", "value": norm - room**2}
        for code in ("one-hot", "binary"):
            step = scratchpad.step(T, code=code)
            left = 1 - 4 * T * (step.loss + sigma**2 * step.trace / 2)
            paid = 0.32 * T**2 * (math.log(T) + step.norm2 / (2 * sigma**2)) / 1e12
            if left > 0:
                yield {"T": T, "kind": f"chain, {code}", "value": paid - left**2}


@cache
def priced(T: int) -> dict[str, scratchpad.Price]:
    chains = {f"chain, {code}": scratchpad.step(T, code=code) for code in ("one-hot", "binary")}
    return {"one pass": scratchpad.one_pass(T)} | chains


def paid(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms and traces of three networks for PARITY."""
    for T in (2**k for k in range(3, 11)):
        for kind, price in priced(T).items():
            value = price.norm2 if state["measure"] == "squared norm" else price.trace
            yield {"network": kind, "T": T, "value": value}


def asked(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The examples that each bound asks for, and Occam's count of the parities of subsets."""
    error = float(state["target"])
    for T in (2**k for k in range(3, 11)):
        yield {"kind": "Occam", "T": T, "m": (T * np.log(2) + np.log(20)) / error}
        yield from ({"kind": kind, "T": T, "m": scratchpad.samples(price, error)} for kind, price in priced(T).items())


def switched(state: dict, stored: list[Row]) -> Iterator[Row]:
    """δ at the best σ, cut at 1: it falls where 216 k³ C² Tr H ‖θ‖² examples are reached, for k steps."""
    for kind, price in priced(int(state["bits"])).items():
        switch = 2.16 * (1 if kind == "one pass" else int(state["bits"])) ** 3 * price.trace * price.norm2
        for m in 10 ** (np.arange(16, 73) / 4):
            yield {"kind": kind, "m": m, "delta": float(m < switch)}


class TestFigures(FigureTests):
    room = "scratchpad"
    charts = {
        "After a flip two runs read the same bits; what matters is whether they meet again": parted,
        "Where a verdict on twelve bits can be turned over": turned,
        "The last position looks at its own code, and a little at all others": looked,
        "The more bits are read at once, the more teeth, and the steeper each of them": teeth,
        "A pass pays with the cube of the length, a step does not": paid,
        "A wrong chain has one first wrong state, and before it all states are right": fates,
        "Straight lines: every one of these bounds asks for a power of the length": asked,
        "Where the condition fails there is no δ; the bare formula may promise everything there": promised,
        "δ is a switch: it stays at one, and then drops to next to nothing": switched,
    }
