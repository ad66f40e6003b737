"""Evidence for the claims of chapter 8: covers, their composition, and the step from counting to generalisation."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

from flatcube import capacity
from flatcube.capacity import Cover, HeadNorms, LayerNorms, NetworkNorms, Norms, covers

claim = pytest.mark.claim


def ones(width=1, spectral=1.0, largest=1.0):
    return Norms(spectral, largest, width)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def plain_layer(score=1.0, value=1.0, output=1.0, width=1):
    return LayerNorms((HeadNorms(ones(width, score, score), ones(width, value, value)),), ones(width, output, output))


def hidden_ands(T, points):
    """The values 0 and 1 of all ANDs of three bits on points (m, T) of bits."""
    return np.array([points[:, S].prod(axis=1) for S in itertools.combinations(range(T), 3)])


# --- what mutants change, as it is ------------------------------------------------------------------------------------

_cover, _heads, _deviation, _linear = capacity.cover, capacity.heads, capacity.deviation, covers.linear


# --- covering numbers -------------------------------------------------------------------------------------------------


def mean_distance(values):
    return np.abs(values[:, None] - values[None]).mean(axis=-1)


@claim(
    "ED-D21",
    mutant=(
        "flatcube.capacity.covers.distances",
        mean_distance,
        "Functions are compared on average, not at the worst input.",
    ),
    note="linear functions in the plane on 3 inputs: greedy covers lie between the packing bound and the grid's best",
)
def test_a_cover_is_near_every_function_at_every_input():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    weights = np.concatenate([r * np.stack([np.cos(angles), np.sin(angles)], axis=1) for r in (0.25, 0.5, 0.75, 1)])
    values = weights @ np.array([[1, 0], [0.6, 0.8], [-0.28, 0.96]]).T
    for eps in (0.2, 0.4, 0.7):
        chosen = covers.greedy(values, eps)
        worst = np.abs(values[:, None] - values[chosen]).max(axis=-1).min(axis=1)
        assert worst.max() <= eps + 1e-9
        assert len(covers.separated(values, 2 * eps)) <= len(chosen)
        assert math.log(len(chosen)) <= covers.linear(1, 1, eps, 3)
    few = values[::16]
    smallest = next(
        size
        for size in range(1, 9)
        if any((np.abs(few[:, None] - few[list(c)]).max(axis=-1).min(axis=1) <= 0.7 + 1e-9).all()
               for c in itertools.combinations(range(len(few)), size))
    )  # fmt: skip
    assert len(covers.separated(few, 1.4)) <= smallest <= len(covers.greedy(few, 0.7)) <= smallest + 1


def not_its_logarithm(norm, input_norm, eps, points):
    """ED Sec. 2 as printed: the display bounds the covering number itself."""
    return math.log((norm * input_norm / eps) ** 2 * math.log(norm * input_norm * points / eps))


@claim(
    "ED-S2-LIN",
    printed=(
        "flatcube.capacity.covers.linear",
        not_its_logarithm,
        "The display is read as the covering number, not its log.",
    ),
    erratum=56,
    note="d = 100, ε = 0.1: more than 10²⁹ sign vectors with 24 entries ±1/√24 are pairwise more than 2ε apart",
)
def test_a_packing_needs_a_logarithm():
    entry, eps = 1 / math.sqrt(24), 0.1
    assert entry > 2 * eps  # two different sign vectors differ by at least one entry at a unit vector
    packed = math.log(math.comb(100, 24)) + 24 * math.log(2)
    assert packed > 29 * math.log(10)
    assert packed <= covers.linear(1, 1, eps, 100) <= covers.zhang(1, 1, eps, 100)


@claim(
    "ED-S2-LIN",
    mutant=[
        ("flatcube.capacity.covers.linear", lambda *a: _linear(*a) / 2, "Half as many corrections."),
        (
            "flatcube.capacity.covers.linear",
            lambda b, x, e, n: _linear(b, x, e, n) / (b * x / e),
            "The ratio is not squared.",
        ),
    ],
    note="the corrector never takes more than (B B_X/ε)² steps in 120 draws, and nearly as many in the worst case",
)
def test_corrections_are_few_whatever_the_number_of_inputs():
    rng = np.random.default_rng(0)
    for _ in range(120):
        d, N, eps = rng.integers(1, 12), int(10 ** rng.uniform(0, 3)), rng.uniform(0.05, 0.6)
        target, inputs = rng.normal(size=d), rng.normal(size=(N, d)) * rng.uniform(0.2, 2)
        found = covers.correct(target, inputs, eps)
        sizes = np.linalg.norm(target), np.linalg.norm(inputs, axis=1).max()
        assert np.abs(inputs @ (target - found.weights)).max() <= eps
        assert np.linalg.norm(found.weights) <= sizes[0] + 1e-9
        assert len(found.steps) * math.log(2 * N + 1) <= covers.linear(*sizes, eps, N) + 1e-9
    hardest = covers.correct(np.full(100, 0.1), np.eye(100), 0.0999)
    assert len(hardest.steps) == 100 == round(covers.linear(1, 1, 0.0999, 100) / math.log(201))


def many_times_too_fine(columns, eps):
    """k_i = ⌊d₂ b_i/B_∞⌋ and ε_i = ε √((k_i + 1)/(2d₂)), which needs Σ k_i ≤ d₂."""
    columns = np.asarray(columns, dtype=float)
    return eps * np.sqrt((np.floor(len(columns) * columns / columns.max()) + 1) / (2 * len(columns)))


@claim(
    "ED-L45",
    printed=("flatcube.capacity.covers.column_errors", many_times_too_fine, "k_i is normalised by the largest column."),
    erratum=53,
    mutant=("flatcube.capacity.covers.column_errors", lambda b, e: np.full(len(b), float(e)), "Every column gets ε."),
    note="the errors of the columns add up to ε, the identity included, where the printed ones of a matrix with "
    "unequal columns give {printed:.2f} ε",
)
def test_column_errors_stay_within_epsilon():
    rng = np.random.default_rng(1)
    for columns in (np.ones(4), rng.uniform(0, 1, 7), np.array([1, 1e-3, 1e-3])):
        errors = covers.column_errors(columns, 0.3)
        assert math.isclose(np.sqrt(np.sum(errors**2)), 0.3, rel_tol=1e-12)
        assert math.isclose(np.sum((columns / errors) ** 2), covers.maps(columns, 1, 0.3, 1) / math.log(3))
    matrix, inputs = rng.normal(size=(5, 4)), unit(rng.normal(size=(50, 5)))
    errors = covers.column_errors(np.linalg.norm(matrix, axis=0), 0.5)
    found = [covers.correct(column, inputs, e) for column, e in zip(matrix.T, errors, strict=True)]
    apart = inputs @ (matrix - np.stack([one.weights for one in found], axis=1))
    assert np.linalg.norm(apart, axis=1).max() <= 0.5
    steps = sum(len(one.steps) for one in found)
    assert steps * math.log(101) <= covers.maps(np.linalg.norm(matrix, axis=0), 1, 0.5, 50)
    return {"printed": float(np.linalg.norm(many_times_too_fine(np.array([1, 0.5, 0.5, 0.5]), 0.3))) / 0.3}


@claim(
    "ED-L45b",
    mutant=(
        "flatcube.capacity.covers.maps",
        lambda b, x, e, n: (len(b) * max(b) * x / e) ** 2 * math.log(2 * n + 1),
        "All columns count like the largest.",
    ),
    note="for given column norms: B_1² ≤ d₂ B_∞ B_1 ≤ (d₂ B_∞)², strictly unless all are equal",
)
def test_short_columns_cost_less():
    rng = np.random.default_rng(2)
    for _ in range(50):
        b = rng.uniform(0, 1, rng.integers(2, 20))
        crude = (len(b) * b.max() / 0.1) ** 2 * math.log(2001)
        sharper = len(b) * b.max() * b.sum() / 0.1**2 * math.log(2001)
        assert covers.maps(b, 1, 0.1, 1000) < sharper < crude
    assert math.isclose(covers.maps(np.ones(4), 1, 0.1, 1000), (4 / 0.1) ** 2 * math.log(2001))


# --- attention --------------------------------------------------------------------------------------------------------


def hot(logits):
    powers = np.exp(3 * (logits - logits.max(axis=-1, keepdims=True)))
    return powers / powers.sum(axis=-1, keepdims=True)


@claim(
    "ED-A41",
    mutant=("flatcube.capacity.covers.softmax", hot, "A sharper softmax."),
    note="the (1,1)-norm of softmax's Jacobian is 2 Σ p(1 − p) < 2, by finite differences at 200 points",
)
def test_the_jacobian_of_softmax_is_below_two():
    rng = np.random.default_rng(3)
    for _ in range(200):
        logits = rng.normal(size=rng.integers(2, 30)) * rng.uniform(0, 3)
        step = 1e-6 * np.eye(len(logits))
        jacobian = (covers.softmax(logits + step) - covers.softmax(logits - step)) / 2e-6
        p = np.exp(logits) / np.exp(logits).sum()
        assert np.abs(jacobian).sum() < 2
        assert np.abs(jacobian).sum() == pytest.approx(2 * (p * (1 - p)).sum(), rel=1e-5)


def softmax_ratios(rng, count):
    for _ in range(count):
        u = rng.normal(size=rng.integers(2, 9)) * rng.uniform(0, 4)
        v = u + rng.choice([-1, 1], len(u)) * 10 ** rng.uniform(-3, 1)
        yield np.abs(covers.softmax(u) - covers.softmax(v)).sum(), np.abs(u - v).max()


@claim(
    "ED-L-A6",
    mutant=("flatcube.capacity.covers.softmax", hot, "A sharper softmax."),
    note="2,000 pairs: the ℓ₁ distance is at most the largest (1,1)-norm on the way, 2, times the ℓ_∞ distance",
)
def test_a_bounded_jacobian_is_a_lipschitz_constant():
    rng = np.random.default_rng(4)
    assert all(moved <= 2 * given for moved, given in softmax_ratios(rng, 2000))
    near = np.array([1e-4, -1e-4])
    assert np.abs(covers.softmax(near) - covers.softmax(-near)).sum() <= 2e-4


@claim(
    "ED-A7",
    printed=("flatcube.capacity.covers.SOFTMAX", 2.0, "The constant 2."),
    erratum=57,
    mutant=("flatcube.capacity.covers.SOFTMAX", 0.95, "A constant below 1."),
    note="2,000 pairs stay below 2 tanh(‖u − v‖/2); two equal logits, moved apart, come within 10⁻⁶ of the constant 1",
)
def test_the_best_constant_of_softmax():
    rng = np.random.default_rng(5)
    for moved, given in softmax_ratios(rng, 2000):
        assert moved <= 2 * math.tanh(given / 2) + 1e-12 and moved <= covers.SOFTMAX * given + 1e-12
    near = np.array([1e-3, -1e-3])
    reached = np.abs(covers.softmax(near) - covers.softmax(-near)).sum() / 2e-3
    assert covers.SOFTMAX * (1 - 1e-6) <= reached <= covers.SOFTMAX


def squared_alone(u, v):
    """(1 − α²)‖u‖², as printed."""
    alpha = float(u @ v / (u @ u))
    return (1 - alpha**2) * float(u @ u), float(np.square(v - alpha * u).sum())


def on_the_sphere(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@claim(
    "ED-A9",
    printed=("flatcube.capacity.covers.along_and_across", squared_alone, "(1 − α²)‖u‖² in place of (1 − α)²‖u‖²."),
    erratum=55,
    mutant=("flatcube.capacity.covers.to_ball", on_the_sphere, "Short rows are stretched to norm 1."),
    note="20,000 pairs; the two parts of the proof add up to ‖u − v‖²; (2, 0) and (−0.9, 0) break the printed ones",
)
def test_projecting_brings_rows_closer():
    rng = np.random.default_rng(6)
    u, v = (rng.normal(size=(20_000, 3)) * rng.uniform(0, 2, (20_000, 1)) for _ in range(2))
    after, before = np.linalg.norm(covers.to_ball(u) - covers.to_ball(v), axis=1), np.linalg.norm(u - v, axis=1)
    assert (after <= before + 1e-12).all()
    pairs = [(np.array([2.0, 0]), np.array([-0.9, 0]))]
    pairs += [(a, b) for a, b in zip(u, v, strict=True) if a @ a >= 1 >= b @ b][:200]
    for a, b in pairs:
        along, across = covers.along_and_across(a, b)
        assert math.isclose(along + across, np.square(a - b).sum(), rel_tol=1e-9, abs_tol=1e-12)
        assert np.square(covers.to_ball(a) - b).sum() <= along + across + 1e-12


def head_output(tokens, query, score, value):
    return covers.softmax(query @ score @ tokens.T) @ tokens @ value


@claim(
    "ED-L43",
    mutant=("flatcube.capacity.covers.SOFTMAX", 0.4, "The constant of softmax is too small."),
    note="500 random heads with 2 to 200 tokens, and two opposite tokens, which reach the bound up to 1 %",
)
def test_a_head_moves_no_more_than_its_scores_and_values():
    rng = np.random.default_rng(7)

    def compare(tokens, query, score, value, other_score, other_value):
        norm = np.linalg.norm(tokens, axis=1).max()
        one = HeadNorms(Norms.of(score), Norms.of(value))
        reach = capacity.head(one, T=len(tokens), input_norm=norm, form="explicit").reaches
        scores = np.abs(query @ (score - other_score) @ tokens.T).max()
        values = np.linalg.norm(tokens @ (value - other_value), axis=1).max()
        before, after = (head_output(tokens, query, *w) for w in ((score, value), (other_score, other_value)))
        allowed = reach["score"] * scores + reach["value"] * values
        assert np.linalg.norm(before - after) <= allowed + 1e-12
        return np.linalg.norm(before - after) / allowed

    for T in (2, 5, 20, 100, 200):
        for _ in range(100):
            tokens = rng.normal(size=(T, 4)) * rng.uniform(0.2, 2)
            score, value, ds, dv = rng.normal(size=(4, 4, 4)) * 10 ** rng.uniform(-2, 0.5, (4, 1, 1))
            compare(tokens, tokens[0], score, value, score + ds, value + dv)
    opposite, still = np.array([[1.0], [-1.0]]), np.array([[1.0]])
    assert compare(opposite, np.array([1.0]), np.zeros((1, 1)), still, np.array([[0.1]]), still) > 0.99


@claim(
    "ED-T42",
    mutant=(
        "flatcube.capacity.bounds.heads",
        lambda *a, **k: Cover((c := _heads(*a, **k)).sizes, {n: r / 10 for n, r in c.reaches.items()}, c.T, c.form),
        "Errors reach ten times less far.",
    ),
    note="heads with 2 to 12 tokens: covers of scores and of values, built column by column, keep the output within ε",
)
def test_covers_of_scores_and_values_make_a_cover_of_heads():
    rng = np.random.default_rng(8)

    def approximated(matrix, inputs, eps):
        errors = covers.column_errors(np.linalg.norm(matrix, axis=0), eps)
        found = [covers.correct(column, inputs, e) for column, e in zip(matrix.T, errors, strict=True)]
        return np.stack([one.weights for one in found], axis=1), sum(len(one.steps) for one in found)

    instances = [(unit(rng.normal(size=(T, 3))), *rng.normal(size=(2, 3, 3))) for T in (2, 4, 12) for _ in range(4)]
    for eps in (0.3, 0.6):
        edge = np.array([[1.0], [-1.0]])  # two opposite tokens, whose score may be taken for zero
        for tokens, score, value in [*instances, (edge, 3 * eps * np.eye(1), np.eye(1))]:
            one = HeadNorms(Norms.of(score.T), Norms.of(value))
            covered = capacity.head(one, T=len(tokens), form="explicit")
            errors = covered.errors(eps)
            keys, steps = approximated(score.T, tokens, errors["score"])
            values, more = approximated(value, tokens, errors["value"])
            moved = covers.attend(tokens, score, value) - covers.attend(tokens, keys.T, values)
            assert np.linalg.norm(moved, axis=1).max() <= eps
            taken = (steps + more) * math.log(2 * len(tokens) + 1)
            assert taken <= covered.log_number(eps, 1).value + 1e-9


# --- one head, several heads ------------------------------------------------------------------------------------------


def minimum(sizes, reaches, eps):
    """min Σ (size/x)² over Σ reach·x = ε by a general optimiser, in the logarithms of x."""
    sizes, reaches = np.asarray(sizes, float), np.asarray(reaches, float)

    def value(free):
        weights = np.exp(free - free.max())
        errors = weights * eps / (reaches @ weights)
        return np.log(np.sum((sizes / errors) ** 2))

    found = minimize(value, np.zeros(len(sizes)), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000})  # fmt: skip  # noqa: E501
    return math.exp(found.fun)


def of_any_sign(sizes, reaches, eps):
    """Lemma A.8 without x > 0: two large errors of opposite signs cost next to nothing."""
    errors = np.full(len(sizes), 1000.0)
    errors[0] = (eps - np.sum(np.multiply(reaches, errors)[1:])) / reaches[0]
    return errors, float(np.sum(np.square(sizes / errors)))


@claim(
    "ED-A8",
    printed=("flatcube.capacity.covers.split", of_any_sign, "Errors may be negative."),
    erratum=54,
    mutant=(
        "flatcube.capacity.covers.split",
        lambda s, r, e: (np.full(len(s), e / np.sum(r)), float(np.sum(np.square(np.multiply(s, np.sum(r)) / e)))),
        "All parts get the same error.",
    ),
    note="20 random problems against a general optimiser; α = β = (1, 1), C = 1 gives 8",
)
def test_the_best_way_to_share_out_an_error():
    rng = np.random.default_rng(9)
    for _ in range(20):
        sizes, reaches = 10 ** rng.uniform(-1, 1, (2, rng.integers(2, 5)))
        errors, value = covers.split(sizes, reaches, 0.7)
        assert (errors > 0).all() and math.isclose(reaches @ errors, 0.7)
        assert math.isclose(np.sum((sizes / errors) ** 2), value)
        assert value == pytest.approx(minimum(sizes, reaches, 0.7), rel=1e-6)
    assert covers.split([1, 1], [1, 1], 1)[1] == pytest.approx(8)


def main_text(several, *, T, input_norm=1.0, query_norm=None, form="corrected"):
    """Corollary 4.4: (d B_X)² (B_V^∞^(2/3) + (B_QK^∞ B_V)^(2/3))³."""
    right = _heads(several, T=T, input_norm=input_norm, query_norm=1.0, form=form)
    reaches = {n: r / (2 * input_norm) if n.endswith("score") else r for n, r in right.reaches.items()}
    return Cover(right.sizes, reaches, T, form)


@claim(
    "ED-C44",
    printed=("flatcube.capacity.bounds.heads", main_text, "B_QK B_V in the bracket, without B_X."),
    erratum=52,
    note="B_X = 10 and all else 1: 58,597 with a query of norm 1; 4,361,242 with one of norm B_X, as scaling demands",
)
def test_a_head_from_two_covers():
    one = HeadNorms(ones(), ones())
    assert np.sum(np.cbrt(np.array([10 * 1, 10 * 20]) ** 2)) ** 3 == pytest.approx(58_597, abs=1)
    asked = capacity.head(one, T=1, input_norm=10, query_norm=1)
    assert asked.capacity(math.e) == pytest.approx(58_597, abs=1)
    assert asked.capacity(math.e) == pytest.approx(minimum([10, 10], [20, 1], 1), rel=1e-6)
    token = capacity.head(one, T=1, input_norm=10)  # the query is one of the tokens: B_X² in the bracket
    assert token.capacity(math.e) == pytest.approx(10**2 * (1 + (2 * 10**2) ** (2 / 3)) ** 3)
    assert token.capacity(math.e) == pytest.approx(4_361_242, abs=1)
    for norm in (0.3, 1, 10):  # tokens of norm B with weights W, V are tokens of norm 1 with weights B²W, BV
        whole = capacity.head(one, T=7, input_norm=norm)
        scaled = capacity.head(HeadNorms(one.score.times(norm**2), one.value.times(norm)), T=7)
        assert whole.capacity(100) == pytest.approx(scaled.capacity(100))


def lemma_a12(several, *, T, input_norm=1.0, query_norm=None, form="corrected"):
    """Lemma A.12: the factor 2 is there, B_X is not."""
    right = _heads(several, T=T, input_norm=input_norm, query_norm=1.0, form=form)
    reaches = {n: r / input_norm if n.endswith("score") else r for n, r in right.reaches.items()}
    return Cover(right.sizes, reaches, T, form)


@claim(
    "ED-S42-HEADS",
    printed=("flatcube.capacity.bounds.heads", lemma_a12, "2 B_QK B_V in the bracket, without B_X."),
    erratum=52,
    mutant=(
        "flatcube.capacity.bounds.heads",
        lambda several, **k: _heads(several[:1], **k),
        "Only the first head is counted.",
    ),
    note="2H parts in Lemma A.8: H equal heads cost H³ times one, for H up to 6",
)
def test_equal_heads_cost_their_cube():
    one = HeadNorms(ones(3, 1.5, 0.7), ones(3, 2.0, 0.9))
    alone = capacity.heads([one], T=9, input_norm=2, query_norm=1)
    for H in range(1, 7):
        together = capacity.heads([one] * H, T=9, input_norm=2, query_norm=1)
        assert together.capacity(50) == pytest.approx(H**3 * alone.capacity(50))
    sizes, reaches = [2 * 3 * 0.7, 2 * 3 * 0.9], [2 * 2.0 * 2, 1]
    assert alone.capacity(50) == pytest.approx(minimum(sizes, reaches, 1) * math.log(450), rel=1e-6)


@claim(
    "ED-S42-POS",
    mutant=[
        ("flatcube.capacity.bounds.Cover.points", lambda self, m: m * self.T, "No logarithm of the number of tokens."),
        (
            "flatcube.capacity.covers.positions",
            lambda T, d, b, e: d * math.log(T + 2 * b / e),
            "Positions share one vector.",
        ),
    ],
    note="T from 10 to 10⁶: with fixed positions C grows {grown:.2f}-fold, trained ones cost 10⁵ times as much",
)
def test_fixed_positions_cost_a_logarithm_and_trained_ones_T():
    one, m = HeadNorms(ones(8), ones(8)), 1000
    fixed = {T: capacity.head(one, T=T, input_norm=1 + 0.5).capacity(m) for T in (10, 10**6)}
    assert 1 < fixed[10**6] / fixed[10] < 2.3
    assert fixed[10] > capacity.head(one, T=10, input_norm=1).capacity(m)
    assert covers.positions(10**6, 8, 0.5, 0.1) / covers.positions(10, 8, 0.5, 0.1) == pytest.approx(1e5)
    return {"grown": fixed[10**6] / fixed[10]}


# --- depth ------------------------------------------------------------------------------------------------------------


@claim(
    "ED-S43-BLOCK",
    mutant=("flatcube.capacity.covers.to_ball", on_the_sphere, "Rows are normalised to norm 1, not projected."),
    note="against a computation row by row; short rows stay as they are, long ones end on the sphere",
)
def test_a_block_row_by_row():
    rng = np.random.default_rng(10)
    for scale in (0.2, 1, 4):
        Z, W, V, C = (scale * rng.normal(size=s) for s in ((6, 3), (3, 3), (3, 5), (5, 3)))
        out = covers.block(Z, W, V, C)
        for row, z in zip(out, Z, strict=True):
            weights = np.exp([z @ W @ x for x in Z])
            mixed = sum(w * (x @ V) for w, x in zip(weights / weights.sum(), Z, strict=True))
            mixed = mixed if mixed @ mixed <= 1 else mixed / math.sqrt(mixed @ mixed)
            last = np.where(mixed > 0, mixed, 0) @ C
            last = last if last @ last <= 1 else last / math.sqrt(last @ last)
            assert np.allclose(row, last)


@claim(
    "ED-A13",
    mutant=(
        "flatcube.capacity.norms.LayerNorms.parts",
        lambda *_: {"score": (1, 0.4), "value": (1, 1)},
        "Scores reach too short.",
    ),
    note="500 random changes of W and V with tokens in the unit ball, and the two opposite tokens that reach the bound",
)
def test_changing_weights_moves_attention_no_more_than_its_parts_say():
    rng = np.random.default_rng(11)

    def compare(Z, W, V, dW, dV):
        layer = LayerNorms((HeadNorms(Norms.of(W.T), Norms.of(V)),), Norms.fixed())
        reach = {name: part[1] for name, part in layer.parts("explicit", covers.SOFTMAX).items()}
        moved = np.linalg.norm(covers.attend(Z, W, V) - covers.attend(Z, W + dW, V + dV), axis=1).max()
        allowed = reach["score"] * np.linalg.norm(Z @ dW, axis=1).max()
        allowed += reach["value"] * np.linalg.norm(Z @ dV, axis=1).max()
        assert moved <= allowed + 1e-12

    for _ in range(500):
        Z, (W, V, dW, dV) = covers.to_ball(rng.normal(size=(8, 3))), rng.normal(size=(4, 3, 3))
        compare(Z, W, V / np.linalg.norm(V, 2), dW * 10 ** rng.uniform(-3, 0), dV * 10 ** rng.uniform(-3, 0))
    compare(np.array([[1.0], [-1.0]]), np.full((1, 1), 1e-9), np.eye(1), np.full((1, 1), 0.1), np.zeros((1, 1)))


def fixed_scores(head, softmax):
    return head.value.spectral


@claim(
    "ED-A14",
    mutant=("flatcube.capacity.norms.HeadNorms.stretch", fixed_scores, "Tokens move, their scores do not."),
    note="1,000 random moves of tokens in the unit ball, with softmax's constant 1 in place of 2",
)
def test_changing_tokens_moves_attention_no_more_than_its_stretch():
    rng, ratios = np.random.default_rng(12), []
    for _ in range(1000):
        T, d = rng.integers(2, 6), rng.integers(1, 4)
        Z, W, V = rng.uniform(-1, 1, (T, d)), rng.normal(size=(d, d)) * 3, rng.normal(size=(d, d))
        Z = covers.to_ball(Z)
        moved = covers.to_ball(Z + rng.choice([-1, 1], (T, d)) * 10 ** rng.uniform(-3, 0))
        given = np.linalg.norm(Z - moved, axis=1).max()
        seen = np.linalg.norm(covers.attend(Z, W, V) - covers.attend(moved, W, V), axis=1).max()
        ratios.append(seen / given / HeadNorms(Norms.of(W), Norms.of(V)).stretch(covers.SOFTMAX))
    assert max(ratios) <= 1


def network_of(blocks, readout):
    """ED's network of numpy weights [(W, V, C), …] and w, as norms."""
    layers = tuple(LayerNorms((HeadNorms(Norms.of(W.T), Norms.of(V)),), Norms.of(C)) for W, V, C in blocks)
    return NetworkNorms(layers, Norms.of(readout[:, None]), 5)


