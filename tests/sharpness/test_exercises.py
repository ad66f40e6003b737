"""Chapter 9's exercises: wrong answers as readers write them, and the library's answers."""

import math

import numpy as np
import torch
from torch import nn

from flatcube import sharpness
from flatcube.classroom.exercises import find
from flatcube.sharpness import brittle, brittleness
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("9.1", "Your shift has length ρ", """
        def my_shift(theta, g, rho):
            return rho * g / (g @ g) ** 0.5
    """),
    ("9.1", "Every weight moves by a share", """
        def my_shift(theta, g, rho):
            return [rho * t for t in theta]
    """),
    ("9.1", "Only the shift is asked for", """
        def my_shift(theta, g, rho):
            return theta + rho * np.sqrt(theta @ theta / (g @ g)) * g
    """),
    ("9.2", "opposite changes cancel", """
        def my_meter(network, theta, x, rho, gaussians):
            total = np.zeros(len(x))
            for g in gaussians:
                g = g / np.sqrt(g @ g)
                total += network(theta + rho * np.sqrt(theta @ theta) * g, x) - network(theta, x)
            return np.mean((total / len(gaussians)) ** 2)
    """),
    ("9.2", "changes of either sign cancel", """
        def my_meter(network, theta, x, rho, gaussians):
            total = 0
            for g in gaussians:
                moved = theta + rho * np.linalg.norm(theta) * g / np.linalg.norm(g)
                total += sum(network(moved, x) - network(theta, x))
            return (total / (len(gaussians) * len(x))) ** 2
    """),
    ("9.2", "Every shift starts at theta", """
        def my_meter(network, theta, x, rho, gaussians):
            before, length, losses = network(theta, x), rho * np.linalg.norm(theta), []
            for g in gaussians:
                theta = theta + length * g / np.linalg.norm(g)
                losses.append(np.mean((network(theta, x) - before) ** 2))
            return sum(losses) / len(losses)
    """),
    ("9.2", "ρ times as long as theta", """
        def my_meter(network, theta, x, rho, gaussians):
            units = gaussians / np.linalg.norm(gaussians, axis=1, keepdims=True)
            return np.mean([np.mean((network(theta + rho * u, x) - network(theta, x)) ** 2) for u in units])
    """),
    ("9.3", "A factor is missing", """
        def my_trace(network, theta, x):
            total = 0
            for i in range(len(theta)):
                moved = theta.copy()
                moved[i] += 1e-3
                total += np.mean(((network(moved, x) - network(theta, x)) / 1e-3) ** 2)
            return total
    """),
    ("9.3", "You average the gradients", """
        def my_trace(network, theta, x):
            steps = np.eye(len(theta)) * 1e-3
            g = np.array([np.mean(network(theta + s, x) - network(theta - s, x)) / 2e-3 for s in steps])
            return 2 * g @ g
    """),
    ("9.3", "twice as steep", """
        def my_trace(network, theta, x):
            steps = np.eye(len(theta)) * 1e-3
            slopes = np.array([(network(theta + s, x) - network(theta - s, x)) / 1e-3 for s in steps])
            return 2 * np.sum(slopes**2) / len(x)
    """),
    ("9.4", "The loss passes the level before it", """
        def my_break(rhos, losses, level):
            return next(r for r, y in zip(rhos, losses) if y > level)
    """),
    ("9.4", "in the numbers themselves", """
        def my_break(rhos, losses, level):
            k = [y > level for y in losses].index(True)
            share = (level - losses[k - 1]) / (losses[k] - losses[k - 1])
            return rhos[k - 1] + share * (rhos[k] - rhos[k - 1])
    """),
    ("9.4", "two neighbours of the level only", """
        def my_break(rhos, losses, level):
            return 10 ** np.interp(np.log10(level), np.log10(losses), np.log10(rhos))
    """),
    ("9.4", "two neighbours of the level only", """
        def my_break(rhos, losses, level):
            return np.interp(level, losses, rhos)
    """),
    ("9.4", "the first time counts", """
        def my_break(rhos, losses, level):
            k = max(i for i, y in enumerate(losses) if y > level)
            share = np.log(level / losses[k]) / np.log(losses[k + 1] / losses[k])
            return rhos[k] * (rhos[k + 1] / rhos[k]) ** share
    """),
    ("9.5", "fits an exponential", """
        def my_exponent(n, rho):
            y = np.log(rho)
            return np.cov(n, y)[0, 1] / np.var(n, ddof=1)
    """),
    ("9.5", "Axes exchanged", """
        def my_exponent(n, rho):
            slope, _ = np.polyfit(np.log10(rho), np.log10(n), 1)
            return slope
    """),
    ("9.5", "You join the first point and the last", """
        def my_exponent(n, rho):
            x, y = np.log(n), np.log(rho)
            return (y[-1] - y[0]) / (x[-1] - x[0])
    """),
    ("9.5", "the largest of them decide", """
        def my_exponent(n, rho):
            q, c = np.polyfit(np.log(n), np.log(rho), 1)
            at = np.array([np.exp(c), q])
            misses = lambda at: np.sum((rho - at[0] * n ** at[1]) ** 2)
            for _ in range(200):  # Gauss and Newton on the numbers themselves, with shorter steps where they overshoot
                fit = at[0] * n ** at[1]
                slopes = np.stack([fit / at[0], fit * np.log(n)], axis=1)
                step = np.linalg.lstsq(slopes, rho - fit, rcond=None)[0]
                while not misses(at + step) <= misses(at):
                    step = step / 2
                at = at + step
            return at[1]
    """),
    ("9.6", "α = 2 alone", """
        def my_promise(mu, nu, alphas):
            return mu / (2 - mu) - 2 * (2 * nu) ** 0.5
    """),
    ("9.6", "The denominator", """
        def my_promise(mu, nu, alphas):
            return max(mu - mu / a - 2 * (a * nu) ** 0.5 for a in alphas)
    """),
    ("9.6", "the bound for the largest α", """
        def my_promise(mu, nu, alphas):
            a = max(alphas)
            return (a - 1) * mu / (a - mu) - 2 * (a * nu) ** 0.5
    """),
    ("9.6", "The last term lacks α", """
        def my_promise(mu, nu, alphas):
            return max((a - 1) * mu / (a - mu) - 2 * nu**0.5 for a in alphas)
    """),
    ("9.6", "what the shifted network keeps", """
        def my_promise(mu, nu, alphas):
            return max((a - 1) * mu / (a - mu) for a in alphas)
    """),
]


