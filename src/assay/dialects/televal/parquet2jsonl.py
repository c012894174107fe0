"""Convert Parquet with audio clips to `<root>/<name>/<name>.jsonl` and `<root>/<name>/audios/*.wav`.

Rows in this form are read faster.
"""

from pathlib import Path

from ...code.userfiles import file_digest
from ...core import UsageError
from ...store.file_ledger import FileLedger, own_file
from .facade.dataset import AUDIO_COLUMNS, BatchLoader
from .structures import json_line


def convert(
    source: str | Path,
    root: str | Path,
    *,
    name: str | None = None,
    key_col: str = "key",
) -> tuple[Path, int, int]:
    """Write the JSONL file; return its path and the numbers of rows and clips.

    A second call writes only the missing files.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise UsageError("no such file or folder", where=str(source))
    label = name
    if not label:
        if path.suffix:
            label = path.stem
        else:
            label = path.name
    folder = Path(root).expanduser() / label
    audio_folder = folder / "audios"
    loader = BatchLoader(
        path,
        key_col=key_col,
        save_query_audio_dir=str(audio_folder),
    )
    loader.sounds.place(audio_folder)
    file = own_file(folder / f"{label}.jsonl")
    part = own_file(folder / f"{label}.part")
    rows = 0
    clips = 0
    with part.open("w", encoding="utf-8") as lines:
        for batch in loader:
            for row in batch:
                rows += 1
                for column in AUDIO_COLUMNS:
                    if isinstance(row.get(column), str):
                        clips += 1
                line = json_line(row)
                lines.write(f"{line}\n")
    part.replace(file)
    FileLedger(file.parent).note(file, digest=file_digest(file))
    return file, rows, clips
