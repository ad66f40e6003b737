"""The exercises of chapter 18: a microscope for small networks, from a row of attention to the circuit it belongs to.

Each solution is followed by the mistakes that its check recognises. One trial of each is fixed, so that no two known
mistakes look alike.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored
from flatcube.classroom.exercises.answers import Unfit

Looks = list[tuple]


def _kept(instances: Callable[[np.random.Generator], Looks]) -> Callable[[Callable, np.random.Generator], None]:
    """A look at whether an answer leaves what it is given as it was: values do not tell, for they may be right."""

    def look(answer: Callable, rng: np.random.Generator) -> None:
        trial = instances(rng)[-1]
        given = copy.deepcopy(trial)
        answer(*given)
        if not all(np.array_equal(now, before) for now, before in zip(given, trial, strict=True)):
            raise Unfit("You have changed the array that you were given. Others still need it, so work on a copy.")

    return look


# Position 1 looks at bit 1 alone, position 3 at bits 1 and 3, position 4 nearly so; 0.8 of the attention is enough.
# No set has the last bit: who counts bits from 0 gets a wrong number, and the sentence for it, and no error.
_CLEAR = np.array([[0.95, 0.02, 0.01, 0.02], [0.25, 0.25, 0.25, 0.25], [0.55, 0.05, 0.3, 0.1], [0.4, 0.1, 0.38, 0.12]])
_NONE = np.array([[0.04, 0.9, 0.03, 0.03], [0.35, 0.3, 0.3, 0.05], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4]])


def _attentions(rng: np.random.Generator) -> Looks:
    """Rows that are clear, lopsided and dull, and a set of bits."""
    found = [(_CLEAR, (1, 3)), (_NONE, (1, 3)), (_CLEAR[:, [1, 0, 2, 3]], (2, 3))]
    for T in (5, 8):
        members = np.sort(rng.choice(T - 1, 3, replace=False))
        rows = rng.dirichlet(np.ones(T), T)
        rows[1] = 0.04 / (T - 3)
        rows[1, members] = 0.32
        found.append((rows, tuple((1 + members).tolist())))
    return found


@exercise(
    "18.1",
    "Row mass",
    minutes=6,
    difficulty=1,
    entry="position",
    hints=(
        "A row of the matrix is one position, a column is a bit that it looks at. Which columns belong to the set?",
        "The members are numbered from 1, the columns of an array from 0. Pick columns with a list of numbers.",
    ),
    why="A mass of 1 says that the position looks at nothing but the set. It does not say how it shares its attention "
    "out among the members.",
    instances=_attentions,
    look=_kept(_attentions),
)
def my_mass(attention: np.ndarray, members: tuple) -> np.ndarray:
    """How much of each row of attention (T, T) lies on the members, numbered from 1: (T,)."""
    return attention[:, [j - 1 for j in members]].sum(axis=1)


my_mass.mistake(
    "You add up rows where columns are meant: that is how much the members are looking at others.",
    lambda attention, members: attention[[j - 1 for j in members]].sum(axis=0),
)
my_mass.mistake(
    "That is the mean over the members. The mass is what they get together.",
    lambda attention, members: attention[:, [j - 1 for j in members]].mean(axis=1),
)
my_mass.mistake(
    "That is the largest entry. A row that shares its attention out has a mass, too.",
    lambda attention, members: attention[:, [j - 1 for j in members]].max(axis=1),
)
my_mass.mistake(
    "You count the members from 0; the set (1, 2) means the first two bits.",
    lambda attention, members: np.roll(attention, -1, axis=1)[:, [j - 1 for j in members]].sum(axis=1),
)


def _row(least: float, each: float, first: int = 1):
    """A search with its two thresholds, `each` in parts of an equal share, and the number of the first row."""

    def found(attention: np.ndarray, members: tuple) -> int:
        own = attention[:, [j - 1 for j in members]]
        clear = np.flatnonzero((own.sum(axis=1) >= least) & (own.min(axis=1) >= each / len(members)))
        return int(clear[np.argmax(own.sum(axis=1)[clear])]) + first if len(clear) else first - 1

    return found


def _first_best(attention: np.ndarray, members: tuple) -> int:
    """The row with the largest mass, if it passes."""
    best = _row(-1.0, 0.0)(attention, members)
    return best if _row(0.8, 0.5)(attention[[best - 1]], members) else 0


@exercise(
    "18.2",
    "Which row?",
    minutes=10,
    difficulty=2,
    hints=(
        "Two things are asked of a row: enough mass, and a fair part of it on every member. Find all rows that have "
        "both before you look for the best.",
        "Let rows that fail have a mass of −1, say. Then the largest mass belongs to a row that passes, if there is "
        "one; and if the largest is −1, there is none.",
    ),
    why="Without the second condition a row that stares at one bit would count for every set with that bit in it.",
    instances=_attentions,
    look=_kept(_attentions),
)
def my_row(attention: np.ndarray, members: tuple) -> int:
    """The position, from 1, with the largest mass among those with mass ≥ 0.8 and ≥ 1/(2d) on each; 0 if none."""
    own = attention[:, [j - 1 for j in members]]
    mass = np.where(own.min(axis=1) >= 1 / (2 * len(members)), own.sum(axis=1), -1.0)
    return int(np.argmax(mass)) + 1 if mass.max() >= 0.8 else 0


my_row.mistake(
    "A row that looks at one member alone passes with you. Every member must get half of an equal share.",
    _row(0.8, 0.0),
)
my_row.mistake(
    "You name the row with the largest mass even if no row passes. Then the answer is 0.", _row(-1.0, 0.0)
)
my_row.mistake(
    "You take the row with the largest mass first, and test only that one. Another row may pass where it fails.",
    _first_best,
)
my_row.mistake("You ask each member for a whole equal share, 1/d. Half of it, 1/(2d), is enough.", _row(0.8, 0.999))
my_row.mistake("You count positions from 0. The answer 0 means that there is none.", _row(0.8, 0.5, 0))
my_row.mistake(
    "Your 0 has two meanings, the first position and none. Positions are numbered from 1.",
    lambda attention, members: max(_row(0.8, 0.5, 0)(attention, members), 0),
)
my_row.mistake(
    "You count the members from 0; the set (1, 2) means the first two bits.",
    lambda attention, members: _row(0.8, 0.5)(np.roll(attention, -1, axis=1), members),
)


def _curves(rng: np.random.Generator) -> Looks:
    """Curves that rise, fall and rest."""
    fixed = [(np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.5]),), (np.array([2.0, 1.0, 1.0, 0.5]),), (np.array([1.0, 1.0]),)]
    return [*fixed, *[(rng.integers(0, 4, size).astype(float),) for size in (9, 15)]]


@exercise(
    "18.3",
    "Turns",
    minutes=10,
    difficulty=2,
    hints=(
        "Look at the steps from one value to the next. What do their signs do at a turn?",
        "On a plateau a step is 0, and it is no turn. Leave such steps out before you compare neighbours.",
    ),
    why="A wave for a parity of d bits must turn d − 1 times, and you can now count it.",
    instances=_curves,
    look=_kept(_curves),
)
def my_turns(values: np.ndarray) -> int:
    """How often the curve (points,) turns from rising to falling or back; plateaus are no turns."""
    steps = np.sign(np.diff(values))
    steps = steps[steps != 0]
    return int(np.sum(steps[1:] != steps[:-1]))


my_turns.mistake(
    "You count the edges of plateaus, too. A curve that rises, rests and falls turns once.",
    lambda values: int(np.sum(np.diff(np.sign(np.diff(values))) != 0)),
)
my_turns.mistake(
    "A turn across a plateau escapes you: there the step before and the step after are not neighbours.",
    lambda values: int(np.sum(np.diff(values)[1:] * np.diff(values)[:-1] < 0)),
)
my_turns.mistake(
    "You count the straight parts. Between two of them there is one turn.",
    lambda values: my_turns.solution(values) + 1,
)
my_turns.mistake(
    "You count only turns at the top. Those at the bottom count as well.",
    lambda values: int(np.sum(np.diff(np.sign(np.diff(values))[np.diff(values) != 0]) < 0)),
)


def _insides(rng: np.random.Generator) -> Looks:
    """What positions hold, their weights, a shift, rows, and a target."""
    found = []
    for batch, T in ((16, 3), (32, 5), (64, 8)):
        holds, mix = rng.normal(1.0, 1.0, (batch, T)), rng.normal(size=T)
        chi = np.where(np.arange(batch) % 2 == 0, 1.0, -1.0)
        holds[:, 0] += 2 * chi * np.sign(mix[0])
        rows = sorted(rng.choice(T, 2, replace=False).tolist())
        found.append((holds, mix, chi, rows, holds @ mix + 0.5 + 0.3 * rng.normal(size=batch)))
    return found


def _weighed(rng: np.random.Generator) -> Looks:
    """What positions hold, their weights, and a parity."""
    return [(holds, mix, chi) for holds, mix, chi, _, _ in _insides(rng)]


def _ablations(rng: np.random.Generator) -> Looks:
    """What positions hold, their weights, a shift, the rows to ablate, and a target."""
    return [(holds, mix, 0.5, rows, f) for holds, mix, _, rows, f in _insides(rng)]


@exercise(
    "18.4",
    "Shares",
    minutes=10,
    difficulty=2,
    entry="position",
    hints=(
        "The output is a weighted sum of what positions hold, plus a constant. What does taking the mean against χ do "
        "to each summand, and to the constant?",
        "One number for every position: its weight times the mean of what it holds against χ. Then divide, so that "
        "they add up to 1.",
    ),
    why="The shares of all positions add up to 1, whatever the network: the whole coefficient is accounted for.",
    instances=_weighed,
    look=_kept(_weighed),
)
def my_shares(holds: np.ndarray, mix: np.ndarray, chi: np.ndarray) -> np.ndarray:
    """The share of each position in E[output · χ], (T,): they add up to 1; holds (batch, T), mix (T,), χ (batch,)."""
    parts = mix * (chi @ holds)
    return parts / parts.sum()


my_shares.mistake(
    "The weights of the sum are missing: a position that holds a parity may be weighted with 0.",
    lambda holds, mix, chi: (chi @ holds) / (chi @ holds).sum(),
)
my_shares.mistake(
    "These are the coefficients themselves. A share is a part of the whole.",
    lambda holds, mix, chi: mix * (chi @ holds) / len(chi),
)
my_shares.mistake(
    "You have taken absolute values. A position may work against the others: its share is then negative.",
    lambda holds, mix, chi: np.abs(mix * (chi @ holds)) / np.abs(mix * (chi @ holds)).sum(),
)
my_shares.mistake(
    "Those are shares of the variance. They do not ask what the position varies with.",
    lambda holds, mix, chi: mix**2 * holds.var(axis=0) / (mix**2 * holds.var(axis=0)).sum(),
)


def _after(holds: np.ndarray, mix: np.ndarray, shift: float, rows: list, f: np.ndarray, held: object) -> float:
    changed = holds.copy()
    changed[:, rows] = held
    return float(np.square(changed @ mix + shift - f).mean())


@exercise(
    "18.5",
    "Ablation",
    minutes=10,
    difficulty=2,
    hints=(
        "Copy what the positions hold, overwrite the rows in question, and let the rest of the network go on.",
        "Over all inputs, a row has one mean. Every input gets it, in that row's place.",
    ),
    why="The mean keeps the constant part of what a row gave. Zero would take that away as well, and the error would "
    "tell of both.",
    instances=_ablations,
    look=_kept(_ablations),
)
def my_ablation(holds: np.ndarray, mix: np.ndarray, shift: float, rows: list, f: np.ndarray) -> float:
    """The mean squared error against f (batch,) if these rows, from 0, hold their mean at every input."""
    held = holds.copy()
    held[:, rows] = held[:, rows].mean(axis=0)
    return np.square(held @ mix + shift - f).mean()


my_ablation.mistake(
    "You have set the rows to 0. Then their constant part is gone, too.",
    lambda holds, mix, shift, rows, f: _after(holds, mix, shift, rows, f, 0.0),
)
my_ablation.mistake(
    "You have given all these rows one common mean. Each has its own.",
    lambda holds, mix, shift, rows, f: _after(holds, mix, shift, rows, f, holds[:, rows].mean()),
)
my_ablation.mistake(
    "Your mean is over positions. It is over inputs.",
    lambda holds, mix, shift, rows, f: _after(holds, mix, shift, rows, f, holds.mean(axis=1, keepdims=True)),
)
my_ablation.mistake(
    "You have kept these rows and ablated the others.",
    lambda holds, mix, shift, rows, f: my_ablation.solution(
        holds, mix, shift, [i for i in range(len(mix)) if i not in rows], f
    ),
)
my_ablation.mistake(
    "That compares with the network as it was. Compare with f.",
    lambda holds, mix, shift, rows, f: my_ablation.solution(holds, mix, shift, rows, holds @ mix + shift),
)
my_ablation.mistake(
    "The shift is missing: it belongs to the output.",
    lambda holds, mix, shift, rows, f: my_ablation.solution(holds, mix, 0.0, rows, f),
)


def _hubs(rng: np.random.Generator) -> Looks:
    """Common bits, the other ones, their weights, and the length."""
    found = [((2,), (4, 1), (3.0, 1.0), 5)]
    for hub, count in ((1, 3), (2, 2), (3, 2)):
        chosen = (1 + rng.choice(9, hub + count, replace=False)).tolist()
        weights = tuple(rng.uniform(0.2, 2, count).round(3).tolist())
        found.append((tuple(chosen[:hub]), tuple(chosen[hub:]), weights, 9))
    return found


def _placed(hub: tuple, leaves: tuple, T: int, common: float, others: np.ndarray) -> np.ndarray:
    row = np.zeros(T)
    row[[j - 1 for j in hub]] = common
    row[[j - 1 for j in leaves]] = others
    return row


@exercise(
    "18.6",
    "A star",
    minutes=12,
    difficulty=2,
    entry="bit",
    hints=(
        "Every one among the common bits must move what is read from one grid point to the next. How wide is that step "
        "if there are d + 1 grid points from 0 to 1?",
        "All the other bits together move it by one step, too, each by a part of it that fits its weight.",
    ),
    why="One position and d ReLUs for as many components as there are other bits. The hand-built network takes a "
    "position for each.",
    instances=_hubs,
)
def my_star(hub: tuple, leaves: tuple, weights: tuple, T: int) -> np.ndarray:
    """The row of attention (T,) that computes Σ λ_i even(hub and leaf i) with a triangle wave; bits from 1."""
    d = len(hub) + 1
    profile = np.zeros(T)
    profile[[j - 1 for j in hub]] = 1 / d
    profile[[j - 1 for j in leaves]] = np.array(weights) / (d * sum(weights))
    return profile


my_star.mistake(
    "You share the attention out evenly among all bits of the star. Then the wave cannot tell them apart.",
    lambda hub, leaves, weights, T: _placed(
        hub, leaves, T, 1 / (len(hub) + len(leaves)), np.full(len(leaves), 1 / (len(hub) + len(leaves)))
    ),
)
my_star.mistake(
    "The other bits share one step evenly with you. Each should have a part that fits its weight.",
    lambda hub, leaves, weights, T: _placed(
        hub, leaves, T, 1 / (len(hub) + 1), np.full(len(leaves), 1 / (len(leaves) * (len(hub) + 1)))
    ),
)
my_star.mistake(
    "Your row does not add up to 1, as attention must: the other bits together get one step, 1/d.",
    lambda hub, leaves, weights, T: _placed(
        hub, leaves, T, 1 / (len(hub) + 1), np.array(weights) / sum(weights)
    ),
)
my_star.mistake(
    "The hub is right, but your row does not add up to 1: divide the weights of the other bits by their sum.",
    lambda hub, leaves, weights, T: _placed(hub, leaves, T, 1 / (len(hub) + 1), np.array(weights) / (len(hub) + 1)),
)
my_star.mistake(
    "That is the row of the heaviest component alone. The others would be lost.",
    lambda hub, leaves, weights, T: _placed(
        hub, leaves, T, 1 / (len(hub) + 1), (np.array(weights) == max(weights)) / (len(hub) + 1)
    ),
)


# --- open -------------------------------------------------------------------------------------------------------------

_T, _D = 10, 2


@dataclass(frozen=True)
class Look:
    """A network seen from inside, without its outputs: attention (10, 10), weights (10,), and ``spread`` (10,), the
    standard deviation over all inputs of what each position holds."""

    attention: np.ndarray
    mix: np.ndarray
    spread: np.ndarray
    count: int  # components, all of them pairs
    _sets: tuple


def _drawn_row(profile: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of attention as training leaves it: its profile, a little uneven, with a leak."""
    row = profile * rng.uniform(0.85, 1.15, _T) + 0.004
    return row / row.sum()


