"""The exercises of chapter 9. Each solution is followed by the mistakes that its check recognises.

They build a sharpness meter in numpy: a shift, the meter, a trace, the place where a network breaks, its exponent.
"""

from collections.abc import Callable

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored

Array = np.ndarray


def _length(v: Array) -> float:
    return np.linalg.norm(v)


def _directions(rng: np.random.Generator) -> list[tuple]:
    return [(rng.normal(0, 2, d).round(1), rng.normal(size=d).round(2), r) for d, r in ((3, 0.1), (5, 0.01), (8, 0.3))]


@exercise(
    "9.1",
    "My shift",
    minutes=5,
    difficulty=1,
    hints=(
        "First give g length one. How long should the shift be?",
        "Its length is ρ times the length of theta, whatever the length of g is.",
    ),
    why="Gaussian vectors prefer no direction, so g/‖g‖ is uniform on the sphere; ρ‖θ‖ makes networks comparable.",
    instances=_directions,
)
def my_shift(theta: np.ndarray, g: np.ndarray, rho: float) -> np.ndarray:
    """The shift along g whose length is rho times the length of theta."""
    return rho * np.linalg.norm(theta) * g / np.linalg.norm(g)


my_shift.mistake(
    "Your shift has length ρ. It should be ρ times the length of theta.", lambda t, g, r: r * g / _length(g)
)
my_shift.mistake("You use g as it is: then its length is left to chance.", lambda t, g, r: r * _length(t) * g)
my_shift.mistake(
    "You divide by √p, the typical length of a Gaussian vector. This one has its own.",
    lambda t, g, r: r * _length(t) * g / np.sqrt(len(g)),
)
my_shift.mistake("Every weight moves by a share of itself. The direction should be that of g.", lambda t, g, r: r * t)
my_shift.mistake(
    "That is the shifted theta. Only the shift is asked for.", lambda t, g, r: t + r * _length(t) * g / _length(g)
)
my_shift.mistake(
    "That is noise of standard deviation ρ: its length grows with the number of weights.", lambda t, g, r: r * g
)


class _Network:
    """θ, x ↦ tanh(x W) · v with θ the entries of W (inputs, units) and v: a function of its weights."""

    def __init__(self, inputs: int, units: int) -> None:
        self.shape = inputs, units

    def __call__(self, theta: Array, x: Array) -> Array:
        inputs, units = self.shape
        return np.tanh(x @ theta[:-units].reshape(inputs, units)) @ theta[-units:]

    def __repr__(self) -> str:
        return f"a network with {self.shape[1]} units"


def _shaken(rng: np.random.Generator) -> list[tuple]:
    """A network, its weights, inputs, ρ, and Gaussian directions; changes do not cancel."""
    trials = []
    for inputs, units, rho in ((2, 1, 0.2), (3, 2, 0.5), (2, 3, 1.0)):
        theta = rng.normal(0, 1, inputs * units + units).round(2)
        x = rng.choice([-1.0, 1.0], size=(5, inputs))
        trials.append((_Network(inputs, units), theta, x, rho, rng.normal(size=(4, len(theta)))))
    return trials


@exercise(
    "9.2",
    "My sharpness meter",
    minutes=12,
    difficulty=2,
    hints=(
        "For each row make the shift of the first exercise, and look at the outputs before and after it.",
        "You end with a table of changes, one row for each direction. Square them all, and then average over all.",
    ),
    why="This is average-direction sharpness, and it agrees with the library's on any network, direction by direction.",
    instances=_shaken,
)
def my_meter(network: callable, theta: np.ndarray, x: np.ndarray, rho: float, g: np.ndarray) -> float:
    """L_ρ of `network(theta, x)` on the inputs x; one shift along each row of g."""
    length = rho * np.linalg.norm(theta)
    shifts = [length * row / np.linalg.norm(row) for row in g]
    changes = [network(theta + shift, x) - network(theta, x) for shift in shifts]
    return np.mean(np.square(changes))


def _changes(network: Callable, theta: Array, x: Array, rho: float, gaussians: Array, shift: Callable) -> Array:
    return np.array([network(theta + shift(theta, g, rho), x) - network(theta, x) for g in gaussians])


