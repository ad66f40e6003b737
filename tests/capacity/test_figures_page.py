"""Chapter 8's figures: what its charts with inputs must show, and its explorer, in a browser."""

import re
from collections.abc import Iterator
from math import comb, lgamma

import numpy as np
import pytest

from tests.browser.figure_tests import FigureTests, Row


def squares(state: dict, stored: list[Row]) -> Iterator[Row]:
    """As many squares of half-width ε as stated, each around a dot; every dot of the ellipse is in one of them."""
    eps = state["radius"] / 10
    found = [row for row in stored if row.get("tenths") == state["radius"] and "right" in row]
    (said,) = [row["count"] for row in stored if row.get("tenths") == state["radius"] and "count" in row]
    assert int(said.split()[0]) == len(found)
    dots = np.array([(row["left"], row["low"]) for row in stored if "tenths" not in row])
    assert len(dots) == 1 + 8 * 48
    sides = np.array([[row[side] for side in ("left", "right", "low", "high")] for row in found])
    assert np.allclose(sides[:, [1, 3]] - sides[:, [0, 2]], 2 * eps, atol=1e-4)
    centres = (sides[:, [0, 2]] + sides[:, [1, 3]]) / 2
    apart = np.abs(dots[:, None] - centres).max(axis=2)
    assert apart.min(axis=1).max() <= eps + 1e-4 and apart.min(axis=0).max() < 1e-4
    yield from found


