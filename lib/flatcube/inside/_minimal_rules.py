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

_OF_SP = {"T": 20, "m": 8192, "sparsity": 3}  # Sec. 2.4 and App. A

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
    """What the rows say of SP-F5, SP-F5M and SP-A-MIN, by networks that fitted.

    The first two are judged by the networks with the most bits; what those with fewer say is told beside it.
    """
    rows = [{name: float(value) for name, value in row.items()} for row in rows]
    kept = [row for row in rows if row["fitted"] and row["degree"] > 1]
    longest = max(row["T"] for row in kept)
    judged, shorter = ([row for row in kept if (row["T"] == longest) == here] for here in (True, False))
    return [_rows_of_attention(judged, shorter), _waves(judged, shorter), _converged(rows)]


def _setting(rows: list[dict]) -> str:
    """The sizes are SP's if every network has 20 bits or more, 8192 examples or more, and three components or more."""
    return "same" if all(row[name] >= least for row in rows for name, least in _OF_SP.items()) else "smaller"


def _size(rows: list[dict]) -> str:
    """Bits, examples and weights of networks of one length, and the sparsities of their functions."""
    T, m, weights, count = (", ".join(f"{value:.0f}" for value in sorted({row[name] for row in rows}))
                            for name in ("T", "m", "weights", "sparsity"))  # fmt: skip
    return f"T = {T}, m = {m}, {weights} weights, functions of {count} components"


def _rows_of_attention(kept: list[dict], shorter: list[dict]) -> dict[str, str]:
    """SP-F5 agrees if most networks recover a component (the 95 % interval is above ½), more than did before training
    (Fisher's exact test at 0.05), most components of functions with three are recovered (``_of_three``), and the
    component with the least weight has less mass than that with the largest (paired one-sided Wilcoxon test at 0.05);
    in part, if some of these hold."""
    some, before = (sum(row[name] > 0 for row in kept) for name in ("recovered", "untrained"))
    low, high = proportion(some, len(kept), 0.95)
    more = stats.fisher_exact([[some, len(kept) - some], [before, len(kept) - before]], alternative="greater").pvalue
    differences = [row["mass_least"] - row["mass_most"] for row in kept if row["sparsity"] > 1]
    p = stats.wilcoxon(differences, alternative="less").pvalue if np.any(differences) else 1.0
    whole = sum(row["recovered"] == row["sparsity"] for row in kept)
    medians = {name: float(np.median([row[name] for row in kept if not math.isnan(row[name])])) for name in MEANS}
    elsewhere = sum(row["elsewhere"] > 0 for row in kept)
    alone = [row["recovered"] > 0 for row in kept if not _starry(row)]
    most, three = _of_three(kept)
    statement = (
        f"{_size(kept)}: of {len(kept)} networks of degree 2 and more that fit {some} have a row with 0.8 of its "
        f"attention on a component, spread over its members ({low:.0%} to {high:.0%}), {whole} one for every "
        f"component, together {_shown(kept)} components{three}; of the {len(alone)} without two components that share "
        f"all bits but one, {sum(alone)} have such a row; before training {before} (Fisher's exact test: p = "
        f"{more:.2g}), on random sets of the same size {elsewhere}. The component of least weight has less mass than "
        f"that of largest, by {-np.mean(differences):.2f} in the mean (one-sided Wilcoxon test: p = {p:.2g}). Medians: "
        f"ablating these rows leaves {medians['own']:.2f} of the size of the component's coefficient and "
        f"{medians['other']:.2f} of the others'; a patch gives what the circuit predicts up to {medians['told']:.2g}, "
        f"against {medians['forbidden']:.2g}; with the hand-built circuit in its place the error is "
        f"{medians['swapped']:.2g}, with that for another set, fitted in the same way (which is nearly their mean), "
        f"{medians['wrong']:.2g}.{''.join(map(_shorter, _by_length(shorter)))}"
    )
    rules = [low > 0.5, most, more < 0.05, p < 0.05]
    return {"id": "SP-F5", "verdict": verdict(rules), "setting": _setting(kept), "statement": statement}


