"""Tensors in a file that is always whole: written beside it, then put in its place in one move."""

import os
from collections.abc import Mapping
from pathlib import Path

import safetensors
from safetensors.torch import save
from torch import Tensor

__all__ = ["write", "read"]


def write(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Tensors by name and notes, to ``path``. Whoever reads it meanwhile finds the file of before or the new one."""
    data = save({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, metadata=dict(notes))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the notes of ``path``."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            # Copies: the file's own memory may be aligned differently, and products then round differently.
            return {name: file.get_tensor(name).clone() for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"checkpoint: {path} cannot be read ({reason}); move it away to start anew") from None
