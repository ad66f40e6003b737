"""Certificates: they hold as often as they say where the truth is known, not without any of their terms, and change
nothing of the network."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn

from flatcube import cast, cube, fourier, handmade, networks, pacbayes, sampling
from flatcube.experiments import store
from flatcube.pacbayes import certificates, certified, certifier
from flatcube.pacbayes.inequalities import kl_inverse

SURE = 0.999  # of the test's own statements about how often a bound fails


# --- the inversion ----------------------------------------------------------------------------------------------------


def inverse(p: float, budget: float) -> mpmath.mpf:
    """The same with 120 digits, by bisection in u = log((1−p)/(1−q))."""
    with mpmath.workdps(120):
        p, budget = mpmath.mpf(p), mpmath.mpf(budget)
        low, high = mpmath.mpf(0), (budget + 2) / (1 - p)

        def q(u):
            return 1 - (1 - p) * mpmath.exp(-u)

        for _ in range(300):
            middle = (low + high) / 2
            spent = (1 - p) * middle + (p * mpmath.log(p / q(middle)) if p else 0)
            low, high = (low, middle) if spent > budget else (middle, high)
        return q(low)


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-12, 1e-5, 0.1, 0.5, 0.9, 1 - 1e-9])
def test_the_inverse_of_kl_is_exact(p):
    for budget in (1e-18, 1e-12, 1e-4, 0.1, 3.0, 40.0):
        found, truth = kl_inverse(p, budget), inverse(p, budget)
        assert p <= found <= 1
        assert abs(found - truth) <= 1e-12 * abs(truth - mpmath.mpf(p)) + 2.3e-16 * found  # what rounding q adds


def test_the_inverse_of_kl_at_its_ends():
    assert kl_inverse(0, 0.3) == -math.expm1(-0.3) and kl_inverse(1, 0.3) == 1
    assert [kl_inverse(p, 0) for p in (0, 0.3, 1)] == [0, 0.3, 1]
    assert kl_inverse(0.2, 1e4) == 1 and kl_inverse(1 - 2**-53, 1e-3) == 1
    shares = np.linspace(0, 1, 101)
    assert (np.diff([kl_inverse(p, 0.01) for p in shares]) >= 0).all()


def test_two_roots_of_m_are_enough():
    """Maurer's Σ_k C(m,k)(k/m)^k(1−k/m)^(m−k) ≤ 2√m, also for m below 8, where his proof does not reach."""
    for m in (*range(1, 60), 1000):
        k = np.arange(m + 1)
        logs = [math.lgamma(m + 1) - math.lgamma(i + 1) - math.lgamma(m - i + 1) for i in k]
        powers = np.where(k > 0, k * np.log(np.maximum(k, 1) / m), 0) + np.where(
            k < m, (m - k) * np.log(np.maximum(m - k, 1) / m), 0
        )
        assert np.exp(logs + powers).sum() <= 2 * math.sqrt(m) * (1 + 1e-12)


# --- how often they hold ----------------------------------------------------------------------------------------------


def fails(truths, values) -> tuple[float, float]:
    """Between which limits the chance lies that a truth is above its bound, as far as these tell."""
    wrong = sum(truth > value for truth, value in zip(truths, values, strict=True))
    return sampling.proportion(wrong, len(values), SURE)


def without(name: str, bound) -> float:
    """The last of the terms left out; those before it do not depend on it."""
    return bound.value - bound.terms[name]


def coins(rng: np.random.Generator, count: int, m: int) -> int:
    """How often the best of ``count`` fair coins is wrong on m examples: all of them have risk ½."""
    return int(rng.binomial(m, 0.5, count).min())


