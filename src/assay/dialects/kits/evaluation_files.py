"""Keep track of the files that a user's `evaluate` writes next to a prediction file.

Code written for the toolkits calls `exists(storage)` and uses any file it finds. So `evaluation_files` hides the files
of other evaluations while one runs. For the prediction file `M_toy.xlsx`, with the judge `gpt` after the judge `qwen`:

    before the evaluation     files made from older predictions are removed
                              M_toy_qwen.csv, of the same predictions, moves to .assay-aside/M_toy/
    evaluate runs             it finds no file, asks gpt, and writes M_toy_gpt.csv
    after the evaluation      M_toy_gpt.csv is recorded as written by this evaluation
                              M_toy_qwen.csv moves back, unless the evaluation wrote that name again

Files of the same evaluation stay, so that an interrupted one can continue. The record of a folder is the file
`.assay-evaluations.json`. If a process was killed during an evaluation, the next one first does the last two steps.
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
    """A record of the files that evaluations of one prediction file have written to a folder."""

    predictions: str = ""
    """Digest of the predictions that were evaluated."""
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
    """Hide the results of other evaluations of the prediction file `stem` inside the block.

    Results are files that begin with `stem` in `folder`. `predictions` is the digest of
    the predictions; `evaluation` is the digest of the code, the judge and their
    arguments.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notes = _read(folder)
    if stem not in notes:
        notes[stem] = Owned(files=_unrecorded(folder, stem, notes))
    owned = notes[stem]
    _end_running(folder, stem, notes)  # one that was killed
    if owned.predictions != predictions:
        for name in owned.files:
            _remove(folder / name)
        owned.files = {}
        owned.predictions = predictions
    for name, made_by in owned.files.items():
        if made_by != evaluation:
            _move(folder / name, folder / ASIDE / stem / name)
    owned.running = evaluation
    owned.before = sorted(_names(folder))
    _write(folder, notes)
    paths_before = set(folder.iterdir())
    try:
        yield
    finally:
        FileLedger(folder).note_new(paths_before)
        # Evaluations of other prediction files may have changed their records meanwhile.
        notes = {**_read(folder), stem: owned}
        _end_running(folder, stem, notes)
        _write(folder, notes)


def _unrecorded(
    folder: Path,
    stem: str,
    notes: Mapping[str, Owned],
) -> dict[str, str]:
    """Return files of earlier evaluations that no record lists. Their digest is empty, because it is unknown."""
    ledger = FileLedger(folder)
    recorded = {name for owned in notes.values() for name in owned.files}
    files = {}
    for name in _names(folder) - recorded:
        if name.startswith(f"{stem}_") and ledger.holds(folder / name):
            files[name] = ""
    return files


def _end_running(
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
    for name in sorted(_names(folder) - set(owned.before)):
        if not _belongs_to_other(name, stem, notes):
            owned.files[name] = owned.running
    aside = folder / ASIDE / stem
    if aside.is_dir():
        for path in sorted(aside.iterdir()):
            if not os.path.lexists(folder / path.name):
                _move(path, folder / path.name)
    shutil.rmtree(aside, ignore_errors=True)
    for name in list(owned.files):
        if not os.path.lexists(folder / name):
            del owned.files[name]
    owned.running = ""
    owned.before = []


def _belongs_to_other(
    name: str,
    stem: str,
    notes: Mapping[str, Owned],
) -> bool:
    """Return True if a new file belongs to a prediction file other than `stem`.

    A file begins with the stem of its prediction file. If it begins with several stems,
    the longest one decides: `M_toy_v2_acc.csv` belongs to `M_toy_v2`, not to `M_toy`.
    """
    for other, owned in notes.items():
        if other == stem:
            continue
        if name in owned.files:
            return True
        is_longer = len(other) > len(stem) or not name.startswith(stem)
        if name.startswith(other) and is_longer:
            return True
    return False


def _names(folder: Path) -> set[str]:
    """Return the names of all files and folders in a folder, except those that assay uses itself."""
    names = {path.name for path in folder.iterdir()}
    return names - {NOTE, ASIDE, LEDGER}


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(source):
        os.replace(source, target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
    """Create a link to a file in its parent's parent folder.

    An older link is replaced, but a file or link that assay did not create is kept.
    """
    home = file.parents[1]
    link = home / file.name
    ledger = FileLedger(home)
    if link.exists() and not link.is_symlink():
        return
    if ledger.holds(link) or not os.path.lexists(link):
        ledger.claim(link).unlink(missing_ok=True)
        link.symlink_to(file.relative_to(home))


def _read(folder: Path) -> dict[str, Owned]:
    """Return the records of a folder, by the stem of the prediction file; empty if they cannot be read."""
    try:
        plain = json.loads((folder / NOTE).read_bytes())
        return {stem: Owned(**entry) for stem, entry in plain.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(
    folder: Path,
    notes: Mapping[str, Owned],
) -> None:
    """Write the records of a folder. If the process is killed meanwhile, the earlier records remain."""
    path = FileLedger(folder).claim(folder / NOTE)
    fresh = path.with_name(f"{NOTE}.new")
    plain = {stem: vars(owned) for stem, owned in notes.items()}
    fresh.write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    os.replace(fresh, path)


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
    lines = ["\x1f".join(map(str, row)) for row in (columns, *rows)]
    text = "\x1e".join(lines)
    return digest_of(text.encode("utf-8", "surrogatepass"))
