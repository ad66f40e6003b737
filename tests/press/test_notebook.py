"""Cleaning makes a notebook the same on every run and loses nothing a reader sees."""

import copy

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from flatcube.press import notebook


def example() -> nbformat.NotebookNode:
    """A notebook with everything that differs between runs: ids, times, machine, cut streams."""
    cell = new_code_cell("print(1)", metadata={"tags": ["keep"], "papermill": {"start_time": "now"}, "execution": {}})
    cell.outputs = [new_output("stream", name="stdout", text="a"), new_output("stream", name="stdout", text="b")]
    injected = new_code_cell("SEED = 2", metadata={"tags": ["injected-parameters"]})
    return new_notebook(
        cells=[new_markdown_cell("# Title"), injected, cell],
        metadata={"papermill": {"duration": 3}, "language_info": {"name": "python", "version": "3.99"}},
    )


def test_clean_removes_what_changes_between_runs():
    text = nbformat.writes(notebook.clean(example()))
    for word in ("papermill", "start_time", "3.99", "execution\":", "injected"):
        assert word not in text


def test_clean_gives_the_same_bytes_for_two_runs():
    first, second = example(), example()
    second.cells[2].outputs = [new_output("stream", name="stdout", text="ab")]
    assert first.cells[0].id != second.cells[0].id
    assert nbformat.writes(notebook.clean(first)) == nbformat.writes(notebook.clean(second))


def test_clean_keeps_sources_tags_outputs_and_its_argument():
    original = example()
    before = copy.deepcopy(original)
    result = notebook.clean(original)
    assert original == before
    assert [cell.source for cell in result.cells] == ["# Title", "print(1)"]
    assert result.cells[1].metadata.tags == ["keep"]
    assert result.cells[1].outputs[0].text == "ab"
    nbformat.validate(result)


def test_source_digest_sees_code_and_tags_but_not_prose_or_outputs():
    base = notebook.source_digest(example())
    prose, outputs, code, tags = example(), example(), example(), example()
    prose.cells[0].source = "# Another"
    outputs.cells[2].outputs = []
    code.cells[2].source = "print(2)"
    tags.cells[2].metadata.tags = ["parameters"]
    assert notebook.source_digest(prose) == notebook.source_digest(outputs) == base
    assert base not in (notebook.source_digest(code), notebook.source_digest(tags))


def test_first_difference_names_the_cell():
    old, new = notebook.clean(example()), notebook.clean(example())
    assert notebook.first_difference(old, new) is None
    new.cells[1].outputs[0].text = "c"
    assert "cell 2" in notebook.first_difference(old, new)


def test_write_leaves_an_unchanged_file_alone(tmp_path):
    path = tmp_path / "a.ipynb"
    notebook.write(notebook.clean(example()), path)
    stamp = path.stat().st_mtime_ns
    notebook.write(notebook.clean(example()), path)
    assert path.stat().st_mtime_ns == stamp


def test_numbers_in_prose_agree_as_numbers():
    old, new = example(), example()
    old.cells[0].source, new.cells[0].source = "A share of 0.1234 is wrong.", "A share of 0.1235 is wrong."
    assert notebook.first_difference(notebook.clean(old), notebook.clean(new)) is None
    new.cells[0].source = "A share of 0.2 is wrong."
    assert "cell 1 differs" in notebook.first_difference(notebook.clean(old), notebook.clean(new))


def test_a_chapter_says_its_title_and_its_room(tmp_path):
    (tmp_path / "01-a.md").write_text("---\nroom: toys\n---\n\n# Two *toys*\n\n```{code-cell}\n1\n```\n")
    assert notebook.title(tmp_path / "01-a.md") == "Two toys"
    assert notebook.front_matter(tmp_path / "01-a.md") == {"room": "toys"}
    assert [cell.cell_type for cell in notebook.read(tmp_path / "01-a.md").cells] == ["markdown", "code"]
