"""Evidence for the claims of chapter 16: each test names its claim, and a mutation on which it fails."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from flatcube import cube, fourier, kernels
from flatcube.kernels import layers, spectra

claim = pytest.mark.claim


# --- attention --------------------------------------------------------------------------------------------------------


def transposed(tokens, query, key, value, *, softmax=True):
    logits = (tokens @ query) @ (tokens @ key).swapaxes(-1, -2)
    weights = np.exp(logits) / np.exp(logits).sum(-2, keepdims=True) if softmax else logits / math.sqrt(query.shape[1])
    return weights @ (tokens @ value)


@claim("VA-D-ATT", mutant=("flatcube.kernels.layers.head", transposed, "Softmax over queries in place of keys."))
def test_a_head_is_softmax_or_a_scaled_product():
    rng = np.random.default_rng(0)
    tokens, (query, key, value) = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 4, 6))
    parts = (torch.as_tensor(tokens @ weights) for weights in (query, key, value))
    wanted = torch.nn.functional.scaled_dot_product_attention(*parts, scale=1.0)
    assert np.allclose(layers.head(tokens, query, key, value), wanted.numpy())
    found = layers.head(tokens, query, key, value, softmax=False)
    x = tokens[1]
    by_hand = sum((x[2] @ query) @ (x[i] @ key) / math.sqrt(6) * (x[i] @ value) for i in range(5))
    assert np.allclose(found[1, 2], by_hand)


def diagonal_pairs(k):
    return np.square(np.diagonal(k, axis1=-2, axis2=-1)).sum(-1)


def up_to_the_width(k):
    """As printed: i and j run to the width of a token, which is 4 here, so that a single token counts 16 times."""
    return k.shape[-1] ** -2 * 4**2 * np.square(k).sum((-2, -1))


@claim(
    "VA-B1",
    mutant=("flatcube.kernels.layers._pairs", diagonal_pairs, "Only pairs of a token with itself."),
    note="3,000 heads of linear attention over three tokens of two bits, and over bits with positions: within 8 %",
)
def test_many_random_heads_have_the_kernel_of_the_theorem():
    points = cube.points(6)
    for width, content in ((2, 1.0), (1, 0.5)):
        kernel = kernels.linear_attention(points, points, width=width, content=content, read="mark")
        found, tangent = kernels.heads(kernels.features(points, width, content, True), 3000, inner=8, rng=1)
        assert np.linalg.norm(found - kernel) < 0.08 * np.linalg.norm(kernel)
        assert np.linalg.norm(tangent - 4 * kernel) < 0.08 * np.linalg.norm(4 * kernel)


@claim(
    "VA-B1",
    printed=("flatcube.kernels.layers._pairs", up_to_the_width, "The sum runs up to the width of the tokens."),
    erratum=29,
    mutant=("flatcube.kernels.layers._pairs", lambda k: np.abs(k).sum((-2, -1)), "Products enter without a square."),
    note="one token of width 4: the sum has one term and K = c³",
)
def test_the_sum_runs_over_pairs_of_tokens():
    points = cube.points(4)
    kernel = kernels.linear_attention(points, points[:1], width=4)[:, 0]
    assert np.allclose(kernel, points.mean(1) ** 3)


# --- the proposition --------------------------------------------------------------------------------------------------


def plain_sum(n):
    return np.array([[math.comb(n, j) for j in range(n + 1)]] * (n + 1))


@claim(
    "VA-P31b",
    mutant=("flatcube.kernels.spectra.krawtchouk", plain_sum, "All points of a layer count +1, whatever the parity."),
    note="exponential, cubic, arc-cosine and tangent kernels on 5 to 8 bits, by whole matrix, by its first row and by "
    "Krawtchouk's sum",
)
def test_parities_diagonalise_a_function_of_the_inner_product_and_the_order_holds():
    for n in (5, 6, 8):
        for psi in (np.exp, lambda c: c**3, kernels.relu, kernels.tangent, lambda c: kernels.tangent(c, 3, 0.1)):
            mu, kernel = kernels.eigenvalues(psi, n), kernels.matrix(psi, n)
            acted = kernel @ np.array([cube.subset_parity(cube.subset(mask), n) for mask in range(2**n)]).T / 2**n
            wanted = np.array([mu[k] for k in cube.weights(n)])
            found = np.array([cube.subset_parity(cube.subset(mask), n) for mask in range(2**n)]).T * wanted
            assert np.allclose(acted, found, atol=1e-12)
            assert np.allclose(fourier.transform(kernel[0]), wanted, atol=1e-12)
            assert kernels.ordered(mu)
    # between even and odd degrees nothing is promised, and a negative coefficient spoils the order (erratum 28)
    arc = kernels.eigenvalues(kernels.relu, 4)
    assert abs(arc[3]) < 1e-15 and arc[4] == pytest.approx(0.0024, abs=5e-5)
    assert np.allclose(kernels.eigenvalues(lambda c: 1 - c**2, 4), [0.75, 0, -0.125, 0, 0])


def of_inner_products(x, y, *, width=1, content=1.0, read="each"):
    """What the proposition says: the same for all pairs with the same ⟨x, y⟩."""
    kernel = right(x, y, width=width, content=content, read=read)
    products = np.rint(x @ y.T).astype(int) + x.shape[1]
    means = np.bincount(products.ravel(), kernel.ravel()) / np.maximum(np.bincount(products.ravel()), 1)
    return means[products]


right = layers.linear_attention


@claim(
    "VA-P31",
    printed=("flatcube.kernels.layers.linear_attention", of_inner_products, "K depends on ⟨x, y⟩ only."),
    erratum=26,
    note="two tokens of two bits: K = 5 and K = 1 for two pairs with ⟨x, y⟩ = 0; 20,000 heads agree",
)
def test_with_several_tokens_of_several_bits_the_kernel_is_no_function_of_the_inner_product():
    points = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1]])
    kernel = kernels.linear_attention(points, points, width=2, read="mark")
    assert np.allclose(kernel[0], [5, 5, 1]) and (points @ points.T)[0].tolist() == [4, 0, 0]
    assert np.allclose(kernels.linear_attention(points, points, width=2, read="first")[0], [4, 4, 0])
    found, _ = kernels.heads(kernels.features(points, 2, 1.0, True), 20_000, inner=4, rng=0)
    assert np.allclose(found[0, 1:], [5, 1], atol=0.6)
    cubes = cube.points(6)
    for read in ("each", "first", "mark"):
        whole = kernels.linear_attention(cubes, cubes, width=2, read=read)
        assert kernels.leak(whole) > 0.04
    # read at the first token: a bit of another token has no eigenvalue of its own, a set of three that holds it has
    values = kernels.by_set(kernels.linear_attention(cubes, cubes, width=2, read="first"))
    assert abs(values[cube.mask((3,))]) < 1e-15 and values[cube.mask((1, 3, 4))] > 0.2


def without_positions(points, width=1, content=1.0, mark=False):
    return features(points, width, content, mark)[..., :-1]  # the mark loses its own direction


features = layers.features


@claim(
    "VA-P31",
    mutant=("flatcube.kernels.layers.features", without_positions, "The mark that is read has no vector of its own."),
    note="one-bit tokens with positions, read at a mark or at each token, with and without ReLUs: a function of "
    "⟨x, y⟩, parities diagonalise it, eigenvalues ordered; exact on 5 to 7 bits",
)
def test_over_bits_with_positions_the_proposition_holds():
    for n in (5, 6, 7):
        points = cube.points(n)
        for read in ("mark", "each"):
            for content in (0.3, 0.5):
                kernel = kernels.linear_attention(points, points, content=content, read=read)
                assert kernel[0, 0] > 0 and kernels.leak(kernel) < 1e-12
                psi = kernels.matrix(lambda c: kernels.attention(c, n, content, read), n)  # noqa: B023
                assert np.allclose(kernel / kernel[0, 0], psi)
                deep = kernels.transformer(points, content=content, read=read)
                assert np.allclose(deep, kernels.matrix(lambda c: kernels.attention(c, n, content, read, 1), n))  # noqa: B023
                mu = kernels.eigenvalues(lambda c: kernels.attention(c, n, content, read, 1), n)  # noqa: B023
                assert kernels.ordered(mu) and np.allclose(kernels.by_set(deep), mu[cube.weights(n)])


def not_falling(mu, tolerance=1e-12):
    return bool((mu[2:] >= mu[:-2] - tolerance * np.abs(mu).max()).all())


@claim(
    "VA-P31",
    printed=("flatcube.kernels.spectra.ordered", not_falling, "Eigenvalues do not decrease as the degree increases."),
    erratum=27,
    mutant=("flatcube.kernels.spectra.gaps", lambda psi, n: -spectra.eigenvalues(psi, n)[2:], "Only one term is left."),
    note="exact: differences of eigenvalues are eigenvalues of the kernel on two bits fewer, in rational arithmetic",
)
def test_eigenvalues_do_not_increase_in_steps_of_two():
    for n in (4, 7):
        for power in range(12):
            counts = [Fraction(int(count), n**power) for count in kernels.words(n, power)]
            assert all(a >= b >= 0 for a, b in zip(counts, counts[2:], strict=False))
            fewer = [Fraction(int(count), n**power) for count in kernels.words(n - 2, power)]
            assert [a - b for a, b in zip(counts, counts[2:], strict=False)] == fewer
        mu = kernels.eigenvalues(np.exp, n)
        assert kernels.ordered(mu) and np.allclose(kernels.gaps(np.exp, n), mu[:-2] - mu[2:], atol=1e-15)
    assert np.allclose(kernels.eigenvalues(np.exp, 4), [1.13, 0.277, 0.068, 0.017, 0.004], atol=2e-3)
    assert not kernels.ordered(kernels.eigenvalues(lambda c: 1 - c**2, 4))
    assert np.allclose(fourier.transform(np.exp(cube.mean(4)))[[0, 1, 3, 7, 15]], kernels.eigenvalues(np.exp, 4))
