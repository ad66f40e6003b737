"""The exercises of chapter 5. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube.classroom.exercises import exercise


def _chosen(T: int, s: int, rng: np.random.Generator) -> list[int]:
    return sorted((rng.choice(T, s, replace=False) + 1).tolist())


def _bumps(rng: np.random.Generator) -> list[tuple]:
    """Points on the flat part, on both ramps, and beyond."""
    centres, widths = rng.uniform(-1, 1, 3).round(2).tolist(), (0.1, 0.5, 1.5)
    return [(c + d * np.array([-4, -1.6, -1, 0, 0.7, 1.3, 1.9, 5]), c, d) for c, d in zip(centres, widths, strict=True)]


@exercise(
    "5.1",
    "A bump that is one",
    minutes=8,
    difficulty=1,
    instances=_bumps,
    hints=(
        "Put t = (x − centre)/δ. A ReLU of t with coefficient c adds c to the slope from its kink on.",
        "From left to right the slope is 0, 1, 0, −1, 0. At which four t does it change, and by how much?",
    ),
    why="Four kinks whose slopes cancel: beyond 2δ nothing is left, so bumps around different points do not meet.",
)
def bump(x: np.ndarray, centre: float, delta: float) -> np.ndarray:
    """1 for |x − centre| ≤ δ, 0 beyond 2δ, straight between: four ReLUs."""
    t = (x - centre) / delta
    # your turn
    bends = {-2: 1, -1: -1, 1: -1, 2: 1}  # where the slope changes, and by how much
    return sum(change * np.maximum(t - at, 0) for at, change in bends.items())


def _relus(t: np.ndarray, *kinks: tuple[float, float, float]) -> np.ndarray:
    """The sum of sign · ReLU(slope · t + offset)."""
    return sum(sign * np.maximum(slope * t + offset, 0) for slope, offset, sign in kinks)


bump.mistake(
    "That is the printed form: a difference of two ramps that face each other is −1 on the left and +1 on the right.",
    lambda x, c, d: _relus((x - c) / d, (1, 2, 1), (1, 1, -1), (-1, 2, -1), (-1, 1, 1)),
)
bump.mistake(
    "Your bump begins at the centre instead of around it: it is 1 from centre to centre + 2δ.",
    lambda x, c, d: _relus((x - c) / d - 1, (1, 2, 1), (1, 1, -1), (1, -1, -1), (1, -2, 1)),
)
bump.mistake(
    "Your bump has a tip and no top: it is 1 at the centre only. It must stay at 1 up to δ on either side.",
    lambda x, c, d: np.maximum(1 - np.abs((x - c) / d) / 2, 0),
)
bump.mistake(
    "Your bump never comes down again: that is a ramp. Two more ReLUs take it back to 0.",
    lambda x, c, d: _relus((x - c) / d, (1, 2, 1), (1, 1, -1)),
)
bump.mistake(
    "Your bump is cut off sharply. With finite weights the way down takes room: it is straight from δ to 2δ.",
    lambda x, c, d: (np.abs(x - c) <= d).astype(float),
)


def _heads(rng: np.random.Generator) -> list[tuple]:
    sizes = [(int(rng.integers(4, 9)), 1), (int(rng.integers(5, 9)), 2), (int(rng.integers(7, 12)), 3)]
    return [(T, _chosen(T, s, rng), round(rng.uniform(1, 3), 1)) for T, s in sizes]


@exercise(
    "5.2",
    "Where the head looks",
    minutes=8,
    difficulty=1,
    hints=(
        "There are T + 1 logits: the last is that of [CLS] itself. Which of them are R, and which are 0?",
        "The softmax divides every e^logit by the sum of all of them. What is e to the power 0?",
    ),
    why="Logits of 0 still weigh 1 each, and there are about T of them: e^R has to beat T, so R grows like log T.",
    instances=_heads,
)
def attention(T: int, chosen: list[int], R: float) -> np.ndarray:
    """The weights (T + 1,): logit R at chosen positions (1 … T), else 0."""
    logits = np.zeros(T + 1)
    # your turn
    logits[np.array(chosen) - 1] = R
    return np.exp(logits) / np.exp(logits).sum()


def _marks(T: int, chosen: list[int], high: float, low: float) -> np.ndarray:
    weights = np.full(T + 1, low)
    weights[np.array(chosen) - 1] = high
    return weights


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


attention.mistake(
    "You share the weight among the chosen positions only. A logit of 0 is not minus infinity: e⁰ is 1.",
    lambda T, chosen, R: _shares(_marks(T, chosen, 1.0, 0.0)),
)
attention.mistake(
    "You are off by one: positions count from 1, entries of an array from 0.",
    lambda T, chosen, R: np.roll(attention.solution(T, chosen, R), 1),
)
attention.mistake(
    "The position of [CLS] is missing: it attends to itself as well, with logit 0.",
    lambda T, chosen, R: _shares(_marks(T, chosen, np.exp(R), 1.0)[:T]),
)
attention.mistake(
    "Your weights do not add up to 1: divide by their sum.",
    lambda T, chosen, R: _marks(T, chosen, np.exp(R), 1.0),
)


def _scales(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(20, 2000)), s, round(rng.uniform(0.02, 0.3), 3)) for s in (1, 2, 3, 5)]


@exercise(
    "5.3",
    "Sharp enough",
    minutes=12,
    difficulty=2,
    hints=(
        "The T + 1 − s others keep 1/(s e^R + T + 1 − s) each. Let all chosen signs be +1: what do they lose?",
        "The chosen ones lose all that the others get. Of these, the T − s bits can also answer −1; [CLS] cannot.",
    ),
    why="R is log T plus a constant. Halving the error costs log 2, whatever T is: logits are a bargain.",
    instances=_scales,
)
def smallest_scale(T: int, s: int, error: float) -> float:
    """The R at which an average of s of T signs is off by `error` at worst."""
    others = T + 1 - s  # positions with logit 0; one of them, [CLS], has no sign
    # your turn
    return np.log(((2 * (T - s) + 1) / error - others) / s)


smallest_scale.mistake(
    "You count only what the chosen signs lose. In the worst case the other bits answer −1 and pull as well.",
    lambda T, s, error: np.log(((T + 1 - s) / error - (T + 1 - s)) / s),
)
smallest_scale.mistake(
    "You let [CLS] pull, too. Its position gets weight but holds no sign, so it counts once and not twice.",
    lambda T, s, error: np.log((2 * (T + 1 - s) / error - (T + 1 - s)) / s),
)
smallest_scale.mistake(
    "You count only the pull of the other bits. What they gain, the chosen signs have lost.",
    lambda T, s, error: np.log(((T - s) / error - (T + 1 - s)) / s),
)
smallest_scale.mistake(
    "That is the bound of the lemma: it is enough, but more than needed. Solve for R exactly.",
    lambda T, s, error: np.log(2 * T / error),
)
smallest_scale.mistake(
    "You forget [CLS]: the others are T − s bits and one position more.",
    lambda T, s, error: np.log((2 * (T - s) / error - (T - s)) / s),
)
smallest_scale.mistake(
    "You have e^R; its logarithm is wanted.",
    lambda T, s, error: ((2 * (T - s) + 1) / error - (T + 1 - s)) / s,
)


def _bags(rng: np.random.Generator) -> list[tuple]:
    """Bags with no, some and all of the chosen vectors, and always others."""
    trials = []
    for s, r in ((2, 0), (3, 1), (3, 2), (4, 2), (2, 2)):
        T = s + 4
        chosen, bits = _chosen(T, s, rng), np.zeros(T, dtype=int)
        bits[np.array(chosen)[rng.permutation(s)[:r]] - 1] = 1
        outside = np.setdiff1d(np.arange(T), np.array(chosen) - 1)
        bits[outside[:3]] = 1
        trials.append((bits, chosen))
    return trials


@exercise(
    "5.4",
    "What the bag says",
    minutes=8,
    difficulty=2,
    hints=(
        "For large R the attention is even over [CLS] and the chosen vectors that are in the bag: r + 1 in all.",
        "The value of v_i has a 1 in coordinate i, the value of [CLS] a −1 in every coordinate. Average them.",
    ),
    why="[CLS] in the average keeps an empty bag from having no answer; its −1 shows how many vectors share it.",
    instances=_bags,
)
def bag_signal(bits: np.ndarray, chosen: list[int]) -> np.ndarray:
    """The signal (s,) of a bag for R → ∞, a coordinate for each chosen bit."""
    mine = bits[np.array(chosen) - 1]
    # your turn
    return (mine - 1) / (mine.sum() + 1)


def _mine(bits: np.ndarray, chosen: list[int]) -> np.ndarray:
    return bits[np.array(chosen) - 1]


bag_signal.mistake(
    "You leave [CLS] out of the count: it is one of the r + 1 that are averaged.",
    lambda bits, chosen: (_mine(bits, chosen) - 1) / max(_mine(bits, chosen).sum(), 1),
)
bag_signal.mistake(
    "The −1 of [CLS] is missing from the average.",
    lambda bits, chosen: _mine(bits, chosen) / (_mine(bits, chosen).sum() + 1),
)
bag_signal.mistake(
    "You average over all vectors in the bag. Those that were not chosen have logit 0 and fade away.",
    lambda bits, chosen: (_mine(bits, chosen) - 1) / (bits.sum() + 1),
)
bag_signal.mistake(
    "That is the one number of the symmetric case. Here every chosen bit has a coordinate of its own.",
    lambda bits, chosen: (_mine(bits, chosen).sum() - len(chosen)) / (_mine(bits, chosen).sum() + 1),
)
bag_signal.mistake(
    "You divide by the number of chosen bits. The softmax divides by how many of them are in the bag, and [CLS].",
    lambda bits, chosen: (_mine(bits, chosen) - 1) / (len(chosen) + 1),
)


@exercise(
    "5.5",
    "The matrix that asks",
    minutes=10,
    difficulty=2,
    hints=(
        "A logit is x_query W x_keyᵀ. Which channel is 1 in the query, and which one in the key of a chosen bit?",
        "Rows of W belong to the query, columns to the key. There are s entries that are not 0.",
    ),
    why="All that the head knows about the task are s entries in one row: its norm is R√s, and T enters through R.",
    instances=lambda rng: [(T, _chosen(T, s, rng), float(rng.integers(2, 9))) for T, s in ((5, 2), (7, 3), (9, 4))],
)
def query_key(T: int, chosen: list[int], R: float) -> np.ndarray:
    """W (T + 3, T + 3); channels: v_1 … v_T, then E_0, E_1, and [CLS] last."""
    query, key = np.zeros(T + 3), np.zeros(T + 3)
    # your turn
    query[-1] = 1
    key[np.array(chosen) - 1] = 1
    return R * np.outer(query, key)


def _matrix(T: int, rows: list[int], columns: list[int], value: float) -> np.ndarray:
    W = np.zeros((T + 3, T + 3))
    W[np.ix_(rows, columns)] = value
    return W


def _places(chosen: list[int]) -> list[int]:
    return [i - 1 for i in chosen]


query_key.mistake(
    "Yours is the transpose: [CLS] asks, so its channel is the row.",
    lambda T, chosen, R: _matrix(T, _places(chosen), [T + 2], R),
)
query_key.mistake(
    "You divide R among the chosen bits. Each of them must get the full logit; the softmax does the sharing.",
    lambda T, chosen, R: _matrix(T, [T + 2], _places(chosen), R / len(chosen)),
)
query_key.mistake(
    "You let the chosen bits ask each other. Only the answer of [CLS] is read.",
    lambda T, chosen, R: _matrix(T, _places(chosen), _places(chosen), R),
)
query_key.mistake(
    "You are off by one: position 1 has channel 0.",
    lambda T, chosen, R: _matrix(T, [T + 2], list(chosen), R),
)
query_key.mistake(
    "You compare with the token E_1: then every bit that is 1 gets the logit, wherever it stands.",
    lambda T, chosen, R: _matrix(T, [T + 2], [T + 1], R),
)


def _corners(rng: np.random.Generator) -> list[tuple]:
    """Bumps of several coordinates: all 1, one of them 0, and some on a ramp."""
    trials = []
    for d in (2, 3, 4):
        psi = rng.choice([0.0, 1.0], (4, d))
        psi = np.vstack([psi, np.ones(d), np.eye(d)[0], 1 - np.eye(d)[0], np.ones(d) - 0.25 * np.eye(d)[1]])
        trials.append((np.vstack([psi, np.full(d, 0.9)]),))
    return trials


@exercise(
    "5.6",
    "All at once",
    minutes=8,
    difficulty=2,
    hints=(
        "The sum of d bumps is d in the box. If one bump is 0, how large can the sum be at most?",
        "Shift the sum so that d becomes 1 and d − 1 becomes 0; the ReLU keeps the rest at 0.",
    ),
    why="An AND is one ReLU. So the second layer needs one unit for each box, and ramps of width 1 instead of δ.",
    instances=_corners,
)
def all_at_once(psi: np.ndarray) -> np.ndarray:
    """From bumps (n, d), each between 0 and 1: one ReLU, 1 if all are 1, 0 if any is 0."""
    d = psi.shape[1]
    # your turn
    return np.maximum(psi.sum(axis=1) - d + 1, 0)


all_at_once.mistake(
    "That is 0 everywhere: the sum never exceeds d.",
    lambda psi: np.maximum(psi.sum(axis=1) - psi.shape[1], 0),
)
all_at_once.mistake(
    "That is an AND, but too steep: just below the box it should fall as slowly as the sum does.",
    lambda psi: np.maximum(2 * (psi.sum(axis=1) - psi.shape[1]) + 1, 0),
)
all_at_once.mistake(
    "You take the mean: one bump of 0 among d leaves (d − 1)/d, not 0.",
    lambda psi: psi.mean(axis=1),
)
all_at_once.mistake(
    "You multiply. That has the right corners, but it is no ReLU of a sum: look at the ramps.",
    lambda psi: psi.prod(axis=1),
)
all_at_once.mistake(
    "You take the least bump. That has the right corners, but it is no ReLU of a sum: look at the ramps.",
    lambda psi: psi.min(axis=1),
)
all_at_once.mistake(
    "That is an OR: any bump that is 1 makes it 1.",
    lambda psi: np.minimum(psi.sum(axis=1), 1),
)
all_at_once.mistake(
    "The sum may still be negative: put the ReLU around it.",
    lambda psi: psi.sum(axis=1) - psi.shape[1] + 1,
)
