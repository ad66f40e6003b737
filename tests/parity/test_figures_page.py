"""Chapter 6's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from flatcube import handmade, parity
from tests.browser.figure_tests import FigureTests, Row


def ballots(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Each of k ones compares the ones up to it with those after it."""
    k = state["ones"]
    assert sum(1 if j > k - j else -1 for j in range(1, k + 1)) == k % 2
    yield from ({"j": j, "margin": j - (k - j), "vote": "yes" if j > k - j else "no"} for j in range(1, k + 1))


def wave(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The tooth at every even count: 1 up to a quarter of a step from it, 0 from half a step on."""
    n = state["length"]
    steps = [0, 1 / 4, 1 / 2, 1, 3 / 2, 7 / 4, 2]  # from an even count to the next
    values = [1, 1, 0, 0, 0, 1, 1]
    for eighth in range(8 * n + 1):
        yield {"n": n, "share": eighth / (8 * n), "value": float(np.interp(eighth / 8 % 2, steps, values))}


def bump(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The three units with their weights, and that they add up to 1 at place k and to 0 elsewhere."""
    k, parts = state["ones"], ("+1 × first unit", "−2 × second unit", "+1 × third unit")
    for i in range(9):
        units = [weight * max(0, k - i + shift) for weight, shift in ((1, 1), (-2, 0), (1, -1))]
        yield from ({"i": i, "part": part, "value": value} for part, value in zip(parts, units, strict=True))
        yield {"i": i, "part": "their sum", "value": float(i == k)}


def faded(state: dict, stored: list[Row]) -> Iterator[Row]:
    """What ε leaves of the output for a string that begins with its k ones, from the formula of the chapter."""
    eps, lengths = float(state["eps"]), sorted({row["n"] for row in stored if "n" in row})
    assert (lengths[0], lengths[-1], len(lengths)) == (4, 2000, 12)
    for n in lengths:
        for count, side in (("even", 1), ("odd", -1)):
            N, k = n + 1, min((k for k in range(n + 1) if (-1) ** k == side), key=lambda k: (abs(k - n / 2), -k))
            held = np.array([1, k / N, side, 1 / N, k / N, side / N])  # at place k, before the balance
            answer = 1 / np.sqrt((held @ held + held.sum() ** 2) / 9 + eps) / N**2
            output = 1 / np.sqrt(1 + 81 / 8 * eps / answer**2)
            yield {"eps": state["eps"], "n": n, "ones": count, "output": output}


def leftover(state: dict, stored: list[Row]) -> Iterator[Row]:
    """What one wrong weight adds to the answer: all bars together are what the answer really changes by."""
    rows = [row for row in stored if row["weight"] == state["which"]]
    assert [row["at"] for row in rows] == [*map(str, range(1, 25)), "0", "own"]
    at = parity.CHANNELS.index
    path, row, column = {
        "middle": ("layers.0.mlp.weights.1", 1, at("hit")),
        "bit": ("layers.0.heads.0.value", at("bit"), at("count")),
        "side": ("layers.0.mlp.weights.0", at("side"), 0),
    }[state["which"].split()[0]]
    bits, answers = (torch.arange(24) < 12)[None].long(), []
    for change in (0, 0.01):
        model = parity.layer_norm_network()
        with torch.no_grad():
            model.get_parameter(path)[row, column] *= 1 + change
            answers.append(float(model.activations(bits)["layers.1.sum"][0, -1, at("answer")]))
    assert sum(row["value"] for row in rows) == pytest.approx(answers[1] - answers[0], rel=1e-3)
    silent = [row["value"] for row in rows if row["at"] in ("1", "3", "23")]
    assert state["which"].startswith("bit") or max(map(abs, silent)) < 1e-12
    yield from rows


def four_ways(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms and numbers of weights in closed form; noise thresholds that fall with the length, or hardly do."""
    lengths, names = (4, 8, 16, 32, 64, 128), {row["network"] for row in stored}
    assert len(names) == 5
    if state["measure"] == "noise that it survives":
        rows = [row for row in stored if row["measure"] == state["measure"]]
        for name in names:
            values = [row["value"] for row in sorted(rows, key=lambda row: row["n"]) if row["network"] == name]
            if "scratchpad" in name:
                assert max(values) < 4 * min(values)
            else:
                assert values == sorted(values, reverse=True) and values[-1] < values[0] / 20
        yield from rows
        return
    for n in lengths:
        N, D = n + 1, int(np.log2(n)) + 1
        if state["measure"] == "number of weights":
            of_pad = {"scratchpad, one-hot": 2 * N**2 + 8 * N + 8, "scratchpad, binary": 2 * D**2 + 8 * D + 8}
            wave = 3 * (n + 2) ** 2 + 3 * (n + 2) + 4 * N * (2 * (n + 2) + 1)
            values = {"nested majorities": 140, "memorised wave": wave, "layer norm": 769} | of_pad
        else:
            logits = {code: [t + m for t, m in zip(parity.thresholds(n, code), np.log([2, 100]), strict=True)]
                      for code in ("one-hot", "binary")}  # fmt: skip
            rest = 256 + 4 + 37 / 32 + 3
            wave = sum(handmade.norms(handmade.Design([(tuple(range(1, N)), 1.0)], n)).values()) + 1
            values = {
                "nested majorities": 14 * N**2 + (N + 0.25) ** 2 + (N + 0.75) ** 2 + 72.625,
                "memorised wave": wave,
                "layer norm": 89.125,
                "scratchpad, one-hot": n * sum(np.square(logits["one-hot"])) + rest,
                "scratchpad, binary": (D - 1) * sum(np.square(logits["binary"])) / 4 + rest,
            }
        yield from ({"network": name, "n": n, "value": value} for name, value in values.items())


class TestFigures(FigureTests):
    room = "parity"
    charts = {
        "Odd strings win by one vote, even ones tie": ballots,
        "A tooth for every even count": wave,
        "Three ReLUs cancel everywhere but at place k": bump,
        "With any ε above zero the output fades": faded,
        "A wrong weight speaks where there should be silence": leftover,
        "Only the binary scratchpad is cheap in all three": four_ways,
    }