def test_the_best_of_many_coins(capsys):
    """A prior that is uniform on 10⁴ coins and a posterior on the one that looks best: KL = log 10⁴."""
    rng, m, delta, count = np.random.default_rng(1), 60, 0.1, 10**4
    shares = [coins(rng, count, m) / m for _ in range(300)]
    truths = [0.5] * len(shares)
    right = [pacbayes.seeger(s, math.log(count), m=m, delta=delta).value for s in shares]
    cheap = [pacbayes.seeger(s, 0.0, m=m, delta=delta).value for s in shares]
    free = [pacbayes.seeger(s, math.log(count), m=m, delta=delta) for s in shares]
    assert fails(truths, right)[0] <= delta < fails(truths, cheap)[0]
    assert fails(truths, [bound.value - bound.terms["noisy loss"] for bound in free])[0] > delta
    with capsys.disabled():
        print(f"\ncoins: {fails(truths, right)}, without KL {fails(truths, cheap)}")


def test_one_coin_needs_the_confidence_term(capsys):
    rng, m, delta = np.random.default_rng(2), 60, 0.1
    bounds = [pacbayes.seeger(coins(rng, 1, m) / m, 0.0, m=m, delta=delta) for _ in range(300)]
    truths = [0.5] * len(bounds)
    assert fails(truths, [bound.value for bound in bounds])[0] <= delta
    assert fails(truths, [without("confidence", bound) for bound in bounds])[0] > delta
    with capsys.disabled():
        print(f"one coin: without confidence {fails(truths, [without('confidence', b) for b in bounds])}")


def test_choosing_a_prior_has_its_price(capsys):
    """Networks of 4000 weights whose answers depend on the size of these alone: another coin for each of ``SCALES``.

    The posterior at the luckiest scale is itself a prior of the grid: KL = 0, and only log N pays for the luck.
    """
    rng, m, delta, rows = np.random.default_rng(3), 20, 0.2, []
    for _ in range(300):
        wrong = rng.binomial(m, 0.5, len(certified.SCALES))
        luckiest = float(certified.SCALES[wrong.argmin()])
        kl, price, prior = certified.prior_scales({"w": 0.0}, {"w": 4000}, {"w": luckiest})
        assert kl < 1e-9 and prior == {"w": luckiest} and price == pytest.approx(math.log(2 * len(certified.SCALES)))
        rows.append((wrong.min() / m, kl, price))
    truths = [0.5] * len(rows)
    right = [pacbayes.seeger(share, kl, m=m, delta=delta, price=price).value for share, kl, price in rows]
    free = [pacbayes.seeger(share, kl, m=m, delta=delta).value for share, kl, _ in rows]
    assert fails(truths, right)[0] <= delta < fails(truths, free)[0]
    with capsys.disabled():
        print(f"choice: {fails(truths, right)}, without its price {fails(truths, free)}")


class Line(nn.Module):
    """Inputs (batch, k) to w·x."""

    def __init__(self, weights: list[float]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(weights, dtype=torch.float64))

    def forward(self, x):
        return x @ self.w


def test_the_draws_of_noise_count(capsys, monkeypatch):
    """One weight N(0, 1) whose sign answers, all targets +1: the Gibbs risk is ½, and 50 draws may say less."""
    data = torch.ones(20_000, 1, dtype=torch.float64), torch.ones(20_000)
    values, free, delta, given = [], [], 0.05, certified.seeger
    for seed in range(150):
        options = {"sigma": 1.0, "draws": 50, "delta": delta, "seed": seed, "progress": False}
        found = pacbayes.certify(Line([0.0]), data, **options)
        values.append(found.value)
        again = given(found.terms["noisy loss"], found.kl, m=found.m, delta=delta, price=math.log(2 * 162))
        free.append(again.value)
    truths = [0.5] * len(values)
    assert fails(truths, values)[0] <= delta < fails(truths, free)[0]
    with capsys.disabled():
        print(f"draws: {fails(truths, values)}, without them {fails(truths, free)}")


