"""The second set of chapter 15: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube.classroom.problems import problem


def _alarms(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(10, 40)), int(rng.integers(30, 100)), int(rng.integers(2, 12))) for _ in range(4)]


@problem(
    "15.A",
    "An alarm",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
An alarm reads $T$ tokens out of $M$ symbols, of which $k$ are bad words, and goes off if there is at least one bad
word among the tokens. Inputs are uniform: every token is any symbol with the same probability, independently. What is
the token-wise sensitivity of the alarm, if a new token is uniform, too, and may be the old one?
""",
    hints=(
        "Take one place. What must the other T − 1 tokens be for this place to decide anything?",
        "Then the answer changes if exactly one of two tokens is a bad word, the old one in this place or the new one.",
    ),
    why="A long text nearly always has a bad word already, and no single token matters: it is quiet, and useless.",
    instances=_alarms,
)
def alarm_sensitivity(T: int, M: int, k: int) -> float:
    """The token-wise sensitivity of "at least one of T tokens is among k of the M symbols"."""
    bad = k / M
    # your turn
    return (1 - bad) ** (T - 1) * 2 * bad * (1 - bad)


def _silent(T: int, M: int, k: int) -> float:
    return (1 - k / M) ** T


alarm_sensitivity.mistake(
    "You count only alarms that begin. An alarm also ends, where the only bad word is replaced.",
    lambda T, M, k: _silent(T, M, k) * k / M,
)
alarm_sensitivity.mistake(
    "You add up over the places. This sensitivity is the mean over them.",
    lambda T, M, k: T * _silent(T, M, k) * 2 * k / M,
)
alarm_sensitivity.mistake(
    "All other T − 1 tokens have to be harmless; you ask it of one token more.",
    lambda T, M, k: _silent(T, M, k) * (1 - k / M) * 2 * k / M,
)
alarm_sensitivity.mistake(
    "Your new token is never the old one. Here it may be.",
    lambda T, M, k: _silent(T, M, k) * 2 * k / (M - 1),
)
alarm_sensitivity.mistake("That is how often the alarm goes off.", lambda T, M, k: 1 - _silent(T, M, k))
alarm_sensitivity.mistake(
    "You forget the other tokens: if one of them is a bad word, this place decides nothing.",
    lambda T, M, k: 2 * k / M * (1 - k / M),
)


def _below(z: np.ndarray) -> np.ndarray:
    """The probability that a standard normal number is below z."""
    return np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in np.ravel(z)])


def _readers(rng: np.random.Generator) -> list[tuple]:
    """Tokens and what reads them; the output is not far from 0, where noise matters."""
    rows = []
    for T, D in ((3, 2), (4, 3), (6, 4)):
        while True:
            tokens, readers = rng.normal(size=(T, D)).round(1), rng.normal(size=(T, D)).round(1)
            if 0.2 < abs(np.sum(tokens * readers)) < 2 and _long(readers).min() > 0.3:
                break
        rows.append((tokens, readers, round(float(rng.uniform(0.3, 1.5)), 1)))
    return rows


