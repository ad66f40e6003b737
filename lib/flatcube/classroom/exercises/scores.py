"""Open exercises, which have no right answer: the reader's is measured beside the library's own and a baseline.

    @scored("1.7", "A better learner", minutes=30, difficulty=3, why="…", instances=draw, baseline=guess,
            measures={"error": Measure(lambda out, x, y, truth: np.mean(out != truth), unit="%", scale=100)})
    def learner(x, y, truth): …

All three run on the same instances: fresh ones at every call, drawn from a seed that the scoreboard names. One answer
counts as better than another only if its mean is better by more than chance explains, `MARGIN` standard errors, and by
more than a hair, `LEAST` of the other's.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flatcube.classroom.exercises.answers import Unfit, misfit, run
from flatcube.classroom.exercises.tasks import Task

__all__ = ["Measure", "Scored", "Scoreboard"]

LEAST = 0.01
MARGIN = 2.5  # standard errors of the mean difference: equal answers differ by more about once in eighty comparisons


@dataclass(frozen=True)
class Measure:
    """A number for what an answer gave on one instance: `of(output, *trial)`; the board shows its mean.

    `trial` is what `instances` drew for this answer alone, after the answer ran: an oracle in it may have counted its
    questions. `more` says that a larger number is better. The board shows `scale` times the number, and `unit`. `guess`
    is what an answer gets that looks at nothing, where there is such a thing.
    """

    of: Callable[..., float]
    more: bool = False
    unit: str = ""
    scale: float = 1.0
    guess: float | None = None


@dataclass
class Scored(Task):
    """An open exercise: the decorated function is the library's answer, `baseline` a simple one.

    If it has no parameters, the answer is what it returns, such as a network, and `of(answer, *trial)` measures that.
    `fits(output)` says in half a sentence what is wrong with the kind of an output; without it, what the answer gives
    must have the shape of what the library's gives.
    """

    measures: dict[str, Measure]
    instances: Callable[[np.random.Generator], list[tuple]]
    baseline: Callable[..., Any]
    why: str  # stands below the library's answer: what it does, and where it may be beaten
    fits: Callable[[Any], str | None] | None = None
    rival: str = "the baseline"  # what the board calls it
    verb: ClassVar[str] = "score"

    def board(self, answer: Any, seed: int) -> Scoreboard:
        """Measure all three on the instances of a seed; raises `Unfit` if the answer cannot be measured."""
        drawn, given = [], []
        for function in (self._answer(self.solution), answer, self._answer(self.baseline)):
            trials = self.instances(np.random.default_rng(seed))  # drawn anew: an answer may use them up
            given.append([function] * len(trials) if self.is_value else run(function, trials, self, copied=False))
            drawn.append(trials)
            self._look(given[-1], given[0])
        order = (1, 0, 2)  # the library's was first, to compare with
        rows = {name: np.array([self._measured(name, drawn[k], given[k]) for k in order]) for name in self.measures}
        return Scoreboard(self, seed, rows)

    def _answer(self, function: Callable[..., Any]) -> Any:
        return function() if self.is_value else function

    def _look(self, outputs: list[Any], ours: list[Any]) -> None:
        """Refuse what is of another kind than the library's answer, in one sentence."""
        for mine, our in zip(outputs, ours, strict=True):
            problem = self.fits(mine) if self.fits else None if self.is_value else misfit(mine, our)
            if problem:
                raise Unfit(f"`{self.name}`: {problem}.")

    def _measured(self, name: str, trials: list[tuple], outputs: list[Any]) -> list[float]:
        try:
            values = [float(self.measures[name].of(out, *trial)) for out, trial in zip(outputs, trials, strict=True)]
        except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
            raise Unfit(f"The {name} of `{self.name}` cannot be measured: {error}.") from None
        if not np.isfinite(values).all():
            raise Unfit(f"The {name} of `{self.name}` is not finite: are there infinities or NaNs in what it gives?")
        return values


