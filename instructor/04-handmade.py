"""The second set of chapter 4: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube.classroom.problems import problem


def _unmasked(rng: np.random.Generator) -> list[tuple]:
    """What the components hold, at least one of them a 1 and one a 0; their weights; what unused positions hold."""
    rows = []
    for w in (2, 3, 4):
        even = np.zeros(w)
        even[rng.choice(w, int(rng.integers(1, w)), replace=False)] = 1
        rows.append(
            (even, rng.uniform(0.3, 2, w).round(2), int(rng.integers(w + 2, 20)), float(rng.integers(1, 4)) / 4)
        )
    return rows


@problem(
    "4.A",
    "The forgotten mask",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
A network of the chapter mixes by a mask, and somebody has left the mask out. Its output position gives the logit
$\log\lambda_i$ to each of the $w$ positions that are responsible for a component, and the logit 0 to all the other
positions, itself included; there are $T+1$ positions in all. The responsible positions hold 1 or 0 (`even`), each of
the others holds the same number `rest`, and $v_2$ is $\Lambda=\lambda_1+\dots+\lambda_w$, as it was with the mask.
Which number does the network give?
""",
    hints=(
        "What is the exponential of the logit of a component, and what is that of any other position?",
        "How many positions are not responsible, and what do all exponentials add up to? Then take the mean of what is "
        "held, and do not forget the factor that stands in v₂.",
    ),
    why="The others take the larger part of the attention when T grows: without a mask or a lift the output is hardly "
    "more than what they hold, times Λ.",
    instances=_unmasked,
)
def unmasked(even: np.ndarray, weights: np.ndarray, T: int, rest: float) -> float:
    """The output without the mask: logits log λ_i on the components, 0 on all other positions."""
    others = T + 1 - len(weights)
    total = weights.sum()  # Λ
    # your turn
    return total * (weights @ even + others * rest) / (total + others)


unmasked.mistake(
    "That is the output with the mask. A logit of 0 is a weight of 1, not of 0.",
    lambda even, weights, T, rest: weights @ even,
)
unmasked.mistake(
    "You let the others take attention, but give them nothing to say. They hold `rest`.",
    lambda even, weights, T, rest: unmasked.solution(even, weights, T, 0.0),
)
unmasked.mistake(
    "You have lost one position: the output position looks at itself, too.",
    lambda even, weights, T, rest: unmasked.solution(even, weights, T - 1, rest),
)
unmasked.mistake(
    "That is the mean that attention finds. The factor Λ of v₂ comes after it.",
    lambda even, weights, T, rest: unmasked.solution(even, weights, T, rest) / weights.sum(),
)
unmasked.mistake(
    "You use the λ themselves as logits. The logits are their logarithms.",
    lambda even, weights, T, rest: (
        weights.sum()
        * (np.exp(weights) @ even + (T + 1 - len(even)) * rest)
        / (np.exp(weights).sum() + T + 1 - len(even))
    ),
)


def _designs(rng: np.random.Generator) -> list[tuple]:
    """Row i of W₁ looks at the set of component i with some scale, and at the output as often as it lacks members."""
    rows = []
    for T in (4, 5, 6):
        w, beta = int(rng.integers(2, 4)), float(round(rng.uniform(3, 5), 2))
        masks = rng.choice(np.arange(1, 2**T - 1), w, replace=False)
        sizes = np.bitwise_count(masks).astype(int)
        sets = (masks[:, None] >> np.arange(T)) & 1
        W1, W2 = np.zeros((T + 2, T + 2)), np.zeros((T + 2, T + 2))
        short = max(sizes.max(), 2) - sizes
        short[0] = max(short[0], 1)  # one set at least is padded
        W1[:w, :T] = beta * sets
        W1[:w, T] = np.where(short > 0, beta + np.log(np.maximum(short, 1)), 0)
        W2[T, :w] = np.log(rng.uniform(0.3, 3, w)).round(3)
        rows.append((W1, W2, w))
    return rows


@problem(
    "4.B",
    "Read a stranger's network",
    points=4,
    minutes=18,
    difficulty=2,
    text=r"""
You are given the weights of a network of the chapter, with a mask and positive weights, and not a word about its
target. `W1` and `W2` have $T+2$ rows and columns, in the order of the chapter: the $T$ positions, *out*, *bit*. The
first `w` rows of `W1` are in use, sets of fewer than $d$ members are padded, and $v_2$ is $\Lambda$. Give all $2^T$
**Fourier coefficients** of the function that it computes; index $S$ is a subset's mask.
""",
    hints=(
        "Which entries of row i of W₁ say what the set of component i is? The one for *out* is about a bit that is 0.",
        "From the logits to the weights λ; from even_S to parities. Each component adds to two coefficients.",
    ),
    why="A network whose every weight has a reason can be read: its function stands in its two attentions.",
    instances=_designs,
)
def network_spectrum(W1: np.ndarray, W2: np.ndarray, w: int) -> np.ndarray:
    """The 2^T Fourier coefficients of the function that these weights compute."""
    T = len(W1) - 2
    coefficients = np.zeros(2**T)
    for i in range(w):
        # your turn
        mask = np.sum(2 ** np.arange(T)[W1[i, :T] > 0])
        coefficients[[0, mask]] += np.exp(W2[T, i]) / 2
    return coefficients


