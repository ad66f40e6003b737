"""The cube: conventions, named functions against their definitions, formulas, and refusals in words."""

import itertools
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatcube import checks, cube
from flatcube.cube import grammar as formula

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)

# Each named function next to its definition on the bits (b_1, …, b_n) of one point: True or False.
BOOLEAN = {
    "parity": (cube.parity, lambda b: sum(b) % 2 == 1),
    "first": (cube.first, lambda b: b[0] == 1),
    "majority": (cube.majority, lambda b: sum(b) > len(b) / 2),
    "conjunction": (cube.conjunction, all),
    "disjunction": (cube.disjunction, any),
    "threshold 2": (lambda n: cube.threshold(n, 2), lambda b: sum(b) >= 2),
    "parity of odd places": (lambda n: cube.subset_parity(range(1, n + 1, 2), n), lambda b: sum(b[::2]) % 2 == 1),
}


def bits(k, n):
    """b_1, …, b_n of table index k, by division: an independent reading of the convention."""
    return [k // 2**i % 2 for i in range(n)]


# --- points, bits, subsets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(6))
def test_row_k_of_points_has_the_bits_of_k(n):
    points = cube.points(n)
    assert points.dtype == np.int8 and points.shape == (2**n, n)
    assert points.tolist() == [[(-1) ** b for b in bits(k, n)] for k in range(2**n)]
    assert cube.index(points).tolist() == list(range(2**n))


def test_index_reads_any_shape_and_many_variables():
    signs = cube.points(3)[[[0, 7], [5, 2]]]
    assert cube.index(signs).tolist() == [[0, 7], [5, 2]]
    assert cube.index(np.where(np.arange(62) == 61, -1, 1)) == 2**61
    with pytest.raises(ValueError, match=r"signs: expected points \(…, n\) with n ≤ 62, got shape \(63,\)"):
        cube.index(np.ones(63))


@given(st.lists(st.integers(0, 1), max_size=20), st.sampled_from([bool, np.uint8, np.int64, np.float32]))
@quick
def test_bits_and_signs_are_two_codings_of_one_point(given_bits, dtype):
    signs = cube.to_signs(np.array(given_bits, dtype=dtype))
    assert signs.tolist() == [1 - 2 * b for b in given_bits]
    assert cube.to_bits(signs).tolist() == given_bits


@given(st.sets(st.integers(1, 70)))
@quick
def test_a_mask_has_the_bits_of_its_subset(members):
    assert cube.subset(cube.mask(members)) == tuple(sorted(members))
    assert cube.mask(members) == sum(2 ** (i - 1) for i in members)


def test_weights_count_ones():
    assert cube.weights(5).tolist() == [bin(k).count("1") for k in range(32)]
    assert (1 - 2 * (cube.weights(5) % 2) == cube.parity(5)).all()  # signed: nothing wraps around


# --- functions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("name", BOOLEAN)
def test_boolean_functions_are_true_where_their_definition_is(name, n):
    build, definition = BOOLEAN[name]
    table = build(n)
    assert table.dtype == np.int32
    assert table.tolist() == [-1 if definition(bits(k, n)) else 1 for k in range(2**n)]


def test_majority_calls_a_tie_false():
    assert cube.majority(2).tolist() == [1, 1, 1, -1]


def test_thresholds_run_from_always_true_to_always_false():
    assert (cube.threshold(3, 0) == -1).all() and (cube.threshold(3, 4) == 1).all()


def test_mean_averages_the_signs():
    for n in range(1, 7):
        assert np.allclose(cube.mean(n), cube.points(n).mean(axis=1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_address_selects_one_variable(k):
    n = k + 2**k
    expected = [(-1) ** bits(j, n)[k + j % 2**k] for j in range(2**n)]
    assert cube.address(k).tolist() == expected


@pytest.mark.parametrize(("width", "count"), [(1, 1), (1, 3), (3, 1), (2, 3), (3, 2)])
def test_tribes_is_an_or_of_ands(width, count):
    n = width * count
    expected = [
        -1 if any(all(bits(k, n)[t * width : (t + 1) * width]) for t in range(count)) else 1 for k in range(2**n)
    ]
    assert cube.tribes(width, count).tolist() == expected


def test_even_is_one_where_the_sum_is_even():
    assert cube.even({1, 2}, 2).tolist() == [1, 0, 0, 1]
    assert cube.even((), 1).tolist() == [1, 1]
    assert cube.even_sum([((1,), 3.0), ((), 0.5)], 1).tolist() == [3.5, 0.5]


def test_a_callable_becomes_a_table_in_pieces():
    sizes = []

    def second(x):
        sizes.append(x.shape)
        return x[:, 1]

    assert (cube.table(second, 18) == cube.subset_parity({2}, 18)).all()
    assert sizes == [(2**16, 18)] * 4


def test_truth_values_of_a_callable_become_signs():
    assert cube.table(lambda x: x[:, 0] < 0, 1).tolist() == [1, -1]


def test_counting_with_boolean_tables_does_not_overflow():
    table = cube.parity(12)
    assert table @ table == 4096


# --- randomness -------------------------------------------------------------------------------------------------------


def test_random_tables_follow_their_generator():
    once, again = cube.random_boolean(10, rng=3), cube.random_boolean(10, rng=np.random.default_rng(3))
    assert (once == again).all() and set(once) == {-1, 1}
    assert abs(once.mean()) < 0.15  # five standard deviations
    assert (once != cube.random_boolean(10, rng=4)).any()


def test_random_sparse_functions_are_as_the_paper_draws_them():
    components = cube.random_components(9, 4, 30, rng=0)
    subsets, weights = zip(*components, strict=True)
    assert len(set(subsets)) == 30 and all(len(set(S)) == 4 and set(S) <= set(range(1, 10)) for S in subsets)
    assert min(weights) > 0 and np.isclose(np.linalg.norm(weights), 2)
    table = cube.even_sum(components, 9)
    assert np.allclose(table, sum(w * (1 + cube.subset_parity(S, 9)) / 2 for S, w in components))
    assert np.isclose(table.var(), 1) and np.isclose(table.mean(), sum(weights) / 2)


def test_all_subsets_can_be_drawn():
    drawn = {S for S, _ in cube.random_components(6, 3, 20, rng=1)}
    assert drawn == set(itertools.combinations(range(1, 7), 3))


def test_weights_have_the_shape_of_absolute_normals():
    weights = [weight for _, weight in cube.random_components(40, 3, 5000, rng=0)]
    assert np.isclose(np.mean(weights) / np.sqrt(np.mean(np.square(weights))), np.sqrt(2 / np.pi), atol=0.03)


# --- formulas ---------------------------------------------------------------------------------------------------------

SYMBOLS = {"not": "~", "and": "&", "xor": "^", "or": "|"}
FUNCTIONS = {"and": lambda v: all(v), "or": lambda v: any(v), "xor": lambda v: sum(v) % 2 == 1,
             "maj": lambda v: 2 * sum(v) > len(v), "not": lambda v: not v[0]}  # fmt: skip
STRENGTH = {"or": 0, "xor": 1, "and": 2, "not": 3, "maj": 4, "variable": 4, "constant": 4}

leaves = st.builds(lambda i: formula.Node("variable", number=i), st.integers(1, 4)) | st.builds(
    lambda c: formula.Node("constant", number=c), st.integers(0, 1)
)
trees = st.recursive(
    leaves,
    lambda inner: st.builds(formula.Node, st.sampled_from(["and", "or", "xor"]), st.lists(inner, min_size=2, max_size=3)
                            .map(tuple))
    | st.builds(formula.Node, st.just("maj"), st.lists(inner, min_size=1, max_size=4).map(tuple))
    | st.builds(formula.Node, st.just("not"), st.tuples(inner)),
    max_leaves=12,
)  # fmt: skip


def written(tree, words=False):
    """A tree as text with as few parentheses as its precedences allow."""
    if tree.kind == "variable":
        return f"x{tree.number}"
    if tree.kind == "constant":
        return str(tree.number)
    if tree.kind == "maj":
        return f"maj({', '.join(written(part, words) for part in tree.parts)})"
    parts = [
        written(part, words) if STRENGTH[part.kind] > STRENGTH[tree.kind] else f"({written(part, words)})"
        for part in tree.parts
    ]
    symbol = f" {tree.kind} " if words else SYMBOLS[tree.kind]
    return symbol + parts[0] if tree.kind == "not" else symbol.join(parts)


def value(tree, point):
    """The value of a tree at one point, straight from the meaning of its operators."""
    if tree.kind == "variable":
        return bool(point[tree.number - 1])
    if tree.kind == "constant":
        return tree.number == 1
    return FUNCTIONS[tree.kind]([value(part, point) for part in tree.parts])


@given(trees, st.booleans())
@quick
def test_formulas_mean_what_their_operators_say(tree, words):
    expected = [-1 if value(tree, bits(k, 4)) else 1 for k in range(16)]
    assert cube.formula(written(tree, words), 4).tolist() == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x1 | x2 ^ x3 & ~x4", "x1 | (x2 ^ (x3 & (~x4)))"),
        ("~x1 & x2", "(~x1) & x2"),
        ("~~x1", "x1"),
        ("NOT x1 And X2", "~x1 & x2"),
        (" x1\t^ x2 ", "x1^x2"),
        ("maj(x1, x2, x3)", "x1&x2 | x1&x3 | x2&x3"),
    ],
)
def test_ways_to_write_the_same(text, same):
    assert (cube.formula(text) == cube.formula(same)).all()


def test_n_is_the_largest_variable_unless_given():
    assert len(cube.formula("x3")) == 8 and len(cube.formula("x3", 5)) == 32 and cube.formula("1").tolist() == [-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "formula, column 1: expected a variable such as x1, 0, 1, ~, maj or (, found the end"),
        ("x1 &", "formula, column 5: expected a variable such as x1, 0, 1, ~, maj or (, found the end"),
        ("x1 x2", "formula, column 4: expected an operator (& ^ |) or the end, found x2"),
        ("x1 && x2", "formula, column 5: expected a variable such as x1, 0, 1, ~, maj or (, found &"),
        ("(x1 | x2", "formula, column 9: expected an operator (& ^ |) or ), found the end"),
        ("x1)", "formula, column 3: expected an operator (& ^ |) or the end, found )"),
        ("x1 + x2", "formula, column 4: expected an operator (& ^ |) or the end, found +"),
        ("x1 & Y", "formula, column 6: expected a variable such as x1, 0, 1, ~, maj or (, found Y"),
        ("x0", "formula, column 1: expected variables to be numbered x1, x2, …, found x0"),
        ("x1 ^ x", "formula, column 6: expected variables to be numbered x1, x2, …, found x"),
        ("2", "formula, column 1: expected a variable such as x1, 0, 1, ~, maj or (, found 2"),
        ("maj x1", "formula, column 5: expected ( after maj, found x1"),
        ("maj(x1, )", "formula, column 9: expected a variable such as x1, 0, 1, ~, maj or (, found )"),
        ("__import__('os')", "formula, column 1: expected a variable such as x1, 0, 1, ~, maj or (, found __import__"),
        ("(" * 101 + "x1" + ")" * 101, "formula, column 102: expected at most 100 nested parentheses, found x1"),
    ],
)
def test_a_mistake_in_a_formula_is_named_with_its_column(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        cube.formula(text)


def test_long_and_deep_formulas_are_no_problem():
    assert (cube.formula(" & ".join(["x1"] * 3000)) == cube.first(1)).all()
    assert (cube.formula("(" * 100 + "~" * 5001 + "x1" + ")" * 100) == -cube.first(1)).all()


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cube.to_bits([0, 1]), ValueError, "signs: expected −1 and \\+1, got bits; convert them"),
        (lambda: cube.to_bits([True]), ValueError, "got bits; convert them with cube.to_signs"),
        (lambda: cube.to_bits([1, 2]), ValueError, "signs: expected −1 and \\+1, got 2"),
        (lambda: cube.to_signs([1, -1]), ValueError, "bits: expected 0 and 1, got −1; these are signs, convert"),
        (lambda: cube.to_signs([0.5]), ValueError, "bits: expected 0 and 1, got 0.5"),
        (lambda: cube.subset(-1), ValueError, "mask: expected an integer ≥ 0, got -1"),
        (lambda: cube.mask([0]), ValueError, "subset: expected numbers from 1 to n ≤ 1000000, got 0"),
        (lambda: cube.mask([4], 3), ValueError, "subset: expected numbers from 1 to 3, got 4"),
        (lambda: cube.mask([2, 2]), ValueError, "subset: expected distinct numbers, got \\(2, 2\\)"),
        (lambda: cube.mask("ab"), TypeError, "subset: expected whole numbers from 1 to n ≤ 1000000, got 'a'"),
        (lambda: cube.mask([1.0]), TypeError, "subset: expected whole numbers from 1 to n ≤ 1000000, got 1.0"),
        (lambda: cube.mask(3), TypeError, "subset: expected a collection of numbers from 1 to n ≤ 1000000, got int"),
        (lambda: cube.mask([1], "a"), TypeError, "n: expected an integer, got str"),
        (lambda: cube.table(3, 2), TypeError, "f: expected a function that maps signs .*, got int"),
        (lambda: cube.table(lambda x: [[1], [1, 2]], 1), ValueError, "f: expected an array, got lists of unequal"),
        (lambda: cube.to_bits([[1], [1, -1]]), ValueError, "signs: expected an array, got lists of unequal lengths"),
        (lambda: cube.to_signs([[1], [1, 0]]), ValueError, "bits: expected an array, got lists of unequal lengths"),
        (lambda: cube.index(1), ValueError, "signs: expected points .*, got shape \\(\\)"),
        (lambda: cube.parity(0), ValueError, "n: expected an integer ≥ 1, got 0"),
        (lambda: cube.parity("3"), TypeError, "n: expected an integer, got str"),
        (lambda: cube.mask([1], 0), ValueError, "subset: expected numbers from 1 to 0, got 1"),
        (lambda: cube.points(-1), ValueError, "n: expected an integer ≥ 0, got -1"),
        (lambda: cube.points(2.0), TypeError, "n: expected an integer, got float"),
        (lambda: cube.points(True), TypeError, "n: expected an integer, got bool"),
        (lambda: cube.threshold(3, 5), ValueError, "k: expected an integer from 0 to 4, got 5"),
        (lambda: cube.tribes(2, 0), ValueError, "count: expected an integer ≥ 1, got 0"),
        (lambda: cube.formula("x3", 2), ValueError, "formula: uses x3, but n = 2"),
        (lambda: cube.formula("x1", 0), ValueError, "formula: uses x1, but n = 0"),
        (lambda: cube.formula(3), TypeError, "formula: expected a string, got int"),
        (lambda: cube.table(lambda x: x[0], 2), ValueError, "f: expected 4 values .* got shape \\(2,\\); x1 of all"),
        (lambda: cube.table(lambda x: x[:, 0] / 0.0, 2), ValueError, "f: expected finite numbers, got"),
        (
            lambda: cube.even_sum([((1,), np.nan)], 1),
            ValueError,
            "components\\[0\\]: expected a number from .* got nan",
        ),
        (lambda: cube.random_components(4, 5, 1, rng=0), ValueError, "degree: expected an integer from 1 to 4, got 5"),
        (lambda: cube.random_components(4, 2, 7, rng=0), ValueError, "components: .* from 1 to 6, got 7"),
        (lambda: cube.random_components(10**6, 500_000, 10**18, rng=0), ValueError, "components: .* from 1 to 100000"),
        (lambda: cube.random_components(10**18, 2, 1, rng=0), ValueError, "n: expected an integer from 1 to 1000000"),
        (lambda: cube.random_components(4, 2, 1, rng=None), TypeError, "rng: expected a numpy Generator or a seed"),
        (
            lambda: cube.random_boolean(6, rng=None),
            TypeError,
            "rng: expected a numpy Generator or a seed ≥ 0, got None",
        ),
        (lambda: cube.even_sum(None, 3), TypeError, "components: expected a list, got None"),
        (lambda: cube.even_sum([(1,)], 3), ValueError, "components\\[0\\]: expected a pair \\(subset, weight\\), got"),
        (lambda: cube.even_sum([((1,), None)], 3), TypeError, "components\\[0\\]: expected a number, got NoneType"),
        (lambda: cube.mask([10**18]), ValueError, "subset: expected numbers from 1 to n ≤ 1000000, got 1e\\+18"),
        (lambda: cube.subset(-(10**400)), ValueError, "mask: expected an integer ≥ 0, got one of 1329 bits"),
        (lambda: cube.formula("x1 & x1 | " * 10_000 + "1"), ValueError, "formula: expected at most 100000 characters"),
        (lambda: cube.formula("x" + "9" * 5000), ValueError, "formula, column 1: .* found x9999999999999999999$"),
        (lambda: formula.variables("x1"), TypeError, "tree: expected cube.Node, got str"),
        (lambda: checks.table([]), ValueError, "table: expected a length that is a power of two, got 0"),
        (lambda: checks.table([1, 2, 3]), ValueError, "a power of two, got 3"),
        (lambda: checks.table(1.0), ValueError, "table: expected an array with an axis -1, got shape \\(\\)"),
        (lambda: checks.table([1, np.inf]), ValueError, "table: expected finite numbers, got inf"),
        (lambda: checks.table([1j, 0]), TypeError, "table: expected real numbers .* got dtype complex128"),
        (lambda: checks.table(["a", "b"]), TypeError, "table: expected real numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "size"),
    [
        (lambda: cube.parity(40), f"{32 * 2**40:,}"),
        (lambda: cube.points(41), f"{(8 + 3 * 41) * 2**41:,}"),
        (lambda: cube.table(len, 50), f"{32 * 2**50:,}"),
        (lambda: cube.even_sum([((1, 2), 1.0)], 45), f"{32 * 2**45:,}"),
        (lambda: cube.address(6), "32 × 2^70"),
        (lambda: cube.address(10**9), "32 × 2^"),
        (lambda: cube.formula("x1000000000000"), "32 × 2^1000000000000"),
    ],
)
def test_tables_beyond_memory_are_refused_with_their_size(call, size):
    with pytest.raises(ValueError, match=f"take {re.escape(size)}.* bytes, but this machine has [0-9,]+ free$"):
        call()