@problem(
    "15.B",
    "Noise on one token",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
A linear model reads token $t$, the vector $e_t$, by a vector $u_t$ of its own: its output is
$\sum_t\langle u_t,e_t\rangle$, and it decides by the sign. Noise $\mathcal N(0,\sigma^2I)$ is added to **one** token.
What is the chance that the decision changes, in the mean over the places? Rows of `tokens` are the $e_t$, rows of
`readers` the $u_t$. (`math.erfc` has the tail of the normal distribution: a standard normal number is below $-z$ with
probability $\frac12\mathrm{erfc}(z/\sqrt2)$.)
""",
    hints=(
        "What is the distribution of the output after noise on token t? Only one of its two parameters depends on t.",
        "The decision changes if a normal number with mean zero goes beyond the old output, on one side only.",
    ),
    why="A model is loud where one reader is long: the sensitivity of a linear model is a matter of single weights.",
    instances=_readers,
)
def noisy_token(tokens: np.ndarray, readers: np.ndarray, sigma: float) -> float:
    """The mean over places of the chance that noise on one token changes the sign of the output."""
    from math import erfc, sqrt

    output = abs(np.sum(tokens * readers))
    # your turn
    return np.mean([erfc(output / (sigma * np.linalg.norm(u) * sqrt(2))) / 2 for u in readers])


def _output(tokens: np.ndarray, readers: np.ndarray) -> float:
    return abs(np.sum(tokens * readers))


def _long(readers: np.ndarray) -> np.ndarray:
    return np.linalg.norm(readers, axis=1)


noisy_token.mistake(
    "You put noise on all tokens at once. One at a time is asked for.",
    lambda e, u, sigma: _below(-_output(e, u) / (sigma * np.linalg.norm(u)))[0],
)
noisy_token.mistake(
    "You count both tails. Noise that makes the output larger does not change its sign.",
    lambda e, u, sigma: 2 * np.mean(_below(-_output(e, u) / (sigma * _long(u)))),
)
noisy_token.mistake(
    "You compare the noise with what this token contributed. It is the whole output that must change its sign.",
    lambda e, u, sigma: np.mean(_below(-np.abs(np.sum(e * u, axis=1)) / (sigma * _long(u)))),
)
noisy_token.mistake(
    "The readers are missing: noise is multiplied by the length of its reader.",
    lambda e, u, sigma: _below(-_output(e, u) / sigma)[0],
)
noisy_token.mistake(
    "You take the variance of the noise for its standard deviation.",
    lambda e, u, sigma: np.mean(_below(-_output(e, u) / (sigma * _long(u)) ** 2)),
)
noisy_token.mistake(
    "You average the lengths of the readers first. It is the chances that are averaged.",
    lambda e, u, sigma: _below(-_output(e, u) / (sigma * _long(u).mean()))[0],
)
noisy_token.mistake(
    "That is the chance that it stays.",
    lambda e, u, sigma: 1 - np.mean(_below(-_output(e, u) / (sigma * _long(u)))),
)


def _flipped(rest: np.ndarray, reach: np.ndarray, sign: float) -> np.ndarray:
    """The chance that rest + reach·z has another sign, z uniform in [−1, 1]."""
    return np.clip((1 - sign * rest / reach) / 2, 0, 1)


def _normed(rng: np.random.Generator) -> list[tuple]:
    """Tokens of length √3, and readers among which some may decide alone and some may not."""
    rows = []
    for T in (3, 4, 6):
        while True:
            tokens = rng.normal(size=(T, 3))
            tokens = (tokens * math.sqrt(3) / np.linalg.norm(tokens, axis=1, keepdims=True)).round(3)
            readers = (rng.normal(size=(T, 3)) * rng.uniform(0.2, 1.5, (T, 1))).round(2)
            if _long(readers).min() < 0.1:
                continue
            own = np.sum(tokens * readers, axis=1)
            output = own.sum()
            chances = _flipped(output - own, math.sqrt(3) * _long(readers), np.sign(output))
            if abs(output) > 0.3 and np.sum((chances > 0.02) & (chances < 0.98)) >= 2 and np.any(chances == 0):
                break
        rows.append((tokens, readers))
    return rows


@problem(
    "15.C",
    "As loud as you like",
    points=4,
    minutes=25,
    difficulty=3,
    text=r"""
A transformer norms every token before it uses it. Take a model with three channels that scales every token to the
length $\sqrt3$ and then reads it linearly: its output is $\sum_t\langle u_t,e_t\rangle$ with tokens $e_t$ that have
been normed already (rows of `tokens`), and it decides by the sign. Now one token gets noise that is louder than
everything else, so that nothing is left of it but a random direction, uniform on the sphere. What is the chance that
the decision changes, in the mean over the places? By a theorem of Archimedes each coordinate of a uniform point on the
unit sphere in three dimensions is uniform in $[-1,1]$.
""",
    hints=(
        "What is left of the output when token t is taken away? And what may come in its place, from where to where?",
        "The new output is uniform in an interval. Which share of it is on the other side of 0? None, all, or some?",
    ),
    why="However loud the noise, the curve goes flat here: beyond the norm a loud token is one voice among T.",
    instances=_normed,
)
def loudest_noise(tokens: np.ndarray, readers: np.ndarray) -> float:
    """The mean over places of the chance that a random direction in place of one token changes the sign."""
    own = np.sum(tokens * readers, axis=1)
    # your turn
    output = np.sum(own)
    reach = np.sqrt(3) * np.linalg.norm(readers, axis=1)
    share = (1 - np.sign(output) * (output - own) / reach) / 2
    return np.mean(np.clip(share, 0, 1))


def _chances(tokens: np.ndarray, readers: np.ndarray, *, length: float = math.sqrt(3), keep: bool = False):
    own = np.sum(tokens * readers, axis=1)
    rest = own.sum() - (0 if keep else own)
    return _flipped(rest, length * _long(readers), np.sign(own.sum()))


loudest_noise.mistake(
    "You keep the old token and add the noise. Nothing is left of the old one.",
    lambda e, u: np.mean(_chances(e, u, keep=True)),
)
loudest_noise.mistake(
    "Your new token has length 1. It is normed like all others, to the length √3.",
    lambda e, u: np.mean(_chances(e, u, length=1.0)),
)
loudest_noise.mistake(
    "You take each direction's part along the reader for normal. In three dimensions it is uniform.",
    lambda e, u: np.mean(_below(-np.sign(np.sum(e * u)) * (np.sum(e * u) - np.sum(e * u, axis=1)) / _long(u))),
)
loudest_noise.mistake("You give each place the chance ½. The other tokens still vote.", lambda e, u: 0.5)
loudest_noise.mistake(
    "Your chances leave the interval from 0 to 1. A short reader cannot change the decision at all.",
    lambda e, u: np.mean(
        (1 - np.sign(np.sum(e * u)) * (np.sum(e * u) - np.sum(e * u, axis=1)) / (math.sqrt(3) * _long(u))) / 2
    ),
)
loudest_noise.mistake("That is the chance that it stays.", lambda e, u: 1 - np.mean(_chances(e, u)))
