"""Whatever happens to the files under `_build`, the next run makes them good again and says so."""

import resource
import subprocess
import sys
from pathlib import Path

import papermill
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from flatcube import cli, processes
from flatcube.press import edition, execute, inpage, lab, notebook, pages, site
from flatcube.press.book import Book
from tests.press.small import alive, command, flatcube, number, write_chapter, write_text

DAMAGES = {
    "empty": lambda path: path.write_text(""),
    "torn": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "binary": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "another kind": lambda path: path.write_text("[1, 2]"),
    "other keys": lambda path: path.write_text('{"a": 1}'),
    "wrong types": lambda path: path.write_text(
        '{"key": {"inputs": ["a"]}, "seconds": "1", "copy": 3, "sources": [], "site": 4}'
    ),
    "nested": lambda path: path.write_text("[" * 100_000),
    "missing": lambda path: path.unlink(),
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book of one chapter that has been executed, or so it says."""
    (tmp_path / "requirements.lock").touch()
    chapter = write_chapter(tmp_path, "01-a.md", "print(1)")
    done = notebook.read(chapter)
    execute._keep(tmp_path, chapter, done, execute._key(tmp_path, chapter, {}, []), 1.0)
    assert execute.is_fresh(tmp_path, chapter)
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("suffix", [".json", ".ipynb"])
def test_a_damaged_record_or_copy_is_not_used(book: Path, damage, suffix: str):
    chapter, path = book / "chapters/01-a.md", book / f"_build/executed/01-a{suffix}"
    damage(path)
    assert not execute.is_fresh(book, chapter)
    expected = path if path.exists() or suffix == ".ipynb" else None  # without a record the chapter was never run
    assert execute._spoiled(book, chapter) == expected


def test_damaged_chapters_are_named_and_executed_again(book: Path):
    executed = book / "_build/executed"
    for name in ("02-b", "03-c"):
        write_chapter(book, f"{name}.md", "print(2)")
        for suffix in (".json", ".ipynb"):
            (executed / f"{name}{suffix}").write_bytes((executed / f"01-a{suffix}").read_bytes())
    (executed / "01-a.json").write_text("")
    (executed / "02-b.json").write_text("{}")
    (executed / "03-c.ipynb").unlink()
    said = flatcube(book, "book").stderr
    for name, chapter in (("01-a.json", "01-a"), ("02-b.json", "02-b"), ("03-c.ipynb", "03-c")):
        assert f"_build/executed/{name} is not as the press left it: {chapter} is executed again." in said
    assert "3 of 3 chapters executed" in said
    assert all(execute.is_fresh(book, chapter) for chapter in notebook.chapters(book))


# --- chapters ---------------------------------------------------------------------------------------------------------


def test_what_is_no_notebook_is_named_and_the_others_still_run(tmp_path: Path):
    sound = write_chapter(tmp_path, "01-sound.md", "print(1)")
    whole = sound.read_text()
    broken = {
        "02-empty": b"",
        "03-conflict": whole.replace("Prose.", "<<<<<<< HEAD\nProse.").encode(),
        "04-list": whole.replace("jupytext:", "- jupytext:", 1).replace("kernelspec:", "- kernelspec:").encode(),
        "05-binary": b"\xff\xfe\x00",
        "06-headless": b"# Only a title\n",
        "07-front": b"---\na: [\n---\n# A front matter that is none\n",
    }
    for name, content in broken.items():
        (tmp_path / f"chapters/{name}.md").write_bytes(content)
    done = flatcube(tmp_path, "check")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for name in broken:
        assert done.stderr.count(f"chapters/{name}.md: expected a chapter, got something else (") == 1
    assert f"{len(broken)} failed." in done.stderr
    assert execute.is_fresh(tmp_path, sound)


def test_a_chapter_that_breaks_after_it_was_executed_is_named(book: Path):
    (book / "chapters/01-a.md").write_text("<<<<<<< HEAD\n")
    (outcome,) = execute.run(book)
    assert outcome.error.startswith(f"{book}/chapters/01-a.md: expected a chapter, got something else (")


def test_a_cell_that_takes_too_long_is_named_and_its_kernel_ended(tmp_path: Path):
    code = "import os\nopen('number', 'w').write(str(os.getpid()))\nwhile True:\n    pass"
    cells = [new_markdown_cell("Prose."), new_code_cell(code)]
    write_text(tmp_path / "chapters/01-a.md", cells)
    done = flatcube(tmp_path, "check", "--cell-seconds", "2")
    assert done.returncode == 1
    assert "chapters/01-a.md, cell 2: it takes longer than 2 s, the limit for a cell (--cell-seconds)" in done.stderr
    kernel = number(tmp_path / "chapters/number")
    assert kernel and not (psutil.pid_exists(kernel) and alive(psutil.Process(kernel)))


def test_a_kernel_that_dies_is_named(tmp_path: Path):
    write_chapter(tmp_path, "01-a.md", "import os\nos._exit(3)")
    (outcome,) = execute.run(tmp_path)
    assert outcome.error == "chapters/01-a.md, cell 3: not executed: DeadKernelError: Kernel died"


@pytest.mark.parametrize("failures", [1, 2])
def test_a_kernel_that_does_not_start_is_started_once_more(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
):
    chapter, calls, start = book / "chapters/01-a.md", [], papermill.execute_notebook

    def unlucky(*args, **options):
        calls.append(args)
        if len(calls) <= failures:
            raise RuntimeError("Kernel didn't respond in 60 seconds")
        return start(*args, **options)

    monkeypatch.setattr(papermill, "execute_notebook", unlucky)
    outcome = execute._execute(book, {}, 60, str(tmp_path), chapter)
    sentence = "chapters/01-a.md: not executed: RuntimeError: Kernel didn't respond in 60 seconds"
    assert (outcome.error, len(calls)) == (None if failures == 1 else sentence, 2)
    assert execute.is_fresh(book, chapter) == (failures == 1)


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_a_copy_that_cannot_be_written_is_named_and_the_next_run_recovers(tmp_path: Path):
    chapter = write_chapter(tmp_path, "01-a.md", "print('a' * 300_000)")

    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # in the place of a full disk

    done = flatcube(tmp_path, "check", preexec_fn=no_large_files)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "_build/executed/01-a.ipynb cannot be written (File too large)" in done.stderr
    assert not [path for path in (tmp_path / "_build/executed").iterdir() if path.suffix == ".new"]
    flatcube(tmp_path, "check")
    assert execute.is_fresh(tmp_path, chapter)


def test_a_kernel_that_could_not_note_its_files_is_not_trusted(tmp_path: Path):
    log = tmp_path / "a.trace"
    script = "import sys; from flatcube.press import trace; trace.start(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", script, str(tmp_path), str(log)], check=True)
    assert execute.trace.inputs(log, tmp_path) == []
    for content in (b"", log.read_bytes()[:-5]):
        log.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.trace: the kernel did not note which files it opened$"):
            execute.trace.inputs(log, tmp_path)


# --- the site ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def build(book: Path, monkeypatch: pytest.MonkeyPatch):
    """Builds a site of two pages, as far as anything has changed, and says whether it had to."""
    for name in ("_config.yml", "_toc.yml"):
        (book / name).touch()

    def pretend(root: Path, sources: Path, *rest: object) -> None:
        for name in ("index.html", "chapters/01-a.html"):
            processes.replace(root / "_build/html" / name, b"a page")

    monkeypatch.setattr(site, "fetch_frontend", lambda root: None)
    monkeypatch.setattr(site, "assets", lambda root, target: None)
    monkeypatch.setattr(site, "_jupyter_book", pretend)
    monkeypatch.setattr(pages, "log", lambda root: {})
    assert site.build(book) and not site.build(book)
    return lambda: site.build(book)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["site.json", "html/index.html", "html/chapters/01-a.html"])
def test_a_site_that_was_damaged_is_built_again(build, book: Path, damage, name: str, capsys):
    damage(book / "_build" / name)
    assert build()
    said = capsys.readouterr().err
    if (damage, name) != (DAMAGES["missing"], "site.json"):  # which is how a build that did not end looks
        assert said == f"_build/{name} is not as the press left it: the site is built again.\n"
    assert not build()


@pytest.mark.parametrize(
    "name", ["_config.yml", "_toc.yml", "requirements.lock", "LICENSE", "LICENSE-TEXT", "data/a/b.csv",
             "chapters/index.md", "chapters/images/a.png", "_build/executed/01-a.ipynb"],
)  # fmt: skip
def test_whatever_the_site_is_made_of_makes_it_anew(build, book: Path, name: str):
    path = book / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b" ")
    assert build() and not build()


@pytest.mark.parametrize("name", ["_build/html/.DS_Store", "chapters/scratch.ipynb", "README.md"])
def test_a_file_of_somebody_else_changes_nothing(build, book: Path, name: str):
    (book / name).touch()
    assert not build()


def test_front_end_packages_that_are_not_whole_are_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fetched = []

    def fetch(npm, arguments: list[str], cwd: Path) -> int:
        fetched.append(cwd)
        for source in [*site.VENDOR, *inpage.SOURCES]:
            processes.replace(cwd / "node_modules" / source, b"a script")
        return 0

    monkeypatch.setattr(processes, "apart", fetch)
    for _ in range(2):
        site.fetch_frontend(tmp_path)
    assert len(fetched) == 1
    script = tmp_path / "_build/frontend/node_modules/vega/build/vega.min.js"
    for times, damage in enumerate((script.unlink, lambda: script.write_bytes(b"")), 2):
        damage()
        for _ in range(2):
            site.fetch_frontend(tmp_path)
        assert len(fetched) == times


@pytest.mark.parametrize("words", [["zip"], ["serve", "--port", "8000"]])
def test_without_a_site_there_is_nothing_to_pack_or_to_serve(tmp_path: Path, words: list[str]):
    with pytest.raises(SystemExit, match=r"_build/html: there is no site yet; flatcube book builds it\.$"):
        cli.main(command(tmp_path, *words)[3:])


def test_a_site_that_was_not_found_good_is_not_packed(tmp_path: Path):
    processes.replace(tmp_path / "_build/html/index.html", b"half a site")
    with pytest.raises(SystemExit, match="there is no site yet"):
        cli.main(command(tmp_path, "zip")[3:])


# --- two at once ------------------------------------------------------------------------------------------------------


def test_a_second_press_waits_until_the_first_has_ended_or_died(book: Path):
    edition.refresh(Book(book), book / "chapters/01-a.md")
    hold = "import sys, time, pathlib; from flatcube import cli; lock = cli._lock(pathlib.Path(sys.argv[1]))\n"
    hold += "print('held', flush=True); time.sleep(600)"
    call = [sys.executable, "-c", hold, str(book / "_build")]
    first = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    second = None
    try:
        assert first.stdout.readline() == "held\n"
        second = subprocess.Popen(command(book, "check"), stderr=subprocess.PIPE, text=True)
        waiting = f"Another flatcube is at work in {book / '_build'}: waiting for it …\n"
        assert second.stderr.readline() == waiting
        assert second.poll() is None
        first.kill()
        assert second.communicate(timeout=120)[1].startswith("0 of 1 chapters executed")
        assert second.returncode == 0
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["book", "--cell-seconds", "0"], "--cell-seconds: expected a whole number from 1 to 86400, got '0'"),
        (["book", "--cell-seconds", "1.5"], "--cell-seconds: expected a whole number from 1 to 86400, got '1.5'"),
        (["zip", "--cell-seconds", "5"], "zip takes no --cell-seconds."),
        (["book", "--all"], "book takes no --all."),
        (["run", "sharper", "--fast"], "run takes no --fast."),
        (["run", "sharper", "--workers", "3", "--scheduler", "a"], "--scheduler: not allowed with argument --workers"),
        (["export"], "the following arguments are required: name"),
        (["serve", "--port", "70000"], "--port: expected a whole number from 1 to 65535, got '70000'"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(tmp_path: Path, capsys, words: list[str], message: str):
    with pytest.raises(SystemExit):
        cli.main(command(tmp_path, *words)[3:])
    assert capsys.readouterr().err.endswith(f"{message}\n")


@pytest.mark.parametrize("words", [["--root", "{}", "zip"], ["zip", "--root", "{}"]])
def test_the_folder_of_the_book_is_said_before_or_after_the_command(tmp_path: Path, words: list[str]):
    (tmp_path / "_toc.yml").touch()
    with pytest.raises(SystemExit, match=rf"{tmp_path}/_build/html: there is no site yet"):
        cli.main([word.format(tmp_path) for word in words])


def test_what_lab_is_told_is_for_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path)
    calls = []
    monkeypatch.setattr(lab, "start", lambda root, options, fresh: calls.append(options))
    cli.main(["lab", "--port", "1234", "--root", str(tmp_path), "--no-browser", "01-fourier.ipynb"])
    assert calls == [["--port", "1234", "--no-browser", "01-fourier.ipynb"]]


def test_the_time_limit_is_stated(capsys):
    with pytest.raises(SystemExit):
        cli.main(["book", "--help"])
    assert f"the longest that a cell may take (default: {execute.CELL_SECONDS})" in " ".join(
        capsys.readouterr().out.split()
    )