def run(Z, blocks, readout):
    for W, V, C in blocks:
        Z = covers.block(Z, W, V, C)
    return Z, float(Z[0] @ readout)


def backwards(network, form="corrected"):
    """Layer errors stretched by the layers before, the read-out in its place."""
    printed, right = _cover(network, "printed"), _cover(network, form)
    readout = network.readout.spectral
    reaches = {name: r * (1 if name == "read-out" else readout) for name, r in printed.reaches.items()}
    return Cover(right.sizes, reaches, network.T, form)


def without_readout(network, form="corrected"):
    right, readout = _cover(network, form), network.readout.spectral
    reaches = {name: r / (1 if name == "read-out" else readout) for name, r in right.reaches.items()}
    return Cover(right.sizes, reaches, network.T, form)


@claim(
    "ED-A15",
    mutant=[
        ("flatcube.capacity.bounds.cover", without_readout, "The read-out does not stretch the errors of the layers."),
        ("flatcube.capacity.bounds.cover", backwards, "Errors are stretched by the layers before."),
    ],
    note="200 networks of two blocks with every matrix changed: the output moves by at most Σ reach · error",
)
def test_errors_reach_as_far_as_the_cover_says():
    rng, worst = np.random.default_rng(13), 0.0

    def ratio(Z, blocks, readout, others, other_readout):
        reaches = capacity.cover(network_of(blocks, readout), "explicit").reaches
        allowed, inputs = 0.0, Z
        for i, (ours, theirs) in enumerate(zip(blocks, others, strict=True), 1):
            hidden = np.maximum(covers.to_ball(covers.attend(inputs, *theirs[:2])), 0)
            for part, k, seen in (("score", 0, inputs), ("value", 1, inputs), ("output", 2, hidden)):
                error = np.linalg.norm(seen @ (ours[k] - theirs[k]), axis=1).max()
                allowed += reaches.get(f"layer {i} {part}", 0.0) * error
            inputs = covers.block(inputs, *theirs)
        allowed += abs(inputs[0] @ (readout - other_readout))
        return abs(run(Z, blocks, readout)[1] - run(Z, others, other_readout)[1]) / allowed

    for draw in range(200):
        Z = covers.to_ball(rng.normal(size=(5, 3)))
        blocks = [[rng.normal(size=s) * 10 ** rng.uniform(-1, 0.3) for s in ((3, 3), (3, 4), (4, 3))] for _ in range(2)]
        only = draw % 2  # every other network changes its first block alone
        others = [[w + (not only or not i) * rng.normal(size=w.shape) * 0.05 for w in b] for i, b in enumerate(blocks)]
        readout = rng.normal(size=3) * 3
        worst = max(worst, ratio(Z, blocks, readout, others, readout))
    assert worst <= 1
    # two channels, uniform attention: block 2 and the read-out pass an error of block 1 on at full strength
    Z, zero, eye = np.full((5, 1), 0.1), np.zeros((1, 1)), np.eye(1)
    blocks, others = [[zero, eye, eye], [zero, 2 * eye, 3 * eye]], [[zero, eye, eye + 0.01], [zero, 2 * eye, 3 * eye]]
    tight = ratio(Z, blocks, np.array([10.0]), others, np.array([10.0]))
    assert 0.99 <= tight <= 1 + 1e-9


