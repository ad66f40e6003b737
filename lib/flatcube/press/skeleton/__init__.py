"""The skeleton of a new chapter: its text, its room and its tests, from the files beside this module.

What it writes works at once: the page is built, the exercise answers, the explorer moves, the tests pass. Apart from
one line in `_toc.yml` and one in import-linter's layers nothing else has to know of a new chapter.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from flatcube import processes
from flatcube.press import front, notebook

__all__ = ["write"]

HERE = Path(__file__).parent
SUFFIX = ".in"  # of the templates, so that nobody takes them for modules or tests


def write(root: Path, name: str, room: str | None = None, title: str | None = None) -> list[Path]:
    """Write the skeleton of the chapter `name`, such as "13-generalise"; the files that were written or changed."""
    if not re.fullmatch(r"\d\d-[a-z][a-z0-9-]*", name):
        raise ValueError(f"name: expected two digits and small letters, such as 13-generalise, got {name!r}")
    room = room or name[3:].replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", room):
        raise ValueError(f"--room: expected the name of a package, such as generalise, got {room!r}")
    planned = next((row for row in front.plan(root / "data") if row["slug"] == name), {})
    words = {
        "name": name, "number": str(int(name[:2])), "room": room, "kind": room.title().replace("_", ""),
        "title": title or planned.get("title") or name[3:].replace("-", " ").capitalize(),
        "blurb": planned.get("blurb") or "What this chapter shows, in one sentence.",
    }  # fmt: skip
    words["quoted"] = words["blurb"].replace("'", "''")  # a colon would end a plain word of YAML
    files = dict(_files(root, words))
    taken = [path for path in files if path.exists()]
    if taken:
        raise ValueError(f"name: expected a new chapter and a new room, but {taken[0].relative_to(root)} is there")
    files |= _lists(root, name, room, planned.get("part", ""))
    for path, text in files.items():
        processes.replace(path, text.encode())
    return list(files)


def _files(root: Path, words: dict[str, str]) -> list[tuple[Path, str]]:
    places = {"room": root / "lib" / "flatcube" / words["room"], "tests": root / "tests" / words["room"]}
    found = {path: places[path.parent.name] / path.stem for path in sorted(HERE.glob(f"*/*{SUFFIX}"))}
    found[HERE / f"chapter.md{SUFFIX}"] = root / "chapters" / f"{words['name']}.md"
    texts = {path: Template(path.read_text(encoding="utf-8")).substitute(words) for path in found}
    return [(target, _in_order(texts[path])) for path, target in found.items()]


def _in_order(text: str) -> str:
    """The same module with its imports sorted: where the new room stands among them depends on its name."""
    block = re.compile(r"(?:^from flatcube.*\n)+", re.MULTILINE)
    return block.sub(lambda found: "".join(sorted(found[0].splitlines(True), key=lambda line: line.split()[1])), text)


def _lists(root: Path, name: str, room: str, part: str) -> dict[Path, str]:
    """The two lists with their new lines: after the chapter before it, and above that chapter's room."""
    earlier = [chapter for chapter in notebook.chapters(root) if chapter.stem < name]
    contents = root / "_toc.yml"
    found = {contents: _in_contents(contents.read_text(encoding="utf-8"), name, [c.stem for c in earlier], part)}
    project = root / "pyproject.toml"
    if project.exists() and "[[tool.importlinter.contracts]]" in (text := project.read_text(encoding="utf-8")):
        rooms = [notebook.front_matter(chapter)["room"] for chapter in earlier]
        found[project] = _in_layers(text, room, rooms)
    return found


def _in_contents(text: str, name: str, earlier: list[str], part: str) -> str:
    """After the last chapter before it; at the end of its part, if that is another one and has begun."""
    own = re.search(rf"^ *- caption: {re.escape(part)}\n(?: +(?!- caption).*\n)*", text, flags=re.MULTILINE)
    inside = [slug for slug in earlier if part and own and f"chapters/{slug}\n" in own[0]]
    before = [*earlier, *inside][-1:]
    line = re.search(rf"^( *- file: chapters/){before[0]}\n", text, flags=re.MULTILINE) if before else None
    if not line:
        raise ValueError(f"_toc.yml: expected the chapter before {name} in it, found none; add the line by hand")
    return text[: line.end()] + f"{line[1]}{name}\n" + text[line.end() :]


def _in_layers(text: str, room: str, earlier: list[str]) -> str:
    """A room may import from those of all chapters before it, so it stands above the last of them."""
    for known in reversed(earlier):
        if line := re.search(rf'^( *)"{known}",.*\n', text, flags=re.MULTILINE):
            return text[: line.start()] + f'{line[1]}"{room}",\n' + text[line.start() :]
    raise ValueError("pyproject.toml: expected the room of an earlier chapter in import-linter's layers, found none")
