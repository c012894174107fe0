"""Provide rows for tasks of a library, from `--data` or from the source that the task declares.

A single file has the rows to evaluate. A folder may have one file for each split
(`train`, `validation`, `test`). For a task in a group, a file or folder with the task's
name takes precedence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import AssayError, DataError, UsageError, shorten
from ...datasets.files import FORMATS, open_files
from ...datasets.parquet import Parquet
from .task_settings import TaskSettings

if TYPE_CHECKING:
    import pyarrow

    from datasets import Dataset, DatasetDict

PARQUET_BRANCH = "refs/convert/parquet"
"""The branch with the hub's Parquet copy of a dataset, which exists even if the loading script no longer runs."""
SPLIT_SPELLINGS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}


class Splits(dict[str, "Dataset"]):
    """The splits in `--data`, by name. Each split is read when it is first used."""

    def __init__(self, source: "GivenData") -> None:
        super().__init__()
        self._source = source

    def __missing__(self, split: str) -> "Dataset":
        self[split] = self._source.dataset(split)
        return self[split]

    def __contains__(self, split: object) -> bool:
        return isinstance(split, str)


@dataclass(frozen=True)
class GivenData:
    """The rows from `--data` and `--fewshot_data` for one task."""

    task: str
    path: Path
    evaluated: str | None
    """The split to evaluate; None for a task written in Python, which does not declare its splits."""
    fewshot_path: Path | None = None
    shots: int = 0
    _read: dict[Path, "Dataset"] = field(
        default_factory=dict,
        compare=False,
        repr=False,
    )

    def dataset(self, split: str) -> "Dataset":
        """Return the rows of one split.

        Raise if few-shot examples are needed and their split is not in `--data`,
        because the examples would then be rows that are evaluated.
        """
        is_evaluated = self.evaluated is None or split == self.evaluated
        if not is_evaluated and self.fewshot_path is not None:
            return self._rows(self.fewshot_path)
        own_file = self._file_of(split)
        if own_file is not None:
            return self._rows(own_file)
        if not is_evaluated and self.shots:
            raise UsageError(
                f"{self.shots} examples come from the split {split!r}, and --data has no such split",
                where=f"task {self.task!r}",
                fix="--fewshot_data FILE, --num_fewshot 0, or a folder with a file for each split",
            )
        return self._rows(self.path)

    def _file_of(self, split: str) -> Path | None:
        """Return the file or folder of one split in the folder `--data`; None if there is none."""
        if not self.path.is_dir():
            return None
        spellings = SPLIT_SPELLINGS.get(split, (split,))
        for entry in sorted(self.path.iterdir()):
            stem = entry.name.split(".")[0].split("-")[0]
            if stem in spellings:
                return entry
        return None

    def _rows(self, path: Path) -> "Dataset":
        if path not in self._read:
            self._read[path] = read_dataset(path, f"task {self.task!r}")
        return self._read[path]


def given_data(
    task: str,
    dataset_name: object,
    evaluated: str | None,
    settings: TaskSettings,
    shots: int,
) -> Splits:
    """Return the splits of `--data` for one task."""
    assert settings.data is not None
    fewshot = settings.fewshot_data
    source = GivenData(
        task=task,
        path=_own_path(Path(settings.data).expanduser(), task, dataset_name),
        evaluated=evaluated,
        fewshot_path=None if fewshot is None else Path(fewshot).expanduser(),
        shots=shots,
    )
    return Splits(source)


def read_dataset(path: Path, where: str) -> "Dataset":
    """Return the rows of a file or folder as a `datasets.Dataset`. Raise for a row that cannot be read."""
    import datasets

    shards, _ = open_files(path, None, where)
    parquet = [shard.path for shard in shards if isinstance(shard, Parquet)]
    if len(parquet) == len(shards):
        return _parquet_dataset(parquet)
    rows: list[Mapping[str, Any]] = []
    for shard in shards:
        for _, _, row in shard.rows():
            if isinstance(row, DataError):
                raise row
            if isinstance(row, Mapping):
                rows.append(dict(row))
    if not rows:
        raise UsageError(
            "no rows",
            where=str(path),
            fix="write at least one row",
        )
    try:
        return datasets.Dataset.from_list(rows)
    except Exception as error:
        raise DataError(
            f"a column contains values of different types: {shorten(error)}",
            file=str(path),
            fix="write numbers or texts in a column, not both",
        ) from error


def _parquet_dataset(files: Sequence[Path]) -> "Dataset":
    """Return the rows of Parquet files. Columns with images are decoded as for a dataset from the hub."""
    import pyarrow
    from pyarrow import parquet

    import datasets

    tables = [parquet.read_table(file) for file in files]
    table = pyarrow.concat_tables(tables, promote_options="default")
    dataset = datasets.Dataset(datasets.table.InMemoryTable(table))
    for name, kind in dataset.features.items():
        is_file = isinstance(kind, Mapping) and set(kind) == {"bytes", "path"}
        if is_file and _holds_images(table.column(name)):
            dataset = dataset.cast_column(name, datasets.Image())
    return dataset


def _holds_images(column: "pyarrow.ChunkedArray") -> bool:
    """Return True if the first non-empty file in a column is an image."""
    import io

    from PIL import Image, UnidentifiedImageError

    for value in column:
        data = (value.as_py() or {}).get("bytes")
        if not data:
            continue
        try:
            Image.open(io.BytesIO(data))
        except (UnidentifiedImageError, OSError):
            return False
        return True
    return False


def hub_dataset(
    path: str | None,
    name: object,
    options: Mapping[str, Any],
    where: str,
    load: Callable[..., "Dataset | DatasetDict"] | None = None,
) -> "Dataset | DatasetDict":
    """Load a task's dataset with the `datasets` library.

    If that fails, raise a one-line error that suggests `--data`.
    """
    import datasets

    load = load or datasets.load_dataset
    try:
        return load(
            path=path,
            name=name,
            **options,
        )
    except AssayError:
        raise
    except Exception as error:
        if "script" in str(error).lower() and "revision" not in options:
            other_options = {
                k: v for k, v in options.items() if k != "trust_remote_code"
            }
            converted = {**other_options, "revision": PARQUET_BRANCH}
            return hub_dataset(path, name, converted, where, load)
        dataset_name = f"{path} ({name})" if name else str(path)
        raise UsageError(
            f"the data cannot be loaded: {dataset_name}: {_reason(error)}",
            where=where,
            fix="--data FILE_OR_FOLDER names rows on this machine",
        ) from error


def _reason(error: BaseException) -> str:
    first_line = str(error).strip().split("\n")[0]
    if first_line:
        return shorten(first_line, 120)
    return type(error).__name__


def _own_path(
    data: Path,
    task: str,
    dataset_name: object,
) -> Path:
    """Return the file or folder in `--data` that is named after the task or its dataset.

    If there is none, or `--data` is a file, return `--data` itself.
    """
    if not data.is_dir():
        return data
    for name in (task, str(dataset_name or "")):
        if not name:
            continue
        if (data / name).is_dir():
            return data / name
        for suffix in FORMATS:
            if (data / f"{name}{suffix}").is_file():
                return data / f"{name}{suffix}"
    return data
