"""The loss of a network with noise in its weights, measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from flatcube import checks
from flatcube.pacbayes.account import INPUTS, _named
from flatcube.pacbayes.promises import MESH, Sigmas

__all__ = ["noisy_loss", "noisy_losses"]


def noisy_loss(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    sigma: Sigmas,
    directions: int = 200,
    seed: int = 0,
    groups: Mapping[str, str] | None = None,
    exclude: Sequence[str] = INPUTS,
    flat: float | None = None,
) -> Any:
    """E_Δ E_x (f_{θ+Δ}(x) − y)² as an Estimate, for Gaussian noise of one σ, or of a σ for each group.

    Groups and ``exclude`` are as in ``of_model``. Without y, the network's own outputs are the targets. ``flat`` is the
    quadratic part Σ σ_g²h_g/2, if it is known: then only the rest is sampled, as the difference to the same shifts
    made a thousand times smaller, which cancels most of the chance.
    """
    import torch

    from flatcube.sharpness.landscape import Landscape, _repeats, _sampled, random_vectors

    land = Landscape(model, x, y, exclude=exclude)
    every = _named(dict(model.named_parameters()), groups)
    names = {name: every[name] for name in land.shapes}
    sd = sigma if isinstance(sigma, Mapping) else dict.fromkeys(names.values(), checks.positive(sigma, "sigma"))
    if set(sd) != set(names.values()):
        wanted = ", ".join(dict.fromkeys(names.values()))
        raise ValueError(f"sigma: expected a number for each of {wanted}, got {', '.join(map(str, sd))}")
    checks.number(0.0 if flat is None else flat, "flat", 0)
    sd = {group: checks.positive(value, f"sigma[{group}]", 0) for group, value in sd.items()}
    parts = [torch.full((shape.numel(),), sd[names[name]]) for name, shape in land.shapes.items()]
    scale, small = torch.cat(parts).to(land.theta), 1e-3
    chunk, _ = land._chunks(_repeats(directions, "directions"), "outputs")
    draws = []
    for some in random_vectors(directions, land.theta, seed=seed, chunk=chunk):
        loss = (land.outputs(scale * some) - land.y).square().mean(1)
        if flat is not None:
            loss = loss - (land.outputs(small * scale * some) - land.base).square().mean(1) / small**2
        draws.append(loss)
    queries = directions * len(land.x) * (1 + (flat is not None))
    return _sampled(torch.cat(draws), confidence=0.95, queries=queries, method="noisy loss", offset=flat or 0.0)


def noisy_losses(
    model: Any, x: Any, y: Any = None, *, sigmas: Any = MESH, trace: float | None = None, **options: Any
) -> dict[float, Any]:
    """``noisy_loss`` on a mesh of σ, with the same directions for all: what ``semi_analytic`` takes."""
    sigmas = [checks.positive(sigma, "sigmas") for sigma in checks.numbers(sigmas, "sigmas", ("k",)).tolist()]
    flat = {sigma: None if trace is None else sigma**2 / 2 * checks.positive(trace, "trace", 0) for sigma in sigmas}
    return {sigma: noisy_loss(model, x, y, sigma=sigma, flat=flat[sigma], **options) for sigma in flat}
