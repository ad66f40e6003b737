"""What the doors ask: one sentence with the argument, what is allowed and what came."""

import re

import numpy as np
import pytest

from flatcube import checks
from flatcube.sampling import Estimate


@pytest.mark.parametrize(
    ("found", "wanted", "sizes", "sentence"),
    [
        ((3,), ("rows", "columns"), {}, "x: expected shape (rows, columns), got (3,)"),
        ((3, 4), ("D", "D"), {}, "x: expected shape (D, D), got (3, 4)"),
        ((3, 4), ("batch", "n"), {"n": 5}, "x: expected shape (batch, n) with n = 5, got (3, 4)"),
        ((), ("m",), {}, "x: expected shape (m,), got ()"),
        ((3, 4), (..., 5), {}, "x: expected shape (…, 5), got (3, 4)"),
        ((), (..., 5), {}, "x: expected shape (…, 5), got ()"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(found, wanted, sizes, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        checks.shape(found, "x", wanted, sizes)


def test_shapes_that_fit_teach_the_lengths_of_their_axes():
    sizes = {"n": 4}
    checks.shape((3, 4), "x", ("batch", "n"), sizes)
    checks.shape((2, 7, 3, 3), "y", (..., "batch", "batch"), sizes)
    checks.shape((4,), "z", (..., 4))
    assert sizes == {"n": 4, "batch": 3}
    assert checks.numbers([[1, 2]], "x", (1, "n")).shape == (1, 2)


@pytest.mark.parametrize(
    ("value", "kind", "sentence"),
    [
        (None, Estimate, "plan: expected sampling.Estimate, got NoneType"),
        ("5", (int, np.ndarray), "plan: expected int or numpy.ndarray, got str"),
    ],
)
def test_things_of_another_kind_are_refused(value, kind, sentence):
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        checks.instance(value, "plan", kind)
    assert checks.instance(5, "plan", (int, str)) == 5


def test_randomness_comes_from_a_seed_or_a_generator():
    rng = np.random.default_rng(3)
    assert checks.generator(rng) is rng
    assert checks.generator(3).integers(1000) == np.random.default_rng(3).integers(1000)
    assert checks.generator([4, 0]).integers(1000) == np.random.default_rng([4, 0]).integers(1000)
    for wrong in (None, -1, True, "3", [], [4, -1], [4, None], 2.0):
        with pytest.raises(TypeError, match="rng: expected a numpy Generator or a seed"):
            checks.generator(wrong)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: checks.fraction(1.5, "kappa"), "kappa: expected a number above 0 and at most 1, got 1.5"),
        (lambda: checks.fraction("1", "kappa"), "kappa: expected a number above 0 and at most 1, got str"),
        (lambda: checks.flag(1, "unit"), "unit: expected True or False, got 1"),
        (lambda: checks.several("abc", "seeds", int), "seeds: expected a list, got 'abc'"),
        (lambda: checks.several([1, "b"], "seeds", int), "seeds[1]: expected int, got str"),
        (lambda: checks.several([], "seeds", int, 1), "seeds: expected 1 or more, got 0"),
        (lambda: checks.bits([[0, 1]], ("n",)), "bits: expected shape (n,), got (1, 2)"),
        (lambda: checks.bits([0j, 1]), "bits: expected real numbers, got dtype complex128"),
    ],
)
def test_other_arguments_are_refused(call, sentence):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(sentence)}$"):
        call()


def test_what_one_machine_cannot_hold_is_refused_by_name():
    checks.room(1, "n")
    with pytest.raises(ValueError, match=r"^n: expected what fits in the [\d,]+ bytes that are free, got 1,0.* bytes$"):
        checks.room(10**21, "n")
