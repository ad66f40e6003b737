"""Three trained networks that are small enough for a page, and a hundred images to try them on.

    flatcube run pocket --scale book

Images of Fashion-MNIST are halved, by means over 2 × 2 pixels, and get a rim of zeros: 16 × 16 pixels, T = 16 patches
of 4 × 4. A row is a network, with its accuracy on examples and on test images and its weights, four digits each, in the
order of its parameters (``from_text``); or a test image, with 256 grey values from 0 to 255. The first ten images,
one of each class, are those of the explorer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from flatcube import checks
from flatcube.experiments.engine import Experiment
from flatcube.tokens import images, learn, models

__all__ = ["Trial", "CLASSES", "SIZES", "T", "halved", "to_text", "from_text", "tokens", "trial", "summary",
           "EXPERIMENT"]  # fmt: skip

T, SIZE = 16, 4
CLASSES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
SIZES: dict[str, dict[str, object]] = {
    "mlp": {"hidden": (24,)},
    "cnn": {"channels": 6, "hidden": 24},
    "vit": {"width": 16, "layers": 2, "heads": 4, "hidden": 32},
}


@dataclass(frozen=True)
class Trial:
    """One network, or with the kind "images" ten images; ``source`` is "fashion", or "made" without files."""

    kind: str
    seed: int = 0
    source: str = "fashion"
    m: int = 20_000
    goal: float = 0.88
    epochs: int = 20

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", ("images", *SIZES))
        checks.word(self.source, "source", ("fashion", "made"))


def halved(images: np.ndarray) -> np.ndarray:
    """Images (N, 28, 28) of half the size, with a rim: (N, 16, 16), in 256 grey values from 0 to 1."""
    checks.shape(np.shape(images), "images", ("N", 28, 28))
    small = np.asarray(images).reshape(-1, 14, 2, 14, 2).mean((2, 4))
    return np.round(255 * np.pad(small, ((0, 0), (1, 1), (1, 1)))) / 255


def to_text(model: torch.nn.Module) -> str:
    """All weights, in the order of the model's parameters."""
    return " ".join(f"{value:.4g}" for p in model.parameters() for value in p.detach().flatten().tolist())


def from_text(kind: str, text: str) -> torch.nn.Module:
    """The network of a row, in double precision."""
    model = models.build(kind, T, SIZE**2, len(CLASSES), seed=0, **SIZES[kind]).double()
    values = torch.tensor([float(value) for value in text.split()], dtype=torch.float64)
    torch.nn.utils.vector_to_parameters(values, model.parameters())
    return model.eval()


def tokens(rows: Iterable[dict]) -> tuple[np.ndarray, np.ndarray]:
    """The images among the rows as patches (N, T, d), and their classes (N,)."""
    found = [row for row in rows if row["kind"] == "image"]
    grey = np.array([row["text"].split() for row in found], float).reshape(-1, 16, 16) / 255
    return images.patches(grey, SIZE), np.array([CLASSES.index(row["name"]) for row in found])


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train a network, or choose the images: its rows."""
    found = images.fashion() if trial.source == "fashion" else images.made(trial.m, rng=0)
    test = halved(found.test_images[:4000])
    if trial.kind == "images":
        rows = []
        for label, name in enumerate(CLASSES):
            pixels = test[np.flatnonzero(found.test_labels[: len(test)] == label)[trial.seed]]
            text = " ".join(str(round(255 * value)) for value in pixels.ravel())
            rows.append({"kind": "image", "name": name, "train": 0.0, "test": 0.0, "text": text})
        return rows
    x = torch.as_tensor(images.patches(halved(found.images[: trial.m]), SIZE), dtype=torch.float32)
    model = models.build(trial.kind, T, SIZE**2, len(CLASSES), seed=trial.seed, **SIZES[trial.kind])
    _, reached = learn.fit(model, x, torch.as_tensor(found.labels[: trial.m]), optimiser="adam", rate=2e-3,
                           goal=trial.goal, epochs=trial.epochs, seed=trial.seed)  # fmt: skip
    kept = from_text(trial.kind, text := to_text(model))
    shown = torch.as_tensor(images.patches(test, SIZE), dtype=torch.float64)
    held = learn.accuracy(kept, shown, torch.as_tensor(found.test_labels[: len(test)]))
    return [{"kind": "network", "name": trial.kind, "train": reached, "test": held, "text": text}]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: their accuracies, without the weights."""
    found = [row for row in rows if row["kind"] == "network"]
    return {"networks": [{"name": row["name"]} | {key: float(row[key]) for key in ("train", "test")} for row in found]}


EXPERIMENT = Experiment(
    name="pocket",
    version="2",
    title="Networks for a page, with their weights",
    figures="VA Fig. 1",
    grids={
        "live": [Trial("mlp", source="made", m=200, epochs=1), Trial("images", source="made", m=400)],
        "book": [*[Trial(kind) for kind in SIZES], *[Trial("images", seed=k) for k in range(2, 12)]],
        "paper": [*[Trial(kind, m=60_000, goal=0.95, epochs=60) for kind in SIZES], Trial("images", seed=2)],
    },
    trial=trial,
    cost=lambda trial: {"mlp": 20.0, "cnn": 60.0, "vit": 90.0}.get(trial.kind, 2.0) * trial.m / 20_000,
    summary=summary,
)
