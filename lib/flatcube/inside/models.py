"""Small networks that can hold SP's circuit, and K of them at once (SP Sec. 2.4).

    A = softmax(X Q (X K)ᵀ),   u = A X v,   r = mlp(u) = relu(u a + b)·c + e,   g = Σ_i w_i r_i + s

X (T, T+1) has a one-hot position and the bit in each row. Everything after the attention is one number per position:
u_i should be the mean of the bits of a component, the MLP the wave that turns it into a parity, and w_i its weight. At
T = 20 with 32 ReLUs there are 1021 weights.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.interface import Network

__all__ = ["shapes", "drawn", "Minimal", "to_text", "from_text"]

_LONGEST = 20


def shapes(T: int, hidden: int = 32) -> dict[str, tuple[int, ...]]:
    """The shape of every weight by name."""
    D, H = checks.integer(T, "T", 1, _LONGEST) + 1, checks.integer(hidden, "hidden", 1, 4096)
    return {"query": (D, D), "key": (D, D), "value": (D,), "enter": (H,), "bias": (H,), "leave": (H,), "lift": (1,),
            "mix": (T,), "shift": (1,)}  # fmt: skip


def drawn(T: int, hidden: int = 32, *, seed: int, logits: float = 0.3) -> dict[str, Tensor]:
    """First weights: logits between positions with the standard deviation ``logits``; the value reads the bit; the
    kinks of the MLP are spread over [0, 1]; the other maps are N(0, 1/inputs)."""
    source = torch.Generator().manual_seed(checks.integer(seed, "seed", 0))
    size, checked = shapes(T, hidden), checks.positive(logits, "logits")
    found = {name: torch.randn(shape, generator=source, dtype=torch.float64) for name, shape in size.items()}
    for name in ("query", "key"):
        found[name] *= math.sqrt(checked / math.sqrt(T + 1))
    found["value"] = 0.1 * found["value"]
    found["value"][-1] = 1
    kinks = torch.rand(hidden, generator=source, dtype=torch.float64)
    found["bias"] = -found["enter"] * kinks
    found["leave"] /= math.sqrt(hidden)
    found["mix"] /= math.sqrt(T)
    found |= {name: torch.zeros(1, dtype=torch.float64) for name in ("lift", "shift")}
    return {name: values.float() for name, values in found.items()}


class Minimals(Network):
    """K minimal networks: bits (batch, T) or (K, batch, T) to (K, batch)."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        sizes: dict[str, int] = {}
        for name, shape in shapes(len(parameters["mix"][0]), len(parameters["bias"][0])).items():
            checked = tensors.floats(parameters[name], f"parameters: {name}", ("K", *shape), sizes)
            self.register_parameter(name, torch.nn.Parameter(checked.clone()))

    @property
    def length(self) -> int:
        """T, the number of bits."""
        return self.mix.shape[1]

    @property
    def count(self) -> int:
        """K, the number of networks."""
        return len(self.mix)

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, T) or (K, batch, T) to (K, batch)."""
        return self.many(dict(self.named_parameters()), bits)

    def many(self, parameters: Mapping[str, Tensor], bits: Tensor) -> Tensor:
        """The same with other weights, (K, …) for every name."""
        return _many(parameters, bits)

    def member(self, k: int) -> "Minimal":
        """A copy of member k, alone."""
        return Minimal({name: p.detach()[k] for name, p in self.named_parameters()})


class Minimal(Network):
    """One minimal network: bits (batch, T) to (batch,)."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        wanted = shapes(1)
        checks.instance(parameters, "parameters", Mapping)
        if wanted.keys() != parameters.keys():
            got = ", ".join(map(str, parameters)) or "none"
            raise ValueError(f"parameters: expected the names {', '.join(wanted)}, got {got}")
        T, hidden = (len(tensors.tensor(parameters[name], f"parameters: {name}", ("n",))) for name in ("mix", "bias"))
        for name, shape in shapes(T, hidden).items():
            checked = tensors.weights(parameters[name], f"parameters: {name}", shape)
            self.register_parameter(name, torch.nn.Parameter(checked.clone()))

    @property
    def length(self) -> int:
        """T, the number of bits."""
        return len(self.mix)

    def many(self, parameters: Mapping[str, Tensor], bits: Tensor) -> Tensor:
        """The outputs (K, batch) of K copies with the given weights, (K, …) by name; those not named are shared."""
        given = tensors.stacks(self, parameters)
        count = len(next(iter(given.values())))
        own = {name: p.expand(count, *p.shape) for name, p in self.named_parameters()}
        return _many(own | given, self.checked(bits))

    def _single(self) -> dict[str, Tensor]:
        return {name: p[None] for name, p in self.named_parameters()}

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, T) to (batch,)."""
        return _many(self._single(), self.checked(bits))[0]

    def attention(self, bits: Tensor) -> Tensor:
        """A (batch, T, T): how much position i looks at position j."""
        return _attention(self._single(), self.checked(bits))[0]

    def reads(self, bits: Tensor) -> Tensor:
        """u (batch, T): the number that position i reads."""
        return _reads(self._single(), self.checked(bits))[0]

    def wave(self, u: Tensor) -> Tensor:
        """The MLP at numbers u (…)."""
        u = tensors.weights(u, "u", like=self.enter)
        return (torch.relu(u[..., None] * self.enter + self.bias) @ self.leave) + self.lift

    def mixed(self, r: Tensor) -> Tensor:
        """The output (batch,) for numbers r (batch, T) after the MLP."""
        return tensors.weights(r, "r", ("batch", self.length), like=self.mix) @ self.mix + self.shift


# --- K networks at once -----------------------------------------------------------------------------------------------


def _attention(p: Mapping[str, Tensor], bits: Tensor) -> Tensor:
    """A (K, batch, T, T). A row of X is e_i + x_i e_last, so its query is a row of Q and x_i times the last one."""
    x = bits.to(p["query"].dtype)
    x = x.expand(len(p["query"]), *x.shape[-2:])  # (K, batch, T)
    q, k = (p[name][:, None, :-1] + x[..., None] * p[name][:, None, -1:] for name in ("query", "key"))
    return (q @ k.mT).softmax(-1)


def _reads(p: Mapping[str, Tensor], bits: Tensor) -> Tensor:
    """u = A X v (K, batch, T)."""
    values = p["value"][:, None, :-1] + bits.to(p["value"].dtype) * p["value"][:, None, -1:]  # (K, batch, T)
    return (_attention(p, bits) @ values[..., None])[..., 0]


def _waves(p: Mapping[str, Tensor], u: Tensor) -> Tensor:
    """The MLP at u (K, batch, T), the same shape."""
    wide = torch.relu(u[..., None] * p["enter"][:, None, None] + p["bias"][:, None, None])  # (K, batch, T, H)
    return (wide @ p["leave"][:, None, :, None])[..., 0] + p["lift"][:, None]


def _mixed(p: Mapping[str, Tensor], r: Tensor) -> Tensor:
    """r (K, batch, T) to the output (K, batch)."""
    return (r @ p["mix"][..., None])[..., 0] + p["shift"]


def _many(p: Mapping[str, Tensor], bits: Tensor) -> Tensor:
    return _mixed(p, _waves(p, _reads(p, bits)))


# --- as text ----------------------------------------------------------------------------------------------------------


def to_text(model: Minimal) -> str:
    """All weights in the order of ``shapes``, five digits each, with spaces between them."""
    parts = [p.detach().double().flatten() for p in checks.instance(model, "model", Minimal).parameters()]
    return " ".join(f"{value:.5g}" for value in torch.cat(parts).tolist())


def from_text(text: str, T: int, hidden: int = 32) -> Minimal:
    """The network whose weights ``to_text`` wrote, in double precision."""
    wanted = shapes(T, hidden)
    count = sum(map(math.prod, wanted.values()))
    try:
        words = checks.instance(text, "text", str).split()
        values = torch.tensor([float(word) for word in words], dtype=torch.float64)
    except ValueError:
        raise ValueError(f"text: expected {count} numbers with spaces between them, got {text!r:.40}") from None
    if len(values) != count:
        raise ValueError(f"text: expected {count} numbers for T = {T} and {hidden} ReLUs, got {len(values)}")
    parts = tensors.finite(values, "text").split([math.prod(shape) for shape in wanted.values()])
    return Minimal({name: part.reshape(shape) for (name, shape), part in zip(wanted.items(), parts, strict=True)})
