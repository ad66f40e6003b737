"""Rooms and chapters: a chapter's tests stand in the folder that is named like its room."""

from __future__ import annotations

from pathlib import Path

from flatcube.classroom import exercises
from flatcube.press import edition, notebook

__all__ = ["ROOT", "ROOMS", "chapter", "stored", "finished", "identifiers", "challenges"]

ROOT = Path(__file__).parents[1]
ROOMS = {room: number for number, room in exercises.rooms().items()}  # those of chapters, with their numbers


def chapter(room: str) -> str:
    """The name of a room's chapter, such as "07-blowup"."""
    return next(path.stem for path in notebook.chapters(ROOT) if notebook.front_matter(path)["room"] == room)


def stored(room: str) -> Path:
    """Where the readers' notebook of a room's chapter stands."""
    path = edition.path(ROOT, Path(chapter(room)))
    if not path.exists():
        raise FileNotFoundError(f"{path.relative_to(ROOT)} is not there; 'flatcube notebooks' writes it")
    return path


def finished(root: Path = ROOT) -> list[Path]:
    """The chapters that are no drafts: these have notes for teachers, and questions for their bank."""
    return [path for path in notebook.chapters(root) if not notebook.front_matter(path).get("draft")]


def identifiers(room: str) -> list[str]:
    """The ids of the exercises of a room's chapter."""
    return [id for id in exercises.identifiers() if id.partition(".")[0] == ROOMS[room]]


def challenges(room: str) -> list[str]:
    """The ids of the open exercises of a room's chapter that are scored."""
    return [id for id in exercises.challenges() if id.partition(".")[0] == ROOMS[room]]