def printed_cover(network, form="corrected"):
    return _cover(network, "printed")


@claim(
    "ED-T46",
    printed=("flatcube.capacity.bounds.cover", printed_cover, "α_i is a product over the layers before i."),
    erratum=50,
    mutant=("flatcube.capacity.bounds.cover", backwards, "Errors are stretched by the layers before."),
    note="the recursion of the errors, unrolled for 1 to 4 layers of unequal norms, against the reaches",
)
def test_the_errors_of_a_layer_are_amplified_by_the_layers_after_it():
    rng = np.random.default_rng(14)
    for L in (1, 2, 3, 4):
        layers = tuple(plain_layer(*rng.uniform(0.3, 2, 3)) for _ in range(L))
        covered = capacity.cover(NetworkNorms(layers, ones(1, 1.0), 10))
        for i in range(L):
            error = 0.0
            for j, layer in enumerate(layers):  # ε ← stretch·ε + what this layer adds
                (one,), out = layer.heads, layer.output.spectral
                error = out * one.value.spectral * (1 + 4 * one.score.spectral) * error + (i == j)
            assert covered.reaches[f"layer {i + 1} output"] == pytest.approx(error)


@claim(
    "ED-T46",
    printed=("flatcube.capacity.bounds.cover", printed_cover, "The terms of the layers do not carry B_w."),
    erratum=51,
    mutant=("flatcube.capacity.bounds.cover", without_readout, "The terms of the layers do not carry B_w."),
    note="L = 1, B_w = 10, other norms 1: 9654 by Lemma A.8, also by a general optimiser; printed: 557",
)
def test_the_readout_stretches_the_errors_of_the_layers():
    covered = capacity.cover(NetworkNorms((plain_layer(),), ones(1, 10.0, 10.0), 1))
    assert covered.capacity(math.e) == pytest.approx(9654, abs=1)
    by_hand = minimum([10, 1, 1, 1], [1, 10, 20, 10], 1)
    assert covered.capacity(math.e) == pytest.approx(by_hand, rel=1e-5)
    assert _cover(NetworkNorms((plain_layer(),), ones(1, 10.0, 10.0), 1), "printed").capacity(math.e) == pytest.approx(557, abs=1)  # fmt: skip  # noqa: E501


