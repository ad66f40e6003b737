"""An image as sixteen tokens: noise on some of them, what three networks say, and where each of them is sensitive.

State::

    {"image": 4,                       the class of the image, one of ten
     "sigma": 1,                       the standard deviation of the noise, where pixels go from 0 to 1
     "patches": "0000010000000000",    1 for each patch that gets noise, row by row
     "seed": 0}                        which noise; every seed is fresh noise

The page gets the weights of the networks of ``data/pocket.csv`` with its script. It draws the noise and evaluates the
networks itself: each of the ``DRAWS`` draws has noise for all patches, the first of them is the one that is shown. The
map of a network counts, for each patch, the draws in which noise on this patch alone changes the answer.
"""

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.explorers.chance import normals
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store

__all__ = ["TokensExplorer"]

T, D, DRAWS = 16, 16, 8
NETWORKS = ("mlp", "cnn", "vit")


class TokensExplorer(Explorer):
    """An image in patches with noise on some, and three networks with their maps of sensitivity."""

    name = "tokens"
    label = "An image in sixteen patches with noise on some of them, and what three networks say of it"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        names = [name for name, _, _ in stored_results()["images"]]
        chosen = np.array([bit == "1" for bit in state["patches"]])
        clean, noise = _tokens(state["image"]), state["sigma"] * _noise(state["seed"])
        shaken = clean + noise[0] * chosen[:, None]
        alone = clean + noise[:, None] * np.eye(T)[None, :, :, None]  # (draws, T, T, d): one patch at a time
        shown: dict[str, float | str] = {"sigma": float(state["sigma"]), "noisy": float(chosen.sum())}
        shown |= {f"patch:{at + 1}": float(bit) for at, bit in enumerate(chosen)}
        for name in NETWORKS:
            every = np.concatenate([clean[None], shaken[None], alone.reshape(-1, T, D)])
            said = _outputs(name, every).argmax(-1)
            changed = (said[2:] != said[0]).reshape(DRAWS, T).sum(0)
            shown |= {
                f"before:{name}": names[said[0]],
                f"after:{name}": names[said[1]],
                f"s:{name}": changed.mean() / DRAWS,
            }
            shown |= {f"map:{name}:{at + 1}": float(count) for at, count in enumerate(changed)}
        return {key: value if isinstance(value, str) else float(value) for key, value in shown.items()}

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The images, each with its class and 256 grey values, and the weights of the networks, as text."""
        return stored_results()

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The image as squares, with a rim around the patches that get noise."""
        state, side, size = cls.complete(state), 12, 4
        image = _tokens(state["image"]).reshape(4, 4, size, size)
        parts = [
            f'<rect x="{side * (4 * j + x)}" y="{side * (4 * i + y)}" width="{side}" height="{side}" '
            f'fill="hsl(0 0% {100 * image[i, j, y, x]:.0f}%)"/>'
            for i, j, y, x in np.ndindex(4, 4, size, size)
        ]
        parts += [
            f'<rect x="{48 * (at % 4)}" y="{48 * (at // 4)}" width="48" height="48" fill="none" '
            f'stroke="{SERIES[3]}" stroke-width="3"/>'
            for at, bit in enumerate(state["patches"])
            if bit == "1"
        ]
        return f'<svg viewBox="0 0 192 192" width="240" role="img" aria-label="{cls.label}">{"".join(parts)}</svg>'


@cache
def stored_results() -> dict[str, Any]:
    """``images``: name, class, grey values; ``weights`` by the name of the network."""
    rows = store.load("pocket")
    images = [row for row in rows if row["kind"] == "image"][:10]
    return {
        "images": [[row["name"], at, row["text"]] for at, row in enumerate(images)],
        "weights": {row["name"]: row["text"] for row in rows if row["kind"] == "network"},
    }


@cache
def _network(name: str) -> Any:
    from flatcube.tokens import pocket  # late, since PyTorch takes seconds that the page's script does not need

    return pocket.from_text(name, stored_results()["weights"][name])


def _outputs(name: str, tokens: np.ndarray) -> np.ndarray:
    """What a network gives for tokens (N, T, d), (N, classes)."""
    import torch

    with torch.no_grad():
        return _network(name)(torch.as_tensor(tokens)).numpy()


def _tokens(image: int) -> np.ndarray:
    """The patches of an image, (T, d)."""
    grey = np.array(stored_results()["images"][image][2].split(), float).reshape(4, 4, 4, 4) / 255
    return grey.swapaxes(1, 2).reshape(T, D)


def _noise(seed: int) -> np.ndarray:
    """Standard normal numbers for all patches in all draws, (draws, T, d)."""
    return np.array([list(islice(normals(seed, draw), T * D)) for draw in range(DRAWS)]).reshape(DRAWS, T, D)
