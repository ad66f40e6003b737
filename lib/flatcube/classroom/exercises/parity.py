"""Exercises of chapter 6."""

import numpy as np

from flatcube.classroom.exercises import exercise


def _strings(rng: np.random.Generator) -> list[tuple]:
    """Random strings with at least two ones, odd and even ones among them."""
    drawn = [rng.permutation(np.arange(n) < k).astype(int) for n, k in ((6, 3), (7, 4), (9, 5), (8, 2))]
    return [(bits,) for bits in drawn]


@exercise(
    "6.1",
    "Cast the votes",
    minutes=8,
    difficulty=1,
    hints=(
        "`bits.cumsum()` counts the ones up to and including each position. Compare it with half of all ones.",
        "A position without a one does not vote: multiply by the bit.",
    ),
    why="Add them up: the sum is 1 for an odd string and 0 for an even one. PARITY is decided by a single vote.",
    instances=_strings,
)
def votes(bits: np.ndarray) -> np.ndarray:
    """+1 or −1 at every one, as in Lemma 8; 0 at every zero."""
    most = 2 * bits.cumsum() > bits.sum()
    return bits * np.where(most, 1, -1)


def _late(bits: np.ndarray) -> np.ndarray:
    return 2 * bits.cumsum() > bits.sum()


votes.mistake(
    "Zeros vote as well in your answer: only positions that hold a one do.",
    lambda bits: np.where(_late(bits), 1, -1),
)
votes.mistake(
    "Your yes is right, but a one that says no has to count against: −1, not 0.",
    lambda bits: bits * _late(bits),
)
votes.mistake(
    "Ties say yes in your answer: strictly more than half of the ones must stand no later.",
    lambda bits: bits * np.where(2 * bits.cumsum() >= bits.sum(), 1, -1),
)
votes.mistake(
    "You count the ones before each position and leave out the one that stands there.",
    lambda bits: bits * np.where(2 * (bits.cumsum() - bits) > bits.sum(), 1, -1),
)
votes.mistake(
    "You compare with half of the length. Half of the ones is meant.",
    lambda bits: bits * np.where(2 * bits.cumsum() > len(bits), 1, -1),
)


def _places(rng: np.random.Generator) -> list[tuple]:
    """Counts on both sides of the place, and right at it, an odd and an even one."""
    N = int(rng.integers(9, 20))
    k = int(rng.integers(3, N - 4))
    return [(k, i, N) for i in (k - 2, k - 1, k, k + 1, k + 3)] + [(k + 1, k, N), (k + 1, k + 1, N)]


@exercise(
    "6.2",
    "Compare without if",
    minutes=10,
    difficulty=2,
    hints=(
        "relu(z + 1) − relu(z) climbs from 0 to 1 between z = −1 and z = 0 and stays there. What takes it down again?",
        "Three units with weights that add up to 0: to the left all are silent, to the right their lines cancel.",
    ),
    why="Equality is a second difference of relu: three units, whatever the length. The price is that it is 1/N high.",
    instances=_places,
)
def hit(k: int, i: int, N: int) -> float:
    """1/N if i = k, else 0: weigh the three units and add them up."""
    units = np.maximum(0, [(k - i + 1) / N, (k - i) / N, (k - i - 1) / N])
    # your turn
    return units @ [1, -2, 1]


def _units(k: int, i: int, N: int, weights: tuple[float, float, float], shift: float = 0) -> float:
    return sum(w * max(0.0, (k - i + s + shift) / N) for w, s in zip(weights, (1, 0, -1), strict=True))


hit.mistake(
    "A step, not a bump: it stays up for all places below the count. A third unit has to bring it down.",
    lambda k, i, N: _units(k, i, N, (1, -1, 0)),
)
hit.mistake(
    "The middle unit needs weight −2: with −1 the lines do not cancel where all three are awake.",
    lambda k, i, N: _units(k, i, N, (1, -1, 1)),
)
hit.mistake(
    "The bump has the right shape and the wrong sign.",
    lambda k, i, N: _units(k, i, N, (-1, 2, -1)),
)
hit.mistake(
    "At odd places the sign is turned: that is the next step of the network. Here the bump is 1/N for odd k, too.",
    lambda k, i, N: (-1) ** k * _units(k, i, N, (1, -2, 1)),
)
hit.mistake(
    "The bump stands one place beside the count.",
    lambda k, i, N: _units(k, i, N, (1, -2, 1), -1),
)
hit.mistake(
    "N times too high: the units see (k − i)/N, and no weight may depend on N.",
    lambda k, i, N: N * _units(k, i, N, (1, -2, 1)),
)
hit.mistake(
    "All zeros: without relu a second difference of a line vanishes.",
    lambda k, i, N: 0.0,
)


def _epsilons(rng: np.random.Generator) -> list[tuple]:
    return [(float(rng.uniform(1, 2)), 10.0 ** -int(rng.integers(4, 13))) for _ in range(3)]


@exercise(
    "6.3",
    "How far does it reach?",
    minutes=12,
    difficulty=2,
    why="N grows like the fourth root of 1/ε: a hundred times more reach takes an ε that is 10⁸ times smaller.",
    hints=(
        "The output is one half where the square root is 2. What must the fraction under the root be then?",
        "Solve 81ε/(8a²) = 3 for a, then a = φ/N² for N.",
    ),
    instances=_epsilons,
)
def reach(phi: float, eps: float) -> float:
    """The N at which 1/√(1 + 81ε/(8a²)) has fallen to 1/2, with a = phi/N²."""
    answer = np.sqrt(27 * eps / 8)
    return np.sqrt(phi / answer)