@claim(
    "ED-T46",
    mutant=("flatcube.capacity.bounds.Cover.points", lambda self, m: float(self.T), "T without its logarithm."),
    note="four layers, T from 10 to 10⁶: C grows by the logarithm; in depth it grows like a power of the stretch",
)
def test_depth_costs_a_power_and_length_a_logarithm():
    def capacity_of(L, T):
        return capacity.cover(NetworkNorms((plain_layer(width=4),) * L, ones(1), T)).capacity(100)

    assert capacity_of(4, 10**6) / capacity_of(4, 10) == pytest.approx(math.log(10**8) / math.log(10**3))
    steps = [capacity_of(L + 1, 10) / capacity_of(L, 10) for L in (2, 3, 4)]
    assert steps == pytest.approx([25] * 3, rel=0.6)  # the square of the stretch, 1 + 4 = 5
    assert abs(steps[-1] - 25) < abs(steps[0] - 25)


@claim(
    "ED-S43-DEPTH",
    printed=(
        "flatcube.capacity.norms.HeadNorms.stretch",
        lambda self, softmax: self.value.spectral,
        "A layer stretches errors by the product of its spectral norms only.",
    ),
    erratum=72,
    note="all norms 1: the sixth layer multiplies the bound by {plain:.0f}, with softmax's best constant by "
    "{sharp:.1f}; with ‖V‖ = 1/5 the forty-first multiplies it by {short:.2f}",
)
def test_unit_norms_do_not_remove_the_exponential_in_depth():
    def growth(layer, L, form="corrected"):
        more, less = (
            capacity.cover(NetworkNorms((layer,) * depth, ones(1), 10), form).capacity(100) for depth in (L + 1, L)
        )
        return more / less

    plain, sharp = growth(plain_layer(width=4), 5), growth(plain_layer(width=4), 5, "explicit")
    short = growth(plain_layer(value=1 / 5, width=4), 40)
    assert plain == pytest.approx(25, rel=0.05) and sharp == pytest.approx(9, rel=0.1)  # squares of 5 and 3
    assert 1 < short < 1.1
    return {"plain": plain, "sharp": sharp, "short": short}


