"""Evidence for the claims of chapter 15: each test names its claim, and a mutation on which it fails."""

import itertools

import numpy as np
import pytest
import torch

from flatcube import cube, sensitivity, tokens
from flatcube.tokens import flips, learn, single, synthetic

claim = pytest.mark.claim
FLIPS, CUES = "flatcube.tokens.flips", "flatcube.tokens.synthetic"


# --- Definition 4.1 ---------------------------------------------------------------------------------------------------


def _sum(f, inputs, symbols, right=flips.exact):
    found = right(f, inputs, symbols)
    return found._replace(value=found.value * inputs.shape[1])


@claim("VA-D41", mutant=(f"{FLIPS}.exact", _sum, "The sum over places in the place of their mean."))
def test_on_bits_it_is_the_average_sensitivity_over_2T():
    """Chapter 2 counts the neighbours with another value; a uniform bit is the other one in half of the cases."""
    T, rng = 5, np.random.default_rng(0)
    bits = tokens.sequences(2, T)
    places = (bits * 2 ** np.arange(T)).sum(1)
    for table in [*rng.choice([-1, 1], (20, 2**T)), cube.formula("x1 ^ x2 ^ x3 ^ x4 ^ x5", T)]:
        index = {tuple(row): place for row, place in zip(bits, places, strict=True)}
        found = tokens.exact(lambda x, t=table, at=index: t[[at[tuple(row)] for row in x]], bits, 2)
        assert found.value == pytest.approx(sensitivity.average(table) / (2 * T))
        assert found.positions == pytest.approx(sensitivity.influences(table) / 2)


def _loudest(f, inputs, change, *, rng, repeats=1, present=None, right=flips.sampled):
    found = right(f, inputs, change, rng=rng, repeats=repeats, present=present)
    return found._replace(value=float(found.positions.max()))


@claim("VA-F1", mutant=(f"{FLIPS}.sampled", _loudest, "The most sensitive patch in the place of the mean over all."))
def test_each_patch_in_turn_gets_noise_and_predictions_are_compared():
    """A linear vote of the patches on images made here: the probability of another sign is known in closed form."""
    from scipy import stats

    data = tokens.made(60, rng=0).images
    patches = tokens.patches(data, 7).astype(float)
    weights = np.random.default_rng(1).normal(size=patches.shape[1:]) / 7
    centred = patches - patches.mean(0)

    def vote(x):
        return (x * weights).sum((1, 2))

    sigma = 1.0
    found = tokens.sampled(vote, centred, tokens.noisy(sigma), rng=2, repeats=40)
    chance = stats.norm.sf(np.abs(vote(centred))[:, None] / (sigma * np.linalg.norm(weights, axis=1)))
    assert found.value == pytest.approx(chance.mean(), abs=0.012)
    assert found.positions == pytest.approx(chance.mean(0), abs=0.06)


# --- the synthetic tokens ---------------------------------------------------------------------------------------------

SMALL = synthetic.Setting(2, 5, 3, 6, T=9, M=17)


def _blocks(self):
    found = np.zeros(self.symbols, int)
    found[:2], found[2 : 2 + self.m], found[2 + self.m : 2 * self.m + 2] = [1, -1], 1, -1
    return found


@claim("VA-D42", mutant=(f"{CUES}.Setting.classes", _blocks, "Frequent tokens of the classes in two blocks."))
def test_the_vocabulary():
    """VA number from 1: sparse e₁ and e₂, frequent e₃, e₅, … and e₄, e₆, …, irrelevant from e_(2m+3) on."""
    kinds, classes, m = SMALL.kinds(), SMALL.classes(), SMALL.m
    assert [int(k) + 1 for k in np.flatnonzero((kinds == 0) & (classes > 0))] == [1]
    assert [int(k) + 1 for k in np.flatnonzero((kinds == 0) & (classes < 0))] == [2]
    assert [int(k) + 1 for k in np.flatnonzero((kinds == 1) & (classes > 0))] == list(range(3, 2 * m + 2, 2))
    assert [int(k) + 1 for k in np.flatnonzero((kinds == 1) & (classes < 0))] == list(range(4, 2 * m + 3, 2))
    assert [int(k) + 1 for k in np.flatnonzero(kinds == 2)] == list(range(2 * m + 3, SMALL.symbols + 1))


def _never(setting, count, *, rng, flipped=False, right=synthetic.draw):
    return right(setting, count, rng=rng)


