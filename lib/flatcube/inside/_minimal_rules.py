"""What the rows of ``minimal`` say of the claims of SP, network by network and class by class."""

import itertools
import math
from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube import cube
from flatcube.experiments import store
from flatcube.experiments.trends import contrast, verdict
from flatcube.sampling import proportion

__all__ = ["CELL", "MEANS", "Parts", "one_function", "summary", "measured"]

CELL = ("T", "m", "degree", "sparsity")
MEANS = ("parity", "trapezoid", "turns", "own", "other", "told", "forbidden", "swapped", "wrong")

Parts = list[tuple[tuple[int, ...], float]]  # components with their weights


def one_function(seed: int, T: int, degree: int, sparsity: int) -> tuple[Parts, np.random.Generator]:
    """The components of a function, and the source from which they and then its examples are drawn."""
    rng = np.random.default_rng([seed, T, degree, sparsity])
    return cube.random_components(T, degree, sparsity, rng=rng), rng


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: for every class, networks, how many ``fitted``, of these how many recovered ``some`` or ``all`` of
    their components, how many had some before training; medians of what was measured inside of them."""
    rows = store.numbers(rows)
    found = []
    for key in dict.fromkeys(tuple(row[name] for name in CELL) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in CELL) == key]
        kept = [row for row in own if row["fitted"]]
        line = {name: int(value) for name, value in zip(CELL, key, strict=True)}
        line |= {"runs": len(own), "fitted": len(kept), "some": sum(row["recovered"] > 0 for row in kept)}
        line |= {"all": sum(row["recovered"] == row["sparsity"] for row in kept)}
        line |= {name: sum(row[name] > 0 for row in kept) for name in ("untrained", "elsewhere")}
        for name in ("test", "mass", *MEANS):
            values = [row[name] for row in kept if not math.isnan(row[name])]
            line[name] = float(np.median(values)) if values else math.nan
        found.append(line)
    return {"cells": found}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the rows say of SP-F5, SP-F5M and SP-A-MIN, by networks that fitted."""
    rows = store.numbers(rows)
    kept = [row for row in rows if row["fitted"] and row["degree"] > 1]
    return [_rows_of_attention(kept), _waves(kept), _converged(rows)]


def _rows_of_attention(kept: list[dict]) -> dict[str, str]:
    """SP-F5 agrees if most networks recover a component (the 95 % interval is above ½), more than did before training
    (Fisher's exact test at 0.05, which does not use that both are of one network), most components of functions with
    three are recovered (``_of_three``), and the component with the least weight has less mass than that with the
    largest (paired one-sided Wilcoxon test at 0.05); in part, if some of these hold."""
    some, before = (sum(row[name] > 0 for row in kept) for name in ("recovered", "untrained"))
    low, high = proportion(some, len(kept), 0.95)
    more = stats.fisher_exact([[some, len(kept) - some], [before, len(kept) - before]], alternative="greater").pvalue
    differences = [row["mass_least"] - row["mass_most"] for row in kept if row["sparsity"] > 1]
    p = stats.wilcoxon(differences, alternative="less").pvalue if np.any(differences) else 1.0
    whole = sum(row["recovered"] == row["sparsity"] for row in kept)
    medians = {name: float(np.median([row[name] for row in kept if not math.isnan(row[name])])) for name in MEANS}
    elsewhere = sum(row["elsewhere"] > 0 for row in kept)
    parts = (sum(int(row[name]) for row in kept) for name in ("recovered", "sparsity"))
    alone = [row["recovered"] > 0 for row in kept if not _starry(row)]
    most, three = _of_three(kept)
    statement = (
        f"{len(kept)} networks of degree 2 and more that fit: {some} have a row with 0.8 of its attention on a "
        f"component, spread over its members ({low:.0%} to {high:.0%}), {whole} one for every component, together "
        f"{' of '.join(map(str, parts))} components; {three}of the {len(alone)} without two components that share all "
        f"bits but one, {sum(alone)} have such a row; before training {before} (Fisher's exact test: p = {more:.2g}), "
        f"on random sets of the same size {elsewhere}. The component of least weight has less mass than that of "
        f"largest, by {-np.mean(differences):.2f} in the mean (one-sided Wilcoxon test: p = {p:.2g}). Medians: "
        f"ablating these rows leaves {medians['own']:.2f} of the size of the component's coefficient and "
        f"{medians['other']:.2f} of the others'; a patch gives what the circuit predicts up to {medians['told']:.2g}, "
        f"against {medians['forbidden']:.2g}; with the hand-built circuit in its place the error is "
        f"{medians['swapped']:.2g}, with that for another set, fitted in the same way (which is nearly their mean), "
        f"{medians['wrong']:.2g}."
    )
    rules = [low > 0.5, most, more < 0.05, p < 0.05]
    return {"id": "SP-F5", "verdict": verdict(rules), "statement": statement}


def _of_three(kept: list[dict]) -> tuple[bool, str]:
    """Of functions with three components, as in SP: whether most components are recovered (Student's 95 % interval of
    the share of a function's components that are, over networks, is above ½), and what to say of it."""
    counts = [int(row["recovered"]) for row in kept if row["sparsity"] == 3]
    if not counts:
        return False, ""
    share = contrast([[count / 3 for count in counts]], [1])
    return share["low"] > 0.5, (
        f"of the {len(counts)} with three components {sum(map(bool, counts))} have one for a component and "
        f"{counts.count(3)} for all, together {sum(counts)} of {3 * len(counts)} ({share['low']:.0%} to "
        f"{share['high']:.0%}); "
    )


def _starry(row: dict[str, float]) -> bool:
    """Whether two components of the function of a row share all bits but one, so that one position can serve both."""
    components, _ = one_function(*(int(row[name]) for name in ("seed", "T", "degree", "sparsity")))
    pairs = itertools.combinations((set(members) for members, _ in components), 2)
    return any(len(one & two) == row["degree"] - 1 for one, two in pairs)


def _waves(kept: list[dict]) -> dict[str, str]:
    """SP-F5M agrees if in most networks with a recovered component its wave turns d − 1 times or more in the mean (the
    95 % interval is above ½); in part, if some do."""
    looked = [row for row in kept if row["recovered"]]
    often = sum(row["turns"] >= row["degree"] - 1 for row in looked)
    low, high = proportion(often, len(looked), 0.95)
    parity, shape = (float(np.median([row[name] for row in looked])) for name in ("parity", "trapezoid"))
    statement = (
        f"Over what its row reads, the wave turns d − 1 times or more in {often} of {len(looked)} networks ({low:.0%} "
        f"to {high:.0%}). What the row holds follows the parity of its component with R² = {parity:.2f} in the median, "
        f"and the hand-built trapezoid, in units that fit best, with {shape:.2f}."
    )
    judged = "agrees" if low > 0.5 else "agrees in part" if often else "differs"
    return {"id": "SP-F5M", "verdict": judged, "statement": statement}


def _converged(rows: list[dict]) -> dict[str, str]:
    """SP-A-MIN agrees if in every class of degree 1 or 2 most networks fit (the 95 % interval is above ½); in part, if
    in some."""
    cells = [line for line in summary(rows)["cells"] if line["degree"] <= 2]
    rules = [proportion(line["fitted"], line["runs"], 0.95)[0] > 0.5 for line in cells]
    shown = ", ".join(f"{line['fitted']} of {line['runs']} at degree {line['degree']}, {line['sparsity']} components, "
                      f"T = {line['T']}" for line in cells)  # fmt: skip
    return {"id": "SP-A-MIN", "verdict": verdict(rules), "statement": f"Minimal networks that fit: {shown}."}