@claim(
    "ED-X2",
    printed=("flatcube.capacity.covers.SOFTMAX", 2.0, "The constant 2."),
    erratum=57,
    note="tiling (24, 2): constant 1 and sums of columns divide (Σ parts)³ by more than 50",
)
def test_what_sharper_constants_buy():
    network = capacity.tiling(24, 2)
    crude, sharp = (sum(capacity.cover(network, form).parts.values()) ** 3 for form in ("corrected", "explicit"))
    assert crude / sharp > 50


# --- from counting to generalisation ----------------------------------------------------------------------------------


@claim(
    "ED-D-RAD",
    mutant=("flatcube.capacity.covers.rademacher", lambda values, **k: covers.Estimate(covers.massart(values), *[0] * 6), "Massart's bound is taken for the complexity."),  # noqa: E501
    note="hidden 3-ANDs, m = 60: {means[0]:.2f}, {means[1]:.2f}, {means[2]:.2f} for T = 10, 20, 40; exact over all "
    "signs for m = 10",
)  # fmt: skip
def test_rademacher_complexity_of_hidden_ands():
    rng, means = np.random.default_rng(15), []
    for T, expected in ((10, 0.103), (20, 0.128), (40, 0.156)):
        values = hidden_ands(T, rng.integers(0, 2, (60, T)))
        found = covers.rademacher(values, draws=500, rng=rng).value
        assert found == pytest.approx(expected, abs=0.02)
        assert found < covers.massart(values)
        means.append(found)
    values = hidden_ands(6, rng.integers(0, 2, (10, 6)))
    signs = np.array(list(itertools.product([-1, 1], repeat=10)))
    exact = (signs @ values.T).max(axis=1).mean() / 10
    assert abs(covers.rademacher(values, draws=20_000, rng=rng).value - exact) < 0.005
    return {"means": means}


