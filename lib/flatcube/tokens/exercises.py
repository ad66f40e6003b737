"""The exercises of chapter 15: my sensitivity of anything that reads tokens. Mistakes follow each solution."""

from collections.abc import Callable

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored


def _sequences(rng: np.random.Generator) -> list[tuple]:
    """Fixed: one place of many. No symbol stands in all inputs, and the new one differs from what there is."""
    found = [(np.array([[0, 1, 2], [2, 2, 0]]), 2, 1), (np.array([[4, 0, 1, 1], [1, 3, 0, 4]]), 3, 2)]
    for _ in range(3):
        N, T = rng.integers(2, 6), rng.integers(3, 7)
        inputs = rng.integers(0, 4, (N, T))
        inputs[0, 0] = 0  # so that two inputs are never all the same
        inputs[1, :2] = 1, 2
        found.append((inputs, int(rng.integers(2, T + 1)), 4))
    return found


def _kept(answer: Callable, rng: np.random.Generator) -> str | None:
    """Whether the given array is as it was: values do not tell, for the new sequences may be right."""
    inputs = rng.integers(0, 4, (4, 5))
    given = inputs.copy()
    answer(given, 2, 4)
    if np.array_equal(given, inputs):
        return None
    return "You have changed the given array. Who asked will need the old inputs again, so work on a copy."


@exercise(
    "15.1",
    "Replace a token",
    minutes=5,
    difficulty=1,
    hints=(
        "Which column of the array is the place? The book counts places from 1, an array its columns from 0.",
        "Work on a copy: who asked will need the old inputs again, to compare.",
    ),
    why="Everything that follows compares a prediction before such a replacement with one after it.",
    instances=_sequences,
    look=_kept,
)
def my_replaced(inputs: np.ndarray, place: int, symbol: int) -> np.ndarray:
    """The same sequences (N, T), but in this place (the first is 1, not 0) every one has this symbol."""
    new = inputs.copy()
    new[:, place - 1] = symbol
    return new


def _at(inputs, rows, columns, symbol):
    new = inputs.copy()
    new[rows, columns] = symbol
    return new


my_replaced.mistake(
    "You counted places from 0, so the token after the one that was meant is replaced.",
    lambda inputs, place, symbol: _at(inputs, slice(None), place % inputs.shape[1], symbol),
)
my_replaced.mistake(
    "You replaced a whole sequence: rows are inputs, columns are places.",
    lambda inputs, place, symbol: _at(inputs, (place - 1) % len(inputs), slice(None), symbol),
)
my_replaced.mistake(
    "Only the first input has changed. The same place is meant in all of them.",
    lambda inputs, place, symbol: _at(inputs, 0, place - 1, symbol),
)
my_replaced.mistake("The inputs are as they were.", lambda inputs, place, symbol: inputs.copy())


# --- exact ------------------------------------------------------------------------------------------------------------


class Table:
    """A function of sequences (N, T) of symbols, by its values; 0 is among them."""

    def __init__(self, values: np.ndarray, symbols: int, T: int) -> None:
        self.values, self.powers = values, symbols ** np.arange(T)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """The values (N,) at these sequences."""
        return self.values[np.asarray(inputs) @ self.powers]


def _vote(inputs: np.ndarray) -> np.ndarray:
    return (inputs == 1).sum(1) - (inputs == 2).sum(1)


def _functions(rng: np.random.Generator) -> list[tuple]:
    """Fixed: a vote, at inputs where it is 0, 1 and 2. Then tables in which all three signs occur."""
    found = [(_vote, np.array([[1, 1, 0], [1, 2, 0], [1, 0, 0], [1, 1, 2]]), 3)]
    for _ in range(3):
        symbols, T = int(rng.integers(3, 5)), int(rng.integers(3, 5))
        table = Table(rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0], symbols**T), symbols, T)
        found.append((table, rng.integers(0, symbols, (6, T)), symbols))
    return found


@exercise(
    "15.2",
    "My token-wise sensitivity",
    minutes=12,
    difficulty=2,
    hints=(
        "Two loops do it: over the places, and over all symbols of the vocabulary, the old one among them.",
        "Compare decisions, not values: `np.sign` of both, where 0 is a decision of its own. In the end take a mean "
        "over everything.",
    ),
    why="No chance is left in it: all inputs, all places, all replacements. Every estimate is compared with it.",
    instances=_functions,
)
def my_sensitivity(f: object, inputs: np.ndarray, symbols: int) -> float:
    """S(f), f from sequences (N, T) of the symbols 0, …, symbols − 1 to numbers (N,); a new token is uniform."""
    old = np.sign(f(inputs))
    changed = []
    for place in range(inputs.shape[1]):
        for symbol in range(symbols):
            new = inputs.copy()
            new[:, place] = symbol
            changed.append(np.sign(f(new)) != old)
    return float(np.mean(changed))


