"""Hugging Face datasets: from a snapshot on this disk where there is one, else through the `datasets` library.

`hf://org/name` or `hub:org/name`, and after it, where needed, a configuration, a revision and a split, in this order:
`hf://cais/mmlu@anatomy?revision=c30699e#test`; the split `all` is every split, one after the other. A snapshot made of
Parquet, JSONL, CSV or JSON is read by our own readers; `datasets` is then not needed. Code is never run.
"""

import importlib.util
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core import DataError, MissingExtra, UsageError
from .files import open_every_file, open_files
from .memory import as_row
from .shards import Row, RowData, Shard, row_by_counting
from .undecoded import without_decoding

PREFIXES = ("hf://", "hub:")
_WORD = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_NAME = re.compile(
    rf"(?:hf://(?:datasets/)?|hub:)({_WORD}/{_WORD})(?:@({_WORD}))?(?:\?revision=({_WORD}))?(?:#({_WORD}))?"
)
ALL = "all"


@dataclass(frozen=True, slots=True)
class HubName:
    """An id on the hub, taken apart."""

    repository: str
    config: str | None = None
    revision: str | None = None
    split: str | None = None

    @classmethod
    def of(cls, text: str) -> "HubName":
        """The parts of `hf://org/name@config?revision=…#split`."""
        found = _NAME.fullmatch(text)
        if found is None:
            raise UsageError(
                f"not a Hugging Face dataset id: {text!r}",
                fix="write hf://org/name or hf://org/name@config",
            )
        return cls(*found.groups())


@dataclass(slots=True)
class HubRows:
    """Rows that the `datasets` library gives, streamed, media undecoded."""

    name: str
    data: Any
    known_length: int | None = None
    path: Path | None = None
    seekable: bool = False

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns, where the library knows them."""
        names = getattr(self.data, "column_names", None)
        return tuple(names) if names else None

    def rows(self) -> Iterator[Row]:
        """The rows in order, counted from 1."""
        for number, row in enumerate(self.data, 1):
            yield number, 0, as_row(row, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """The row with this number."""
        return row_by_counting(self, number)


def is_hub_name(text: str) -> bool:
    """Whether a source names a dataset on the hub."""
    return text.startswith(PREFIXES)


def open_hub(
    text: str, split: str | None, where: str = ""
) -> tuple[Sequence[Shard], bool]:
    """The shards of a dataset on the hub, and whether the split is settled."""
    name = HubName.of(text)
    split = split or name.split
    folder = find_snapshot(name)
    if folder is not None:
        folder = (
            folder / name.config
            if name.config and (folder / name.config).is_dir()
            else folder
        )
        if split == ALL:
            return open_every_file(folder, where or text), True
        return open_files(folder, split, where or text)
    if split == ALL:
        parts = _loaded(name, None, text).items()
        return [
            HubRows(f"{text}#{part}", without_decoding(data)) for part, data in parts
        ], True
    return [HubRows(text, without_decoding(_loaded(name, split or "test", text)))], True


def find_snapshot(
    name: HubName, environment: Mapping[str, str] | None = None
) -> Path | None:
    """The folder of a dataset that was downloaded before, in the hub's own cache layout."""
    env = os.environ if environment is None else environment
    home = Path(
        env.get("HF_HOME")
        or Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    )
    cache = (
        Path(env.get("HF_HUB_CACHE") or home / "hub")
        / f"datasets--{name.repository.replace('/', '--')}"
    )
    reference = cache / "refs" / (name.revision or "main")
    revision = (
        reference.read_text("utf-8").strip() if reference.is_file() else name.revision
    )
    snapshots = cache / "snapshots"
    if revision is not None:
        return snapshots / revision if (snapshots / revision).is_dir() else None
    found = (
        sorted(snapshots.iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        if snapshots.is_dir()
        else []
    )
    return found[-1] if found else None


def hub_can_be_reached() -> bool:
    """Whether the hub's name resolves: the library would try five times, for half a minute, before it gave up."""
    try:
        from huggingface_hub import constants

        address = urlsplit(constants.ENDPOINT)
        socket.getaddrinfo(address.hostname, address.port or 443)
    except OSError:
        return False
    except ImportError:
        return True
    return True


def _loaded(name: HubName, split: str | None, text: str) -> Any:
    """What the library streams: the rows of a split, or those of all by their names."""
    if importlib.util.find_spec("datasets") is not None and not hub_can_be_reached():
        raise DataError(
            "cannot load from the hub: it cannot be reached from this machine",
            file=text,
            fix="pass --data PATH with a local copy, or set $ASSAY_DATA to the folder that holds it",
        )
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtra(
            "datasets, which reads Hugging Face ids,",
            "'assay[hf]', or pass --data PATH with a local copy",
            where=text,
        ) from error
    try:
        return load_dataset(
            name.repository,
            name.config,
            split=split,
            revision=name.revision,
            streaming=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0][:160]
        raise DataError(
            f"cannot load from the hub: {type(error).__name__}: {reason}",
            file=text,
            fix="check the name, split and network, or pass --data PATH with a local copy",
        ) from error