def _profile(weights: dict[int, float]) -> np.ndarray:
    row = np.zeros(_T)
    row[list(weights)] = list(weights.values())
    return row


def _looks(rng: np.random.Generator) -> list[tuple]:
    """Twelve networks: a pair with a row of its own, two pairs that share a bit in one star, idle and opposed rows."""
    trials = []
    for _ in range(12):
        a, b, hub, one, two, *rest = rng.permutation(_T).tolist()
        light = rng.uniform(0.3, 0.7)
        rows = [_drawn_row(_profile({a: 0.5, b: 0.5}), rng)]
        rows += [_drawn_row(_profile({hub: 0.5, one: light / 2, two: (1 - light) / 2}), rng) for _ in range(2)]
        decoys = [_drawn_row(_profile({rest[0]: 0.5, rest[1]: 0.5}), rng) for _ in range(2)]
        idle = [rng.dirichlet(np.full(_T, 0.4)) for _ in range(_T - 5)]
        attention = np.array([*rows, *decoys, *idle])
        mix = np.concatenate([[1.0, 0.7, 0.5, 0.8, -0.8], 0.01 * rng.normal(size=_T - 5)])
        star = 0.5 * np.hypot(light, 1 - light)  # of light · even + (1 − light) · even, which are independent
        spread = np.concatenate([[0.5, star, star, 0.5, 0.5], rng.uniform(0.1, 0.5, _T - 5)])
        order = rng.permutation(_T)
        sets = tuple(tuple(sorted((i + 1, j + 1))) for i, j in ((a, b), (hub, one), (hub, two)))
        trials.append((Look(attention[order], mix[order], spread[order], 3, sets),))
    return trials