def test_a_gaussian_posterior_with_a_closed_form(capsys):
    """x ~ N(1, 1), target +1, answer sign(wx), w ~ N(θ, s²): risk Φ(θ/s)Φ(−1) + Φ(−θ/s)Φ(1); s is looked for."""
    values, truths, free, delta = [], [], [], 0.2
    for seed in range(100):
        rng = np.random.default_rng([4, seed])
        x = rng.normal(1, 1, (40, 1))
        found = pacbayes.certify(
            Line([float(x.mean())]), (x, np.ones(40)), draws=400, looks=8, rounds=1, delta=delta, seed=seed,
            progress=False,
        )  # fmt: skip
        z = float(x.mean()) / found.sigma["w"]
        truths.append(norm.cdf(z) * norm.cdf(-1) + norm.cdf(-z) * norm.cdf(1))
        values.append(found.value)
        free.append(found.terms["noisy loss"])
    assert fails(truths, values)[0] <= delta < fails(truths, free)[0]
    with capsys.disabled():
        print(f"Gaussian: {fails(truths, values)}, the noisy loss alone {fails(truths, free)}")


def test_targets_that_are_noise(capsys, monkeypatch):
    """60 weights that fit 40 fair coins: every network has risk ½, so the certificate must not be below."""
    values, free, delta, cheap = [], [], 0.05, certifier.seeger
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        x, y = rng.normal(size=(40, 60)), rng.choice([-1.0, 1.0], 40)
        model = Line(np.linalg.lstsq(x, y, rcond=None)[0].tolist())
        options = {"sigma": 0.01, "draws": 100, "delta": delta, "seed": seed, "progress": False}
        found = pacbayes.certify(model, (x, y), **options)
        assert found.empirical == 0 and found.vacuous
        values.append(found.value)
        with monkeypatch.context() as patch:
            patch.setattr(certifier, "seeger", lambda noisy, kl, **rest: cheap(noisy, 0.0, **rest))
            free.append(pacbayes.certify(model, (x, y), **options).value)
    truths = [0.5] * len(values)
    assert fails(truths, values)[0] <= delta < fails(truths, free)[0]
    with capsys.disabled():
        print(f"noise: {fails(truths, values)}, without KL {fails(truths, free)}")


# --- what a certificate is made of ------------------------------------------------------------------------------------


def test_the_best_prior_against_all_of_them():
    far, sizes, sigma = {"a": 3.0, "b": 0.02}, {"a": 50, "b": 200}, {"a": 0.1, "b": 0.3}
    kl, price, prior = certified.prior_scales(far, sizes, sigma)
    each = {
        group: [pacbayes.divergence(far[group], sigma[group], float(s), size=sizes[group]) for s in certified.SCALES]
        for group in far
    }
    apart = sum(min(values) for values in each.values())
    together = min(a + b for a, b in zip(each["a"], each["b"], strict=True))
    one, two = math.log(2 * 162), math.log(2) + 2 * math.log(162)
    assert kl + price == pytest.approx(min(apart + two, together + one))
    assert {group: each[group][list(certified.SCALES).index(s)] for group, s in prior.items()}
    ideal = sum(sizes[g] / 2 * math.log(1 + far[g] / (sizes[g] * sigma[g] ** 2)) for g in far)
    assert ideal <= apart <= ideal + 0.003 * 250  # the grid is as good as any variance, but for half a step


def test_terms_add_up_and_are_told():
    bound = pacbayes.seeger(0.1, 30, m=1000, delta=0.05, price=5, draws=200, clip=4)
    assert list(bound.terms) == ["noisy loss", "draws", "divergence", "choice of prior", "confidence"]
    first = kl_inverse(0.025, math.log(100) / 200)
    assert bound.value == pytest.approx(4 * kl_inverse(first, (35 + math.log(2 * math.sqrt(1000) / 0.04)) / 1000))
    assert pacbayes.seeger(0.1, 7, m=400, delta=0.05).value == pytest.approx(
        pacbayes.small_kl(0.1, 7, m=400, delta=0.05)
    )
    assert "choice of prior" in bound.explain() and "The risk on 1,000 examples" in bound.explain()


