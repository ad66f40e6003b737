"""A certificate: what PAC-Bayes-kl promises for one network that training found, with nothing assumed.

The posterior is a Gaussian around the weights θ, with a standard deviation s_g for each group of them; the prior is one
around weights θ₀ that the examples had no part in: 0, the initial weights, or a network trained on other examples. For
a loss in [0, b], with probability 1 − δ over the m examples and the K draws of noise (Langford and Caruana 2001,
Dziugaite and Roy 2017, Pérez-Ortiz et al. 2021),

    q₁ = kl⁻¹(mean loss of K noisy networks / b, log(1/δ₂)/K)                        the loss of all noisy networks
    E_ρ L ≤ b · kl⁻¹(q₁, (KL + log N + log(2√m/δ₁))/m),    δ₁ + δ₂ = δ               their risk
    KL = Σ_g ½k_g (r_g − 1 − log r_g) + ‖θ_g − θ₀_g‖²/2σ_g²,    r_g = s_g²/σ_g²      for k_g weights in group g

This holds for all posteriors at once, so the s_g may be looked for on the examples. A prior must be fixed before: here
there are N, with every σ_g from the grid ``SCALES``, or one σ for all groups, and a union bound pays log N for the
choice. Noise for the search and noise for the certificate are drawn apart.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flatcube import checks
from flatcube.capacity import Bound
from flatcube.capacity.bounds import readable
from flatcube.pacbayes.inequalities import kl_inverse

__all__ = ["SCALES", "Certificate", "seeger"]

SCALES = np.exp(np.arange(-115, 47) / 10)  # standard deviations of priors, from 10⁻⁵ to 100, each e^0.1 times the last
_FOR_DRAWS = 0.2  # of δ


@dataclass(frozen=True)
class Certificate(Bound):
    """A bound on the risk of the noisy network, and all that belongs to it."""

    loss: str  # what is bounded, in words
    m: int
    delta: float
    draws: int
    kl: float
    sigma: dict[str, float]  # of the posterior, by group
    prior: dict[str, float]  # of the prior
    empirical: float  # the loss of the network itself on the examples
    constant: float  # the least that a constant has on them
    test: float | None = None  # the loss of the network itself on examples put aside
    noisy_test: float | None = None  # that of the noisy network, which is what the bound speaks about
    domination: dict[str, tuple[float, float]] = field(default_factory=dict)  # what it has, and what SP assume at most

    @property
    def vacuous(self) -> bool:
        """Whether a constant has no larger loss on the examples than the bound promises."""
        return self.value >= self.constant

    @property
    def dominated(self) -> bool | None:
        """Whether the network is nowhere above the construction, and fits, as SP assume; None if there is none."""
        return all(ours <= theirs for ours, theirs in self.domination.values()) if self.domination else None

    def explain(self) -> str:
        """The terms, then what else was measured, a line each."""
        lines = [super().explain()]
        lines.append(f"{self.loss}; {self.draws:,} draws of noise, δ = {self.delta:g}, KL = {readable(self.kl)}")
        lines.append(f"the network itself has {readable(self.empirical)} on the examples" + self._tested())
        nothing = "says nothing" if self.vacuous else "says something"
        lines.append(f"a constant has {readable(self.constant)}: the certificate {nothing}")
        for name, (ours, theirs) in self.domination.items():
            lines.append(f"{name} is {readable(ours)}, domination allows {readable(theirs)}")
        if self.domination:
            lines.append(f"SP's domination {'holds' if self.dominated else 'does not hold'}")
        return "\n".join(lines)

    def _tested(self) -> str:
        if self.test is None or self.noisy_test is None:
            return ""
        return f", {readable(self.test)} on those put aside, with noise {readable(self.noisy_test)}"


def seeger(
    noisy: float,
    kl: float,
    *,
    m: float,
    delta: float,
    clip: float = 1.0,
    price: float = 0.0,
    draws: int | None = None,
    sentence: str = "The risk",
) -> Bound:
    """PAC-Bayes-kl for losses in [0, clip], term by term: E_ρ L ≤ b kl⁻¹(E_ρ L̂/b, (KL + price + log(2√m/δ))/m).

    ``price`` is the logarithm of the number of priors one of which was chosen. With ``draws``, ``noisy`` is the mean of
    so many independent losses, and a fifth of δ pays for what they may be off. Each term is what it adds to those
    before it.
    """
    b, m = checks.positive(clip, "clip"), checks.samples(m)
    share = checks.number(noisy, "noisy", 0, b) / b
    spent, rest = (0.0, delta) if draws is None else (_FOR_DRAWS * delta, (1 - _FOR_DRAWS) * delta)
    checks.probability(delta, "delta")
    off = 0.0 if draws is None else math.log(1 / spent) / checks.count(draws, "draws")
    budgets = [checks.positive(kl, "kl", 0), checks.positive(price, "price", 0), math.log(2 * math.sqrt(m) / rest)]
    levels = [share, kl_inverse(share, off)]
    levels += [kl_inverse(levels[1], float(sum(budgets[: k + 1])) / m) for k in range(3)]
    names = ("noisy loss", "draws", "divergence", "choice of prior", "confidence")
    terms = dict(zip(names, (b * np.diff([0.0, *levels])).tolist(), strict=True))
    kept = {name: term for name, term in terms.items() if term or name not in ("draws", "choice of prior")}
    return Bound(f"{checks.instance(sentence, 'sentence', str)} on {readable(m)} examples is at most", kept)


def prior_scales(
    distances: Mapping[str, float], sizes: Mapping[str, int], sigma: Mapping[str, float]
) -> tuple[float, float, dict[str, float]]:
    """KL, the price log N, and the σ_g of the best prior: one of ``SCALES`` for each group, or one for all of them.

    ``distances`` has ‖θ_g − θ₀_g‖², ``sizes`` the numbers of weights, ``sigma`` the s_g of the posterior.
    """
    checks.instance(distances, "distances", Mapping)
    for name, given in {"sizes": sizes, "sigma": sigma}.items():
        if not isinstance(given, Mapping) or given.keys() != distances.keys() or not given:
            raise ValueError(f"{name}: expected a number for each of {', '.join(distances)}, got {given!r:.60}")
    rows = []
    for group, far in distances.items():
        ratio = (checks.positive(sigma[group], f"sigma[{group}]") / SCALES) ** 2
        spread = checks.count(sizes[group], f"sizes[{group}]") / 2 * (ratio - 1 - np.log(ratio))
        rows.append(spread + checks.positive(far, f"distances[{group}]", 0) / (2 * SCALES**2))
    each, table = math.log(len(SCALES)), np.array(rows)
    alone, together = table.argmin(1), int(table.sum(0).argmin())
    options = [
        (float(table.min(1).sum()), len(table) * each + math.log(2), alone),
        (float(table[:, together].sum()), each + math.log(2), np.full(len(table), together)),
    ]
    kl, price, at = min(options, key=lambda option: option[0] + option[1])
    return max(kl, 0.0), price, dict(zip(distances, SCALES[at].tolist(), strict=True))
