"""The Walsh transform next to every package for it that pip installs.

All arms transform the same ±1 table. Ours and those of torch and numpy get float32, pyfwht int32 (its fastest, and in
place), boofun float64; sympy gets a list, scipy a ready matrix. The ratio is their time on the clock divided by ours.
"""

import numpy as np

import arena

BATCH = (1000, 12)
CASES = [(1, 12), (1, 16), (1, 20), (1, 22), (1, 24), BATCH]  # (tables, n)
MEMORY = [(1, 12), (1, 22)]

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

    f, backend = table(case).astype(np.int32), getattr(pyfwht.Backend, backend)
    if f.ndim == 2:
        return lambda: pyfwht.vectorized_batch_i32(f)
    return lambda: pyfwht.transform(f, backend=backend)


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


def main() -> bool:
    """Print the ratios; True if every target was met."""
    times, absent = arena.race(ARMS, CASES, rounds=15, patience=4)
    heads = [f"n = {n}" if tables == 1 else f"{tables} × 2^{n}" for tables, n in CASES]
    print("Walsh transform of a ±1 table: time of each package divided by flatcube's (above 1: flatcube is faster)")
    print(f"{'':20}" + "".join(f"{head:>12}" for head in heads) + f"{'memory':>10}")
    for name in ARMS:
        if name in absent:
            print(f"{name:20}  not measured: {absent[name]}")
            continue
        ratios = (_ratio(times, name, case) for case in CASES)
        print(f"{name:20}" + "".join(f"{_short(ratio):>12}" for ratio in ratios) + f"{_tables(name):>10}")
    ours = [times["flatcube", case].wall * 1e3 for case in CASES]
    print(f"{'flatcube, ms':20}" + "".join(f"{_short(ms):>12}" for ms in ours))
    print("memory: extra tables at the peak of one call at n = 22, the result included; in place is 0")
    return all([_judge(times, name, case, least) for name, cases, least in TARGETS for case in cases])


def _ratio(times, name, case):
    return times[name, case].wall / times["flatcube", case].wall if (name, case) in times else None


def _short(value):
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _tables(name):
    """Extra memory in tables of the dtype that the arm works on."""
    if name in ("sympy", "scipy matrix", "copying the table"):
        return "–"
    size = 2 ** MEMORY[1][1] * (8 if name.startswith("boofun") else 4)
    return f"{arena.memory(ARMS[name], *MEMORY) / size:.1f}"


def _judge(times, name, case, least):
    ratio = _ratio(times, name, case)
    if ratio is not None and ratio < least:
        print(f"missed: {name} at {case[0]} × 2^{case[1]}: ratio {ratio:.2f}, target {least}")
    return ratio is None or ratio >= least