def _changes(f, inputs, symbols, decide=np.sign) -> np.ndarray:
    """Whether the decision changes, (T, symbols, N)."""
    old = decide(f(inputs))
    return np.array([[decide(f(_at(inputs, slice(None), place, symbol))) != old for symbol in range(symbols)]
                     for place in range(inputs.shape[1])])  # fmt: skip


my_sensitivity.mistake(
    "You leave the old symbol out, or divide as if it were out. A uniform token is the old one now and then, and then "
    "nothing changes.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols).mean() * symbols / (symbols - 1)),
)
my_sensitivity.mistake(
    "That is the sum over places. Here it is the mean over them.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols).mean() * inputs.shape[1]),
)
my_sensitivity.mistake(
    "You count every change of the value. A value may change and the decision stay.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols, np.asarray).mean()),
)
my_sensitivity.mistake(
    "You count 0 as positive. What is compared are signs, and the sign of 0 is neither.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols, lambda y: y >= 0).mean()),
)
my_sensitivity.mistake(
    "You count 0 as negative. What is compared are signs, and the sign of 0 is neither.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols, lambda y: y > 0).mean()),
)
my_sensitivity.mistake(
    "You count a place as soon as one symbol changes the decision. What is asked for is the share of the symbols.",
    lambda f, inputs, symbols: float(_changes(f, inputs, symbols).any(1).mean()),
)


# --- by a sample ------------------------------------------------------------------------------------------------------


def _draws(rng: np.random.Generator) -> list[tuple]:
    """Functions of few symbols, with new tokens (N, T, R); inputs whose shares differ."""
    found = []
    for _ in range(4):
        symbols, T, N, R = 3, int(rng.integers(3, 5)), int(rng.integers(6, 9)), 3
        table = Table(rng.choice([-1.0, 1.0], symbols**T), symbols, T)
        inputs = rng.integers(0, symbols, (N, T))
        inputs[0] = inputs[1]
        tokens = rng.integers(0, symbols, (N, T, R))
        tokens[0] = inputs[0][:, None]  # nothing changes in the first input, so that shares are not all the same
        found.append((table, inputs, tokens))
    return found


@exercise(
    "15.3",
    "My estimate, with an error",
    minutes=15,
    difficulty=2,
    hints=(
        "For each input, work out the share of its replacements that change the decision. What are the independent "
        "things here?",
        "Inputs are drawn independently; the places of one input are not. The error of a mean of N independent numbers "
        "is their standard deviation (with N − 1) over √N.",
    ),
    why="An interval of two standard errors to each side covers the truth in about 95 % of all samples, if N is large.",
    instances=_draws,
)
def my_estimate(f: object, inputs: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """S(f) from a sample: inputs (N, T), new tokens (N, T, R) for each place; the mean and its standard error."""
    old = np.sign(f(inputs))
    N, T, R = tokens.shape
    shares = np.zeros(N)
    for place in range(T):
        for draw in range(R):
            new = inputs.copy()
            new[:, place] = tokens[:, place, draw]
            shares += (np.sign(f(new)) != old) / (T * R)
    return float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(N))


def _seen(f, inputs, tokens) -> np.ndarray:
    """Whether the decision changes, (T, R, N)."""
    old = np.sign(f(inputs))
    return np.array([[np.sign(f(_at(inputs, slice(None), place, tokens[:, place, draw]))) != old
                      for draw in range(tokens.shape[2])] for place in range(tokens.shape[1])])  # fmt: skip


def _told(f, inputs, tokens, error) -> tuple[float, float]:
    seen = _seen(f, inputs, tokens)
    return float(seen.mean()), float(error(seen))


my_estimate.mistake(
    "Your error treats all replacements as independent. Those of one input are not: if its decision is shaky, it is "
    "shaky in all places.",
    lambda *given: _told(*given, lambda seen: seen.std() / np.sqrt(seen.size)),
)
my_estimate.mistake(
    "Your error treats all replacements as independent. Those of one input are not: if its decision is shaky, it is "
    "shaky in all places. And a standard deviation from a sample has N − 1 below.",
    lambda *given: _told(*given, lambda seen: seen.std(ddof=1) / np.sqrt(seen.size)),
)
my_estimate.mistake(
    "You give the standard deviation of one input's share. The error of the mean is smaller, by √N.",
    lambda *given: _told(*given, lambda seen: seen.mean((0, 1)).std(ddof=1)),
)
my_estimate.mistake(
    "The standard deviation of a sample has N − 1 below, since the mean was taken from the same sample.",
    lambda *given: _told(*given, lambda seen: seen.mean((0, 1)).std() / np.sqrt(seen.shape[2])),
)
my_estimate.mistake(
    "That is the error over places. They are always the same, so chance is not in them; it is in the inputs.",
    lambda *given: _told(*given, lambda seen: seen.mean((1, 2)).std(ddof=1) / np.sqrt(len(seen))),
)


