"""Workers end with their parent, files are written whole."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flatcube import processes
from tests.press.small import alive, number, until

APART = """
import subprocess, sys
from flatcube import processes
if __name__ == "__main__":
    processes.apart(subprocess.run, [sys.executable, "-c", sys.argv[1]])
"""
BARRED = """
from flatcube import processes
from tqdm import tqdm
def count(text):
    return len(list(tqdm(text, disable=True)))
if __name__ == "__main__":
    print(sorted(processes.outcomes(count, ["a", "bc"], 2)))
"""
SLEEP = "import os, sys, time; open({!r}, 'w').write(str(os.getpid())); time.sleep(600)"


class Odd(Exception):
    """An error that cannot be put together again after a journey."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} and {two}")


def _tried(item: tuple[str, Path]) -> str:
    """What an item says, after leaving a file that tells who has tried it."""
    word, folder = item
    (folder / f"{word}-{os.getpid()}").touch()
    if word == "odd":
        raise Odd(1, 2)
    if word == "stop":
        sys.exit("enough")
    if word == "deadly" or (word == "fatal" and len(list(folder.glob("fatal-*"))) == 1):
        os._exit(1)
    return word


def test_every_item_has_its_outcome_whatever_becomes_of_the_others(tmp_path: Path):
    words = ["a", "deadly", "b", "odd", "fatal", "stop", "c"]
    found = dict(processes.outcomes(_tried, [(word, tmp_path) for word in words], 2))
    found = {word: outcome if isinstance(outcome, str) else repr(outcome) for (word, _), outcome in found.items()}
    assert found == {word: word for word in ("a", "b", "c", "fatal")} | {
        "deadly": "RuntimeError('its worker process died 3 times')",
        "odd": "RuntimeError('Odd: 1 and 2')",
        "stop": "SystemExit('enough')",
    }
    tried = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert {word: tried.count(word) for word in words} == dict.fromkeys(words, 1) | {"deadly": 3, "fatal": 2}


def test_workers_end_when_nothing_more_is_wanted(tmp_path: Path):
    results = processes.outcomes(_tried, [(word, tmp_path) for word in "abcdef"], 2)
    next(results)
    started = psutil.Process().children()
    assert sum("spawn_main" in " ".join(process.cmdline()) for process in started) == 2
    results.close()
    assert not any("spawn_main" in " ".join(process.cmdline()) for process in started if alive(process))


def test_what_is_done_apart_comes_back():
    assert processes.apart(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        processes.apart(divmod, 7, 0)


def test_workers_that_show_bars_leave_nothing_behind(tmp_path: Path):
    (tmp_path / "barred.py").write_text(BARRED)
    done = subprocess.run([sys.executable, str(tmp_path / "barred.py")], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[('a', 1), ('bc', 2)]\n", "")


def test_stored_results_are_read_where_there_are_no_bars():
    """tqdm comes with torch, and a reader of the explorers may have neither."""
    code = "import sys; sys.modules['tqdm'] = sys.modules['torch'] = None; from flatcube.experiments import store; "
    code += "from flatcube.classroom import explorer; print(len(store.load('gap')), explorer('generalise').name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith(" generalise\n"), done.stderr


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_what_is_done_apart_ends_with_its_parent(tmp_path: Path, end: str):
    (tmp_path / "apart.py").write_text(APART)
    call = [sys.executable, str(tmp_path / "apart.py"), SLEEP.format(str(tmp_path / "number"))]
    with subprocess.Popen(call, stderr=subprocess.DEVNULL) as parent:
        try:
            until(lambda: number(tmp_path / "number"))
            started = psutil.Process(parent.pid).children(recursive=True)
            assert number(tmp_path / "number") in [process.pid for process in started]
        finally:
            getattr(parent, end)()
    until(lambda: not any(map(alive, started)), 30)


def test_a_draft_takes_its_place_only_when_it_is_whole(tmp_path: Path):
    path = tmp_path / "folder/file"
    processes.replace(path, b"old")
    with pytest.raises(KeyError), processes.draft(path) as other:
        other.write_bytes(b"half")
        raise KeyError
    assert path.read_bytes() == b"old" and [found.name for found in path.parent.iterdir()] == ["file"]
    with processes.draft(path) as other:
        other.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=rf"^{tmp_path}/folder cannot be written \(.+\)$"):
        processes.replace(tmp_path / "folder", b"")
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]
