"""Numbers by chance that a page computes as easily as Python does; kit.js has the other half."""

import itertools
import math
from collections.abc import Iterator

__all__ = ["words", "normals"]


def words(seed: int, stream: int) -> Iterator[int]:
    """Numbers below 2^32: counters, scrambled by multiplications and shifts."""
    for count in itertools.count(1):
        word = (count * 0x9E3779B9 + (8 * seed + stream + 1) * 0x85EBCA6B) % 2**32
        word = (word ^ word >> 16) * 0x21F0AAAD % 2**32
        word = (word ^ word >> 15) * 0x735A2D97 % 2**32
        yield word ^ word >> 15


def normals(seed: int, stream: int) -> Iterator[float]:
    """Standard normal numbers, one from every two words (Box and Muller)."""
    for word in (source := words(seed, stream)):
        yield math.sqrt(-2 * math.log((word + 1) / 2**32)) * math.cos(2 * math.pi * next(source) / 2**32)