@claim(
    "ED-LA2",
    mutant=(
        "flatcube.capacity.bounds.chaining",
        lambda C, *, m, ceiling, start=1.0, slope=1.0: math.sqrt(C / m) / 20,
        "One scale in place of all.",
    ),
    note="with 4δ + 12∫: above the exact complexity of linear functions, and equal to a numerical integral",
)
def test_chaining_bounds_the_complexity_of_linear_functions():
    rng = np.random.default_rng(16)
    for m, d in ((20, 3), (200, 3), (200, 60)):
        inputs = unit(rng.normal(size=(m, d)))
        signs = rng.choice([-1, 1], (4000, m))
        exact = np.linalg.norm(signs @ inputs, axis=1).mean() / m  # the supremum over ‖w‖ ≤ 1
        C = math.log(2 * m + 1)  # log N(ε) ≤ C/ε²
        bound = capacity.chaining(C, m=m, ceiling=1, start=4, slope=12)
        assert exact <= bound
        cut = min(3 * math.sqrt(C / m), 1)
        integral = quad(lambda eps, C=C, m=m: math.sqrt(C / eps**2 / m), cut, 1)[0]
        assert bound == pytest.approx(4 * cut + 12 * integral)


def uncut(capacity, *, m, ceiling, start=1.0, slope=1.0):
    """The lower limit at C/m instead of √(C/m)."""
    cut = min(capacity / m, ceiling)
    return start * cut + slope * math.sqrt(capacity / m) * math.log(ceiling / cut)


