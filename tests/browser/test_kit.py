"""The kit that all explorers share computes what the library computes."""

import itertools
import math

import numpy as np
import pytest

from flatcube import cube, fourier
from flatcube.classroom import explorers
from tests.browser.hand import IMPORT


@pytest.fixture(scope="module")
def kit(workshop):
    """A page where the kit stands as `window.kit`."""
    with workshop() as visit:
        visit.page.evaluate(IMPORT, [(explorers._HERE / "kit.js").read_text(encoding="utf-8"), "kit"])
        yield visit.page


@pytest.mark.parametrize("n", range(11))
def test_the_transform_is_the_library_s(kit, n):
    for seed in range(3):
        table = np.random.default_rng(seed).normal(size=2**n)
        got = kit.evaluate("table => [...kit.transform(Float64Array.from(table))]", table.tolist())
        assert np.abs(np.array(got) - fourier.transform(table)).max() < 1e-12


WELL_FORMED = """x1;~x1;x1 & x2;x1 ^ x2 & x3;x1 | x2 ^ x3 & ~x4;(x1 | x2) & x3;not x1 and x2 xor x3 or x4;NOT x1 OR X2
0;1;~~x1;~~~x1 ^ 1;maj(x1, x2, x3);maj(x1);MAJ(x1, x2);maj(x1 & x2, x3 | x4, ~x5, 1);x1^x2^x3^x4^x5^x6^x7^x8;((((x1))))
   x1   &   x2   ;x8;~(x1 & x2) ^ (x3 | x4);not not x2;not(x1)or(x2);x1 | x2 & x3 ^ x4;x1 or x2 | x3;x1\t&\u00a0x2"""
MALFORMED = """;x1 &;& x1;x1 x2;x1 & & x2;(x1;x1);();x;x0;x01;x1x2;x1_;y1;x-1;2;10;00;x1 + x2;x1 && x2;x1 || x2;!x1
x1 = x2;maj;maj x1;maj();maj(x1,);maj(x1 x2);maj(,x1);~;not;and;x1 and;x1 not x2;x1 (x2);1x;π;x1 & π;x₁;🙂 x1;x1 🙂
x1 & 🙂 & x2;é;X;   ;  x1 &  ;x1,x2;x9;x1 & x12;x99999999999999999999999;x1 ^ x１;XOR;x1 xor xor x2;x1 &\u00a0
x1é;x²;\ufeffx1;a²b;x1\u2003x2;x1 & x2\u2028;x1\x1c;\ufeff"""
TRY = "text => { try { return [...kit.formula(text, 8)]; } catch (error) { return error.message; } }"


def separate(lines: str) -> list[str]:
    return lines.replace("\n", ";").split(";")


@pytest.mark.parametrize("text", [*separate(WELL_FORMED), "(" * 100 + "x1" + ")" * 100])
def test_formulas_mean_the_same(kit, text):
    assert kit.evaluate(TRY, text) == cube.formula(text, 8).tolist()


@pytest.mark.parametrize("text", [*separate(MALFORMED), "(" * 101 + "x1" + ")" * 101])
def test_mistakes_are_named_the_same(kit, text):
    with pytest.raises(ValueError) as refused:
        cube.formula(text, 8)
    assert kit.evaluate(TRY, text) == str(refused.value)


def test_random_formulas_mean_the_same(kit):
    rng = np.random.default_rng(5)
    pieces = [*"~&^|()01", "x1", "x2", "x3", " ", "maj", ",", "and", "x"]
    texts = ["".join(rng.choice(pieces, size=rng.integers(1, 12))) for _ in range(600)]
    got = kit.evaluate(f"texts => texts.map({TRY})", texts)
    for text, said in zip(texts, got, strict=True):
        try:
            expected = cube.formula(text, 8).tolist()
        except ValueError as refused:
            expected = str(refused)
        assert said == expected, text


COUNT = """text => {
  const own = String.prototype[Symbol.iterator];
  let read = 0;
  String.prototype[Symbol.iterator] = function () {
    const steps = own.call(this);
    return { next: () => (read++, steps.next()) };
  };
  try { kit.parse(text); } finally { String.prototype[Symbol.iterator] = own; }
  return read;
}"""


def test_a_formula_is_read_once_however_long(kit):
    """Three steps a character, for the whole, for its token with the blanks and without, and an end for each."""
    for size in (500, 1000, 1990):
        text = "~" * size + " " * size + "x1"
        assert 0 < kit.evaluate(COUNT, text) <= 3 * len(text) + 2 * (size + 1) + 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (-0.125, "−0.125"), (1, "1"), (-1e-9, "0"), (2 / 3, "0.667"), (100, "100"), (-20, "−20"), (0, "0")],
)
def test_numbers_for_the_eye(kit, value, text):
    assert kit.evaluate("value => kit.format(value)", value) == text


def test_corners_keep_apart(kit):
    for n in (2, 3, 4, 5):
        points = kit.evaluate("n => kit.project(n).map(({ x, y }) => [x, y])", n)
        nearest = min(math.dist(a, b) for a, b in itertools.combinations(points, 2))
        assert nearest > 48  # drawn 520 wide: at least 32 pixels on a phone
        assert all(20 < x < 500 and 20 < y < 430 for x, y in points)