def _shown(kept: list[dict]) -> str:
    return " of ".join(str(sum(int(row[name]) for row in kept)) for name in ("recovered", "sparsity"))


def _of_three(kept: list[dict]) -> tuple[bool, str]:
    """Of functions with three components, as in SP: whether most components are recovered (Student's 95 % interval of
    the share of a function's components that are, over networks, is above ½), and what to say of it."""
    three = [row for row in kept if row["sparsity"] == 3]
    if not three:
        return False, ""
    share = contrast([[row["recovered"] / 3 for row in three]], [1])
    them = "" if len(three) == len(kept) else f"; of functions with three components {_shown(three)}"
    said = f"{share['low']:.0%} to {share['high']:.0%}, by Student's interval over networks"
    return share["low"] > 0.5, f"{them} ({said})"


def _by_length(rows: list[dict]) -> list[list[dict]]:
    return [[row for row in rows if row["T"] == T] for T in sorted({row["T"] for row in rows})]


def _shorter(kept: list[dict]) -> str:
    some = sum(row["recovered"] > 0 for row in kept)
    return f" {_size(kept)}: {some} of {len(kept)} networks, together {_shown(kept)} components{_of_three(kept)[1]}."


def _starry(row: dict[str, float]) -> bool:
    """Whether two components of the function of a row share all bits but one, so that one position can serve both."""
    components, _ = one_function(*(int(row[name]) for name in ("seed", "T", "degree", "sparsity")))
    pairs = itertools.combinations((set(members) for members, _ in components), 2)
    return any(len(one & two) == row["degree"] - 1 for one, two in pairs)


def _waves(kept: list[dict], shorter: list[dict]) -> dict[str, str]:
    """SP-F5M agrees if in most networks with a recovered component its wave turns d − 1 times or more in the mean (the
    95 % interval is above ½); in part, if some do."""
    looked, fewer = ([row for row in rows if row["recovered"]] for rows in (kept, shorter))
    often, also = (sum(row["turns"] >= row["degree"] - 1 for row in rows) for rows in (looked, fewer))
    low, high = proportion(often, len(looked), 0.95)
    parity, shape = (float(np.median([row[name] for row in looked])) for name in ("parity", "trapezoid"))
    statement = (
        f"{_size(kept)}: over what its row reads, the wave turns d − 1 times or more in {often} of {len(looked)} "
        f"networks ({low:.0%} to {high:.0%}). What the row holds follows the parity of its component with R² = "
        f"{parity:.2f} in the median, and the hand-built trapezoid, in units that fit best, with {shape:.2f}."
        + (f" With fewer bits the wave turns so often in {also} of {len(fewer)} networks." if fewer else "")
    )
    judged = "agrees" if low > 0.5 else "agrees in part" if often else "differs"
    return {"id": "SP-F5M", "verdict": judged, "setting": _setting(kept), "statement": statement}


def _converged(rows: list[dict]) -> dict[str, str]:
    """SP-A-MIN agrees if in every class of degree 1 or 2 most networks fit (the 95 % interval is above ½); in part, if
    in some."""
    cells = [line for line in summary(rows)["cells"] if line["degree"] <= 2]
    rules = [proportion(line["fitted"], line["runs"], 0.95)[0] > 0.5 for line in cells]
    shown = ", ".join(f"{line['fitted']} of {line['runs']} at degree {line['degree']}, {line['sparsity']} components, "
                      f"T = {line['T']}" for line in cells)  # fmt: skip
    largest = [row for row in rows if row["T"] == max(other["T"] for other in rows)]
    said = f"Minimal networks that fit: {shown}."
    return {"id": "SP-A-MIN", "verdict": verdict(rules), "setting": _setting(largest), "statement": said}