@claim(
    "ED-CA3",
    mutant=("flatcube.capacity.bounds.chaining", uncut, "The lower limit is C/m."),
    note="20 random cases against a numerical minimum; closed form √(C/m)(1 + log(A√(m/C))) where √(C/m) ≤ A",
)
def test_the_best_lower_limit():
    rng = np.random.default_rng(17)
    for _ in range(20):
        C, m, A = 10 ** rng.uniform(0, 3), 10 ** rng.uniform(3.5, 6), rng.uniform(1, 5)
        root = math.sqrt(C / m)

        def value(log_cut, root=root, A=A):
            return math.exp(log_cut) + root * (math.log(A) - log_cut)

        least = minimize_scalar(value, bounds=(-20, math.log(A)), method="bounded", options={"xatol": 1e-10}).fun
        assert capacity.chaining(C, m=m, ceiling=A) == pytest.approx(least, rel=1e-6)
        assert capacity.chaining(C, m=m, ceiling=A) == pytest.approx(root * (1 + math.log(A / root)))


def without_capacity(complexity, **rest):
    return _deviation(complexity, **rest) | {"capacity": 0.0}


@claim(
    "ED-TA4",
    mutant=("flatcube.capacity.bounds.deviation", without_capacity, "The complexity of the class is left out."),
    note="3-ANDs and a class that fits every sample, 200 samples each: in no more than a share δ the gap is larger",
)
def test_the_gap_is_below_complexity_and_confidence():
    rng, m, delta = np.random.default_rng(18), 50, 0.1
    for explicit in (False, True):
        exceeded = np.zeros(2)
        for _ in range(200):
            bits = rng.integers(0, 2, (m, 10))
            losses = hidden_ands(10, bits)
            complexity = covers.rademacher(losses, draws=100, rng=rng).value
            allowed = capacity.deviation(complexity, m=m, lipschitz=1, clip=1, delta=delta, explicit=explicit)
            exceeded[0] += np.abs(losses.mean(axis=1) - 1 / 8).max() > sum(allowed.values())
            seen = len(np.unique(rng.integers(0, 2000, m)))  # 2,000 inputs; loss 0 on those seen, 1 on the others
            allowed = capacity.deviation(0.5, m=m, lipschitz=1, clip=1, delta=delta, explicit=explicit)
            exceeded[1] += 1 - seen / 2000 > sum(allowed.values())
        assert (exceeded <= delta * 200).all()