def games(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The corrector against eight values of 2.02 ε and eight of 1.02 ε, input by input; at most 60 corrections."""
    length, eps = state["length"], 0.1
    gaps, count, done = [2.02 * eps] * 8 + [1.02 * eps] * 8, 0, False
    start = sum(gap * gap for gap in gaps)
    while not done:
        yield {"kind": "measured", "count": count, "left": sum(gap * gap for gap in gaps)}
        left = start - count * length * (2 - length) * eps**2  # each correction is worth so much
        if length <= 2 and left > -1e-9:
            yield {"kind": "allowed by the proof", "count": count, "left": left}
            assert sum(gap * gap for gap in gaps) <= left + 1e-9
        worst = max(range(16), key=lambda k: (round(abs(gaps[k]), 9), -k))
        done = abs(gaps[worst]) <= eps or count == 60
        gaps[worst] -= length * eps * (1 if gaps[worst] > 0 else -1)
        count += 1
    assert (count - 1 == 60) == (length > 2)


def both_sides(state: dict, stored: list[Row]) -> Iterator[Row]:
    """(1/ε)² corrections out of 2N + 1 from above; the largest of C(N, k) 2^k with k < 1/4ε² from below."""
    N = int(state["inputs"].replace(",", ""))
    for eps in (0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03):
        yield {"kind": "corrector, from above", "eps": eps, "log_n": int(1 / eps**2 + 1e-9) * np.log(2 * N + 1)}
        sizes = [k for k in range(1, N + 1) if 4 * eps**2 * k < 1 - 1e-12]
        most = max(lgamma(N + 1) - lgamma(k + 1) - lgamma(N - k + 1) + k * np.log(2) for k in sizes)
        yield {"kind": "packing, from below", "eps": eps, "log_n": most}


def moved(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Sixty heads for each length: with softmax below the bound, in plain sums in proportion to the length."""
    rows = [row for row in stored if row.get("kind") == state["weights"]]
    shares = {T: np.median([row["share"] for row in rows if row["T"] == T]) for T in (2, 32, 512)}
    assert len(rows) == 9 * 60
    if state["weights"] == "softmax":
        assert max(row["share"] for row in rows) < 1 and shares[512] < shares[2]
    else:
        assert shares[512] / shares[32] == pytest.approx(16, rel=0.5) and shares[512] > 30
    for row in rows:
        yield {"T": row["T"], "share": row["share"]}


def splits(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The cost of two matrices of size 1 and reaches 1 and r when the first gets a share of the error."""
    r = float(state["reach"])
    for share in np.linspace(0.04, 0.96, 93):
        yield {"share": share, "cost": 1 / share**2 + (r / (1 - share)) ** 2}
    (best,) = [row for row in stored if row["reach"] == state["reach"] and "least" in row]
    assert best["share"] == pytest.approx(1 / (1 + r ** (2 / 3)), rel=1e-4)  # where the derivative vanishes
    assert best["least"] == pytest.approx((1 + r ** (2 / 3)) ** 3, rel=1e-4)


def with_positions(state: dict, stored: list[Row]) -> Iterator[Row]:
    """H heads with norms 0.05, width 16, on tokens of norm 2: H³ times one head; trained positions add T·16·log 21."""
    size, reach = 2 * 2 * 16 * 0.05, 0.05 * 2
    one = ((size * reach) ** (2 / 3) + (2 * 16 * 0.05) ** (2 / 3)) ** 3
    for T in (10**k for k in range(1, 8)):
        fixed = int(state["count"]) ** 3 * one * np.log(2 * 1000 * T + 1) / 0.01
        yield {"positions": "fixed", "T": T, "log_n": fixed}
        yield {"positions": "trained", "T": T, "log_n": fixed + T * 16 * np.log(21)}


def journeys(state: dict, stored: list[Row]) -> Iterator[Row]:
    """An error is multiplied by the factor of every later block, and by 5 at the read-out."""
    factors = [float(text) for text in state["network"].split(", ")]
    for i in range(3):
        grown = 1.0
        for j, factor in enumerate([*factors[i + 1 :], 5.0], i + 1):
            yield {"made": f"block {i + 1}", "at": j - 1, "grown": grown}
            grown *= factor
        yield {"made": f"block {i + 1}", "at": 3, "grown": grown}


def scales(state: dict, stored: list[Row]) -> Iterator[Row]:
    """ε, √(2 log(2m + 1)/m)/ε and their sum, as far as they fit; the dot is where the first two are equal."""
    m = 10.0 ** state["digits"]
    length = np.sqrt(2 * np.log(2 * m + 1) / m)
    for eps in np.logspace(-2.5, 0, 26):
        for kind, bound in (("blur", eps), ("length of the list", length / eps), ("both", eps + length / eps)):
            if 0.003 < bound < 10:
                yield {"kind": kind, "eps": eps, "bound": bound}
    (best,) = [row for row in stored if row["e"] == state["digits"] and "least" in row]
    assert best["eps"] == pytest.approx(np.sqrt(length), rel=1e-4)
    assert best["least"] == pytest.approx(2 * np.sqrt(length), rel=1e-4)


def promises(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Occam's bound by hand; those by covers fall with m, from their trivial values, where the library says."""
    T, k = map(int, re.findall(r"\d+", state["tiling"]))
    w, rows = T // k, [row for row in stored if row.get("tiling") == state["tiling"]]
    for e in range(28):
        occam = 4 * (np.log(float(comb(comb(T, k), w))) + w * np.log(16) + np.log(20)) / 10.0**e
        if 1e-3 < occam < 1e4:
            yield {"kind": "Occam", "m": 10.0**e, "bound": occam}
    for form, factor in {"as printed": 16, "corrected": 16, "nothing hidden": 32}.items():
        drawn = [row for row in rows if row["kind"] == f"cover, {form}"]
        falling = [row["bound"] for row in drawn]
        assert falling == sorted(falling, reverse=True) and drawn[6]["m"] == 1e6
        assert falling[6] == pytest.approx(factor * 2 * np.sqrt(w), rel=2e-3)
        yield from drawn


class TestFigures(FigureTests):
    room = "capacity"
    charts = {
        "Finitely many squares cover the whole class": squares,
        "Steps of up to twice the proper length bring u closer, longer ones may go on for ever": games,
        "The truth lies between a packing and the corrector's count": both_sides,
        "Softmax keeps below the bound at any length, plain sums do not": moved,
        "The cost has one minimum, and the rule finds it": splits,
        "Fixed positions cost a logarithm of T, trained ones T in the end": with_positions,
        "An error is stretched by what comes after it, and by nothing else": journeys,
        "A coarse list blurs, a fine list is long": scales,
        "Only below the line does a bound say something": promises,
    }