@dataclass(frozen=True)
class Scoreboard:
    """What `score` answers: for each measure an array (3, instances), the reader's, the library's, the baseline's."""

    task: Scored
    seed: int
    rows: dict[str, np.ndarray]

    def better(self, name: str, other: int = 1) -> int:
        """1 if the reader's answer is better than the library's (or the baseline, 2), −1 if worse, 0 if it is open.

        The answers met the same instances, so their differences are compared with the standard error of their mean.
        """
        return _sign(self._gains(name, other), LEAST * abs(self.rows[name][other].mean()))

    def _gains(self, name: str, other: int) -> np.ndarray:
        """By how much the reader's answer is better, on every instance; what rounding explains is 0."""
        mine, theirs = self.rows[name][0], self.rows[name][other]
        gains = (mine - theirs) * (1 if self.task.measures[name].more else -1)
        return np.where(np.isclose(mine, theirs, rtol=1e-9, atol=1e-12), 0.0, gains)

    def _guesses(self, name: str) -> bool:
        """Whether the reader's answer is not clearly better than one that looks at nothing."""
        measure = self.task.measures[name]
        if measure.guess is None:
            return False
        return _sign((self.rows[name][0] - measure.guess) * (1 if measure.more else -1)) <= 0

    @property
    def verdict(self) -> str:
        """One or two sentences on how the answer did."""
        beaten = [name for name in self.rows if self.better(name) > 0]
        lost = [name for name in self.rows if self.better(name) < 0]
        lower = [name for name in self.rows if name not in beaten + lost and self._gains(name, 1).mean() < 0]
        if beaten:
            return self._gained(beaten, lost, lower)
        if not lost:
            level = all(not self._gains(name, 1).any() for name in self.rows)
            return "As good as the library." if level else "As good as the library: what differs is a hair, or chance."
        if any(self.better(name, 2) > 0 for name in lost):
            return f"Better than {self.task.rival}, not yet as good as the library in {_listed(lost)}."
        return f"Not yet clearly better than {self.task.rival} in {_listed(lost)}."

    def _gained(self, beaten: list[str], lost: list[str], lower: list[str]) -> str:
        """The verdict on an answer that is better in some respects, worse in some, in others perhaps a little worse."""
        if guessed := [name for name in lost if self._guesses(name)]:
            return f"Not clearly better than guessing in {_listed(guessed)}: what it saves elsewhere is worth nothing."
        if lost:
            return f"Better than the library in {_listed(beaten)}, worse in {_listed(lost)}: another trade."
        if lower:
            return (
                f"Better than the library in {_listed(beaten)}, but a little worse in {_listed(lower)}, which may be "
                "chance. Run it again on other instances."
            )
        return "Better than the library. Run it again on other instances; if it holds, you have found something."

    def __repr__(self) -> str:
        lines = [f"{self.verdict} (Means over {self._count} fresh instances; seed={self.seed} repeats them.)"]
        width = max(map(len, self.rows))
        for name in self.rows:
            shown = [f"{who} {number}" for who, number in zip(self._who, self._shown(name), strict=True)]
            lines.append(f"{name:<{width}}  {'  '.join(shown)}  {self._comment(name)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        head = "".join(f'<th scope="col">{title}</th>' for title in ("", *self._who, ""))
        body = "".join(self._row(name) for name in self.rows)
        note = f"Means over {self._count} fresh instances; <code>seed={self.seed}</code> repeats them."
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        table = f'<div style="overflow-x: auto">{table}</div>'  # on a phone
        lead = f"<p><strong>{html.escape(self.verdict)}</strong> {note}</p>"
        return {"text/html": f'<div class="fc-score" role="status">{lead}{table}</div>', "text/plain": repr(self)}

    @property
    def _count(self) -> int:
        return next(iter(self.rows.values())).shape[1]

    @property
    def _who(self) -> tuple[str, str, str]:
        return "yours", "the library's", self.task.rival

    def _shown(self, name: str) -> list[str]:
        measure = self.task.measures[name]
        return [f"{_number(measure.scale * mean)}{measure.unit}" for mean in self.rows[name].mean(axis=1)]

    def _comment(self, name: str) -> str:
        """On how many instances the reader's answer is better, and worse: a tie is neither."""
        gains = self._gains(name, 1)
        return f"better than the library on {np.sum(gains > 0)} of {self._count}, worse on {np.sum(gains < 0)}"

    def _row(self, name: str) -> str:
        means = np.abs(self.rows[name].mean(axis=1))
        cells = "".join(
            f"<td>{html.escape(text)}{_bar(mean / (means.max() or 1), place == 0)}</td>"
            for place, (text, mean) in enumerate(zip(self._shown(name), means, strict=True))
        )
        return f'<tr><th scope="row">{html.escape(name)}</th>{cells}<td>{self._comment(name)}</td></tr>'


def _sign(gains: np.ndarray, least: float = 0.0) -> int:
    """The sign of a mean, 0 if it is within `MARGIN` of its standard errors, or below `least`."""
    error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return int(np.sign(gains.mean())) if abs(gains.mean()) > max(MARGIN * error, least) else 0


def _bar(share: float, own: bool) -> str:
    """A bar below a number, as wide as its share of the largest; the theme's colours, JupyterLab's elsewhere."""
    colour = "--fc-accent, var(--jp-brand-color1" if own else "--fc-muted, var(--jp-ui-font-color2"
    style = f"width: {5 * share:.2f}em; height: 0.35em; background: var({colour}, currentColor))"
    return f'<div aria-hidden="true" style="{style}"></div>'


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(value: float) -> str:
    """Three digits, and large numbers in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