@claim(
    "ED-L22",
    mutant=[
        ("flatcube.capacity.bounds.chaining", uncut, "The lower limit is C/m."),
        ("flatcube.capacity.bounds.deviation", without_capacity, "The complexity of the class is left out."),
    ],
    note="4𝓛√(C/m)(1 + log(A√(m/C))) + 2b√(log(1/δ)/2m), written out, for 30 covers; 4𝓛A where √(C/m) ≥ A; for "
    "linear functions of 100 to 1600 points the complexity term is {least:.0f} to {most:.0f} times the true complexity",
)
def test_the_gap_written_out():
    rng = np.random.default_rng(19)
    for _ in range(30):
        covered = Cover({"all": 10 ** rng.uniform(-1, 1)}, {"all": 1.0}, 12)
        m, A, L, b, delta = 10 ** rng.uniform(4, 7), rng.uniform(1, 9), rng.uniform(1, 5), rng.uniform(1, 5), 0.01
        root = math.sqrt(covered.capacity(m) / m)
        first = 4 * L * (root * (1 + math.log(A / root)) if root <= A else A)
        second = 2 * b * math.sqrt(math.log(1 / delta) / (2 * m))
        found = capacity.gap(covered, m=m, ceiling=A, lipschitz=L, clip=b, delta=delta)
        assert found.terms == pytest.approx({"capacity": first, "confidence": second})
    huge = Cover({"all": 1e6}, {"all": 1.0}, 12)
    assert capacity.gap(huge, m=10, ceiling=3, lipschitz=2).terms["capacity"] == pytest.approx(4 * 2 * 3)
    above = []
    for m in (100, 400, 1600):  # x ↦ w·x with ‖w‖ ≤ 1: the complexity is E‖Σ σ_i x_i‖/m
        inputs, signs = unit(rng.normal(size=(m, 50))), rng.choice([-1.0, 1.0], (500, m))
        complexity = np.linalg.norm(signs @ inputs, axis=1).mean() / m
        above.append(capacity.chaining(covers.linear(1, 1, 1, m), m=m, ceiling=1) / complexity)
    assert min(above) > 1
    return {"least": min(above), "most": max(above)}