@claim("VA-D43", mutant=(f"{CUES}.draw", _never, "The sparse tokens of the test are not flipped."))
def test_a_sequence_has_the_tokens_that_its_class_asks_for():
    for flipped in (False, True):
        found, y = tokens.draw(SMALL, 4000, rng=0, flipped=flipped)
        kinds, spoken = SMALL.kinds()[found], SMALL.classes()[found] * y[:, None]
        assert found.shape == (4000, SMALL.T) and abs(y.mean()) < 0.05
        assert (((kinds == 0) & (spoken == (-1 if flipped else 1))).sum(1) == SMALL.n_s).all()
        assert (((kinds == 1) & (spoken == 1)).sum(1) == (SMALL.n_f + SMALL.n_d) // 2).all()
        assert (((kinds == 1) & (spoken == -1)).sum(1) == SMALL.n_f - (SMALL.n_f + SMALL.n_d) // 2).all()
        assert ((kinds == 2).sum(1) == SMALL.T - SMALL.n_s - SMALL.n_f).all()
        counts = np.bincount(found.ravel(), minlength=SMALL.symbols)[2 : 2 * SMALL.m + 2]
        assert counts.min() > 0.9 * counts.mean()  # uniform among frequent tokens
        shares = (kinds == 0).mean(0)
        assert shares == pytest.approx(np.full(SMALL.T, SMALL.n_s / SMALL.T), abs=0.03)  # every place alike


def _tied(self, x):
    return (self.attention(x) @ self.value[x]).mean(1) @ self.head.mean(0)


@claim("VA-EQ3", mutant=("flatcube.tokens.single.Single.forward", _tied, "One row of U for all tokens."))
def test_the_layer_is_the_formula_on_one_hot_tokens():
    model = single.Single(7, 4, width=3, std=1.0, seed=0)
    x = torch.tensor([[0, 3, 3, 6], [1, 2, 5, 4]])
    q, k, v, u = (getattr(model, name).detach().numpy() for name in ("query", "key", "value", "head"))
    for row, value in zip(x.numpy(), model(x).tolist(), strict=True):
        X = np.eye(7)[row]
        logits = X @ q @ k.T @ X.T
        weights = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        assert value == pytest.approx(np.sum(u * (weights @ X @ v)), rel=1e-4)
    assert u.shape == (4, 3)  # a row for each of the T tokens


def _total(model, tokens, setting, right=single.mass):
    return tuple(len(tokens) * value for value in right(model, tokens, setting))


@claim("VA-D-MET", mutant=("flatcube.tokens.single.mass", _total, "The sum over sequences in the place of the mean."))
def test_alignment_attention_and_flipped_accuracy():
    setting = SMALL
    found, y = tokens.draw(setting, 50, rng=0)
    model = single.Single(setting.symbols, setting.T, width=setting.symbols, seed=0)
    ways = tokens.directions(setting)
    with torch.no_grad():
        model.query.zero_()
        model.value.copy_(torch.eye(setting.symbols))
        model.head.copy_(torch.as_tensor(np.tile(3.0 * ways["sparse"], (setting.T, 1))))
    shares = [setting.n_s / setting.T, setting.n_f / setting.T, 1 - (setting.n_s + setting.n_f) / setting.T]
    assert tokens.mass(model, found, setting) == pytest.approx(shares)  # even attention: the shares of the tokens
    assert tokens.alignment(model, setting) == pytest.approx(
        {"sparse": 1, "frequent": 0, "irrelevant": 0,
         "mean": setting.n_s / np.sqrt(setting.n_s**2 + (3 / 6) ** 2 * 6)}, abs=1e-6)  # fmt: skip
    wrong, theirs = tokens.draw(setting, 50, rng=0, flipped=True)
    for some, labels, accuracy in ((found, y, 1.0), (wrong, theirs, 0.0)):
        assert np.mean(np.sign(tokens.numbers(model)(some)) == labels) == accuracy
    assert ways["sparse"].tolist()[:3] == [1, -1, 0] and ways["frequent"].sum() == 0
    assert (ways["irrelevant"] == (setting.kinds() == 2)).all()


# --- Tables 1 and 3 ---------------------------------------------------------------------------------------------------


def _others(setting, same, other, ours, right=synthetic._vote):
    return right(setting, same, other, ours) * setting.symbols / (setting.symbols - 1)


def _counted(setting, cue):
    """Over all pairs (place, symbol), on sequences of the setting: every sequence has the same share."""
    some, _ = tokens.draw(setting, 3, rng=0)
    return tokens.exact(cue, some, setting.symbols).value


VOTE = (f"{CUES}._vote", _others, "The new token is never the old one.")


@claim("VA-TAB1A", mutant=VOTE, note="as we read it: M = {M}, a tie is a change, the new token may be the old one")
def test_table_1_where_sparse_tokens_are_safe():
    setting = tokens.Setting(3, 5, 1, 16, M=59)
    assert tokens.sparse_sensitivity(setting) == 0
    assert round(tokens.frequent_sensitivity(setting), 4) == 0.2878
    assert _counted(setting, tokens.sparse) == 0
    assert _counted(setting, lambda x: tokens.frequent(x, 16)) == pytest.approx(tokens.frequent_sensitivity(setting))
    return {"M": setting.M}


@claim("VA-TAB1B", mutant=VOTE, note="as we read it: M = {M}, a tie is a change, the new token may be the old one")
def test_table_1_where_frequent_tokens_are_safe():
    setting = tokens.Setting(1, 17, 7, 20, M=69)
    assert round(tokens.sparse_sensitivity(setting), 4) == 0.0339
    assert tokens.sparse_sensitivity(setting) == pytest.approx((69 - 1 + 50 - 1) / (50 * 69))
    assert tokens.frequent_sensitivity(setting) == 0
    assert _counted(setting, tokens.sparse) == pytest.approx(tokens.sparse_sensitivity(setting))
    assert _counted(setting, lambda x: tokens.frequent(x, 20)) == 0
    return {"M": setting.M}


@claim("VA-TAB3A", mutant=VOTE, note="as we read it: M = {M}, a tie is a change, the new token may be the old one")
@pytest.mark.parametrize(("n_f", "m", "printed"), [(3, 6, 0.1315), (5, 16, 0.2878), (7, 28, 0.4502)])
def test_table_3_top(n_f, m, printed):
    setting = tokens.Setting(3, n_f, 1, m, M=59)
    a = (n_f + 1) // 2
    assert round(tokens.frequent_sensitivity(setting), 4) == printed
    assert tokens.frequent_sensitivity(setting) == pytest.approx((a + (50 - n_f - a) * m / 59) / 50)
    assert _counted(setting, lambda x: tokens.frequent(x, m)) == pytest.approx(tokens.frequent_sensitivity(setting))
    assert tokens.sparse_sensitivity(setting) == 0
    return {"M": setting.M}


@claim("VA-TAB3B", mutant=VOTE, note="as we read it: M = {M}, a tie is a change, the new token may be the old one")
@pytest.mark.parametrize(("n_f", "m"), [(7, 10), (17, 20)])
def test_table_3_bottom(n_f, m):
    setting = tokens.Setting(1, n_f, 7, m, M=69)
    assert tokens.frequent_sensitivity(setting) == 0
    assert round(tokens.sparse_sensitivity(setting), 4) == 0.0339
    assert _sizes(m) == [69]
    return {"M": setting.M}


@claim("VA-TAB3C", mutant=VOTE, note="read like the other columns: {value:.4f} with the least vocabulary, M = {M}")
def test_the_last_column_of_table_3_needs_a_larger_vocabulary():
    """The printed 0.0339 needs M = 69, which leaves no irrelevant token to the last column, with its 74 others."""
    setting = tokens.Setting(1, 32, 7, 36, M=2 * 36 + 3)
    assert tokens.frequent_sensitivity(setting) == 0
    assert round(tokens.sparse_sensitivity(setting), 4) == 0.0328
    assert _sizes(36) == []
    return {"value": tokens.sparse_sensitivity(setting), "M": setting.M}


def _sizes(m):
    """The vocabularies that hold 2 m frequent tokens and give the sparse token a sensitivity of 0.0339."""
    return [M for M in range(2 * m + 3, 200) if round((M + 48) / (50 * M), 4) == 0.0339]


# --- patches, and training for low sensitivity ------------------------------------------------------------------------


def _strips(images, size):
    return np.asarray(images).reshape(len(images), -1, size * size)


@claim("VA-D51", mutant=("flatcube.tokens.images.patches", _strips, "Pixels in a row in the place of squares."))
def test_an_image_is_its_patches():
    image = np.arange(2 * 12 * 8).reshape(2, 12, 8)
    found = tokens.patches(image, 4)
    assert found.shape == (2, 6, 16)
    for n, i, j in itertools.product(range(2), range(3), range(2)):
        square = image[n, 4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        assert np.array_equal(found[n, 2 * i + j], square.ravel())
    assert np.array_equal(tokens.assembled(found, 8), image)


def _everywhere(weight=0.25, variance=1.0):
    def penalty(model, x, y, source):
        changed = x + variance**0.5 * torch.randn(x.shape, generator=source)
        return weight * (model(changed) - model(x)).square().mean()

    return penalty


@claim("VA-REG", mutant=("flatcube.tokens.learn.steady", _everywhere, "Noise in all patches."))
def test_both_regularisers_are_what_they_say():
    """On a linear map with weights w the expected penalty is weight · variance · ‖w_τ‖², in the mean over places τ."""
    weights = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])

    def linear(x):
        return (x * weights).sum((1, 2))[:, None] * torch.tensor([1.0, -1.0])

    x, source = torch.zeros(40_000, 3, 2), torch.Generator().manual_seed(0)
    y = torch.zeros(len(x), dtype=torch.long)
    penalty = tokens.steady(0.25, 1.0)(linear, x, y, source)
    assert float(penalty) == pytest.approx(0.25 * float(weights.square().sum(1).mean()), rel=0.05)
    # On noisy copies the logits of a linear map are z and −z with z normal: their loss is the mean of log(1 + e^−2z).
    spread = (0.1 * float(weights.square().sum())) ** 0.5
    z = spread * np.random.default_rng(0).standard_normal(200_000)
    expected = np.logaddexp(0, -2 * z).mean()
    assert float(learn.noisy_copies(0.1)(linear, x, y, source)) == pytest.approx(expected, rel=0.05)
