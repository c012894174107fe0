"""`src.dataset`: rows of a JSONL file or of Parquet with audio clips, in batches.

The runner streams a plain `BatchLoader` row by row. A user's subclass, and code that iterates over a loader itself,
get the same as in TELEVAL: all rows in a table, `df`, with `nan` for missing values.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ....core import Audio, DataError, UsageError, library
from ....store.file_ledger import own_file
from ...protocol import error_of_rule, is_upstream
from ...shapes import Fields, Record
from ..eras import SEED, era_here
from ..references import decoded, encoded
from ..spoken import AudioFolder, audio_bytes, file_stem
from .utils import TupleJSONLConverter, load_and_process_parquet_dataset

AUDIO_COLUMNS = (
    "audio",
    *(f"{who}_audio{n}" for n in range(1, 10) for who in ("user", "bot")),
)
LINES = (".jsonl", ".ndjson")
Row = Record


class NoSuchData(UsageError, NotImplementedError):
    """Raised for a path without rows."""


@dataclass(eq=False)
class BatchLoader:
    """Rows in lists of `batch_size`.

    Clips in Parquet become WAV files (one channel, 16 kHz) and are named by path.
    """

    file: str | Path
    key_col: str = "key"
    do_infer: Any = True
    ref_col: str | None = None
    query_col: str | None = None
    extra_col: list[str] | None = None
    batch_size: int = field(default=1, compare=False)
    start: int = 0
    limit: int = 0
    """Read only the first `limit` rows, from which `start` is then skipped; 0 reads all."""
    save_query_audio_dir: str | None = field(default=None, compare=False)
    """Folder in which the WAV files are kept for the next run. Without it, they are deleted after the run."""
    tuple_decode: bool = True
    is_local: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.do_infer, bool):
            # The first era has no `do_infer`: as positional arguments, the columns come one position earlier.
            columns: tuple[Any, Any, Any] = (
                self.do_infer,
                self.ref_col,
                self.query_col,
            )
            self.do_infer = True
            self.ref_col, self.query_col, self.extra_col = columns
        source = self.file
        self.file = _place(source)
        self.extra_col = (
            [self.extra_col] if isinstance(self.extra_col, str) else self.extra_col
        )
        self.index = 0
        self._assay_df: Any = None
        if self.save_query_audio_dir:
            folder = Path(self.save_query_audio_dir).expanduser()
        else:
            folder = None
        self.sounds = AudioFolder(folder / self._assay_label if folder else None)
        self.keeps_audio = folder is not None
        self._assay_check_place(source)
        if is_upstream("televal"):
            self._assay_df = self._assay_table()

    def _assay_check_place(self, source: str | Path) -> None:
        """Raise early for a path that cannot have rows. A name on the hub is checked when rows are read."""
        path = Path(self.file)
        if path.is_file() and path.suffix in LINES:
            return
        is_data = (
            path.exists()
            and str(source)
            and "/" in str(path)
            and not (path.is_file() and path.suffix == ".csv")
        )
        parts = str(source).removeprefix("hf://").strip("/").split("/")
        if self.do_infer and (
            is_data
            or (len(parts) > 2 and not self.is_jsonl and not Path(source).is_absolute())
        ):
            return
        fix = "a .jsonl file, a Parquet folder, or org/repo/folder on the hub"
        kind = ValueError if self.do_infer and len(parts) > 1 else NotImplementedError
        fault = NoSuchData(f"no rows in {source}", fix=fix)
        raise error_of_rule("televal", fault, kind)

    @property
    def is_jsonl(self) -> bool:
        """Whether the rows are plain JSON lines."""
        return str(self.file).endswith(LINES)

    @property
    def source(self) -> Path | Callable[[], Iterator[Row]]:
        """The source for the runner: the file, which it can stream and identify, or a function that yields rows."""
        path = Path(self.file)
        if path.exists() and not self.start and not self.limit:
            return path
        return self._assay_cut

    @property
    def is_streamed(self) -> bool:
        """True if the runner may read the rows itself: no method of the class is the user's own or upstream's."""
        return type(self) is BatchLoader and self._assay_df is None

    @property
    def df(self) -> Any:
        """All rows as a table of pandas; it may be replaced."""
        if self._assay_df is None:
            self._assay_df = self._assay_table()
        return self._assay_df

    @df.setter
    def df(self, table: object) -> None:
        self._assay_df = table

    def prepare(self, row: Fields) -> tuple[Row, dict[str, Audio]]:
        """Return a row with its tuples restored and paths for its clips, and the clips by these paths."""
        columns = dict(row)
        if self.tuple_decode:
            for name, value in columns.items():
                if type(value) in (dict, list):
                    columns[name] = decoded(value)
        if self.is_jsonl:
            return columns, {}
        if self.tuple_decode and isinstance(columns.get("answer"), str):
            columns["answer"] = _structured(columns["answer"])
        return columns, self._assay_place_audio(columns)

    def __iter__(self) -> Iterator[list[Row]]:
        self.index = 0
        return self

    def __next__(self) -> list[Row]:
        if self.index >= len(self.df):
            raise StopIteration
        batch: list[Row] = self.df.iloc[
            self.index : self.index + self.batch_size
        ].to_dict(orient="records")
        self.index += max(1, self.batch_size)
        return batch

    def __len__(self) -> int:
        if self._assay_df is not None:
            return len(self._assay_df)
        return sum(1 for _ in self._assay_cut())

    def cleanup(self) -> None:
        """Delete temporary audio clips."""
        self.sounds.close()

    @staticmethod
    def load_jsonl(
        file: str | Path,
        tuple_decode: bool = True,
    ) -> list[Any]:
        """Return all rows of a JSONL file."""
        return TupleJSONLConverter.load_file(file, tuple_decode)

    @staticmethod
    def load_json(file: str | Path) -> list[Any]:
        """Return all rows of a JSON file, which contains a list or a single object."""
        rows = json.loads(Path(file).read_text(encoding="utf-8"))
        if not isinstance(rows, (list, dict)):
            raise ValueError(f"{file} holds neither a list nor an object")
        if isinstance(rows, list):
            return rows
        return [rows]

    def _process_parquet_records(
        self,
        repo_data_dir: str,
        save_audio_root: str | None,
        **options: object,
    ) -> list[Row]:
        """Return all rows of Parquet files and write their audio clips; a subclass may override it."""
        if not is_upstream("televal"):
            return list(self._assay_ready())
        path = Path(repo_data_dir)
        if self.keeps_audio and path.exists() and era_here() != SEED:
            self.sounds.place(Path(str(save_audio_root)).expanduser() / "*.parquet")
        folder = str(self.sounds.folder)
        if path.exists():
            if path.is_dir():
                pattern = "*.parquet"
            else:
                pattern = path.name
            where = str(path if path.is_dir() else path.parent)
            return load_and_process_parquet_dataset(
                where,
                pattern,
                folder,
                key_col=self.key_col,
                is_local=True,
            )
        repo, pattern = "/".join(path.parts[:2]), "/".join(path.parts[2:])
        return load_and_process_parquet_dataset(
            repo,
            pattern,
            folder,
            key_col=self.key_col,
        )

    def _assay_table(self) -> Any:
        if self.is_jsonl:
            rows = self.load_jsonl(self.file, tuple_decode=self.tuple_decode)
        else:
            rows = self._process_parquet_records(
                str(self.file), self.save_query_audio_dir
            )
        if self.limit > 0:
            rows = rows[: self.limit]
        return table_of(rows[self.start :] if self.start > 0 else rows)

    @property
    def _assay_label(self) -> str:
        path = Path(self.file)
        if path.suffix == ".parquet":
            return path.stem
        return path.name

    def _assay_ready(self) -> Iterator[Row]:
        for row in self._assay_rows():
            columns, clips = self.prepare(row)
            for path, audio in () if self.keeps_audio else clips.items():
                columns.update(
                    {
                        name: str(self.write_audio(path, audio))
                        for name, v in columns.items()
                        if v == path
                    }
                )
            yield columns

    def first_rows(self, number: int) -> list[Row]:
        """Return the first rows of a local file; none for data on the hub."""
        if self._assay_df is not None:
            return list(self._assay_df.head(number).to_dict(orient="records"))
        if not Path(self.file).exists():
            return []
        from ....datasets.files import open_files

        rows: list[Row] = []
        for shard in open_files(Path(self.file), None, "dataset")[0]:
            for _, _, row in islice(shard.rows(), number - len(rows)):
                if not isinstance(row, DataError):
                    rows.append(dict(row))  # type: ignore[arg-type]
        return rows

    def write_audio(self, path: str, audio: Audio) -> Path:
        """Write the file of an audio clip that had only a path so far."""
        return self.sounds.put(audio, Path(path).stem)[0]

    def _assay_cut(self) -> Iterator[Row]:
        return islice(self._assay_rows(), self.start, self.limit or None)

    def _assay_rows(self) -> Iterator[Row]:
        path = Path(self.file)
        if not path.exists():
            yield from self._assay_from_hub()
            return
        from ....datasets.files import open_files

        for shard in open_files(path, None, "dataset")[0]:
            for _, _, row in shard.rows():
                if isinstance(row, DataError):
                    raise row
                yield dict(row)  # type: ignore[arg-type]

    def _assay_from_hub(self) -> Iterator[Row]:
        """Yield the rows of `org/repo/sub/folder` on the hub: the Parquet files of that folder, clips undecoded."""
        parts = str(self.file).removeprefix("hf://").strip("/").split("/")
        yield from hub_rows("/".join(parts[:2]), f"{'/'.join(parts[2:])}/*.parquet")

    def _assay_place_audio(self, row: Row) -> dict[str, Audio]:
        clips: dict[str, Audio] = {}
        for name in row:
            data = audio_bytes(row[name])
            if data is None:
                if name in AUDIO_COLUMNS and isinstance(row[name], dict):
                    row[name] = None
                continue
            key = row.get(self.key_col)
            if key is not None:
                stem = file_stem(str(key))
            else:
                stem = f"sha-{Audio(data).digest[:24]}"
            path = str(
                self.sounds.folder.resolve()
                / f"{stem if name == 'audio' else f'{stem}_{name}'}.wav"
            )
            audio = Audio(data, name=path)
            if self.keeps_audio:
                path = str(self.sounds.put(audio, Path(path).stem)[0].resolve())
                audio = Audio(Path(path), name=path)
            row[name] = path
            clips[path] = audio
        return clips


class BatchSaver:
    """Writes a JSONL file line by line, preserving tuples."""

    def __init__(
        self,
        file: str | Path,
        overwrite: bool = True,
    ) -> None:
        self.file = own_file(file) if overwrite else Path(file)
        self.file.parent.mkdir(
            parents=True,
            exist_ok=True,
        )
        if overwrite:
            self.file.unlink(missing_ok=True)

    def save_one(self, item: Fields) -> None:
        """Add one line."""
        if self.file.suffix.lower() != ".jsonl":
            raise ValueError(f"lines go into a .jsonl file, not {self.file.name}")
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(TupleJSONLConverter.dumps(item) + "\n")

    def save_all(self, items: list[Fields]) -> None:
        """Rewrite all lines, or all rows of a Parquet file."""
        suffix = self.file.suffix.lower()
        if suffix == ".parquet":
            table_of([encoded(item) for item in items]).to_parquet(
                self.file, index=False
            )
        elif suffix == ".jsonl":
            with self.file.open("w", encoding="utf-8") as lines:
                lines.writelines(
                    TupleJSONLConverter.dumps(item) + "\n" for item in items
                )
        else:
            raise ValueError(
                f"rows go into a .jsonl or .parquet file, not {self.file.name}"
            )

    def save_parquet(
        self,
        df: Any,
        columns: Any = None,
    ) -> None:
        """Write the rows of a pandas table, or some of its columns."""
        rows = df.to_dict(orient="records")
        self.save_all(
            [
                {k: v for k, v in row.items() if not columns or k in columns}
                for row in rows
            ]
        )


def table_of(rows: list[Any]) -> Any:
    """Return rows as a table with object columns for texts, as in pandas up to 2."""
    pandas = library(
        "pandas",
        "pandas, which `df` and iterating a BatchLoader need,",
        "assay[guests]",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pandas.option_context("future.infer_string", False):
            return pandas.DataFrame(rows)


def hub_rows(repository: str, files: str) -> Iterator[Row]:
    """Yield the rows of Parquet files on the hub, audio clips undecoded."""
    datasets = library("datasets", "datasets, which fetches from the hub,", "assay[hf]")
    rows: Any = datasets.load_dataset(
        repository,
        data_files={"test": files},
        split="test",
        streaming=True,
    )
    for name, kind in (rows.features or {}).items():
        if type(kind).__name__ == "Audio":
            rows = rows.cast_column(name, datasets.Audio(decode=False))
    yield from (dict(row) for row in rows)


def _place(file: str | Path) -> str | Path:
    """Return the path of a user's file. In the first era, `name` means `name.jsonl`."""
    if "://" in str(file):
        return file
    path = Path(file).expanduser()
    if path.name:
        lines = path.with_name(f"{path.name}.jsonl")
    else:
        lines = path
    if path.name and not path.exists() and lines.is_file():
        return lines
    return path


def _structured(text: str) -> Any:
    """Parse an answer that is stored as JSON text in Parquet.

    Only lists and marked tuples are parsed; plain text stays unchanged.
    """
    if text[:1] not in "[{":
        return text
    try:
        return decoded(json.loads(text))
    except ValueError:
        return text