reach.mistake(
    "You took a = φ/N. The hit is 1/N high, and averaging over N positions costs another factor.",
    lambda phi, eps: phi / np.sqrt(27 * eps / 8),
)
reach.mistake(
    "There the output is 1/√2, since the root is √2. For one half it has to be 2.",
    lambda phi, eps: np.sqrt(phi / np.sqrt(81 * eps / 8)),
)
reach.mistake(
    "There the output is 1/√3: the 1 under the root counts too.",
    lambda phi, eps: np.sqrt(phi / np.sqrt(81 * eps / 16)),
)
reach.mistake(
    "A root is missing: ε stands beside a², not beside a.",
    lambda phi, eps: np.sqrt(phi / (27 * eps / 8)),
)
reach.mistake(
    "You found the size of the answer at which the output is one half. The question asks for N.",
    lambda phi, eps: np.sqrt(27 * eps / 8),
)


def _remains(rng: np.random.Generator) -> list[tuple]:
    """Answers of size 1/N², what a channel held before it was removed, and the number of channels."""
    lengths = rng.integers(10, 1000, 4)
    return [
        (float(1 / N**2), round(float(rng.uniform(0.5, 2)), 2), D) for N, D in zip(lengths, (9, 8, 16, 9), strict=True)
    ]


@exercise(
    "6.4",
    "What is left behind",
    minutes=12,
    difficulty=3,
    instances=_remains,
    hints=(
        "Layer norm first subtracts the mean of all channels. What is that mean, and what becomes of the answer?",
        "Dividing by a positive number changes no sign: solve a − (a + δ·s)/D = 0 for δ.",
    ),
    why="The answer is about 1/N², so δ is about 8/N²: 2 % at 20 bits, two parts in a million at 2000.",
)
def critical(a: float, s: float, D: int) -> float:
    """The δ for which layer norm sends the answer a > 0 to 0."""
    return (D - 1) * a / s


critical.mistake(
    "There the remainder is as large as the answer. But only a D-th part of it is taken from the answer's channel.",
    lambda a, s, D: a / s,
)
critical.mistake(
    "Almost: the mean contains the answer itself, too, and with it goes a D-th part of the answer.",
    lambda a, s, D: D * a / s,
)
critical.mistake(
    "That is the remainder δ·s; divide by what the channel held.",
    lambda a, s, D: (D - 1) * a,
)
critical.mistake(
    "Upside down: a fainter answer must be easier to lose.",
    lambda a, s, D: s / ((D - 1) * a),
)


def _plateaus(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(3, 600)), float(rng.choice([1 / 8, 1 / 16, 1 / 10, 1 / 5]))) for _ in range(4)]


@exercise(
    "6.5",
    "How loud must it look?",
    minutes=12,
    difficulty=2,
    hints=(
        "At the last step there are 2T positions. Two of them have logit β, the others 0. What do the others weigh?",
        "A single one at x_T gives the mean e^β/(2e^β + 2T − 2). It must be at least ½ − w.",
    ),
    why="With w = 1/8 this is log(3(T − 1)), the threshold of the theorem: attention that grows with log T, no more.",
    instances=_plateaus,
)
def least_beta(T: int, w: float) -> float:
    """The least β at which 0…01 gives a mean of ½ − w or more."""
    others = 2 * T - 2
    # your turn
    return np.log(others * (1 / (2 * w) - 1) / 2)


least_beta.mistake(
    "You demand that the others weigh no more than w in all. Of what they take, each of the two loses a half.",
    lambda T, w: np.log((2 * T - 2) * (1 / w - 1) / 2),
)
least_beta.mistake(
    "Only one position of the pair is counted: x_T and the last written bit have the same code.",
    lambda T, w: np.log((2 * T - 2) * (1 / (2 * w) - 1)),
)
least_beta.mistake(
    "You count the T − 1 other inputs. The T − 1 other written bits are there as well.",
    lambda T, w: np.log((T - 1) * (1 / (2 * w) - 1) / 2),
)
least_beta.mistake(
    "That is e^β itself; its logarithm is asked for.",
    lambda T, w: (2 * T - 2) * (1 / (2 * w) - 1) / 2,
)
least_beta.mistake(
    "You count all 2T positions as others. Two of them are the pair.",
    lambda T, w: np.log(2 * T * (1 / (2 * w) - 1) / 2),
)


def _last_bits(rng: np.random.Generator) -> list[tuple]:
    """Both bits after an odd and after an even number of steps."""
    return [(bit, 2 * int(rng.integers(3, 20)) + odd) for odd in (0, 1) for bit in (0, 1)]


@exercise(
    "6.6",
    "The wrong indicator",
    minutes=8,
    difficulty=1,
    hints=(
        "Each step writes the opposite of the XOR. How often has the truth been turned round after T steps?",
        "T negations cancel if T is even.",
    ),
    why="For odd T every answer would be wrong (erratum 63): so the network writes the odd indicator.",
    instances=_last_bits,
)
def repaired(last: int, T: int) -> int:
    """The parity of T bits, 0 or 1, if the last bit written is `last`."""
    return (last + T) % 2


repaired.mistake(
    "That is right for even T. For odd T one negation is left over.",
    lambda last, T: last,
)
repaired.mistake(
    "That is right for odd T. For even T all negations cancel.",
    lambda last, T: 1 - last,
)
repaired.mistake(
    "That does not depend on the last bit, so it cannot know the input.",
    lambda last, T: T % 2,
)
repaired.mistake(
    "The wrong way round: the last bit is the truth exactly if the number of steps is even.",
    lambda last, T: (last + T + 1) % 2,
)
