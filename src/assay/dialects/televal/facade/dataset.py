"""`src.dataset`: reads the rows of a JSONL file, or of Parquet with audio clips, in batches.

The runner streams an unchanged `BatchLoader` row by row. A user's subclass, and code
that iterates over a loader, work as in TELEVAL: on a pandas table `df` with all rows,
and `nan` for missing values.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ....core import Audio, DataError, UsageError, library
from ....store.file_ledger import own_file
from ...protocol import error_of_rule, is_upstream
from ...shapes import Fields, Record
from ..audio_clips import AudioFolder, audio_bytes, file_stem
from ..eras import SEED, era_here
from ..structures import decoded, encoded
from .utils import (
    TupleJSONLConverter,
    audio_stem,
    load_and_process_parquet_dataset,
    parse_repo_and_pattern,
    read_answer,
)

AUDIO_COLUMNS = (
    "audio",
    *(f"{who}_audio{n}" for n in range(1, 10) for who in ("user", "bot")),
)
LINES = (".jsonl", ".ndjson")
Row = Record


class NoSuchData(UsageError, NotImplementedError):
    """Raised for a path that has no rows, or whose format is not supported."""


@dataclass(eq=False)
class BatchLoader:
    """TELEVAL's dataset: iterating yields lists of `batch_size` rows.

    Audio clips in Parquet become WAV files (one channel, 16 kHz), and the rows have the paths of these files.
    """

    file: str | Path
    key_col: str = "key"
    do_infer: Any = True
    ref_col: str | None = None
    query_col: str | None = None
    extra_col: str | list[str] | None = None
    batch_size: int = field(default=1, compare=False)
    start: int = 0
    limit: int = 0
    """Number of rows to read before `start` rows are skipped; 0 reads all."""
    save_query_audio_dir: str | None = field(default=None, compare=False)
    """Folder in which the WAV files are kept for the next run. Without a folder, they are deleted after the run."""
    tuple_decode: bool = True
    is_local: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.do_infer, bool):
            # The first era has no `do_infer`, so positional columns are shifted by one.
            self.extra_col = self.query_col
            self.query_col = self.ref_col
            self.ref_col = self.do_infer
            self.do_infer = True
        if isinstance(self.extra_col, str):
            self.extra_col = [self.extra_col]
        source = self.file
        self.file = _path_of(source)
        self.index = 0
        self._assay_df: Any = None
        self.keeps_audio = bool(self.save_query_audio_dir)
        folder = None
        if self.save_query_audio_dir:
            root = Path(self.save_query_audio_dir).expanduser()
            path = Path(self.file)
            folder = root / (path.stem if path.suffix == ".parquet" else path.name)
        self.sounds = AudioFolder(folder)
        self._assay_check_place(source)
        if is_upstream("televal"):
            self._assay_df = self._assay_table()

    def _assay_check_place(self, source: str | Path) -> None:
        """Raise for a path that cannot be data. The existence of data on the hub is not checked here."""
        path = Path(self.file)
        if path.is_file() and path.suffix in LINES:
            return
        parts = str(source).removeprefix("hf://").strip("/").split("/")
        if self.do_infer:
            is_table = "/" in str(path) and path.suffix != ".csv"
            if is_table and path.exists():
                return
            is_absolute = Path(source).is_absolute()
            if len(parts) > 2 and not self.is_jsonl and not is_absolute:
                return
        fix = "a .jsonl file, a Parquet folder, or org/repo/folder on the hub"
        kind = ValueError if self.do_infer and len(parts) > 1 else NotImplementedError
        fault = NoSuchData(f"no rows in {source}", fix=fix)
        raise error_of_rule("televal", fault, kind)

    @property
    def is_jsonl(self) -> bool:
        """True if the rows are plain JSON lines."""
        return str(self.file).endswith(LINES)

    @property
    def source(self) -> Path | Callable[[], Iterator[Row]]:
        """The source of rows for the runner: a file that can be streamed, or a function that yields rows."""
        path = Path(self.file)
        if path.exists() and not self.start and not self.limit:
            return path
        return self._assay_cut

    @property
    def is_streamed(self) -> bool:
        """True if the runner may read the file directly, row by row.

        It may not if the user has subclassed `BatchLoader` or assigned a table to `df`.
        """
        return type(self) is BatchLoader and self._assay_df is None

    @property
    def df(self) -> Any:
        """All rows as a pandas table. Code may replace the table."""
        if self._assay_df is None:
            self._assay_df = self._assay_table()
        return self._assay_df

    @df.setter
    def df(self, table: object) -> None:
        self._assay_df = table

    def prepare(self, row: Fields) -> tuple[Row, dict[str, Audio]]:
        """Return a row with a path in place of each audio clip, and the clips by path."""
        return self._assay_prepare(row, self.keeps_audio)

    def _assay_prepare(
        self,
        row: Fields,
        writes_audio: bool,
    ) -> tuple[Row, dict[str, Audio]]:
        columns = dict(row)
        if self.tuple_decode:
            for name, value in columns.items():
                if type(value) in (dict, list):
                    columns[name] = decoded(value)
        if self.is_jsonl:
            return columns, {}
        answer = columns.get("answer")
        if (
            self.tuple_decode
            and isinstance(answer, str)
            and answer.startswith(("[", "{"))
        ):
            columns["answer"] = read_answer(answer)
        return columns, self._assay_place_audio(columns, writes_audio)

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
    ) -> list[object]:
        """Return all rows of a JSONL file."""
        return TupleJSONLConverter.load_file(file, tuple_decode)

    @staticmethod
    def load_json(file: str | Path) -> list[object]:
        """Return all rows of a JSON file, which contains a list or a single object."""
        rows = json.loads(Path(file).read_text(encoding="utf-8"))
        if isinstance(rows, list):
            return rows
        if isinstance(rows, dict):
            return [rows]
        raise ValueError(f"{file} holds neither a list nor an object")

    def _process_parquet_records(
        self,
        repo_data_dir: str,
        save_audio_root: str | None,
        **options: object,
    ) -> list[Row]:
        """Return all rows of Parquet files, and write their audio clips as WAV files. A subclass may override it."""
        if not is_upstream("televal"):
            return [self._assay_prepare(row, True)[0] for row in self._assay_rows()]
        location = parse_repo_and_pattern(repo_data_dir)
        folder, pattern = location["repo"], location["pattern"]
        is_here = location["type"] == "local"
        if os.path.isfile(folder):
            folder, pattern = os.path.split(folder)
        if self.keeps_audio and is_here and era_here() != SEED:
            self.sounds.place(Path(str(save_audio_root)).expanduser() / "*.parquet")
        return load_and_process_parquet_dataset(
            folder,
            pattern,
            str(self.sounds.folder),
            key_col=self.key_col,
            is_local=is_here,
        )

    def _assay_table(self) -> Any:
        rows: Sequence[object]
        if self.is_jsonl:
            rows = self.load_jsonl(self.file, tuple_decode=self.tuple_decode)
        else:
            rows = self._process_parquet_records(
                str(self.file), self.save_query_audio_dir
            )
        if self.limit > 0:
            rows = rows[: self.limit]
        return table_of(rows[max(0, self.start) :])

    def first_rows(self, number: int) -> list[Row]:
        """Return up to `number` readable rows from the start of a local file; none for data on the hub."""
        if self._assay_df is not None:
            return list(self._assay_df.head(number).to_dict(orient="records"))
        if not Path(self.file).exists():
            return []
        rows = islice(_rows_of(Path(self.file)), number)
        return [row for row in rows if not isinstance(row, DataError)]

    def _assay_cut(self) -> Iterator[Row]:
        return islice(self._assay_rows(), self.start, self.limit or None)

    def _assay_rows(self) -> Iterator[Row]:
        """Yield the rows of a local file or folder, or of all Parquet files in the hub folder `org/repo/sub/folder`."""
        if not Path(self.file).exists():
            name = str(self.file).removeprefix("hf://")
            location = parse_repo_and_pattern(name)
            files = f"{location['pattern']}/*.parquet"
            yield from hub_rows(location["repo"], files)
            return
        for row in _rows_of(Path(self.file)):
            if isinstance(row, DataError):
                raise row
            yield row

    def _assay_place_audio(
        self,
        row: Row,
        writes: bool,
    ) -> dict[str, Audio]:
        """Replace the audio clips in a row with paths. Return the clips by path. With `writes`, also write files."""
        clips: dict[str, Audio] = {}
        for name in row:
            data = audio_bytes(row[name])
            if data is None:
                if name in AUDIO_COLUMNS and isinstance(row[name], dict):
                    row[name] = None
                continue
            key = row.get(self.key_col)
            if key is None:
                key = f"sha-{Audio(data).digest[:24]}"
            stem = audio_stem(file_stem(str(key)), name)
            path = self.sounds.folder.resolve() / f"{stem}.wav"
            clip = Audio(data, name=str(path))
            if writes:
                path = self.sounds.put(clip, stem)[0].resolve()
                clip = Audio(path, name=str(path))
            row[name] = str(path)
            clips[str(path)] = clip
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
        """Append one line to the file."""
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
        columns: Sequence[str] | None = None,
    ) -> None:
        """Write the rows of a pandas table, or some of its columns."""
        rows = df.to_dict(orient="records")
        self.save_all(
            [
                {k: v for k, v in row.items() if not columns or k in columns}
                for row in rows
            ]
        )


def table_of(rows: Sequence[object]) -> Any:
    """Return rows as a pandas table whose string columns have the dtype `object`, as in pandas 2."""
    pandas = library(
        "pandas",
        "pandas, which `df` and iterating a BatchLoader need,",
        "assay[guests]",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pandas.option_context("future.infer_string", False):
            return pandas.DataFrame(rows)


def hub_rows(
    repository: str,
    files: str,
) -> Iterator[Row]:
    """Yield the rows of Parquet files in a repository on the hub. Audio clips stay encoded."""
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


def _rows_of(path: Path) -> Iterator[Row | DataError]:
    """Yield the rows of a file or folder. In place of an unreadable row, yield a `DataError`."""
    from ....datasets.files import open_files

    for shard in open_files(path, None, "dataset")[0]:
        for _, _, row in shard.rows():
            yield row if isinstance(row, DataError) else dict(row)  # type: ignore[arg-type]


def _path_of(file: str | Path) -> str | Path:
    """Return the path of a user's file; or `<file>.jsonl` if only that exists."""
    if "://" in str(file):
        return file
    path = Path(file).expanduser()
    if path.name and not path.exists():
        lines = path.with_name(f"{path.name}.jsonl")
        if lines.is_file():
            return lines
    return path
