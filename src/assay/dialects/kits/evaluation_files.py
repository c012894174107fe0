"""Keep track of the files that a user's `evaluate` writes next to a prediction file.

Code written for the toolkits calls `exists(storage)` and uses any file it finds. So before an evaluation starts, files
made from other predictions are removed, and files that other code or another judge made from the same predictions are
moved away. When the evaluation ends, the moved files that it did not write again are restored. Files of the same
evaluation stay, so that an interrupted one can continue.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...code.userfiles import file_digest, is_reference, split_reference
from ...core import digest_of
from ...store.file_ledger import LEDGER, FileLedger

NOTE = ".assay-evaluations.json"
ASIDE = ".assay-aside"


@dataclass
class Owned:
    """A folder's record of the files that evaluations of one prediction file have written."""

    predictions: str = ""
    """Digest of the predictions from which the files were made."""
    files: dict[str, str] = field(default_factory=dict)
    """For each file name, the digest of the evaluation that wrote it."""
    running: str = ""
    """Digest of the evaluation in progress; empty if there is none."""
    before: list[str] = field(default_factory=list)
    """Names of the files in the folder when the evaluation in progress started."""


@contextmanager
def evaluation_files(
    folder: Path,
    stem: str,
    predictions: str,
    evaluation: str,
) -> Iterator[None]:
    """Hide files that other evaluations of the prediction file `stem` wrote to `folder`, inside the block.

    `predictions` is the digest of the predictions; `evaluation` is the digest of the
    code, the judge and their arguments.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notes = _read(folder)
    owned = notes.setdefault(stem, Owned(files=_unrecorded(folder, stem, notes)))
    _end(folder, stem, notes)
    if owned.predictions != predictions:
        for name in owned.files:
            _remove(folder / name)
        owned.files = {}
        owned.predictions = predictions
    for name, made_by in owned.files.items():
        if made_by != evaluation:
            _move(folder / name, folder / ASIDE / stem / name)
    owned.running, owned.before = evaluation, sorted(_names(folder))
    _write(folder, notes)
    there = set(folder.iterdir())
    try:
        yield
    finally:
        FileLedger(folder).note_new(there)
        notes = {**_read(folder), stem: owned}
        _end(folder, stem, notes)
        _write(folder, notes)


def files_of(folder: Path, stem: str) -> list[Path]:
    """Return the existing files that evaluations of the prediction file `stem` have written."""
    return [
        folder / name
        for name in sorted(_read(folder).get(stem, Owned()).files)
        if (folder / name).is_file()
    ]


def forget(folder: Path, stem: str) -> None:
    """Remove the files that evaluations of the prediction file `stem` have written. Other files stay."""
    notes = _read(folder)
    for name in notes.pop(stem, Owned()).files:
        _remove(folder / name)
    if folder.is_dir():
        _write(folder, notes)


def link_up(file: Path) -> None:
    """Link to a file from its parent folder, replacing an older link. Files that assay did not create are kept."""
    home = file.parents[1]
    link, ledger = home / file.name, FileLedger(home)
    if link.exists() and not link.is_symlink():
        return
    if ledger.holds(link) or not os.path.lexists(link):
        ledger.claim(link).unlink(missing_ok=True)
        link.symlink_to(file.relative_to(home))


def judge_digest(judge: str | None) -> str:
    """Return the identity of a judge: its name and, for a judge defined in a user's file, the file's digest."""
    if judge is not None and is_reference(judge):
        path = Path(split_reference(judge)[0]).expanduser()
        if path.is_file():
            return f"{judge} {file_digest(path)}"
    return str(judge)


def table_digest(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> str:
    """Return the digest of a table of predictions, computed from its cells as text."""
    return digest_of(
        "\x1e".join("\x1f".join(map(str, row)) for row in (columns, *rows)).encode(
            "utf-8", "surrogatepass"
        )
    )


def _end(
    folder: Path,
    stem: str,
    notes: Mapping[str, Owned],
) -> None:
    """End the evaluation in progress of the prediction file `stem`, if there is one.

    Record the files that it wrote, and restore those that were moved away for it.
    """
    owned = notes[stem]
    if not owned.running:
        return
    others = [(other, note) for other, note in notes.items() if other != stem]
    for name in sorted(_names(folder) - set(owned.before)):
        is_of_other = any(
            _is_of(name, other, stem) or name in note.files for other, note in others
        )
        if not is_of_other:
            owned.files[name] = owned.running
    aside = folder / ASIDE / stem
    for path in sorted(aside.iterdir()) if aside.is_dir() else ():
        if not os.path.lexists(folder / path.name):
            _move(path, folder / path.name)
    shutil.rmtree(aside, ignore_errors=True)
    owned.files = {
        name: by for name, by in owned.files.items() if os.path.lexists(folder / name)
    }
    owned.running, owned.before = "", []


def _is_of(
    name: str,
    other: str,
    stem: str,
) -> bool:
    """Return True if the file `name` was made from the prediction file `other`, not from `stem`.

    The name begins with the stem of its prediction file. If it begins with both, the
    longer one counts.
    """
    return name.startswith(other) and (
        len(other) > len(stem) or not name.startswith(stem)
    )


def _unrecorded(
    folder: Path,
    stem: str,
    notes: Mapping[str, Owned],
) -> dict[str, str]:
    """Return the files that evaluations wrote before assay kept records, each with an empty digest."""
    ledger = FileLedger(folder)
    unnoted = _names(folder).difference(*(owned.files for owned in notes.values()))
    return {
        name: ""
        for name in unnoted
        if name.startswith(f"{stem}_") and ledger.holds(folder / name)
    }


def _names(folder: Path) -> set[str]:
    return {
        path.name for path in folder.iterdir() if path.name not in (NOTE, ASIDE, LEDGER)
    }


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(source):
        os.replace(source, target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _read(folder: Path) -> dict[str, Owned]:
    try:
        plain = json.loads((folder / NOTE).read_bytes())
        return {stem: Owned(**entry) for stem, entry in plain.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(
    folder: Path,
    notes: Mapping[str, Owned],
) -> None:
    path = FileLedger(folder).claim(folder / NOTE)
    fresh = path.with_name(f"{NOTE}.new")
    fresh.write_text(
        json.dumps(
            {stem: vars(owned) for stem, owned in notes.items()}, ensure_ascii=False
        ),
        "utf-8",
    )
    os.replace(fresh, path)