@pytest.mark.parametrize(
    "build",
    [
        cube.parity,
        cube.mean,
        cube.majority,
        lambda n: cube.subset_parity({1, 5}, n),
        lambda n: cube.tribes(4, n // 4),
        lambda n: cube.formula("x1 & x2 ^ x16 | x3", n),
        lambda n: cube.formula(f"maj({', '.join(['x1 ^ x2'] * 500)})", n),
        lambda n: cube.formula("(x1 ^ " * 99 + "x2" + ")" * 99, n),
        lambda n: cube.random_boolean(n, rng=0),
        lambda n: cube.even_sum(cube.random_components(n, 3, 4, rng=0), n),
        lambda n: cube.table(lambda x: x[:, 0] * 1.0, n),
    ],
)
def test_no_function_takes_more_memory_than_it_is_refused_by(build):
    tracemalloc.start()
    build(20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 32 * 2**20 + 2**23  # 8 MB for what does not grow with n, such as the points a callable sees


def test_the_limit_is_the_memory_that_is_free(monkeypatch):
    monkeypatch.setattr(checks, "_LITTLE", 0)
    monkeypatch.setattr(checks, "_free", lambda: 32 * 2**10)
    assert len(cube.parity(10)) == 1024
    with pytest.raises(ValueError, match="n: tables with n = 11 take 65,536 bytes, but this machine has 32,768 free"):
        cube.parity(11)
