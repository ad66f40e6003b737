"""From covers to a bound on the gap; and the bound that counts functions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flatcube import checks
from flatcube.capacity import covers
from flatcube.capacity.norms import Form, HeadNorms, LayerNorms, NetworkNorms

__all__ = [
    "FORMS", "Bound", "Cover", "head", "heads", "cover", "chaining", "deviation", "gap", "samples_needed",
    "sparse_functions", "occam",
]  # fmt: skip

FORMS = ("printed", "corrected", "explicit")
_LONGEST = 10**6
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGITS = 10**6  # binary ones, of the largest number that is computed in order to take its logarithm


def readable(number: float) -> str:
    """A number as one writes it: three digits, and a power of ten if it is very large or very small.

    >>> [readable(number) for number in (1e6, 221.69, 0.03184, 9.118e16, 8.112e-9, 10_000)]
    ['10⁶', '222', '0.0318', '9.12 · 10¹⁶', '8.11 · 10⁻⁹', '10,000']
    """
    if math.isinf(number):
        return "∞"
    if number == 0 or 1e-3 <= abs(number) < 1e5:
        return f"{float(f'{number:.3g}'):,.12g}"
    digits, exponent = f"{number:.2e}".split("e")
    power = "10" + str(int(exponent)).translate(_RAISED)
    return power if float(digits) == 1 else f"{digits} · {power}"


@dataclass(frozen=True)
class Bound:
    """A number that is a sum of terms with names, and the sentence that says what it bounds."""

    sentence: str
    terms: dict[str, float]

    @property
    def value(self) -> float:
        return math.fsum(self.terms.values())

    def explain(self) -> str:
        """The sentence, then one line for every term with its share."""
        width = max(map(len, self.terms))
        rows = [
            f"  {name:{width}}  {readable(term):>12}  {term / (self.value or 1):4.0%}"
            for name, term in self.terms.items()
        ]
        return "\n".join([f"{self.sentence} {readable(self.value)}", *rows])


# --- covers of networks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cover:
    """A cover of a class of networks with T positions: the size and the reach of each part, by name."""

    sizes: dict[str, float]
    reaches: dict[str, float]
    T: int
    form: Form = "corrected"

    def __post_init__(self) -> None:
        mapped = isinstance(self.sizes, Mapping) and isinstance(self.reaches, Mapping)
        if not mapped or self.sizes.keys() != self.reaches.keys():
            got = f"{self.sizes!r:.50} and {self.reaches!r:.50}"
            raise ValueError(f"sizes, reaches: expected the same parts, got {got}")
        for name in self.sizes:
            checks.positive(self.sizes[name], f"sizes[{name}]", 0)
            checks.positive(self.reaches[name], f"reaches[{name}]", 0)
        checks.count(self.T, "T")
        checks.word(self.form, "form", FORMS)

    @property
    def parts(self) -> dict[str, float]:
        """(size·reach)^(2/3) by name; the cube of their sum is C without its logarithm."""
        return {name: (size * self.reaches[name]) ** (2 / 3) for name, size in self.sizes.items()}

    def points(self, m: float) -> float:
        """The logarithm that the number of tokens costs: log(mT), or log(2mT + 1) where nothing is hidden."""
        tokens = checks.samples(m) * self.T
        return math.log(2 * tokens + 1 if self.form == "explicit" else tokens)

    def capacity(self, m: float) -> float:
        """C in log N(ε) ≤ C/ε² on m inputs."""
        total = sum(self.parts.values())
        if not total < 1e100:
            raise ValueError(f"norms: expected sizes and reaches whose cubes are numbers, got a sum of {total:g}")
        return total**3 * self.points(m)

    def log_number(self, eps: float, m: float) -> Bound:
        """log N(ε) on m inputs, with what each part takes of it."""
        parts, total = self.parts, sum(self.parts.values())
        value = self.capacity(m) / checks.positive(eps, "eps") ** 2
        sentence = f"log N at ε = {eps:g} on {readable(m)} inputs of {self.T} tokens ({self.form}) is at most"
        return Bound(sentence, {name: value * part / total if total else 0.0 for name, part in parts.items()})

    def errors(self, eps: float) -> dict[str, float]:
        """The error that each part may make when the output may be off by ε."""
        shares, _ = covers.split(list(self.sizes.values()), [self.reaches[name] for name in self.sizes], eps)
        return dict(zip(self.sizes, shares.tolist(), strict=True))


def head(
    one: HeadNorms, *, T: int, input_norm: float = 1.0, query_norm: float | None = None, form: Form = "corrected"
) -> Cover:
    """The cover of a single head σ(softmax(z W Xᵀ) X V), σ 1-Lipschitz (ED Cor. 4.4): see ``heads``."""
    return heads([checks.instance(one, "one", HeadNorms)], T=T, input_norm=input_norm, query_norm=query_norm, form=form)


def heads(
    several: Sequence[HeadNorms],
    *,
    T: int,
    input_norm: float = 1.0,
    query_norm: float | None = None,
    form: Form = "corrected",
) -> Cover:
    """The cover of a sum of heads (ED Lemma A.12): (Σ_h (d B_X B_V^∞)^(2/3) + (c d B_X B_Z B_W^∞ · B_V B_X)^(2/3))³.

    B_X bounds tokens, B_Z the query z, by default B_X too; ED takes ‖z‖ ≤ 1. Positions that are added to the tokens
    and not trained only make B_X larger, B_X + B_P (ED Lemma A.11). c is the constant of softmax.
    """
    several = checks.several(several, "several", HeadNorms, 1)
    norm = checks.positive(input_norm, "input_norm")
    query, softmax = checks.positive(norm if query_norm is None else query_norm, "query_norm"), _softmax(form)
    sizes, reaches = {}, {}
    for h, one in enumerate(several, 1):
        name = f"head {h} " if len(several) > 1 else ""
        sizes |= {f"{name}score": norm * query * one.score.size(form), f"{name}value": norm * one.value.size(form)}
        reaches |= {f"{name}score": softmax * one.value.spectral * norm, f"{name}value": 1.0}
    return Cover(sizes, reaches, checks.count(T, "T"), form)


def cover(network: NetworkNorms, form: Form = "corrected") -> Cover:
    """The cover of all networks with these norms (ED Thm A.17).

    An error in layer i is stretched by the layers after it and by the read-out; as printed, by the layers before it.
    """
    softmax, layers = _softmax(form), _absorbed(checks.instance(network, "network", NetworkNorms))
    stretches = [layer.stretch(softmax) for layer in layers]
    sizes, reaches = {"read-out": network.readout.size(form)}, {"read-out": 1.0}
    for i, layer in enumerate(layers):
        passed = stretches[:i] if form == "printed" else [network.readout.spectral, *stretches[i + 1 :]]
        for name, (size, reach) in layer.parts(form, softmax).items():
            sizes[f"layer {i + 1} {name}"], reaches[f"layer {i + 1} {name}"] = size, reach * math.prod(passed)
    kept = {name: size for name, size in sizes.items() if size > 0}
    return Cover(kept, {name: reaches[name] for name in kept}, network.T, form)


def _softmax(form: Form) -> float:
    return covers.SOFTMAX if checks.word(form, "form", FORMS) == "explicit" else 2.0


def _absorbed(network: NetworkNorms) -> list[LayerNorms]:
    """The layers with inputs in the unit ball: the norm of the tokens goes into the matrices that read them."""
    norm, (first, *rest) = network.input_norm, network.layers
    read = tuple(HeadNorms(one.score.times(norm**2), one.value.times(norm)) for one in first.heads)
    wires = {"skip": first.skip * norm, "bypass": first.bypass * norm, "keep": first.keep}
    return [LayerNorms(read, first.output, first.inner, **wires), *rest]


# --- from covers to promises ------------------------------------------------------------------------------------------


def chaining(capacity: float, *, m: float, ceiling: float, start: float = 1.0, slope: float = 1.0) -> float:
    """inf over δ of start·δ + slope·∫_δ^A √(C/(m ε²)) dε: bounds the Rademacher complexity of |f| ≤ A (ED Cor. A.3).

    The best δ is (slope/start)·√(C/m), if that is below A. ED has start = slope = c, unspecified; 4 and 12 are proved.
    """
    for name, value in {"ceiling": ceiling, "start": start, "slope": slope}.items():
        checks.positive(value, name)
    root = math.sqrt(checks.positive(capacity, "capacity", 0) / checks.samples(m))
    cut = min(slope / start * root, ceiling)
    return start * cut + (slope * root * math.log(ceiling / cut) if cut else 0.0)


def deviation(
    complexity: float, *, m: float, lipschitz: float, clip: float, delta: float, explicit: bool = False
) -> dict[str, float]:
    """The two terms of a bound on |risk − training loss| for a class with empirical Rademacher complexity R (ED A.4).

    The loss lies in [0, b], b = clip, and changes by at most 𝓛 = lipschitz per unit of f. ED: 4𝓛R + 2b√(log(1/δ)/2m).
    Explicit: 2𝓛R + 3b√(log(3/δ)/2m), by McDiarmid's inequality for either side and for R.
    """
    checks.positive(complexity, "complexity", 0)
    checks.positive(lipschitz, "lipschitz")
    checks.positive(clip, "clip")
    checks.probability(delta, "delta")
    factor, times, events = (2, 3, 3) if explicit else (4, 2, 1)
    chance = math.sqrt(math.log(events / delta) / (2 * checks.samples(m)))
    return {"capacity": factor * lipschitz * complexity, "confidence": times * clip * chance}


def gap(
    covered: Cover, *, m: float, ceiling: float, lipschitz: float = 4.0, clip: float = 4.0, delta: float = 0.05
) -> Bound:
    """|risk − training loss| for all |f| ≤ ceiling at once, with probability 1 − δ (ED Lemma 2.2).

    ``chaining`` and then ``deviation``; squared loss clipped at 4 has Lipschitz constant 4.
    """
    explicit = checks.instance(covered, "covered", Cover).form == "explicit"
    start, slope = (4, 12) if explicit else (1, 1)
    complexity = chaining(covered.capacity(m), m=m, ceiling=ceiling, start=start, slope=slope)
    terms = deviation(complexity, m=m, lipschitz=lipschitz, clip=clip, delta=delta, explicit=explicit)
    return Bound(f"Risk and training loss on {readable(m)} inputs differ ({covered.form}) by at most", terms)


def samples_needed(bound: Callable[[float], Bound], target: float = 1.0) -> float:
    """The m from which on a bound that falls with m is at most ``target``; ∞ if it is not at 10^60."""
    low, high = 0.0, 60.0
    if _at(bound, 1.0) <= checks.positive(target, "target"):
        return 1.0
    if _at(bound, 10**high) > target:
        return math.inf
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (low, middle) if _at(bound, 10**middle) <= target else (middle, high)
    return 10**high


def _at(bound: Callable[[float], Bound], m: float) -> float:
    """The value of the bound on m examples, which has to be a number."""
    if not callable(bound):
        raise TypeError(f"bound: expected a function of m, got {type(bound).__name__}")
    value = getattr(found := bound(m), "value", None)
    if not isinstance(value, (int, float)) or math.isnan(value):
        raise ValueError(f"bound: expected a Bound for each m, got {found!r:.60} at m = {m:g}")
    return value


# --- Occam's razor ----------------------------------------------------------------------------------------------------


def sparse_functions(T: int, d: int, w: int, *, levels: int = 16) -> dict[str, float]:
    """The logarithm of the number of sums of w components of degree d with weights on a grid, in two terms.

    log C(C(T, d), w) for the sets and w log(levels) for the weights.

    >>> {name: round(term, 2) for name, term in sparse_functions(12, 2, 6).items()}
    {'sets': 18.32, 'weights': 16.64}
    """
    for name, number in {"T": T, "d": d, "w": w, "levels": levels}.items():
        checks.count(number, name)
    if T > _LONGEST:
        raise ValueError(f"T: expected at most {_LONGEST:,} bits, so that sets can be counted, got {T}")
    if d > T:
        raise ValueError(f"d: expected a degree of at most T = {T}, got {d}")
    digits = (math.lgamma(T + 1) - math.lgamma(d + 1) - math.lgamma(T - d + 1)) / math.log(2)  # of C(T, d)
    if max(10 * digits, w * digits) > _DIGITS:
        raise ValueError(f"d, w: expected numbers with w·log₂C(T, d) ≤ {_DIGITS:,}, to be counted, got {d} and {w}")
    sets = math.comb(T, d)
    if w > sets:
        raise ValueError(f"w: expected at most C({T}, {d}) = {sets} components, got {w}")
    return {"sets": math.log(math.comb(sets, w)), "weights": w * math.log(levels)}


def occam(T: int, d: int, w: int, *, m: float, levels: int = 16, clip: float = 4.0, delta: float = 0.05) -> Bound:
    """The risk of a learner that returns a sparse function without error on its m examples (Blumer et al. 1987).

    A function of risk r fits m examples with probability at most (1 − r/b)^m, so with probability 1 − δ none of risk
    above b (log H + log(1/δ))/m does.
    """
    checks.positive(clip, "clip")
    checks.probability(delta, "delta")
    checks.samples(m)
    terms = sparse_functions(T, d, w, levels=levels) | {"confidence": math.log(1 / delta)}
    sentence = f"The risk of a sparse function that fits {readable(m)} examples is at most"
    return Bound(sentence, {name: clip * term / m for name, term in terms.items()})
