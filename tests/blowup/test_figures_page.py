"""Chapter 7's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from flatcube import blowup, cube, parity
from flatcube.blowup import five
from tests.browser.figure_tests import FigureTests, Row


def steps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """a/√(a² + ε) with a = ½ − k/n."""
    n = 101
    for k in range(n + 1):
        a = 0.5 - k / n
        yield {"k": k, "output": a / np.sqrt(a**2 + 10.0 ** -state["place"]), "place": state["place"]}


def calm(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Rows of attention before and after every flip; in the string without ones each flip has the same effect."""
    loud = float(state["loud"])
    for n in (2**k for k in range(4, 11)):
        bits, rank = np.random.default_rng(n).integers(0, 2, (100, n)), -np.log(np.arange(1, n + 1))
        for kind, zero in (("random, all keys alike", np.zeros(n)), ("random, early keys louder", rank)):
            here, there = (np.exp(zero + loud * some) for some in (bits, 1 - bits))
            others = here.sum(1, keepdims=True) - here
            total = 2 * np.abs(here / (others + here) - there / (others + there)).sum(1).max()
            yield {"kind": kind, "n": n, "total": total}
        yield {"kind": "no ones at all", "n": n, "total": 2 * n * (1 / (1 + (n - 1) * np.exp(-loud)) - 1 / n)}


def paid(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The norms of the PARITY network by numpy, and what PARITY owes; the constant is the library's."""
    network, sharp = parity.layer_norm_network(), "sharp" in state["form"]
    for n in (2**k for k in range(3, 9)):
        seen = network.activations(torch.from_numpy(np.random.default_rng(n).integers(0, 2, (16, n))))
        deviations = [seen[f"layers.{k}.sum"].detach().numpy().std(axis=2) for k in (0, 1)]
        factors = [(1 / deviation).max(axis=1) for deviation in deviations]
        has = np.prod(factors, axis=0) if sharp else np.prod([(1 + factor) ** 2 for factor in factors], axis=0)
        constant = blowup.log_constant(network, n=n, form="sharp" if sharp else "corrected")
        demand = np.sqrt(n / np.log(n)) - 1 / n
        assert has.mean() * np.exp(constant) > demand
        yield {"kind": "paid: C · E", "n": n, "size": has.mean() * np.exp(constant)}
        yield {"kind": "owed: √(n/log n) − 1/n", "n": n, "size": demand}


def circle(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Layer norm of three channels by torch, in two directions of the plane where they add up to 0."""
    plane = torch.tensor([[2.0, -1.0, -1.0], [0.0, 3**0.5, -(3**0.5)]], dtype=torch.float64) / 6**0.5
    for side in (0.15, -0.15):
        at = torch.tensor([state["away"], side], dtype=torch.float64)
        normed = torch.nn.functional.layer_norm(at @ plane, (3,), eps=0.0) @ plane.T
        yield {"when": "before", "x": float(at[0]), "y": side}
        yield {"when": "after", "x": float(normed[0]), "y": float(normed[1])}


KINDS = ("weight that key q gains or loses", "1 / (1 + ones before q)", "4 / (3 + q)")


def hiding(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Rows of attention before and after the flip of each key, by softmax; what the proof says bounds them."""
    n, rank = 64, np.arange(1, 65)
    random = np.random.default_rng(7).integers(0, 2, n)
    bits = {"random": random, "no ones at all": 0 * random}.get(state["string"], (rank > 32).astype(int))

    def row(some: np.ndarray) -> np.ndarray:
        return torch.from_numpy(-np.log(rank) + 5.0 * some).softmax(0).numpy()

    for q in rank:
        moved = abs(row(bits)[q - 1] - row(bits ^ (rank == q))[q - 1])
        most = 1 / (1 + bits[: q - 1].sum())
        assert moved <= most + 1e-12
        for kind, weight in zip(KINDS, (moved, most, 4 / (3 + q)), strict=True):
            yield {"kind": kind, "q": int(q), "weight": weight}


def ladder(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The largest changes of the last position from activations; what is allowed is never below them."""
    name = state["network"].partition(",")[0]
    by_hand = "hand" in state["network"]
    model = parity.layer_norm_network() if by_hand else five.stored(2).member(list(five.TABLES).index(name))
    bits = torch.from_numpy(cube.to_bits(cube.points(6 if by_hand else 5)))[:: 7 if by_hand else 5]
    names = {"before norm 1": "layers.0.sum", "after norm 1": "layers.0.output", "after norm 2": "layers.1.output"}
    rows = {(row["stage"], row["kind"]): row for row in stored if row["network"] == state["network"]}
    around = blowup.flips(bits)
    for stage, key in names.items():
        with torch.no_grad():
            here = model.circuit().activations(bits)[key][:, -1]
            there = model.circuit().activations(around.flatten(0, 1))[key][:, -1].unflatten(0, around.shape[:2])
        truth = float((there - here[:, None]).norm(dim=-1).max())
        assert rows[stage, "what the chain allows"]["size"] >= truth
        yield {"stage": stage, "kind": "largest change", "size": truth}
        yield rows[stage, "what the chain allows"]


def test_the_circle_s_pair_is_stretched_by_its_factor():
    rows = list(circle({"away": 0.25}, []))
    gap = [np.hypot(rows[k]["x"] - rows[k + 2]["x"], rows[k]["y"] - rows[k + 2]["y"]) for k in (0, 1)]
    assert gap[1] / gap[0] == pytest.approx(3**0.5 / np.hypot(0.25, 0.15))


class TestFigures(FigureTests):
    room = "blowup"
    charts = {
        "As ε falls, layer norm turns a slope into a step": steps,
        "A pair near the middle is torn apart, a pair far out is drawn together": circle,
        "A key has no more to lose than the ones before it leave": hiding,
        "However loud a one is, random strings stay calm": calm,
        "Behind the first norm the chain is close to the truth, behind the second far off": ladder,
        "PARITY by hand pays far more than it owes": paid,
    }
