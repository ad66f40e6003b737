"""One step of five optimisers on the logistic loss of y f(x), y = ±1, two of them of second order."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from flatcube import checks

__all__ = ["OPTIMISERS", "natural_step", "stepper"]

OPTIMISERS = ("sgd", "momentum", "adam", "lbfgs", "natural")
Step = Callable[[Tensor, Tensor], None]  # on some examples and their classes


def natural_step(model: nn.Module, x: Tensor, y: Tensor, *, damping: float) -> None:
    """One step θ ← θ − (F + λI)⁻¹ ∇L of natural gradient (Amari 1998) on the logistic loss L of y f(x), y = ±1.

    F = (1/N) Σ p(1 − p) ∇f ∇fᵀ with p = σ(f) is the Fisher information, which is also the Gauss–Newton matrix. With A
    the rows √(p(1 − p)/N) ∇fᵀ and ∇L = Aᵀv the step is Aᵀ(AAᵀ + λI)⁻¹v, a system of N equations in place of P. Inputs
    are x (N, …), classes y (N,) ±1; the model is changed in place.
    """
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    theta = {name: p.detach() for name, p in model.named_parameters()}

    def output(chosen: dict[str, Tensor], one: Tensor) -> Tensor:
        return torch.func.functional_call(model, theta | chosen, (one[None],))[0]

    chosen = {name: theta[name] for name in names}
    found, f = torch.func.vmap(torch.func.grad_and_value(output), (None, 0))(chosen, x)
    rows = torch.cat([found[name].flatten(1) for name in names], 1)  # ∇f, (N, P)
    root = (torch.sigmoid(f) * torch.sigmoid(-f) / len(x)).sqrt()[:, None]
    A, v = root * rows, (-y * torch.sigmoid(-y * f))[:, None] / (len(x) * root)
    step = A.T @ torch.linalg.solve(A @ A.T + checks.positive(damping, "damping") * torch.eye(len(x)), v)
    parts = step[:, 0].split([theta[name].numel() for name in names])
    for name, part in zip(names, parts, strict=True):
        theta[name].sub_(part.view_as(theta[name]))


def _loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return nn.functional.softplus(-y * model(x)).mean()


def _natural(model: nn.Module) -> Step:
    """Natural gradient whose damping follows the loss (Levenberg and Marquardt)."""
    damping = 0.1

    @torch.no_grad()
    def step(x: Tensor, y: Tensor) -> None:
        nonlocal damping
        old, kept = _loss(model, x, y), [p.clone() for p in model.parameters()]
        natural_step(model, x, y, damping=damping)
        if _loss(model, x, y) <= old:
            damping = max(damping / 2, 1e-6)
            return
        damping = min(4 * damping, 1e6)
        for p, was in zip(model.parameters(), kept, strict=True):
            p.copy_(was)

    return step


def stepper(optimiser: str, model: nn.Module, rate: float | None) -> Step:
    """What makes one step of one of ``OPTIMISERS``; those of second order find their own rate."""
    if checks.word(optimiser, "optimiser", OPTIMISERS) == "natural":
        return _natural(model)
    parameters = list(model.parameters())
    made = {"sgd": lambda: torch.optim.SGD(parameters, lr=rate),
            "momentum": lambda: torch.optim.SGD(parameters, lr=rate, momentum=0.9),
            "adam": lambda: torch.optim.AdamW(parameters, lr=rate),
            "lbfgs": lambda: torch.optim.LBFGS(parameters, max_iter=1, max_eval=25,
                                               line_search_fn="strong_wolfe")}[optimiser]()  # fmt: skip

    def step(x: Tensor, y: Tensor) -> None:
        def loss() -> Tensor:
            made.zero_grad()
            found = _loss(model, x, y)
            found.backward()
            return found

        made.step(loss)

    return step