class Rows(nn.Module):
    """A function of weights and inputs as a module; ours are written in numpy, and these few lines in torch."""

    def __init__(self, network, theta: np.ndarray) -> None:
        super().__init__()
        self.network, self.theta = network, nn.Parameter(torch.as_tensor(theta))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if hasattr(self.network, "inputs"):
            u, v = self.theta.split(self.network.inputs)
            return (x @ u) * (1 + x @ v)
        inputs, units = self.network.shape
        return torch.tanh(x @ self.theta[:-units].reshape(inputs, units)) @ self.theta[-units:]


def shift(theta, g, rho):
    unit = torch.nn.functional.normalize(torch.as_tensor(g), dim=0).numpy()
    return rho * sharpness.parameter_norm(nn.ParameterList([torch.as_tensor(theta)])) * unit


def meter(network, theta, x, rho, gaussians):
    land = sharpness.Landscape(Rows(network, theta), torch.as_tensor(x))
    units = torch.nn.functional.normalize(torch.as_tensor(gaussians), dim=1)
    return float(land.losses(rho * land.theta.norm() * units).mean())


def trace(network, theta, x):
    return sharpness.hessian_trace(Rows(network, theta), torch.as_tensor(x)).value


def breaking(rhos, losses, level):
    head = {"variant": "v", "target": "t", "n": "8", "variance": "1"}
    rows = [head | {"rho": rho, "loss": loss} for rho, loss in zip(rhos, losses, strict=True)]
    return brittle.critical(rows, "v", "t", level)[8]


def exponent(*arguments):
    return brittle.exponent(dict(zip(*arguments, strict=True)))["slope"]


def promise(mu, nu, alphas):
    return max(brittleness.lower_bound(50 * mu, 50 * nu, 50, alpha=alpha) for alpha in alphas)


class TestExercises(ExerciseTests):
    room = "sharpness"
    written = WRITTEN
    library = {"9.1": shift, "9.2": meter, "9.3": trace, "9.4": breaking, "9.5": exponent, "9.6": promise}


def test_the_meter_of_the_exercise_agrees_with_the_library_direction_by_direction():
    for network, theta, x, rho, _ in find("9.2").instances(np.random.default_rng(1)):
        model, x = Rows(network, theta), torch.as_tensor(x)
        length = rho * sharpness.parameter_norm(model)
        found = sharpness.average_direction(model, x, rho=length, kind="sphere", directions=20, seed=3)
        gaussians = next(sharpness.random_vectors(20, model.theta.detach(), seed=3)).numpy()
        assert math.isclose(find("9.2").solution(network, theta, x.numpy(), rho, gaussians), found.value, rel_tol=1e-9)


def test_the_square_of_the_lemma_is_no_bound_where_the_lemma_says_nothing():
    """f is PARITY of half of the bits, g nearly constant: (√…− √…)² exceeds every distance, as its diagnosis says."""
    mu, nu, alpha = 0.5, 0.01, 1000.0
    root = math.sqrt((1 - 1 / alpha) * mu / (1 - mu / alpha)) - math.sqrt(alpha * nu / mu)
    assert root < 0 and root**2 > 4 > brittleness.lower_bound(50 * mu, 50 * nu, 50, alpha=alpha)
