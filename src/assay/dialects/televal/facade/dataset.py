"""`src.dataset`: rows of a JSONL file or of Parquet with sounds in it, in batches."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ....core import Audio, DataError, MissingExtra, UsageError
from ....store.file_ledger import own_file
from ..audio import SoundFolder, audio_bytes, file_stem
from ..references import decoded
from .utils import TupleJSONLConverter

AUDIO_COLUMNS = ("audio", *(f"{who}_audio{n}" for n in range(1, 10) for who in ("user", "bot")))
Row = dict[str, Any]


@dataclass(eq=False)
class BatchLoader:
    """Rows in lists of `batch_size`; sounds in Parquet become WAV files (one channel, 16 kHz) and are named by path."""

    file: str | Path
    key_col: str = "key"
    ref_col: str | None = None
    query_col: str | None = None
    extra_col: list[str] | None = None
    batch_size: int = field(default=1, compare=False)
    start: int = 0
    limit: int = 0
    """The first rows only; applied before `start`."""
    save_query_audio_dir: str | None = field(default=None, compare=False)
    """Keeps the WAV files there for the next run; without it they are deleted after this one."""
    tuple_decode: bool = True
    do_infer: bool = True
    is_local: bool | None = None

    def __post_init__(self) -> None:
        self.file = Path(self.file).expanduser() if "://" not in str(self.file) else self.file
        if isinstance(self.extra_col, str):
            self.extra_col = [self.extra_col]
        kept = Path(self.save_query_audio_dir).expanduser() if self.save_query_audio_dir else None
        self.sounds = SoundFolder(kept / self._label if kept else None)
        self.keeps_sounds = kept is not None

    @property
    def is_jsonl(self) -> bool:
        """Whether the rows are plain JSON lines."""
        return str(self.file).endswith((".jsonl", ".ndjson"))

    @property
    def source(self) -> Path | Callable[[], Iterator[Row]]:
        """What the runner reads: the file itself, so that it streams and knows it again, or a function of rows."""
        path = Path(self.file)
        if path.exists() and not self.start and not self.limit:
            return path
        return self._cut

    def prepare(self, row: Mapping[str, Any]) -> tuple[Row, dict[str, Audio]]:
        """A row with its tuples restored and its sounds named by path, and those sounds by the path they will have."""
        made = dict(row)
        if self.tuple_decode:
            for name, value in made.items():
                if type(value) in (dict, list):
                    made[name] = decoded(value)
        if self.is_jsonl:
            return made, {}
        if self.tuple_decode and isinstance(made.get("answer"), str):
            made["answer"] = _structured(made["answer"])
        return made, self._place_sounds(made)

    def __iter__(self) -> Iterator[list[Row]]:
        rows = self._ready()
        while batch := list(islice(rows, max(1, self.batch_size))):
            yield batch

    def __len__(self) -> int:
        return sum(1 for _ in self._cut())

    def cleanup(self) -> None:
        """Deletes temporary sounds."""
        self.sounds.close()

    @staticmethod
    def load_jsonl(file: str | Path, tuple_decode: bool = True) -> list[Any]:
        """All rows of a JSONL file."""
        return TupleJSONLConverter.load_file(file, tuple_decode)

    @property
    def _label(self) -> str:
        path = Path(self.file)
        return path.stem if path.suffix == ".parquet" else path.name

    def _ready(self) -> Iterator[Row]:
        for row in self._cut():
            made, sounds = self.prepare(row)
            for path, audio in () if self.keeps_sounds else sounds.items():
                made.update({name: str(self.write_sound(path, audio)) for name, v in made.items() if v == path})
            yield made

    def write_sound(self, path: str, audio: Audio) -> Path:
        """The file of a sound that so far was only named."""
        return self.sounds.put(audio, Path(path).stem)[0]

    def _cut(self) -> Iterator[Row]:
        return islice(self._rows(), self.start, self.limit or None)

    def _rows(self) -> Iterator[Row]:
        path = Path(self.file)
        if not path.exists():
            yield from self._from_hub()
            return
        from ....datasets.files import open_files

        for shard in open_files(path, None, "dataset")[0]:
            for _, _, row in shard.rows():
                if isinstance(row, DataError):
                    raise row
                yield dict(row)  # type: ignore[arg-type]

    def _from_hub(self) -> Iterator[Row]:
        """`org/repo/sub/folder` on the hub: the Parquet files of that folder, sounds undecoded."""
        parts = str(self.file).removeprefix("hf://").strip("/").split("/")
        if len(parts) < 3 or self.is_jsonl:
            raise UsageError(
                f"no such file or folder: {self.file}", fix="a .jsonl file, a Parquet folder, or org/repo/folder"
            )
        try:
            import datasets
        except ImportError as error:
            raise MissingExtra("datasets, which fetches from the hub,", "assay[hf]") from error
        files = {"test": f"{'/'.join(parts[2:])}/*.parquet"}
        rows: Any = datasets.load_dataset("/".join(parts[:2]), data_files=files, split="test", streaming=True)
        for name, kind in (rows.features or {}).items():
            if type(kind).__name__ == "Audio":
                rows = rows.cast_column(name, datasets.Audio(decode=False))
        yield from (dict(row) for row in rows)

    def _place_sounds(self, row: Row) -> dict[str, Audio]:
        found: dict[str, Audio] = {}
        for name in AUDIO_COLUMNS:
            data = audio_bytes(row.get(name))
            if data is None:
                if isinstance(row.get(name), dict):
                    row[name] = None
                continue
            key = row.get(self.key_col)
            stem = file_stem(str(key)) if key is not None else f"sha-{Audio(data).digest[:24]}"
            path = str(self.sounds.folder.resolve() / f"{stem if name == 'audio' else f'{stem}_{name}'}.wav")
            audio = Audio(data, name=path)
            if self.keeps_sounds:
                path = str(self.sounds.put(audio, Path(path).stem)[0].resolve())
                audio = Audio(Path(path), name=path)
            row[name] = path
            found[path] = audio
        return found


class BatchSaver:
    """A JSONL file that is written line by line, tuples kept."""

    def __init__(self, file: str | Path, overwrite: bool = True) -> None:
        self.file = own_file(file) if overwrite else Path(file)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if overwrite:
            self.file.unlink(missing_ok=True)

    def save_one(self, item: Mapping[str, Any]) -> None:
        """Adds one line."""
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(TupleJSONLConverter.dumps(item) + "\n")

    def save_all(self, items: list[Mapping[str, Any]]) -> None:
        """Writes all lines anew."""
        with self.file.open("w", encoding="utf-8") as lines:
            lines.writelines(TupleJSONLConverter.dumps(item) + "\n" for item in items)


def _structured(text: str) -> Any:
    """An answer that Parquet holds as JSON text; only lists and marked tuples are read, plain text stays."""
    if text[:1] not in "[{":
        return text
    try:
        return decoded(json.loads(text))
    except ValueError:
        return text