# --- votes ------------------------------------------------------------------------------------------------------------


def _votes(rng: np.random.Generator) -> list[tuple]:
    """Fixed: a lead of one, of two and of three. Sets of symbols have two members at least but for the last."""
    found = [(3, 2, 4, 12, 20), (3, 1, 4, 12, 20), (4, 1, 4, 12, 20)]
    for lead in (1, 2, 1):
        wrong, kinds = int(rng.integers(1, 6)), int(rng.integers(2, 9))
        found.append(
            (
                wrong + lead,
                wrong,
                kinds,
                2 * wrong + lead + int(rng.integers(4, 20)),
                2 * kinds + int(rng.integers(3, 9)),
            )
        )
    return [*found, (1, 0, 1, 9, 15)]


@exercise(
    "15.4",
    "The tables of the paper",
    minutes=20,
    difficulty=3,
    hints=(
        "The lead is right − wrong. By how much can one replacement change it, and when does it reach 0?",
        "With a lead of 2, only a right token that becomes a wrong one helps. With a lead of 1 there are two ways: a "
        "right token that is lost to anything else, and any token that is not for a side yet and becomes a wrong one.",
    ),
    why="With the right numbers in it, this formula gives every entry of Tables 1 and 3 but one.",
    instances=_votes,
)
def my_vote(right: int, wrong: int, kinds: int, T: int, M: int) -> float:
    """The sensitivity of a vote: of T tokens some are right and some wrong, of kinds symbols each; M symbols in all."""
    lead = right - wrong
    if lead >= 3:
        return 0.0
    if lead == 2:
        return right * kinds / (T * M)
    return (right * (M - kinds) + (T - right - wrong) * kinds) / (T * M)


my_vote.mistake(
    "With a lead of two you find nothing. A right token that becomes a wrong one moves the lead by two, and a tie is a "
    "change.",
    lambda right, wrong, kinds, T, M: my_vote.solution(right, wrong, kinds, T, M) if right - wrong != 2 else 0.0,
)
my_vote.mistake(
    "You do not count ties. With a lead of one, a right token that becomes irrelevant leaves a tie, and the sign of 0 "
    "is not that of 1.",
    lambda right, wrong, kinds, T, M: right * kinds / (T * M) if right - wrong == 1 else 0.0,
)
my_vote.mistake(
    "A right token that becomes another right one changes nothing. You count it.",
    lambda right, wrong, kinds, T, M: (
        (right * M + (T - right - wrong) * kinds) / (T * M)
        if right - wrong == 1
        else my_vote.solution(right, wrong, kinds, T, M)
    ),
)
my_vote.mistake(
    "You only replace tokens that are right. An irrelevant one that becomes a wrong one can decide, too.",
    lambda right, wrong, kinds, T, M: (
        right * (M - kinds) / (T * M) if right - wrong == 1 else my_vote.solution(right, wrong, kinds, T, M)
    ),
)
my_vote.mistake(
    "You let all tokens that are not right become wrong. Those that are wrong already make no difference.",
    lambda right, wrong, kinds, T, M: (
        (right * (M - kinds) + (T - right) * kinds) / (T * M)
        if right - wrong == 1
        else my_vote.solution(right, wrong, kinds, T, M)
    ),
)
my_vote.mistake(
    "That is the sum over places. Here it is the mean over them.",
    lambda right, wrong, kinds, T, M: T * my_vote.solution(right, wrong, kinds, T, M),
)


# --- class means ------------------------------------------------------------------------------------------------------


def _settings(rng: np.random.Generator) -> list[tuple]:
    """Fixed: those of the paper and the control, whose verdicts differ. Leads have all remainders."""
    found = [(np.array([[3, 5, 1, 16], [1, 17, 7, 20], [1, 17, 3, 20], [2, 10, 3, 4], [1, 9, 2, 3]]),)]
    for _ in range(3):
        lines = []
        while len(lines) < 5:
            n_s, n_f, m = int(rng.integers(1, 5)), int(rng.integers(5, 18)), int(rng.integers(2, 21))
            n_d = int(rng.integers(1, n_f - 1))
            lines.append((n_s, n_f, n_d, m))
        found.append((np.array([(1, 16, 7, 11), *lines]),))
    return found