def small_encoder(seed: int = 1) -> networks.Encoder:
    return networks.Encoder(networks.Config(n=4, width=8, layers=1, heads=1), seed=seed, dtype=torch.float64)


QUICK = {"draws": 20, "looks": 2, "rounds": 1, "progress": False, "seed": 3}
BITS = (np.arange(64)[:, None] >> np.arange(4)) & 1


def test_the_construction_is_dominated_by_itself_and_says_something():
    plan = pacbayes.disjoint(4, 2, 2)
    model, y = handmade.assemble(plan), handmade.target_values(plan, BITS)
    found = pacbayes.certify(
        model, (np.tile(BITS, (800, 1)), np.tile(y, 800)), loss="squared", exclude=("tokens", "positions"),
        construction=model, test=(BITS, y), draws=300, looks=8, rounds=2, progress=False, seed=1,
    )  # fmt: skip
    assert found.dominated and not found.vacuous and found.noisy_test < found.value < found.constant
    assert found.constant == pytest.approx(1, abs=1e-6) and found.test == pytest.approx(0, abs=1e-12)
    assert "says something" in found.explain() and "domination holds" in found.explain()
    larger = pacbayes.Account({"all": 1.0}, {"all": 1.0})
    assert not pacbayes.certify(model, (BITS, y), loss="squared", construction=larger, **QUICK).dominated
    assert pacbayes.certify(model, (BITS, y), loss="squared", **QUICK).dominated is None


def test_traces_are_compared_on_inputs_drawn_at_random():
    """Of more inputs than are looked at: those that come first in order all begin with the same bit."""
    n = 10
    bits = cube.to_bits(cube.points(n))[:, ::-1].copy()
    table = cast.table("FIRST", n)[cube.index(1 - 2 * bits)].astype(float)
    model = handmade.build(fourier.to_even(fourier.spectrum(cast.table("FIRST", n))), n)
    found = pacbayes.certify(model, (bits, table), exclude=("tokens", "positions"), construction=model, **QUICK)
    every, first = (pacbayes.of_model(model, x).trace for x in (bits, bits[: certifier._LOOKED_AT]))
    assert first < every / 3  # so that it matters which are taken
    assert found.domination["trace"][0] == pytest.approx(every, rel=0.15)


def test_a_prior_near_by_is_cheaper_and_seeds_are_all_there_is_to_chance():
    model, y = small_encoder(), np.where(BITS[:, 0], -1.0, 1.0)
    moved = networks.Encoder(model.config, parameters={k: p.detach() + 0.01 for k, p in model.named_parameters()})
    options = QUICK | {"sigma": 0.05}
    far, near = (pacbayes.certify(model, (BITS, y), prior=prior, **options) for prior in (None, moved))
    assert near.kl < far.kl / 3 and near.terms["noisy loss"] == far.terms["noisy loss"]
    assert pacbayes.certify(model, (BITS, y), **QUICK) == pacbayes.certify(model, (BITS, y), **QUICK)
    other = pacbayes.certify(model, (BITS, y), **options | {"seed": 4})
    assert other.terms["noisy loss"] != far.terms["noisy loss"]
    joined = dict.fromkeys(dict(model.named_parameters()), "all")
    assert list(pacbayes.certify(model, (BITS, y), groups=joined, **QUICK).sigma) == ["all"]