def _pairs(answer: object) -> str | None:
    try:
        found = [tuple(int(j) for j in members) for members in answer]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return "what you give is not a list of pairs of numbers"
    if any(len(set(members)) != _D or min(members) < 1 or max(members) > _T for members in found):
        return f"every set must have two different bits from 1 to {_T}"
    return None if len(set(found)) == len(found) <= 3 else "you may name at most three sets, each once"


def _found(answer: list, look: Look) -> float:
    return len({tuple(sorted(int(j) for j in members)) for members in answer} & set(look._sets)) / len(look._sets)


def _brightest(look: Look) -> list:
    """The three rows whose two brightest entries are brightest, whatever becomes of them."""
    top = np.sort(look.attention, axis=1)[:, -_D:].sum(axis=1)
    found: dict[tuple, None] = {}
    for i in np.argsort(-top):
        found[tuple(sorted((1 + np.argsort(-look.attention[i])[:_D]).tolist()))] = None
    return list(found)[: look.count]


@scored(
    "18.7",
    "A reader of networks",
    minutes=40,
    difficulty=3,
    instances=_looks,
    baseline=_brightest,
    measures={"components found": Measure(_found, more=True, unit="%", scale=100)},
    fits=_pairs,
    rival="the brightest rows",
    why="Positions are asked in the order of what they bring to the output. Each is read as its two brightest bits. It "
    "knows neither of stars nor of two positions that say the same with opposite weights.",
)
def my_reader(look: object) -> list:
    """Has `look.attention` (10, 10), `.mix`, `.spread` (10,) and `.count`; gives so many pairs of bits, from 1."""
    found = {}
    for i in np.argsort(-np.abs(look.mix) * look.spread):
        found[tuple(sorted((1 + np.argsort(-look.attention[i])[:2]).tolist()))] = None
    return list(found)[: look.count]
