"""Digests of weight files, cached so that a large file is hashed once; and checks for missing weights."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..code.userfiles import file_digest
from ..core import ModelError

if TYPE_CHECKING:
    import torch


SHOWN = 3
"""Maximum number of missing weights that an error message names."""


def weights_digest(path: Path) -> str:
    """Return the SHA-256 of a file, cached by path, size and modification time in the user's cache folder."""
    file = path.resolve()
    stat = file.stat()
    name = hashlib.sha256(
        f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()
    ).hexdigest()
    note = cache_folder() / "digests" / name
    try:
        previous = note.read_text("ascii").strip()
        if len(previous) == 64:
            return previous
    except (OSError, UnicodeDecodeError):
        pass
    digest = file_digest(file)
    _remember(note, digest)
    return digest


def cache_folder() -> Path:
    """Return the user's cache folder for data that can be recomputed."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "assay"


def _remember(note: Path, digest: str) -> None:
    """Store a digest in the cache. If the cache is not writable, do nothing."""
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        draft = note.with_suffix(f".{os.getpid()}")
        draft.write_text(digest, "ascii")
        draft.replace(note)
    except OSError:
        return


def check_complete(
    missing: Iterable[str],
    where: str,
) -> None:
    """Raise if `missing` names any weights.

    The caller excludes tied output layers and weights that transformers computes by
    itself.
    """
    names = sorted(missing)
    if not names:
        return
    fix = "get all files of the model again; with random numbers in their place its answers would mean nothing"
    raise ModelError(
        f"the weights lack {some_of(names)}",
        where=where,
        fix=fix,
    )


def not_computed(
    missing: Iterable[str],
    model: "torch.nn.Module",
) -> list[str]:
    """Return the missing weights that must come from the checkpoint.

    Tables of sines and cosines, such as Whisper's positions, can be recomputed and are
    left out.
    """
    names = list(missing)
    if not names:
        return names
    tensors = {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers()),
    }
    return [
        name for name in names if not (name in tensors and _is_waves(tensors[name]))
    ]


def _is_waves(tensor: "torch.Tensor") -> bool:
    """Return True if a table contains sines with their cosines, so that each row's squares add up to half its width.

    Names are not used, because some models of a family compute this table and others
    learn it.
    """
    if (
        tensor.is_meta
        or tensor.ndim != 2
        or tensor.shape[-1] < 4
        or not tensor.is_floating_point()
    ):
        return False
    table = tensor.detach().float()
    halves = table.square().sum(-1) * 2 / table.shape[-1]
    return bool((table.abs() < 1.01).all() and ((halves - 1).abs() < 0.01).all())


def some_of(names: Sequence[str]) -> str:
    """Join the first few names, and append the number of the others."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
