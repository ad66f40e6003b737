"""The library of chapter 16: routes that share no code agree, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatcube import cube, fourier, kernels

series = st.lists(st.floats(-2, 2), min_size=1, max_size=7)


def by_words(coefficients, n):
    """Σ_p ψ_p n^{−p} · words(n, p), the eigenvalues of a power series."""
    return sum(a * kernels.words(n, p).astype(float) / float(n) ** p for p, a in enumerate(coefficients))


# --- eigenvalues ------------------------------------------------------------------------------------------------------


@given(series, st.integers(3, 7))
def test_four_routes_to_the_eigenvalues(coefficients, n):
    def psi(c):
        return np.polynomial.polynomial.polyval(c, coefficients)

    mu = kernels.eigenvalues(psi, n)
    full = kernels.matrix(psi, n)
    assert np.allclose(fourier.transform(full[0]), mu[cube.weights(n)], atol=1e-12)
    assert np.allclose(kernels.by_set(full), mu[cube.weights(n)], atol=1e-12)
    assert np.allclose(by_words(coefficients, n), mu, atol=1e-12)
    assert np.allclose(np.sort(np.linalg.eigvalsh(full) / 2**n), np.sort(mu[cube.weights(n)]), atol=1e-12)
    assert np.allclose(kernels.gaps(psi, n), mu[:-2] - mu[2:], atol=1e-12)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=9), st.integers(3, 9))
def test_without_negative_coefficients_the_order_holds(coefficients, n):
    mu = by_words(coefficients, n)
    assert (mu >= 0).all() and kernels.ordered(mu)


def test_krawtchouk_s_numbers_are_sums_of_parities():
    for n in (1, 2, 5):
        ones = cube.weights(n)
        for k in range(n + 1):
            chi = cube.subset_parity(tuple(range(1, k + 1)), n)
            assert [int(chi[ones == j].sum()) for j in range(n + 1)] == kernels.krawtchouk(n)[k].tolist()
    assert (kernels.krawtchouk(40)[0] == [math.comb(40, j) for j in range(41)]).all()


def test_words_are_counted_one_by_one():
    n, power = 3, 4
    for k in range(n + 1):
        fit = [word for word in itertools.product(range(n), repeat=power)
               if all(word.count(letter) % 2 == (letter < k) for letter in range(n))]  # fmt: skip
        assert kernels.words(n, power)[k] == len(fit)


def test_a_kernel_that_is_no_function_of_the_product_leaks():
    assert kernels.leak(kernels.matrix(np.exp, 4)) < 1e-15
    first = np.outer(cube.mean(4), cube.mean(4))
    assert kernels.leak(first) == pytest.approx(1 - 4 / 16)
    assert kernels.leak(first + 5) == pytest.approx(1 - 4 / 16)  # a constant does not hide it
    assert kernels.leak(np.add.outer(cube.mean(4), cube.mean(4))) == pytest.approx(1)  # joins ∅ to single bits
    assert kernels.leak(np.zeros((4, 4))) == kernels.leak(np.full((8, 8), 0.1)) == 0


# --- the functions of networks ----------------------------------------------------------------------------------------


def test_relu_and_step_are_means_over_normal_numbers():
    """Two normal numbers are r cos t and r cos(t − φ) with cos φ = c, t uniform, and E r² = 2."""
    t = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    for c in (-0.7, 0.0, 0.4, 0.95):
        u, v = np.cos(t), np.cos(t - np.arccos(c))
        assert kernels.relu(np.array(c)) == pytest.approx(2 * 2 * np.mean(u.clip(0) * v.clip(0)), abs=1e-6)
        assert kernels.step(np.array(c)) == pytest.approx(2 * np.mean((u > 0) & (v > 0)), abs=1e-4)


def test_the_series_of_relu_has_no_negative_coefficient_and_gives_its_eigenvalues():
    """κ₁'' = 1/(π√(1 − c²)), whose coefficients are C(2m, m)/4^m, integrated twice."""
    even = [math.comb(2 * m, m) / 4**m / ((2 * m + 1) * (2 * m + 2) * math.pi) for m in range(100)]
    found = [1 / math.pi, 0.5, *(a for each in even for a in (each, 0.0))]
    c = np.linspace(-0.8, 0.8, 9)
    assert np.allclose(np.polynomial.polynomial.polyval(c, found), kernels.relu(c), atol=1e-9)
    assert by_words(found[:200], 4) == pytest.approx(kernels.eigenvalues(kernels.relu, 4), abs=1e-4)


def test_the_tangent_kernel_is_the_derivative_along_all_layers():
    """Θ of depth 2 from the chain rule: each layer adds its conjugate kernel, passed through the slopes above it."""
    c = np.linspace(-1, 1, 7)
    one, two = kernels.relu(c), kernels.relu(kernels.relu(c))
    assert np.allclose(kernels.tangent(c, 2), two + kernels.step(one) * (one + kernels.step(c) * c))
    assert kernels.tangent(np.array(1.0), 4) == pytest.approx(5)
    assert kernels.tangent(c, 0) == pytest.approx(c) and kernels.conjugate(np.array(1.0), 5, 0.2) == pytest.approx(1)


def test_biases_give_odd_degrees_an_eigenvalue():
    assert abs(kernels.eigenvalues(lambda c: kernels.conjugate(c, 1), 5)[3]) < 1e-15
    assert kernels.eigenvalues(lambda c: kernels.conjugate(c, 2, 0.1), 5)[3] > 1e-4


# --- layers -----------------------------------------------------------------------------------------------------------


def test_linear_attention_by_the_sum_in_its_definition():
    points = cube.points(4)
    for x, y in ((points[3], points[9]), (points[0], points[6])):
        for width, content in ((1, 0.5), (2, 0.7), (4, 1.0)):
            T = 4 // width
            k = np.array([[content * x[i * width:][:width] @ y[j * width:][:width] / width + (1 - content) * (i == j)
                           for j in range(T)] for i in range(T)])  # fmt: skip
            wanted = {"each": np.trace(k) / T * (k**2).sum(), "first": k[0, 0] * (k**2).sum(),
                      "mean": k.mean() * (k**2).sum(), "mark": (k**2).sum() + 1}  # fmt: skip
            for read, value in wanted.items():
                found = kernels.linear_attention(x[None], y[None], width=width, content=content, read=read)
                assert found[0, 0] == pytest.approx(value)


def test_a_transformer_without_relus_is_linear_attention_scaled():
    points = cube.points(4)
    for read in ("each", "mark"):
        one = kernels.transformer(points, content=0.4, read=read, mlp=False)
        raw = kernels.linear_attention(points, points, content=0.4, read=read)
        assert np.allclose(one, raw / raw[0, 0])
    assert kernels.leak(kernels.transformer(points, layers=2, mlp=False)) < 1e-12
    assert kernels.leak(kernels.transformer(points, layers=2)) > 1e-3


def test_several_layers_of_linear_attention_are_a_power_of_one():
    points, alpha = cube.points(5), 0.4
    agree = alpha * points @ points.T / 5 + 1 - alpha  # the mean of q_rr
    for layers, power in ((1, 1), (2, 4), (3, 13)):
        for read, front in (("mark", 1.0), ("each", agree)):
            pairs = kernels.linear_attention(points, points, content=alpha, read=read) / front
            found = kernels.transformer(points, content=alpha, read=read, layers=layers, mlp=False)
            assert np.allclose(found, front * (pairs / pairs[0, 0]) ** power)
            assert kernels.leak(found) < 1e-12
            values, sizes = kernels.by_set(found), cube.weights(5)
            mu = kernels.mean_by_degree(values)
            assert np.allclose(values, mu[sizes]) and kernels.ordered(mu)


def test_a_convolution_sees_no_sets_wider_than_its_window():
    values = kernels.by_set(kernels.convolution(cube.points(6), cube.points(6), window=3))
    for mask in range(64):
        members = set(cube.subset(mask))
        inside = any(members <= {1 + (i + s) % 6 for s in range(3)} for i in range(6))
        assert inside or abs(values[mask]) < 1e-15
    pooled = kernels.convolution(cube.points(6), cube.points(6), window=3, pooled=True)
    rolled = np.array([np.roll(point, 2) for point in cube.points(6)])
    assert np.allclose(pooled, kernels.convolution(rolled, cube.points(6), window=3, pooled=True))


# --- finite networks and the flow -------------------------------------------------------------------------------------


def test_softmax_heads_by_drawing_the_values_too():
    found, leak = kernels.softmax_by_set(3, 4000, scale=1.0, rng=0)
    assert found.shape == (8,)
    few = [kernels.softmax_by_set(3, 20, rng=seed)[1] for seed in range(200)]
    assert np.mean(few) == pytest.approx(leak, rel=0.05)  # few heads do not leak more, as their own kernel does
    assert math.isnan(kernels.softmax_by_set(3, 1, rng=0)[1])
    rng, points, total = np.random.default_rng(1), cube.points(3).astype(float), np.zeros(8)
    for _ in range(8000):
        g, v = rng.normal(size=2)
        h, u = rng.normal(size=(2, 4))
        logits = np.column_stack([math.sqrt(0.5) * (g * points + h[:3]), np.full(8, h[3])])
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        outputs = p[:, :3] @ u[:3] * math.sqrt(0.5) + math.sqrt(0.5) * v * (p[:, :3] * points).sum(1) + p[:, 3] * u[3]
        total += fourier.transform(outputs) ** 2
    assert np.allclose(found[:7], total[:7] / 8000, rtol=0.2)


def test_descent_follows_the_kernel_when_it_is_wide():
    n = 4
    target = cube.subset_parity((1,), n) + cube.subset_parity((2, 3), n)
    outputs = kernels.descend(cube.points(n), target.astype(float), 4000, rate=0.5, steps=20, rng=0)
    found = 1 - fourier.transform(outputs[-1])[[cube.mask((1,)), cube.mask((2, 3))]]
    mu = kernels.eigenvalues(kernels.tangent, n)[1:3]
    assert np.allclose(found, (1 - 0.5 * mu) ** 20, atol=0.05) and np.allclose(outputs[0], 0)


def test_descent_begins_along_the_kernel_of_its_first_weights():
    points, target = cube.points(4), cube.subset_parity((1, 2), 4).astype(float)
    outputs = kernels.descend(points, target, 50, rate=1e-6, steps=3, rng=5)
    _, tangent = kernels.perceptron(points, 50, rng=5)
    assert np.allclose(outputs[1:] / 1e-6, np.outer([1, 2, 3], tangent @ target / 16), rtol=1e-3, atol=1e-5)


def test_half_is_left_at_log_2_over_mu():
    mu = np.array([0.3, 2.0])
    assert np.allclose(kernels.left(mu, np.log(2) / mu).diagonal(), 0.5)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: kernels.eigenvalues(np.exp, 0), "n: expected an integer from 1 to 40, got 0"),
        (lambda: kernels.eigenvalues(lambda c: c[:2], 5), "psi: expected a finite value for each of 6"),
        (lambda: kernels.matrix(np.exp, 13), "n: expected an integer from 1 to 12, got 13"),
        (lambda: kernels.tangent(0.5, -1), "depth: expected an integer"),
        (lambda: kernels.attention(0.5, 3, read="first"), "read: expected 'mark' or 'each', got 'first'"),
        (lambda: kernels.transformer(np.ones((0, 4))), "points: expected one or more"),
        (lambda: kernels.features(cube.points(4), 3), "width: expected a divisor of 4, got 3"),
        (lambda: kernels.linear_attention(cube.points(2), cube.points(2), read="last"), "read: expected 'each' or"),
        (lambda: kernels.by_set(np.ones((4, 8))), "kernel: expected"),
        (lambda: kernels.softmax_by_set(20, 1, rng=0), "n: expected an integer from 1 to 12, got 20"),
        (lambda: kernels.perceptron(np.ones(8), 4, rng=0), "points: expected shape"),
        (lambda: kernels.mean_by_degree(np.ones((1, 8))), "values: expected shape"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint) as refused:
        call()
    assert "\n" not in str(refused.value)
