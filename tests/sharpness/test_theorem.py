"""What the chapter adds to the papers: the steps of Theorem 6 in its stronger form, and which rulers see PARITY."""

import math

import numpy as np
import pytest
import torch

from flatcube import cast, cube, sensitivity, sharpness
from flatcube.experiments import store


def test_parity_is_far_from_whatever_is_insensitive():
    """E(f − g)² ≥ 1 − 2√ν for as(g) = νn, with equality up to ν where g is a small multiple of PARITY."""
    rng = np.random.default_rng(0)
    for n in range(1, 9):
        f = cube.parity(n)
        for g in [rng.normal(size=2**n), 0.1 * rng.normal(size=2**n), 0.3 * f, -0.3 * f, np.zeros(2**n)]:
            nu = sensitivity.average(g) / n
            assert np.square(f - g).mean() >= 1 - 2 * math.sqrt(nu) - 1e-12
        assert math.isclose(np.square(f - 0.3 * f).mean(), 1 - 2 * 0.3 + 0.3**2)


def test_a_shift_on_the_sphere_seldom_leaves_a_small_spread():
    """The bias is a block of D coordinates of a uniform direction; what it must cancel hangs on the weights below."""
    width, below, above, draws = 4, 5, 2, 400_000
    g = np.random.default_rng(1).standard_normal((draws, below + width + above))
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    centre = -0.5 * g[:, :width] + 0.1  # as an adversary would choose it who sees the weights below
    spread = (g[:, below : below + width] + centre).std(axis=1)
    shares = [np.mean(spread < kappa) for kappa in (0.08, 0.04)]
    error = 4 / math.sqrt(draws * shares[1])
    assert shares[0] / shares[1] == pytest.approx(2 ** (width - 1), rel=0.15 + error)


def test_every_rho_ruins_parity_in_the_end_and_none_does_at_first():
    """No limit ρ → 0 is needed: for each ρ the loss exceeds as_n/n = 1 from some length on."""
    for rho, short, long in ((1e-2, 8, 216), (1e-3, 8, 648), (1e-4, 24, 2000)):
        found = {n: _stored(n, rho) for n in (short, long)}
        assert found[short] < 0.8 and found[long] > 1


def _stored(n: int, rho: float) -> float:
    key = ["layer norm", "parity", str(n), f"{rho:g}"]
    return next(float(row["loss"]) for row in store.load("brittle") if list(row.values())[:4] == key)


def test_adaptive_shifts_see_parity_and_relative_flatness_does_not():
    losses, flat = {}, {}
    for n in (9, 33):
        x = torch.randint(0, 2, (8, n), generator=torch.Generator().manual_seed(n))
        for name in ("PARITY", "FIRST"):
            model = cast.network(name)
            found = sharpness.average_direction(model, x, rho=3e-3, kind="sphere", adaptive=True, directions=12)
            losses[name, n], flat[name, n] = found.value, sharpness.relative_flatness(model, x).value
    assert losses["PARITY", 33] > 100 * losses["PARITY", 9] and losses["FIRST", 33] < 3 * losses["FIRST", 9]
    assert all(math.isclose(value, 2.25, rel_tol=1e-9) for value in flat.values())
