"""Open the data of a task as `Samples`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from ..core import UsageError, shorten
from ..registry import datasets as registered
from .files import open_files
from .hub import is_hub_name, open_hub, refuse_url
from .memory import Called, Rows
from .reach import Reach
from .reading import OnDuplicate, ToSample
from .samples import SPLIT_COLUMN, Samples
from .shards import Shard
from .undecoded import without_decoding


class DataOptions(TypedDict, total=False):
    """Options of `open_dataset`."""

    columns: Mapping[str, str] | None
    """Column names by role: `{"target": "gold"}`."""
    tags: Sequence[str]
    """Columns to break results down by."""
    cluster: str | None
    split: str | None
    on_duplicate: OnDuplicate
    strict: bool
    to_sample: ToSample | None
    """A function that builds a `Sample` from a row, if column names are not enough. An empty id is filled in."""
    where: str
    """The task or command that opens the data, for error messages."""
    media_root: str | Path | None
    """The folder that must contain the media named in rows. By default the folder of the data."""
    allow_urls: bool
    """Whether media given as URLs are fetched."""
    allow_private: bool
    """Whether media given as URLs are also fetched from private addresses."""


def open_dataset(
    source: object,
    **options: Unpack[DataOptions],
) -> Samples:
    """Open the samples of a path, a Hugging Face id (`hf://org/name`), rows, a function of rows, or any iterable.

    Files are inspected here, so that a missing file, a broken header or a wrong column name is reported before a run
    starts. A function is first called when its rows are read.

    Example: `open_dataset("exam.csv", columns={"target": "gold"}, tags=["subject"])`
    """
    if unknown := options.keys() - DataOptions.__annotations__.keys():
        raise TypeError(
            f"open_dataset() got an unexpected keyword argument {sorted(unknown)[0]!r}"
        )
    where = options.get("where", "")
    split = options.get("split")
    on_duplicate = options.get("on_duplicate", "error")
    if on_duplicate not in ("error", "first", "suffix"):
        raise UsageError(
            f"on_duplicate cannot be {on_duplicate!r}",
            where=where or None,
            fix="error, first or suffix",
        )
    if isinstance(source, Samples):
        return source
    shards, is_split_selected = _shards(source, split, where)
    samples = Samples(
        shards,
        columns=dict(options.get("columns") or {}),
        tags=tuple(options.get("tags", ())),
        cluster=options.get("cluster"),
        split=None if is_split_selected else split,
        on_duplicate=on_duplicate,
        strict=options.get("strict", False),
        to_sample=options.get("to_sample"),
        where=where,
        reach=Reach(
            root=_root_of(source, options.get("media_root"), where),
            allow_urls=options.get("allow_urls", False),
            allow_private=options.get("allow_private", False),
        ),
    )
    if isinstance(shards[0], Called):
        return samples
    if samples.split is not None:
        _check_split_column(samples)
    _ = samples.head
    return samples


def _root_of(
    source: object,
    media_root: str | Path | None,
    where: str,
) -> Path | None:
    """Return the folder that must contain all media.

    It is `media_root`, or the source itself if that is a folder. Otherwise return None.
    """
    if media_root is not None:
        root = Path(media_root).expanduser()
        if not root.is_dir():
            raise UsageError(
                f"media_root: no such folder: {root}",
                where=where or None,
                fix="name a folder",
            )
        return root
    if isinstance(source, (str, Path)) and not is_hub_name(str(source)):
        path = Path(source).expanduser()
        return path if path.is_dir() else None
    return None


def _shards(
    source: object,
    split: str | None,
    where: str,
) -> tuple[Sequence[Shard], bool]:
    """Return the shards of a source. The second value is True if they contain only the
    requested split.

    A source is a path, a hub name, a list of rows, an iterator, or a function that
    returns rows.
    """
    if isinstance(source, (str, Path)):
        return _open_named(source, split, where)
    if hasattr(source, "of_split"):
        # The user's own code reads it and selects the split.
        return [source.of_split(split)], True
    shard = _shard_in_memory(source)
    if shard is None:
        raise UsageError(
            f"cannot read a dataset from {shorten(source)}",
            where=where or None,
            fix="give a path, a list of rows, or a function that yields rows",
        )
    return [shard], False


def _shard_in_memory(source: object) -> Shard | None:
    """Return a shard for a list of rows, an iterable or a function of rows; None for any other source."""
    if isinstance(source, (bytes, Mapping)):
        return None
    source = without_decoding(source)
    if isinstance(source, Sequence):
        return Rows(source, folder=getattr(source, "folder", None))
    if isinstance(source, Iterable):
        # An iterator can be read only once, but a dataset must be readable again.
        is_iterator = iter(source) is source
        return Rows(list(source)) if is_iterator else Called(source.__iter__)
    if callable(source):
        # If a function names the file it reads, that file's size, time and bytes identify the data.
        return Called(source, getattr(source, "file", None))
    return None


def _open_named(
    source: str | Path,
    split: str | None,
    where: str,
) -> tuple[Sequence[Shard], bool]:
    """Open a hub dataset, a file or folder, or a registered dataset, in this order."""
    text = str(source)
    if is_hub_name(text):
        return open_hub(text, split, where)
    refuse_url(text, where or None)
    path = Path(source).expanduser()
    if not path.exists() and text in registered:
        return _shards(registered.build(text, where=where or None), split, where)
    return open_files(path, split, where)


def _check_split_column(samples: Samples) -> None:
    """Raise if the user requested a split, but neither the file name nor a column assigns rows to splits."""
    for shard in samples.shards:
        names = shard.columns
        if names is None:
            names = next(
                (tuple(row) for _, _, row in shard.rows() if isinstance(row, Mapping)),
                (),
            )
        if SPLIT_COLUMN not in names:
            raise UsageError(
                f"{shard.name} has no {SPLIT_COLUMN!r} column and is not named after split {samples.split!r}",
                where=samples.where or None,
                fix=f"name the file {samples.split}.jsonl, or leave the split out",
            )
