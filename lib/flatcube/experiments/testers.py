"""How often the testers of chapter 3 are right, and how they wilt (SP App. H and Fig. 8), on 30 variables.

    python -m flatcube.experiments.testers

writes ``data/testers.csv`` and its entry in ``data/manifest.json``. One row sums up the runs of one setting on one
class of random functions: all sets have the same size ``degree``, and ``sparsity`` coefficients are not zero, the
constant included. From sparsity 2 on these are SP's functions with sparsity − 1 components; sparsity 1 is a single χ_S.

- ``tester`` and ``method``: degree by ``blocks`` or single ``axes``; sparsity by random ``directions`` or ``axes``.
- ``laxity``: for the degree, how much fewer trials are made than the default; for the sparsity, the proximity.
- ``right``: the runs whose first accepted value is the truth; ``mean`` and ``deviation`` of that value over the runs;
  ``queries``: the mean number of queries.
"""

import csv
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flatcube import cube, queries
from flatcube.sampling import BlackBox, proportion

__all__ = ["N", "RUNS", "SEED", "COLUMNS", "random_function", "cell", "rows", "stored", "statement", "main"]

N, RUNS, SEED = 30, 200, 2026
DATA = Path(__file__).parents[3] / "data"
COLUMNS = ["tester", "method", "laxity", "degree", "sparsity", "runs", "right", "mean", "deviation", "queries"]

_DEGREES, _SPARSITIES = range(1, 6), range(1, 22)
_CLASSES = (6, 11, 16, 21)  # SP's sparsity set is not legible in the text we worked from: 5, 10, 15 and 20 components
_FEWER = (4, 16, 64, 256)
_PROXIMITIES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
_LAX_RUNS = 40


def random_function(degree: int, sparsity: int, *, rng: np.random.Generator) -> BlackBox:
    """A random function on N variables whose sets have the given size, with that many non-zero coefficients."""
    components = cube.random_components(N, degree, max(sparsity - 1, 1), rng=rng)
    constant = [((), -sum(weight for _, weight in components) / 2)] if sparsity == 1 else []
    return queries.black_box(components + constant, N)


def cell(
    tester: str, method: str, degree: int, sparsity: int, *, laxity: float = 0.0, runs: int = RUNS, seed: int = SEED
) -> dict[str, object]:
    """One row: the tester's findings on ``runs`` random functions, each with a seed of its own."""
    values, asked = [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, degree, sparsity, run])
        f = random_function(degree, sparsity, rng=rng)
        if tester == "degree":
            found = _degree(f, method, laxity, rng)
        else:
            found = queries.estimate_sparsity(f, N, rng=rng, method=method, proximity=laxity)
        values.append(found.value)
        asked.append(found.queries)
    right = values.count(degree if tester == "degree" else sparsity)
    numbers = [f"{number:.6g}" for number in (np.mean(values), np.std(values), np.mean(asked))]
    row = [tester, method, f"{laxity:g}", degree, sparsity, runs, right, *numbers]
    return dict(zip(COLUMNS, row, strict=True))


def _degree(f: BlackBox, method: str, laxity: float, rng: np.random.Generator) -> queries.Finding:
    """The sweep of ``queries.estimate_degree``; if laxity > 0, with so many times fewer trials at each degree."""
    if not laxity:
        return queries.estimate_degree(f, N, rng=rng, method=method)
    total = 0
    for degree in range(N):
        share = 0.05 / ((degree + 1) * (degree + 2))
        trials = math.ceil(queries.degree_trials(N, degree, error=share) / laxity)
        verdict = queries.degree_at_most(f, N, degree, rng=rng, trials=trials, method=method)
        total += verdict.queries
        if verdict.accepted:
            break
    return queries.Finding(degree, True, total, None, False, ())


def rows() -> Iterator[dict[str, object]]:
    """All rows: the testers on every class; the naive variants and the lax settings on some."""
    classes = [(degree, sparsity) for degree in _DEGREES for sparsity in _SPARSITIES]
    for tester, method in (("degree", "blocks"), ("sparsity", "directions")):
        for degree, sparsity in classes:
            yield cell(tester, method, degree, sparsity)
    some = [(degree, sparsity) for degree, sparsity in classes if sparsity in _CLASSES]
    for degree, sparsity in some:
        for tester in ("degree", "sparsity"):
            yield cell(tester, "axes", degree, sparsity, runs=_LAX_RUNS)
        for fewer in _FEWER:
            yield cell("degree", "blocks", degree, sparsity, laxity=fewer, runs=_LAX_RUNS)
        for proximity in _PROXIMITIES:
            yield cell("sparsity", "directions", degree, sparsity, laxity=proximity, runs=_LAX_RUNS)


def stored() -> list[dict[str, str]]:
    """The rows of ``data/testers.csv``."""
    return list(csv.DictReader((DATA / "testers.csv").read_text(encoding="utf-8").splitlines()))


def statement() -> str:
    """What the stored study says about SP Fig. 8, as the ledger prints it for SP-F8."""
    texts = []
    for tester, method in (("degree", "blocks"), ("sparsity", "directions")):
        kept = [r for r in stored() if (r["tester"], r["method"], r["laxity"]) == (tester, method, "0")]
        right, runs = (sum(int(r[name]) for r in kept) for name in ("right", "runs"))
        least = 100 * proportion(right, runs, 0.95)[0]
        texts.append(f"the {tester} found is right in {right:,} of {runs:,} runs (95 % interval from {least:.2f} % on)")
    lax = [r for r in stored() if (r["tester"], r["laxity"]) == ("sparsity", "0.1")]
    share = 100 * np.mean([float(r["mean"]) / int(r["sparsity"]) for r in lax])
    deviation = 100 * np.std([float(r["mean"]) / int(r["sparsity"]) for r in lax], ddof=1) / math.sqrt(len(lax))
    wilted = f"{share:.0f} ± {2 * deviation:.0f} % of the truth"
    texts.append(f"with proximity 0.1 the mean sparsity found wilts to {wilted}")
    return f"{N} variables, degrees 1–5, sparsities 1–21: " + "; ".join(texts) + "."


def main() -> None:
    """Compute all rows and store them."""
    found = []
    for row in rows():
        found.append(row)
        print(*row.values(), file=sys.stderr)
    with (DATA / "testers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    path = DATA / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    manifest["testers.csv"] = {
        "command": "python -m flatcube.experiments.testers",
        "seed": SEED,
        "seconds": round(time.process_time()),  # of processor time, on one core
        "cores": os.cpu_count(),
    }
    path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
