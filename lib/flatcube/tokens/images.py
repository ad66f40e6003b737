"""Images as sequences of patches (VA Def. 5.1), where to find some, and how to spoil them.

``fashion`` reads Fashion-MNIST in its original files, ``digits`` the small digits that scikit-learn has; neither is
needed to read the book, which shows stored results. ``made`` draws images that need no file.
"""

import csv
import gzip
import importlib.util
import io
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from flatcube import checks

__all__ = ["Pictures", "patches", "assembled", "fashion", "digits", "made", "CORRUPTIONS", "corrupted"]

FASHION = Path("/usr/share/datasets/fashion-mnist")  # where the Debian package dataset-fashion-mnist puts it
_MAGIC = {1: 2049, 3: 2051}  # of unsigned bytes with one axis, with three
_MOST = 2**30  # bytes of an unpacked file


class Pictures(NamedTuple):
    """Images (N, side, side) with pixels from 0 to 1, and their classes (N,), for training and for tests."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def patches(images: np.ndarray, size: int) -> np.ndarray:
    """Images (N, height, width) cut into T patches of ``size`` × ``size`` pixels, row by row: (N, T, size²).

    >>> patches(np.arange(16).reshape(1, 4, 4), 2)[0].tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    images, size = checks.numbers(images, "images"), checks.integer(size, "size", 1)
    checks.shape(images.shape, "images", ("N", "height", "width"))
    if not images.size:
        raise ValueError(f"images: expected shape (N, height, width) with all from 1 on, got {images.shape}")
    height, width = images.shape[1:]
    if height % size or width % size:
        raise ValueError(f"size: expected a divisor of {height} and {width}, got {size}")
    cut = images.reshape(-1, height // size, size, width // size, size).swapaxes(2, 3)
    return cut.reshape(len(images), -1, size * size)


def assembled(tokens: np.ndarray, width: int | None = None) -> np.ndarray:
    """The images (N, height, width) whose patches are given, (N, T, size²); square unless a width is named."""
    tokens = checks.numbers(tokens, "tokens", ("N", "T", "d"))
    N, T, d = tokens.shape
    if not tokens.size:
        raise ValueError(f"tokens: expected shape (N, T, d) with all from 1 on, got {tokens.shape}")
    size = math.isqrt(d)
    across = math.isqrt(T) if width is None else checks.integer(width, "width", 1) // size
    if size**2 != d or across == 0 or N == 0 or T % across or (width is None and across**2 != T):
        raise ValueError(f"tokens: expected square patches that fill an image, got {T} of {d} pixels in {N} images")
    return tokens.reshape(N, T // across, across, size, size).swapaxes(2, 3).reshape(N, T // across * size, -1)


# --- files ------------------------------------------------------------------------------------------------------------


def idx(path: Path | str) -> np.ndarray:
    """The bytes of a file in the format of MNIST, packed with gzip or not: labels (N,), or images (N, rows, cols)."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(raw)) as packed:
                raw = packed.read(_MOST)
    except (OSError, EOFError) as error:
        raise ValueError(f"{path}: expected a file in the format idx, packed with gzip or not ({error})") from None
    axes = raw[3] if len(raw) > 4 else 0
    if axes not in _MAGIC or len(raw) < 4 + 4 * axes or struct.unpack(">I", raw[:4])[0] != _MAGIC[axes]:
        raise ValueError(f"{path}: expected a file in the format idx, bytes with one axis or three, got another")
    shape = struct.unpack(f">{axes}I", raw[4 : 4 + 4 * axes])
    if len(raw) - 4 - 4 * axes != math.prod(shape):
        raise ValueError(f"{path}: expected {math.prod(shape)} bytes of data, got {len(raw) - 4 - 4 * axes}")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def fashion(folder: Path | str = FASHION) -> Pictures:
    """Fashion-MNIST (Xiao, Rasul and Vollgraf 2017; MIT licence), or MNIST, from a folder with its four files."""
    folder, found = Path(folder), []
    for part in ("train", "t10k"):
        pair = [_file(folder, f"{part}-{name}-ubyte") for name in ("images-idx3", "labels-idx1")]
        images, labels = map(idx, pair)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(f"{folder}: expected a label for each image, got {images.shape} and {labels.shape}")
        found += [images.astype(np.float32) / 255, labels.astype(int)]
    return Pictures(*found)


def _file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder}: expected {name} or {name}.gz; the Debian package dataset-fashion-mnist has it")


def digits(path: Path | str | None = None) -> Pictures:
    """The 1,797 digits of 8 × 8 pixels that scikit-learn comes with; the last quarter is for tests."""
    if path is None:
        found = importlib.util.find_spec("sklearn")
        if found is None or not found.submodule_search_locations:
            raise FileNotFoundError("scikit-learn is not installed, which has the digits: pip install scikit-learn")
        path = Path(found.submodule_search_locations[0]) / "datasets" / "data" / "digits.csv.gz"
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="") as file:
            table = np.array([[float(value) for value in row] for row in csv.reader(file)])
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(f"{path}: expected digits.csv.gz of scikit-learn ({error})") from None
    if table.ndim != 2 or table.shape[1] != 65 or len(table) < 4:
        raise ValueError(f"{path}: expected rows of 64 pixels and a label, got shape {table.shape}")
    images, labels, cut = table[:, :64].reshape(-1, 8, 8).astype(np.float32) / 16, table[:, 64].astype(int), 3
    cut = len(table) * 3 // 4
    return Pictures(images[:cut], labels[:cut], images[cut:], labels[cut:])


def made(count: int, *, rng: np.random.Generator | int, classes: int = 10, side: int = 28) -> Pictures:
    """Images of blurred shapes, one for each class, moved by up to two pixels, brighter or darker, with a little noise.

    The shapes are always the same; half as many images are for tests.
    """
    rng, fixed = checks.generator(rng), np.random.default_rng(15)
    checks.integer(count, "count", 1, 10**5)
    classes, side = checks.integer(classes, "classes", 1, 1000), checks.integer(side, "side", 2, 1024)
    checks.room(40 * (count + classes) * side**2, "count")
    shapes = ndimage.gaussian_filter(fixed.standard_normal((classes, side, side)), (0, side / 10, side / 10))
    shapes = np.clip(0.5 + 0.25 * shapes / shapes.std((1, 2), keepdims=True), 0, 1)
    found = []
    for size in (count, (count + 1) // 2):
        labels = rng.integers(classes, size=size)
        moves = rng.integers(-2, 3, size=(size, 2))
        images = np.stack([np.roll(shapes[k], move, (0, 1)) for k, move in zip(labels, moves, strict=True)])
        images = images * rng.uniform(0.6, 1, (size, 1, 1)) + 0.1 * rng.standard_normal(images.shape)
        found += [np.clip(images, 0, 1).astype(np.float32), labels]
    return Pictures(*found)


# --- corruptions ------------------------------------------------------------------------------------------------------

Spoil = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


def _impulses(x: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(x.shape) < share, rng.integers(0, 2, x.shape), x)


def _coarse(x: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    side = x.shape[1]
    kept = np.floor((np.arange(side) + 0.5) * share) / share
    index = np.clip(kept + 0.5 / share, 0, side - 1).astype(int)
    return ndimage.uniform_filter(x, (0, 1 / share, 1 / share), mode="nearest")[:, index][:, :, index]


CORRUPTIONS: dict[str, tuple[Spoil, tuple[float, ...]]] = {  # by name: what it does, and how much at severities 1, 2, 3
    "noise": (lambda x, a, rng: x + a * rng.standard_normal(x.shape), (0.1, 0.2, 0.3)),
    "impulses": (_impulses, (0.03, 0.06, 0.12)),
    "blur": (lambda x, a, rng: ndimage.gaussian_filter(x, (0, a, a)), (0.7, 1.2, 1.8)),
    "motion": (lambda x, a, rng: ndimage.uniform_filter1d(x, int(a), axis=2), (3, 5, 7)),
    "contrast": (lambda x, a, rng: (x - x.mean((1, 2), keepdims=True)) * a + x.mean((1, 2), keepdims=True),
                 (0.6, 0.4, 0.25)),
    "brightness": (lambda x, a, rng: x + a, (0.15, 0.3, 0.45)),
    "pixelate": (_coarse, (0.5, 0.34, 0.25)),
}  # fmt: skip


def corrupted(images: np.ndarray, kind: str, severity: int, *, rng: np.random.Generator | int = 0) -> np.ndarray:
    """Images (N, side, side) after one of ``CORRUPTIONS`` at severity 1, 2 or 3, clipped to [0, 1]."""
    images = checks.numbers(images, "images", ("N", "side", "side"))
    spoil, amounts = CORRUPTIONS[checks.word(kind, "kind", CORRUPTIONS)]
    amount = amounts[checks.integer(severity, "severity", 1, len(amounts)) - 1]
    return np.clip(spoil(images, amount, checks.generator(rng)), 0, 1).astype(np.float32)
