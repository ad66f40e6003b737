"""Images in colour in the files that their makers publish: CIFAR-10 (binary version), CIFAR-10-C, SVHN (cropped).

None of them is needed to read the book; ``vision.Trial`` can name them as its ``source``. Every pixel becomes the mean
of its red, green and blue, since the networks of this room see one number for each pixel: so noise on a patch is noise
on its grey values, where VA add it to all three colours. Nothing is unpickled.
"""

import math
import struct
import zlib
from pathlib import Path

import numpy as np
from scipy import io

from flatcube import checks
from flatcube.tokens.images import Pictures

__all__ = ["cifar", "svhn", "spoilt"]

CIFAR, SVHN = Path("cifar-10-batches-bin"), Path("svhn")  # the folder of the archive; one for the two files
_RECORD = 1 + 3 * 32 * 32  # a label, then all reds, all greens, all blues, each row by row
_WHERE = {"cifar": "unpack cifar-10-binary.tar.gz of https://www.cs.toronto.edu/~kriz/cifar.html and name that folder",
          "spoilt": "unpack CIFAR-10-C.tar of https://zenodo.org/records/2535967 and name that folder",
          "svhn": "put train_32x32.mat and test_32x32.mat of http://ufldl.stanford.edu/housenumbers there"}  # fmt: skip
# Files of CIFAR-10-C, by the names of ``images.CORRUPTIONS``
_SPOILT = {"noise": "gaussian_noise", "impulses": "impulse_noise", "blur": "gaussian_blur", "motion": "motion_blur",
          "contrast": "contrast", "brightness": "brightness", "pixelate": "pixelate"}  # fmt: skip
_DAMAGED = (OSError, EOFError, ValueError, TypeError, KeyError, IndexError, NotImplementedError, MemoryError,
            struct.error, zlib.error, io.matlab.MatReadError)  # fmt: skip


def _grey(colours: np.ndarray) -> np.ndarray:
    """Bytes (N, 32, 32, 3) to (N, 32, 32) from 0 to 1."""
    return (colours.mean(-1, dtype=np.float32) / 255).astype(np.float32)


def _there(path: Path, which: str) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file, none there; {_WHERE[which]}")
    return path


def _batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    raw = np.fromfile(_there(path, "cifar"), np.uint8)
    if not raw.size or raw.size % _RECORD or raw[::_RECORD].max() > 9:
        raise ValueError(f"{path}: expected records of a label from 0 to 9 and 3072 bytes, got {raw.size} bytes")
    records = raw.reshape(-1, _RECORD)
    return _grey(np.moveaxis(records[:, 1:].reshape(-1, 3, 32, 32), 1, -1)), records[:, 0].astype(int)


def cifar(folder: Path | str = CIFAR) -> Pictures:
    """CIFAR-10 (Krizhevsky 2009), its binary version: data_batch_1.bin to 5, and test_batch.bin."""
    batches = [_batch(Path(folder) / f"data_batch_{k}.bin") for k in range(1, 6)]
    images, labels = (np.concatenate(some) for some in zip(*batches, strict=True))
    return Pictures(images, labels, *_batch(Path(folder) / "test_batch.bin"))


def _array(path: Path) -> np.ndarray:
    try:
        return np.load(_there(path, "spoilt"), mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(f"{path}: expected an array in the format npy, without Python objects ({error})") from None


def spoilt(folder: Path | str, kind: str, severity: int) -> tuple[np.ndarray, np.ndarray]:
    """CIFAR-10-C (Hendrycks and Dietterich 2019): test images (N, 32, 32) at severity 1 to 5, and their classes (N,).

    ``kind`` is one of ``images.CORRUPTIONS``, or the name of a file, such as "frost".
    """
    folder, severity = Path(folder), checks.integer(severity, "severity", 1, 5)
    images, labels = (_array(folder / f"{name}.npy") for name in (_SPOILT.get(kind, kind), "labels"))
    N = len(images) if images.ndim else 0
    if images.dtype != np.uint8 or images.shape != (N, 32, 32, 3) or labels.shape != (N,) or not N:
        raise ValueError(f"{folder}: expected bytes (N, 32, 32, 3) and N labels, got {images.shape} and {labels.shape}")
    if N % 5 or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
        raise ValueError(f"{folder}: expected labels from 0 to 9, as many for each of 5 severities, got others")
    part = slice((severity - 1) * N // 5, severity * N // 5)
    return _grey(images[part]), labels[part].astype(int)


def _cropped(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        found = io.loadmat(_there(path, "svhn"), variable_names=("X", "y"))
        images, labels = found["X"], found["y"].astype(int)
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(f"{path}: expected X and y in a file of MATLAB, version 5 ({error})") from None
    N = math.prod(labels.shape)
    if images.dtype != np.uint8 or images.shape != (32, 32, 3, N) or not N or labels.min() < 1 or labels.max() > 10:
        raise ValueError(f"{path}: expected bytes (32, 32, 3, N) and N labels from 1 to 10, got {images.shape} and {N}")
    return _grey(np.moveaxis(images, -1, 0)), labels.ravel() % 10


def svhn(folder: Path | str = SVHN) -> Pictures:
    """The cropped digits of SVHN (Netzer et al. 2011): train_32x32.mat, test_32x32.mat, where a 0 has the label 10."""
    return Pictures(*(part for name in ("train", "test") for part in _cropped(Path(folder) / f"{name}_32x32.mat")))