class Answer(nn.Module):
    """A transformer of PyTorch's own, (batch, n, 4) to classes."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.body(x).mean(1))


class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])[:, 0]


FOREIGN = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 2)), (5,), 2,
    ),
    "convolution": (lambda: nn.Sequential(nn.Conv1d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(9, 2)), (1, 5), 2),
    "transformer": (Answer, (3, 4), 3),
    "lstm": (Last, (4, 3), 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_any_network_is_certified_and_left_as_it_was(kind):
    make, shape, classes = FOREIGN[kind]
    torch.manual_seed(1)
    model, x = make(), torch.randn(30, *shape)
    y = torch.arange(30) % classes if classes else torch.where(x[:, 0, 0] > 0, 1.0, -1.0)
    model.train()
    model.get_submodule("" if kind == "lstm" else next(iter(dict(model.named_children())))).eval()  # a mixture
    next(model.parameters()).grad = torch.ones_like(next(model.parameters()))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes, slopes = [part.training for part in model.modules()], [p.grad is not None for p in model.parameters()]
    found = pacbayes.certify(model, (x, y), **QUICK)
    assert 0 < found.value <= 1 and found.vacuous and found == pacbayes.certify(model.eval(), (x, y), **QUICK)
    model.train()
    model.get_submodule("" if kind == "lstm" else next(iter(dict(model.named_children())))).eval()
    pacbayes.certify(model, (x, y), **QUICK)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [part.training for part in model.modules()] == modes
    assert [p.grad is not None for p in model.parameters()] == slopes


def test_it_can_be_interrupted(monkeypatch):
    model = nn.Sequential(nn.Linear(4, 1), nn.Dropout(), nn.Flatten(0))
    model.train()
    calls = itertools.count()

    def stop(outputs, y):
        if next(calls) > 5:
            raise KeyboardInterrupt
        return (outputs - y).square()

    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(KeyboardInterrupt):
        pacbayes.certify(model, (torch.randn(9, 4), torch.ones(9)), loss=stop, **QUICK)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(part.training for part in model.modules())


def test_progress_and_time_left_are_shown(capsys, monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    pacbayes.certify(small_encoder(), (BITS, np.ones(64)), **QUICK | {"progress": True})
    assert "certificate: 100%" in capsys.readouterr().err


# --- the stored ones --------------------------------------------------------------------------------------------------


def stored() -> list[dict]:
    return [{k: v if k in ("kind", "function", "prior") else float(v) for k, v in row.items()}
            for row in store.load("certificates")]  # fmt: skip


def test_a_stored_certificate_is_computed_anew():
    """Of a hand-built network, which no training path enters."""
    (trial,) = [t for t in certificates._book() if (t.kind, t.function) == ("hand-built", "PARITY")]
    (row,) = certificates.trial(trial)
    (kept,) = [r for r in stored() if (r["kind"], r["function"], r["n"]) == ("hand-built", "PARITY", trial.n)]
    assert {k: v for k, v in row.items() if not isinstance(v, str)} == pytest.approx(
        {k: v for k, v in kept.items() if not isinstance(v, str)}, rel=1e-3, abs=1e-6
    )


def test_stored_certificates_are_sums_and_above_the_truth():
    rows = stored()
    trained = {tuple(r[k] for k in ("function", "n", "m", "seed")) for r in rows if r["kind"] == "encoder"}
    assert len(trained) >= 10
    for row in rows:
        assert sum(row[name] for name in certificates.TERMS) == pytest.approx(row["value"], rel=1e-4)
        assert row["vacuous"] == (row["value"] >= row["constant"])
    assert sampling.proportion(sum(r["noisy_test"] > r["value"] for r in rows), len(rows), SURE)[0] <= 0.05


BAD = [
    (dict(model=3), "model: expected nn.Module, got int"),
    (dict(data=BITS), "data: expected a pair of inputs and targets, got ndarray"),
    (dict(data=(BITS[:0], np.ones(0))), "data: expected at least one example"),
    (dict(data=(BITS, np.ones(3))), r"data: its targets: expected shape \(64,\), got \(3,\)"),
    (dict(data=(BITS, np.full(64, np.nan))), "data: its targets: expected finite numbers, got nan"),
    (dict(data=(BITS, np.zeros(64))), "data: expected targets −1 and .1, got 0"),
    (dict(loss="hinge"), "loss: expected 'zero-one' or 'squared', got 'hinge'"),
    (dict(loss=lambda out, y: out.mean()), r"loss: expected losses \(K, m\) = \(2, 64\), got \(\)"),
    (dict(loss=lambda out, y: -out.square() - 1), "loss: expected losses ≥ 0, got -"),
    (dict(loss="squared", clip=0), "clip: expected a number above 0, got 0"),
    (dict(prior={}), "prior: expected weights with the names of the network's, got none for tokens"),
    (dict(prior=nn.Linear(1, 1)), "prior: expected weights with the names of the network's, got none for tokens"),
    (dict(prior=3), "prior: expected nn.Module or collections.abc.Mapping, got int"),
    (dict(sigma={"tokens": 1.0}), "sigma: expected a number, or one for each of tokens, "),
    (dict(sigma=-1), r"sigma\[tokens\]: expected a number above 0, got -1"),
    (dict(groups={"nothing": "a"}), "groups: expected names of weights"),
    (dict(exclude=("nothing",)), "exclude: "),
    (dict(delta=0), "delta: expected a number between 0 and 1, got 0"),
    (dict(draws=1), "draws: expected an integer from 2 to 100000, got 1"),
    (dict(looks=0), "looks: expected an integer from 1 to 10000, got 0"),
    (dict(rounds=-1), "rounds: expected an integer from 0 to 100, got -1"),
    (dict(construction=3), "construction: expected nn.Module or pacbayes.Account, got int"),
    (dict(test=3), "data: expected a pair"),
    (dict(seed=-1), "seed: expected an integer ≥ 0, got -1"),
    (dict(progress=2), "progress: expected True or False, got 2"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "complaint"), BAD)
def test_bad_input_gets_one_sentence(change, complaint):
    given = {"model": small_encoder(), "data": (BITS, np.ones(64))} | QUICK | change
    with pytest.raises((TypeError, ValueError), match=complaint) as caught:
        pacbayes.certify(given.pop("model"), given.pop("data"), **given)
    assert "\n" not in str(caught.value)


BAD_TERMS = [
    (lambda: pacbayes.seeger(2, 0, m=9, delta=0.1), "noisy: expected a number from 0 to 1, got 2"),
    (lambda: pacbayes.seeger(0, -1, m=9, delta=0.1), "kl: expected a number ≥ 0, got -1"),
    (lambda: pacbayes.seeger(0, 0, m=9, delta=0.1, price=-1), "price: expected a number ≥ 0, got -1"),
    (lambda: pacbayes.seeger(0, 0, m=9, delta=0.1, draws=0), "draws: expected an integer ≥ 1, got 0"),
    (lambda: pacbayes.seeger(0, 0, m=9, delta=2), "delta: expected a number between 0 and 1, got 2"),
    (lambda: pacbayes.seeger(0, 0, m=9, delta=0.1, clip=0), "clip: expected a number above 0, got 0"),
    (lambda: pacbayes.seeger(0, 0, m=9, delta=0.1, sentence=3), "sentence: expected str, got int"),
    (lambda: kl_inverse(1.5, 0.1), "share: expected a number from 0 to 1, got 1.5"),
    (lambda: kl_inverse(0.5, -1), "budget: expected a number ≥ 0, got -1"),
    (lambda: certified.prior_scales({"a": 1.0}, {"b": 1}, {"a": 1.0}), "sizes: expected a number for each of a, got"),
    (lambda: certified.prior_scales({}, {}, {}), "sizes: expected a number for each of"),
    (lambda: certified.prior_scales(3, {}, {}), "distances: expected collections.abc.Mapping, got int"),
    (lambda: certified.prior_scales({"a": 1.0}, {"a": 1}, {"a": 0}), r"sigma\[a\]: expected a number above 0, got 0"),
]


@pytest.mark.parametrize(("call", "complaint"), BAD_TERMS)
def test_bad_terms_get_one_sentence(call, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        call()