@exercise(
    "15.5",
    "My rival rule",
    minutes=12,
    difficulty=2,
    hints=(
        "The weights of the classifier are differences of mean counts: n_s for the sparse symbol, for each of m "
        "frequent symbols its share of the lead. What is the score of a flipped input of the positive class?",
        "The lead is that of whole tokens: of n_f frequent ones ⌊(n_f + n_d)/2⌋ are right. It need not be n_d.",
    ),
    why="It never looks at sensitivity. Where it disagrees with that rule, training has to decide.",
    instances=_settings,
)
def my_scores(settings: np.ndarray) -> np.ndarray:
    """For settings (K, 4) of n_s, n_f, n_d, m: the score (K,) by class means, where sparse tokens are flipped."""
    n_s, n_f, n_d, m = settings.T
    right = (n_f + n_d) // 2
    lead = right - (n_f - right)
    return lead**2 / m - n_s**2


def _scored(settings, score):
    n_s, n_f, n_d, m = settings.T.astype(float)
    lead = 2 * ((n_f + n_d) // 2) - n_f
    return score(n_s, lead, m, n_d, n_f)


my_scores.mistake(
    "The lead is not always n_d: where n_f + n_d is odd, it is rounded down and one less.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: d**2 / m - s**2),
)
my_scores.mistake(
    "That is the score of an input whose sparse tokens are not flipped.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: lead**2 / m + s**2),
)
my_scores.mistake(
    "You forgot that the lead is shared out among m symbols: each has a weight of lead/m only.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: lead**2 - s**2),
)
my_scores.mistake(
    "The weights enter the score once, and so do the counts. You have the lead over m squared.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: lead**2 / m**2 - s**2),
)
my_scores.mistake(
    "The sign is turned around: a flipped sparse token speaks against the class.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: s**2 - lead**2 / m),
)
my_scores.mistake(
    "You count all frequent tokens as right. Some of them are of the other class, and take away what others give.",
    lambda settings: _scored(settings, lambda s, lead, m, d, f: f**2 / m - s**2),
)


# --- the open one -----------------------------------------------------------------------------------------------------

_T, _SYMBOLS, _CALLS, _INPUTS = 12, 6, 600, 400


class Asked:
    """A vote with unequal places: ``ask(inputs)`` gives its numbers, for ``calls`` inputs in all; ``rng`` is yours."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.inputs = rng.integers(0, _SYMBOLS, (_INPUTS, _T))
        self.symbols, self.calls = _SYMBOLS, _CALLS
        weights = np.where(rng.random(_T) < 0.3, 1.0, 0.1) * rng.random(_T)
        votes = rng.choice([-1.0, 0.0, 1.0], _SYMBOLS, p=(0.4, 0.2, 0.4)) + 0.05
        self._f: Callable[[np.ndarray], np.ndarray] = lambda x: votes[x] @ weights
        self.rng = np.random.default_rng(rng.integers(2**32))
        self._truth = my_sensitivity.solution(self._f, self.inputs, _SYMBOLS)

    def ask(self, inputs: np.ndarray) -> np.ndarray:
        """The numbers (N,) at inputs (N, T)."""
        inputs = np.atleast_2d(inputs)
        self.calls -= len(inputs)
        if self.calls < 0:
            raise ValueError(f"at most {_CALLS} inputs may be asked for")
        return self._f(inputs)


def _boxes(rng: np.random.Generator) -> list[tuple]:
    return [(Asked(rng),) for _ in range(300)]  # with 60 chance hides what the library gains on random pairs


def _pairs(box: Asked) -> float:
    """A random input, a random place, a random token: two questions for one comparison."""
    N = box.calls // 2
    some = box.inputs[box.rng.integers(0, len(box.inputs), N)]
    new = some.copy()
    new[np.arange(N), box.rng.integers(0, some.shape[1], N)] = box.rng.integers(0, box.symbols, N)
    return float(np.mean(np.sign(box.ask(some)) != np.sign(box.ask(new))))


@scored(
    "15.6",
    "Sensitivity on a budget",
    minutes=30,
    difficulty=3,
    instances=_boxes,
    baseline=_pairs,
    rival="random pairs",
    measures={"error": Measure(lambda out, box: abs(float(out) - box._truth))},
    why="It asks for every old input once and uses it in all places. It never skips a replacement that cannot matter.",
)
def my_budget(box: object) -> float:
    """S of the function behind `box.ask`, on `box.inputs` of `box.symbols` symbols; asks `box.calls` times at most."""
    T = box.inputs.shape[1]
    some = box.inputs[box.rng.permutation(len(box.inputs))[: box.calls // (T + 1)]]
    old, changed = np.sign(box.ask(some)), []
    for place in range(T):
        new = some.copy()
        other = box.rng.integers(1, box.symbols, len(some))  # never the old one: that changes nothing
        new[:, place] = (some[:, place] + other) % box.symbols
        changed.append(np.sign(box.ask(new)) != old)
    return float(np.mean(changed)) * (box.symbols - 1) / box.symbols
