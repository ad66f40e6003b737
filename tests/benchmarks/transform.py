"""The Walsh transform next to every package for it that pip installs.

All arms transform the same ±1 table. Ours and those of torch and numpy get float32, pyfwht int32 (its fastest, and in
place), boofun float64; sympy gets a list, scipy a ready matrix. The targets are ratios of times on the clock, with
all cores allowed; on a busy machine the ratios of processor time are the ones to trust.
"""

import arena
import numpy as np

CASES = [(1, 12), (1, 16), (1, 20), (1, 22), (1, 24), (1000, 12)]  # (tables, n)
SMALL, LARGE = (1, 12), (1, 22)  # for memory: a first call to load what is needed, and the one that is measured

# (arm, cases, smallest ratio)
TARGETS = [
    ("hadamard-transform", CASES, 3),
    ("sympy", [(1, 12)], 1000),
    *((name, CASES[1:], 1) for name in ("pyfwht", "pyfwht OpenMP", "boofun + numba", "numpy butterfly")),
]


def table(case: tuple[int, int]) -> np.ndarray:
    """A ±1 table (tables, 2^n) or (2^n,), float32, made without a larger temporary."""
    tables, n = case
    values = np.random.default_rng(n).integers(0, 2, (tables, 2**n), dtype=np.int8)
    values *= -2
    values += 1
    return values.astype(np.float32).squeeze()


def flatcube(case):
    from flatcube import fourier

    f = table(case)
    return lambda: fourier.transform(f)


def copying(case):
    f = table(case)
    target = np.empty_like(f)
    return lambda: np.copyto(target, f)


def hadamard_transform(case):
    import torch
    from hadamard_transform import hadamard_transform

    f = torch.from_numpy(table(case))
    return lambda: hadamard_transform(f)


def pyfwht(case):
    return _pyfwht(case, "CPU")


def pyfwht_openmp(case):
    return _pyfwht(case, "OPENMP")


def _pyfwht(case, backend):
    import pyfwht

    rows, backend = np.atleast_2d(table(case).astype(np.int32)), getattr(pyfwht.Backend, backend)

    def run():
        for row in rows:  # its batched call chooses a GPU, present or not
            pyfwht.transform(row, backend=backend)

    return run


def boofun(case):
    import warnings

    warnings.simplefilter("ignore")
    from boofun.core.optimizations import fast_walsh_hadamard_numba

    f = table(case).astype(np.float64)
    return (lambda: fast_walsh_hadamard_numba(f)) if f.ndim == 1 else None


def sympy(case):
    if case != (1, 12):
        return None
    from sympy import fwht

    f = table(case).astype(int).tolist()
    return lambda: fwht(f)


def scipy(case):
    tables, n = case
    if n > 12:
        return None
    from scipy.linalg import hadamard

    f, matrix = table(case), hadamard(2**n, dtype=np.float32)
    return lambda: f @ matrix


def butterfly(case):
    f = table(case)

    def run():
        g = f.copy()
        for i in range(case[1]):
            pair = g.reshape(-1, 2, 2**i)
            difference = pair[:, 0] - pair[:, 1]
            pair[:, 0] += pair[:, 1]
            pair[:, 1] = difference
        return g / 2 ** case[1]

    return run


ARMS = {
    "flatcube": flatcube,
    "hadamard-transform": hadamard_transform,
    "pyfwht": pyfwht,
    "pyfwht OpenMP": pyfwht_openmp,
    "boofun + numba": boofun,
    "scipy matrix": scipy,
    "sympy": sympy,
    "numpy butterfly": butterfly,
    "copying the table": copying,
}


def main() -> list[bool | None]:
    """Print the ratios; whether each target was met."""
    times, absent = arena.race(ARMS, CASES, rounds=15, patience=4)
    print("Walsh transform of a ±1 table, time divided by flatcube's: above 1, flatcube is faster")
    heads = {(tables, n): f"n = {n}" if tables == 1 else f"{tables} × 2^{n}" for tables, n in CASES}
    arena.show(times, absent, ARMS, heads)
    print("extra memory of one call at n = 22, in tables, the result included:")
    names = [name for name in ARMS if (name, LARGE) in times and name != "copying the table"]
    extra = {name: _tables(name) for name in names}
    print("    " + ", ".join(f"{name} {tables:.1f}" for name, tables in extra.items()))
    memory = arena.judge("extra memory, tables", extra.get("flatcube"), most=2)
    return [*arena.judge_all(times, TARGETS, heads), memory]


def _tables(name):
    """Extra memory in tables of the dtype that the arm works on."""
    size = 2 ** LARGE[1] * (8 if name.startswith("boofun") else 4)
    return arena.memory(ARMS[name], SMALL, LARGE) / size
