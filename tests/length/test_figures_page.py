"""Chapter 12's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np

from flatcube.experiments import store
from flatcube.length import forest
from tests.browser.figure_tests import FigureTests, Row


def ends(name: str) -> Iterator[tuple[dict[str, str], str]]:
    """How every network of an experiment ended: its last row as stored, and whether it converged, in words."""
    for row in store.load(name):
        if row["step"] == row["ended"]:
            yield row, "converged" if float(row["error"]) < 1e-3 else "not converged"


def lengthened(state: dict, stored: list[Row]) -> Iterator[Row]:
    """All networks, each at its length; as a share of the outputs' variance, only those that converged."""
    short = {"sharpness L": "sharpness", "norm of the weights": "norm", "log blow-up": "blowup"}
    for row, converged in ends("sharper"):
        value = float(row[short.get(state["measure"], "relative")])
        if state["measure"] in short or converged == "converged":
            yield {"function": row["function"], "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
                   "state": converged}  # fmt: skip


def intervals(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Slopes in thousandths per bit and their differences, or ratios in other networks, each with its interval."""
    own = "own" if "Welch" in state["spread"] else "common"
    measure = "relative" if "variance" in state["ruler"] else "sharpness"
    if state["what"] == "slopes with length":
        longest = 16 if state["sixteen"] == "kept" else 12
        for line in forest.slopes(store.load("sharper"), longest=longest, scatter=own, measure=measure):
            yield {"name": line["name"]} | {key: 1000 * line[key] for key in ("value", "low", "high")}
        return
    kinds = {"encoder": "encoder", "rms": "RMS norm", "causal": "causal", "mlp": "MLP"}
    for line in forest.ratios(store.load("variants"), scatter=own, measure=measure):
        name = f"{kinds[line['kind']]}, {line['n']} bits"
        yield {"name": name} | {key: line[key] for key in ("value", "low", "high")}


def far(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Those of width 4; logarithms to base ten, if asked for."""
    for row, converged in ends("longer"):
        value = float(f"{float(row['sharpness']):.5g}")  # as the chart stores it
        value = value if state["axis"] == "sharpness L" else np.log10(value)
        yield {"function": row["function"], "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
               "state": converged}  # fmt: skip


def frontier(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norm and log blow-up of the networks for the chosen function."""
    for row, converged in ends("tradeoff"):
        if row["function"].replace("HALF", "PARITY of half") == state["who"]:
            yield {"bits": row["n"], "norm": float(row["norm"]), "blowup": float(row["blowup"]), "state": converged}


def on_the_way(state: dict, stored: list[Row]) -> Iterator[Row]:
    """PARITY at all steps of training with the chosen decay."""
    short = {"sharpness L": "sharpness", "norm of the weights": "norm", "log blow-up": "blowup"}
    for row in store.load("dynamics"):
        if row["function"] == "PARITY" and float(row["decay"]) == float(state["decay"]):
            error = float(row["error"])
            value = np.log10(error) if state["curve"] == "log₁₀ error" else float(row[short[state["curve"]]])
            yield {"network": row["seed"], "step": int(row["step"]), "value": value,
                   "state": "learnt" if error < 0.1 else "not learnt"}  # fmt: skip


def in_steps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """PARITY in one step, and step by step with the sharpness of all steps or of the last."""
    for row, converged in ends("sharper"):
        if row["function"] == "PARITY":
            yield {"way": "in one step", "n": int(row["n"]), "seed": int(row["seed"]),
                   "value": float(row["sharpness"]), "state": converged}  # fmt: skip
    for row in store.load("stepwise"):
        if row["step"] == row["steps"]:
            value = float(row["sharpness" if state["steps"] == "all of them" else "final"])
            converged = "converged" if float(row["error"]) < 1e-3 else "not converged"
            yield {"way": "step by step", "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
                   "state": converged}  # fmt: skip


def heard(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Geometric means over networks of the signal in the first gradient, or how many batches make it equal to noise."""
    names = {"PARITY": "PARITY", "HALF": "PARITY of half", "RANDOM": "random function", "FIRST": "FIRST",
             "MAJORITY": "MAJORITY"}  # fmt: skip
    found: dict[tuple[str, int], list[float]] = {}
    for row in store.load("signal"):
        value = float(row["signal"])
        value = value if state["view"] == "size of the signal" else (float(row["noise"]) / value) ** 2
        if row["function"] in names:
            found.setdefault((names[row["function"]], int(row["n"])), []).append(value)
    for (target, n), values in found.items():
        yield {"target": target, "n": n, "value": float(np.exp(np.mean(np.log(values))))}


def other_networks(state: dict, stored: list[Row]) -> Iterator[Row]:
    """All networks of the chosen length, by kind."""
    kinds = {"encoder": "encoder", "rms": "RMS", "causal": "causal", "mlp": "MLP", "lstm": "LSTM"}
    for row, converged in ends("variants"):
        if row["n"] == state["bits"]:
            target = row["function"].replace("HALF", "PARITY of half")
            yield {"network": kinds[row["kind"]], "target": target, "seed": int(row["seed"]),
                   "sharpness": float(row["sharpness"]), "state": converged}  # fmt: skip


def at_first(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Untrained networks of the chosen depth, and random functions at half of n."""
    scale = "3" if state["drawn"] == "large" else "default"
    yield from ({"network": "random function", "n": n, "mean": n / 2} for n in (4, 6, 8, 10, 12))
    for row in store.load("initial"):
        name = {("encoder", "4"): "encoder, 4 heads", ("LSTM", "0"): "LSTM"}.get((row["kind"], row["heads"]))
        if name and (row["scale"], row["layers"]) == (scale, state["depth"]):
            yield {"network": name, "n": int(row["n"]), "mean": float(row["mean"])}


class TestFigures(FigureTests):
    room = "length"
    charts = {
        "fig-length-points": lengthened,
        "fig-length-forest": intervals,
        "Squeezed into width 4, MAJORITY seems to get sharper; FIRST and MEAN show no trend": far,
        "fig-length-exchange": frontier,
        "fig-length-way": on_the_way,
        "In one step (width 64) PARITY gets sharper, then is rarely found; "
        "step by step (width 32) it stays flat": in_steps,
        "fig-length-signal": heard,
        "fig-length-kinds": other_networks,
        "fig-length-start": at_first,
    }

    def test_titles_follow_the_menus(self, visit):
        """No title stands over a picture that says something else, and none is empty."""
        charts = visit.page.locator(".fc-chart:has(.vega-bind)")
        seen = {}
        for at in range(charts.count()):
            chart = charts.nth(at)
            label = chart.evaluate("el => el.closest('.fc-figure').id")
            menus = chart.locator("select").all()
            for menu in menus:  # another test may have moved them
                menu.select_option(index=0)
            for menu in menus:
                for option in menu.locator("option").all_inner_texts():
                    menu.select_option(option)
                    title = chart.locator(".role-title-text").first.text_content()
                    assert title and "undefined" not in title, (label, option)
                    seen.setdefault(label, {})[option] = title
                menu.select_option(index=0)
        points, forests = seen["fig-length-points"], seen["fig-length-forest"]
        assert "FIRST and MEAN do not" in points["sharpness L"]
        assert "for MEAN, too" in points["sharpness / variance of outputs"]
        assert "not sure" in forests["sharpness / variance"] and "steepest" in forests["one for all (pooled)"]
        assert "two cannot prove it" in forests["ratios in other networks"]
        assert len(set(points.values())) == 4 and len(set(seen["fig-length-exchange"].values())) == 3