def _metered(of: Callable[[Array], float], shift: Callable = my_shift.solution) -> Callable:
    """A meter that does something else with the changes (directions, inputs), or shifts in another way."""
    return lambda *given: of(_changes(*given, shift))


def _walk(network: Callable, theta: Array, x: Array, rho: float, gaussians: Array) -> float:
    place, losses = theta, []
    for g in gaussians:
        place = place + my_shift.solution(theta, g, rho)
        losses.append(np.mean((network(place, x) - network(theta, x)) ** 2))
    return np.mean(losses)


def _squares(changes: Array) -> float:
    return np.mean(changes**2)


my_meter.mistake("You take absolute changes: that is ShOp. L squares them.", _metered(lambda c: np.mean(np.abs(c))))
my_meter.mistake(
    "You took a square root at the end. L is the mean of the squares.", _metered(lambda c: np.sqrt(np.mean(c**2)))
)
my_meter.mistake(
    "You average over the directions first and square then: opposite changes cancel.",
    _metered(lambda c: np.mean(c.mean(axis=0) ** 2)),
)
my_meter.mistake(
    "You average all changes and square then: changes of either sign cancel. Square each of them first.",
    _metered(lambda c: np.mean(c) ** 2),
)
my_meter.mistake("That is the variance of the changes. Their mean counts as a change, too.", _metered(np.var))
my_meter.mistake(
    "You add everything up. Average over inputs and directions.", _metered(lambda c: np.sum(c**2))
)
my_meter.mistake(
    "You add up over the inputs. Average over them.", _metered(lambda c: np.mean(np.sum(c**2, axis=1)))
)
my_meter.mistake(
    "Your shifts have length ρ. They should be ρ times as long as theta.",
    _metered(_squares, lambda t, g, r: r * g / _length(g)),
)
my_meter.mistake(
    "You use the rows of g as they are. Each needs the right length first.",
    _metered(_squares, lambda t, g, r: r * _length(t) * g),
)
my_meter.mistake("You add noise of standard deviation ρ to every weight.", _metered(_squares, lambda t, g, r: r * g))
my_meter.mistake(
    "You shift the weights that the shift before has moved. Every shift starts at theta.", _walk
)
my_meter.mistake(
    "That is the mean square of the shifted outputs. Compare them with the outputs before.",
    lambda network, theta, x, rho, gaussians: np.mean(
        [network(theta + my_shift.solution(theta, g, rho), x) ** 2 for g in gaussians]
    ),
)


