"""All influences and the average sensitivity of a table, next to one transform, boofun, and the usual loops.

Boolean tables are int32, the library's own; ``all pairs`` compares every two points and keeps those at distance one, as
is often done. Real tables are float64, single ones float32. The targets are ratios of times on the clock; on a busy
machine the ratios of processor time are the ones to trust.
"""

import arena
import numpy as np

CASES = [("boolean", n) for n in (12, 16, 22, 24)] + [("real", n) for n in (16, 20, 22)] + [("single", 22)]
MEMORY = {kind: ((kind, 17), (kind, 22)) for kind in ("boolean", "real", "single")}

# (arm, cases, smallest ratio)
TARGETS = [
    ("one transform", [("boolean", 22), ("real", 22), ("single", 22)], 1 / 1.5),
    ("all pairs", [("boolean", 12)], 300),
    ("loop over bools", [("boolean", 24)], 10),
    ("loop over differences", [("real", 20), ("real", 22)], 2),
]


def table(case: tuple[str, int]) -> np.ndarray:
    """A random ±1 table (int32), or a real one in double or single precision."""
    kind, n = case
    rng = np.random.default_rng(n)
    if kind == "boolean":
        values = rng.integers(0, 2, 2**n, dtype=np.int32)
        values *= -2
        values += 1
        return values
    return rng.standard_normal(2**n, dtype=np.float64 if kind == "real" else np.float32)


def flatcube(case):
    from flatcube import sensitivity

    f = table(case)
    return lambda: sensitivity.influences(f).sum()


def transform(case):
    from flatcube import fourier

    f = table(case)
    return lambda: fourier.transform(f)


def boofun(case):
    import warnings

    warnings.simplefilter("ignore")
    import boofun
    from boofun.analysis import SpectralAnalyzer

    kind, n = case
    if kind != "boolean" or n > 14:  # beyond, it falls back on loops that take seconds
        return None
    truth = table(case) < 0
    return lambda: SpectralAnalyzer(boofun.create(truth)).influences().sum()


def all_pairs(case):
    kind, n = case
    if kind != "boolean" or n > 12:
        return None
    f, points = table(case), np.arange(2**n)

    def run():
        near = np.bitwise_count(points[:, None] ^ points) == 1  # (2^n, 2^n)
        return (near & (f[:, None] != f)).sum(axis=1).mean()

    return run


def loop_over_bools(case):
    kind, n = case
    if kind != "boolean":
        return None
    f = table(case)

    def run():
        truth = f < 0
        halves = (truth.reshape(-1, 2, 2**i) for i in range(n))
        return sum(np.count_nonzero(half[:, 0] != half[:, 1]) for half in halves) / 2 ** (n - 1)

    return run


def loop_over_differences(case):
    f = table(case)

    def run():
        halves = (f.reshape(-1, 2, 2**i) for i in range(case[1]))
        return sum(np.square(half[:, 0] - half[:, 1]).sum() for half in halves) / (2 * len(f))

    return run


ARMS = {
    "flatcube": flatcube,
    "one transform": transform,
    "boofun": boofun,
    "all pairs": all_pairs,
    "loop over bools": loop_over_bools,
    "loop over differences": loop_over_differences,
}


def main() -> list[bool | None]:
    """Print the ratios; whether each target was met."""
    times, absent = arena.race(ARMS, CASES, rounds=15, patience=2)
    print("All influences of a table, time divided by flatcube's: above 1, flatcube is faster")
    heads = {case: f"{case[0]} {case[1]}" for case in CASES}
    arena.show(times, absent, ARMS, heads)
    tables = {kind: arena.memory(flatcube, *cases) / table(cases[1]).nbytes for kind, cases in MEMORY.items()}
    print("extra memory at n = 22, in tables: " + ", ".join(f"{kind} {extra:.2f}" for kind, extra in tables.items()))
    memory = [arena.judge(f"extra memory, {kind} tables", extra, most=2) for kind, extra in tables.items()]
    return arena.judge_all(times, TARGETS, heads) + memory