def _components(W1: np.ndarray, W2: np.ndarray, w: int) -> list[tuple[int, float]]:
    T = len(W1) - 2
    return [(int(np.sum(2 ** np.nonzero(W1[i, :T])[0])), float(np.exp(W2[T, i]))) for i in range(w)]


def _spectrum(W1: np.ndarray, W2: np.ndarray, w: int, of) -> np.ndarray:
    """What `of(mask, weight)` gives for the empty set and for the set of each component, added up."""
    found = np.zeros(2 ** (len(W1) - 2))
    for mask, weight in _components(W1, W2, w):
        constant, own = of(mask, weight)
        found[0] += constant
        found[mask] += own
    return found


network_spectrum.mistake(
    "Those are the weights of the components. even_S is (1 + χ_S)/2, so each of them is halved and adds a constant.",
    lambda W1, W2, w: _spectrum(W1, W2, w, lambda mask, weight: (0, weight)),
)
network_spectrum.mistake(
    "The constant is missing: every even_S has the mean ½.",
    lambda W1, W2, w: _spectrum(W1, W2, w, lambda mask, weight: (0, weight / 2)),
)
network_spectrum.mistake(
    "You take the logits for the weights. A softmax makes exponentials of them.",
    lambda W1, W2, w: _spectrum(W1, W2, w, lambda mask, weight: (np.log(weight) / 2, np.log(weight) / 2)),
)
network_spectrum.mistake(
    "You have the shares of the attention. v₂ multiplies them by Λ.",
    lambda W1, W2, w: network_spectrum.solution(W1, W2, w) / np.exp(W2[len(W1) - 2, :w]).sum(),
)
network_spectrum.mistake(
    "The sign is turned round: a component is 1 if the number of ones is even.",
    lambda W1, W2, w: _spectrum(W1, W2, w, lambda mask, weight: (weight / 2, -weight / 2)),
)
network_spectrum.mistake(
    "You read W₁ by columns. Row i belongs to component i, who asks; its columns are what it looks at.",
    lambda W1, W2, w: network_spectrum.solution(W1.T, W2, w),
)
network_spectrum.mistake(
    "You read the lowest digit of a mask as the last variable. Variable 1 is the lowest digit.",
    lambda W1, W2, w: network_spectrum.solution(np.hstack([W1[:, -3::-1], W1[:, -2:]]), W2, w),
)


def _layers(rng: np.random.Generator) -> list[tuple]:
    """Layers whose units differ much in their balance."""
    return [
        (
            rng.normal(size=(D, H)).round(2),
            (rng.normal(size=H) + 0.5).round(2),
            (rng.normal(size=(H, D)) * rng.uniform(1, 12, (H, 1))).round(2),
        )
        for D, H in ((2, 3), (3, 4), (4, 6))
    ]


@problem(
    "4.C",
    "A factor for each unit",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
The chapter multiplies $E$ and $b$ by one factor $\alpha$ and divides $F$ by it; the MLP $\mathrm{relu}(XE+b)\,F$
computes what it did, with smaller weights. Each hidden unit may as well have a factor of its own, $\alpha_h>0$: column
$h$ of $E$ and entry $h$ of $b$ are multiplied by it, row $h$ of $F$ is divided by it. What is the least value of
$\|E\|^2+\|b\|^2+\|F\|^2$ that can be reached in this way?
""",
    hints=(
        "Write down what one unit adds to the sum, as a function of its factor. The units do not disturb each other.",
        "A sum of α²·p and q/α² is least where both terms are equal. What is it there?",
    ),
    why="At a minimum of a loss with weight decay every unit is balanced in this way: otherwise decay could gain.",
    instances=_layers,
)
def least_norm(E: np.ndarray, b: np.ndarray, F: np.ndarray) -> float:
    """The least squared norm of the MLP over all rescalings of its units; E (D, H), b (H,), F (H, D)."""
    into, out = np.sum(E**2, axis=0) + b**2, np.sum(F**2, axis=1)
    return 2 * np.sum(np.sqrt(into * out))


def _sides(E: np.ndarray, b: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sum(E**2, axis=0) + b**2, np.sum(F**2, axis=1)


least_norm.mistake(
    "That is the best that one factor for all units can do. Each unit may have its own.",
    lambda E, b, F: 2 * np.sqrt(_sides(E, b, F)[0].sum() * _sides(E, b, F)[1].sum()),
)
least_norm.mistake("That is the squared norm as it was given.", lambda E, b, F: sum(map(np.sum, _sides(E, b, F))))
least_norm.mistake(
    "You leave the bias out. It is rescaled with its column of E, and it counts in the norm.",
    lambda E, b, F: least_norm.solution(E, 0 * b, F),
)
least_norm.mistake(
    "A factor 2 is missing: at the least value a unit has two terms, which are equal.",
    lambda E, b, F: least_norm.solution(E, b, F) / 2,
)
least_norm.mistake(
    "You multiply the squared lengths of both sides. The least value has their geometric mean, a root.",
    lambda E, b, F: 2 * np.sum(np.prod(_sides(E, b, F), axis=0)),
)
least_norm.mistake(
    "That is its root, the norm. The squared norm is asked for.",
    lambda E, b, F: np.sqrt(least_norm.solution(E, b, F)),
)