class _Product:
    """θ, x ↦ (x·u)(x·v + 1) with θ = (u, v): linear in every single weight."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs

    def __call__(self, theta: Array, x: Array) -> Array:
        return (x @ theta[: self.inputs]) * (1 + x @ theta[self.inputs :])

    def __repr__(self) -> str:
        return f"a network with {2 * self.inputs} weights"


def _products(rng: np.random.Generator) -> list[tuple]:
    """Networks, weights and inputs; three inputs for two weights and more, so that no two counts agree."""
    sizes = ((1, 3), (2, 5), (3, 7))
    return [(_Product(k), rng.normal(0.5, 1, 2 * k).round(2), rng.normal(0.3, 1, (m, k)).round(2)) for k, m in sizes]


@exercise(
    "9.3",
    "My trace",
    minutes=12,
    difficulty=2,
    hints=(
        "The slope in one weight is the difference of the outputs, up and down, divided by how far apart these are.",
        "Slopes form a table of weights and inputs. The trace adds up over the one and averages over the other.",
    ),
    why="At a minimum with loss zero no second derivative is needed: a trace costs one gradient for each input.",
    instances=_products,
)
def my_trace(network: callable, theta: np.ndarray, x: np.ndarray) -> float:
    """Tr of the Hessian of the mean squared change, from slopes in every weight."""
    steps = 0.01 * np.eye(len(theta))
    slopes = [(network(theta + step, x) - network(theta - step, x)) / 0.02 for step in steps]
    return 2 * np.sum(np.mean(np.square(slopes), axis=1))


def _sloped(of: Callable[[Array], float]) -> Callable:
    """A trace that does something else with the slopes (weights, inputs)."""

    def trace(network: Callable, theta: Array, x: Array) -> float:
        steps = 0.01 * np.eye(len(theta))
        return of(np.array([(network(theta + step, x) - network(theta - step, x)) / 0.02 for step in steps]))

    return trace


my_trace.mistake(
    "A factor is missing: the second derivative of a square is 2.", _sloped(lambda s: np.sum(np.mean(s**2, axis=1)))
)
my_trace.mistake(
    "You average the gradients before you square them. They must not cancel.",
    _sloped(lambda s: 2 * np.sum(s.mean(axis=1) ** 2)),
)
my_trace.mistake("You add up over the inputs. The loss is a mean.", _sloped(lambda s: 2 * np.sum(s**2)))
my_trace.mistake("You average over the weights as well. A trace adds up.", _sloped(lambda s: 2 * np.mean(s**2)))
my_trace.mistake(
    "You take the lengths of gradients, not their squares.",
    _sloped(lambda s: 2 * np.mean(np.linalg.norm(s, axis=0))),
)
my_trace.mistake(
    "Your slopes are twice as steep: from below to above it is two steps.",
    _sloped(lambda s: 8 * np.sum(np.mean(s**2, axis=1))),
)


def _curves(rng: np.random.Generator) -> list[tuple]:
    """Losses that rise by powers, pass the level between two ρ, and dip below it once later on."""
    trials = []
    for at in (2, 3, 4):
        rhos = 10.0 ** np.arange(-7, 0)
        losses = 10 ** (2 * (np.arange(7.0) - at) - rng.uniform(0.3, 0.8))
        losses[at + 1 :] = np.minimum(losses[at + 1 :], 1.2)
        losses[-1] = 0.02
        trials.append((rhos, losses.round(12), 0.1))
    return trials


@exercise(
    "9.4",
    "My breaking point",
    minutes=10,
    difficulty=2,
    hints=(
        "Find the first measured ρ whose loss is above the level. The answer lies between it and the one before.",
        "In logarithms the curve is a straight line between the two. At which share of the way is the level?",
    ),
    why="So the points of the figure were found. Its ρ are half a decade apart; a power law in between errs by little.",
    instances=_curves,
)
def my_break(rhos: np.ndarray, losses: np.ndarray, level: float) -> float:
    """The ρ where the loss first exceeds `level`, along a power law."""
    above = np.argmax(losses > level)
    x, y = np.log(rhos[above - 1 : above + 1]), np.log(losses[above - 1 : above + 1])
    return np.exp(np.interp(np.log(level), y, x))


def _around(losses: Array, level: float, *, last: bool = False) -> int:
    """The first place above the level, or one after the last."""
    return len(losses) - int(np.argmax((losses > level)[::-1])) if last else int(np.argmax(losses > level))


my_break.mistake(
    "That is the first measured ρ above the level. The loss passes the level before it.",
    lambda r, y, level: r[_around(y, level)],
)
my_break.mistake(
    "That is the last measured ρ below the level. The network breaks a little later.",
    lambda r, y, level: r[_around(y, level) - 1],
)
my_break.mistake(
    "You join the two points by a straight line in the numbers themselves. Take logarithms of both axes.",
    lambda r, y, level: np.interp(level, *(v[_around(y, level) - 1 : _around(y, level) + 1] for v in (y, r))),
)
my_break.mistake(
    "You take logarithms of ρ only. A power law is straight if both axes are logarithmic.",
    lambda r, y, level: np.exp(
        np.interp(level, *(v[_around(y, level) - 1 : _around(y, level) + 1] for v in (y, np.log(r))))
    ),
)
my_break.mistake(
    "You take the middle between the two neighbours. The level need not be in the middle.",
    lambda r, y, level: np.sqrt(r[_around(y, level)] * r[_around(y, level) - 1]),
)
my_break.mistake(
    "That is the last ρ of all. `np.interp` over the whole table returns it, because these losses fall again at the "
    "end, and it needs rising ones. Give it the two neighbours of the level only.",
    lambda r, y, level: np.exp(np.interp(np.log(level), np.log(y), np.log(r))),
)
my_break.mistake(
    "You give the logarithm of ρ.", lambda r, y, level: np.log(my_break.solution(r, y, level))
)
my_break.mistake(
    "That is where the loss passes the level for the last time. It dips later; the first time counts.",
    lambda r, y, level: np.exp(
        np.interp(
            -np.log(level),
            *(v[_around(y, level, last=True) - 1 : _around(y, level, last=True) + 1] for v in (-np.log(y), np.log(r))),
        )
    ),
)


def _laws(rng: np.random.Generator) -> list[tuple]:
    drawn = []
    for slope in (-2, -0.5, -1):
        n = np.array([8.0, 24, 72, 216, 648])
        drawn.append((n, 0.3 * n ** (slope + rng.normal(0, 0.1)) * np.exp(rng.normal(0, 0.2, 5))))
    return drawn


@exercise(
    "9.5",
    "My exponent",
    minutes=6,
    difficulty=1,
    hints=(
        "A power law ρ = c·n^q is a straight line once both axes are logarithmic.",
        "`np.polyfit(x, y, 1)` returns slope and intercept of the line of least squares through points (x, y).",
    ),
    exact=1e-6,
    why="PARITY's exponent near −2 and MAJORITY's near −½ are found in this way.",
    instances=_laws,
)
def my_exponent(n: np.ndarray, rho: np.ndarray) -> float:
    """The q of the power law rho = c·n**q, by least squares in logarithms."""
    return np.polyfit(np.log(n), np.log(rho), 1)[0]


def _curved(n: Array, rho: Array) -> float:
    """The q of the curve c·n^q that is nearest to the numbers themselves, by halving the interval of its slope."""

    def misses(q: float) -> float:
        powers = n**q
        return np.sum((rho - powers * (powers @ rho) / (powers @ powers)) ** 2)

    low, high = -6.0, 2.0
    for _ in range(12):  # a fine grid around the best of a coarse one
        grid = np.linspace(low, high, 81)
        best = int(np.argmin([misses(q) for q in grid]))
        low, high = grid[max(best - 2, 0)], grid[min(best + 2, 80)]
    return (low + high) / 2


my_exponent.mistake(
    "That is a straight line through the numbers themselves. Take logarithms.", lambda n, r: np.polyfit(n, r, 1)[0]
)
my_exponent.mistake(
    "You take the logarithm of ρ only: that fits an exponential.", lambda n, r: np.polyfit(n, np.log(r), 1)[0]
)
my_exponent.mistake("You take the logarithm of n only.", lambda n, r: np.polyfit(np.log(n), r, 1)[0])
my_exponent.mistake("Axes exchanged: that is n as a power of ρ.", lambda n, r: np.polyfit(np.log(r), np.log(n), 1)[0])
my_exponent.mistake(
    "That is the intercept, log c. The slope comes first.", lambda n, r: np.polyfit(np.log(n), np.log(r), 1)[1]
)
my_exponent.mistake(
    "You fit the curve to the numbers themselves: the largest of them decide alone. In logarithms all count the same.",
    _curved,
)
my_exponent.mistake(
    "You join the first point and the last. A fit uses all of them.",
    lambda n, r: np.log(r[-1] / r[0]) / np.log(n[-1] / n[0]),
)


@exercise(
    "9.6",
    "My promise",
    minutes=10,
    difficulty=3,
    hints=(
        "Write the bound for one α first, with ‖f‖ = 1. Each α gives a bound that holds; which of them do you keep?",
        "The chapter displays the bound below the lemma. `alphas` is an array: one line computes it for all of them.",
    ),
    why="With ν = 0 any α is allowed, and the bound tends to μ itself. What is left of the sensitivity limits α.",
    instances=lambda rng: [
        (round(float(rng.uniform(0.4, 0.9)), 2), float(nu), np.array([1.5, 2, 4, 8, 20])) for nu in (1e-4, 1e-3, 1e-5)
    ],
)
def my_promise(mu: float, nu: float, alphas: np.ndarray) -> float:
    """The largest lower bound on E(f − g)²; as(f) = μn and as(g) = νn."""
    return np.max((1 - 1 / alphas) * mu / (1 - mu / alphas) - 2 * np.sqrt(alphas * nu))


def _bounds(mu: float, nu: float, alphas: Array, back: float = 2.0, under: bool = True) -> Array:
    alphas = np.asarray(alphas, float)
    kept = (1 - 1 / alphas) * mu / ((1 - mu / alphas) if under else 1)
    return kept - back * np.sqrt(alphas * nu)


def _parts(mu: float, nu: float, alphas: Array) -> Array:
    return np.sqrt((1 - 1 / alphas) * mu / (1 - mu / alphas)) - np.sqrt(alphas * nu / mu)


my_promise.mistake(
    "That is the lemma itself, a bound on the root of the mean square. Use the bound displayed below it.",
    lambda m, v, a: _parts(m, v, a).max(),
)
my_promise.mistake(
    "That is the square of the lemma. It is a bound only where the lemma's right side is positive: the square of a "
    "negative number bounds nothing. Use the bound displayed below the lemma.",
    lambda m, v, a: (_parts(m, v, a) ** 2).max(),
)
my_promise.mistake("That is the bound for α = 2 alone.", lambda m, v, a: _bounds(m, v, [2.0])[0])
my_promise.mistake(
    "That is the smallest of the bounds. All of them hold, so the largest counts.",
    lambda m, v, a: _bounds(m, v, a).min(),
)
my_promise.mistake(
    "You forget what the shifted network keeps: subtract 2√(αν).", lambda m, v, a: _bounds(m, v, a, back=0).max()
)
my_promise.mistake(
    "That is the bound for the largest α. With ν above zero a larger α also costs more, in 2√(αν).",
    lambda m, v, a: _bounds(m, v, a)[np.argmax(a)],
)
my_promise.mistake(
    "The last term lacks α: it is 2√(αν). That is why a larger α is not always better.",
    lambda m, v, a: (_bounds(m, v, a, back=0) - 2 * np.sqrt(v)).max(),
)
my_promise.mistake("The denominator 1 − μ/α is missing.", lambda m, v, a: _bounds(m, v, a, under=False).max())
my_promise.mistake("The last term has a factor 2.", lambda m, v, a: _bounds(m, v, a, back=1).max())
my_promise.mistake("You return the best α. Its bound is asked for.", lambda m, v, a: a[_bounds(m, v, a).argmax()])


class _Hidden:
    """A symmetric matrix that one can only multiply by, and only so often; it knows its trace."""

    def __init__(self, rng: np.random.Generator, size: int, products: int) -> None:
        values = rng.normal(0, 0.3, size)
        values[:6] = 20 * rng.uniform(0.5, 1, 6) ** 2
        turn, _ = np.linalg.qr(rng.normal(size=(size, size)))
        self._matrix, self._trace, self._left = (turn * values) @ turn.T, float(values.sum()), products

    def __call__(self, v: Array) -> Array:
        if self._left < 1:
            raise ValueError("no products are left")
        self._left -= 1
        return self._matrix @ np.asarray(v, float)

    def __repr__(self) -> str:
        return "a function that multiplies by a hidden matrix"


def _hidden(rng: np.random.Generator) -> list[tuple]:
    return [(_Hidden(rng, 80, 24), 80, 24) for _ in range(20)]


def _hutchinson(product: Callable, size: int, products: int) -> float:
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(products, size))
    return float(np.mean([v @ product(v) for v in signs]))


@scored(
    "9.7",
    "A better estimate of the trace",
    minutes=40,
    difficulty=3,
    instances=_hidden,
    baseline=_hutchinson,
    rival="Hutchinson",
    measures={
        "relative error": Measure(
            lambda out, product, size, products: abs(out - product._trace) / product._trace, unit=" %", scale=100
        )
    },
    why="This is Hutch++. A third of the products finds the steep directions, a third takes the trace there exactly, "
    "and a third estimates the rest. It may be beaten: every product says something about the steep directions and "
    "about the rest, and XTrace uses it for both (Epperly, Tropp and Webber 2024).",
)
def my_estimate(product: object, size: int, products: int) -> float:
    """The trace of a hidden symmetric matrix, from at most `products` calls of `product(v)`."""
    third = products // 3
    sketch, signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(2, third, size))
    steep, _ = np.linalg.qr(np.array([product(v) for v in sketch]).T)
    there = sum(q @ product(q) for q in steep.T)
    rest = signs - signs @ steep @ steep.T
    return there + np.mean([v @ product(v) for v in rest])
