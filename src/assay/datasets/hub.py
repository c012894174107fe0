"""Hugging Face datasets: read from a local snapshot if there is one, or else through the `datasets` library.

`hf://org/name` or `hub:org/name`, followed by an optional configuration, revision and split, in this order:
`hf://cais/mmlu@anatomy?revision=c30699e#test`. The split `all` means every split, one after the other. A snapshot of
Parquet, JSONL, CSV or JSON files is read by assay's own readers and does not need `datasets`. Code is never run.
"""

import importlib.util
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..core import DataError, MissingExtra, UsageError
from .files import open_every_file, open_files
from .memory import as_row
from .shards import Row, RowData, Shard, row_by_counting
from .undecoded import without_decoding

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


PREFIXES = ("hf://", "hub:")
_WORD = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_NAME = re.compile(
    r"(?:hf://(?:datasets/)?|hub:)"  # "hf://datasets/", "hub:"
    rf"({_WORD}/{_WORD})"  # "openai/gsm8k"
    rf"(?:@({_WORD}))?"  # "@main", the configuration
    rf"(?:\?revision=({_WORD}))?"  # "?revision=v1.0"
    rf"(?:#({_WORD}))?"  # "#test", the split
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,2}[^/]|file:/")
"""Matches a URL: `https://host/x.csv`, `file:/x.csv`, or `https:/host/x.csv`, which a path conversion produces."""
_HUB_PAGE = re.compile(rf"https?:/+huggingface\.co/datasets/({_WORD}/{_WORD})")
ALL = "all"


@dataclass(frozen=True, slots=True)
class HubName:
    """A dataset id on the hub, split into its parts."""

    repository: str
    config: str | None = None
    revision: str | None = None
    split: str | None = None

    @classmethod
    def of(cls, text: str) -> "HubName":
        """Parse `hf://org/name@config?revision=…#split`."""
        match = _NAME.fullmatch(text)
        if match is None:
            raise UsageError(
                f"not a Hugging Face dataset id: {text!r}",
                fix="write hf://org/name or hf://org/name@config",
            )
        return cls(*match.groups())


@dataclass(slots=True)
class HubRows:
    """Rows streamed by the `datasets` library, with undecoded media."""

    name: str
    data: Any
    known_length: int | None = None
    path: Path | None = None
    seekable: bool = False

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The column names; None if the library does not provide them."""
        names = getattr(self.data, "column_names", None)
        return tuple(names) if names else None

    def rows(self) -> Iterator[Row]:
        """Yield the rows in order, numbered from 1."""
        for number, row in enumerate(self.data, 1):
            yield number, 0, as_row(row, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number."""
        return row_by_counting(self, number)


def is_hub_name(text: str) -> bool:
    """Return True if a source names a dataset on the hub."""
    return text.startswith(PREFIXES)


def refuse_url(
    text: str,
    where: str | None = None,
) -> None:
    """Raise if the data are given as a URL. Only files on disk and datasets on the Hugging Face hub can be read."""
    if not _URL.match(text) or is_hub_name(text):
        return
    on_hub = _HUB_PAGE.match(text)
    if on_hub:
        named = f"hub:{on_hub[1]}"
    else:
        named = "hub:OWNER/NAME for a dataset of the hub"
    fix = f"download it and give the path, or type {named}"
    if text.startswith("file:"):
        fix = "give the path: /" + text.removeprefix("file:").lstrip("/")
    raise UsageError(
        f"data is not read from a URL: {text}",
        where=where,
        fix=fix,
    )


def open_hub(
    text: str,
    split: str | None,
    where: str = "",
) -> tuple[Sequence[Shard], bool]:
    """Return the shards of a dataset on the hub. The second value is True if they contain only the split."""
    name = HubName.of(text)
    split = split or name.split
    folder = find_snapshot(name)
    if folder is not None:
        if name.config and (folder / name.config).is_dir():
            folder = folder / name.config
        else:
            folder = folder
        if split == ALL:
            return open_every_file(folder, where or text), True
        return open_files(folder, split, where or text)
    if split == ALL:
        parts = _load(name, None, text).items()
        return [
            HubRows(f"{text}#{part}", without_decoding(data)) for part, data in parts
        ], True
    return [HubRows(text, without_decoding(_load(name, split or "test", text)))], True


def find_snapshot(
    name: HubName,
    environment: Mapping[str, str] | None = None,
) -> Path | None:
    """Return the folder of a dataset that was downloaded earlier, in the hub's cache layout; None if there is none."""
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
        if (snapshots / revision).is_dir():
            return snapshots / revision
        return None
    if snapshots.is_dir():
        folders = sorted(
            snapshots.iterdir(), key=lambda folder: folder.stat().st_mtime_ns
        )
    else:
        folders = []
    return folders[-1] if folders else None


def hub_can_be_reached() -> bool:
    """Return True if the hub's host name can be resolved. Otherwise the library would retry for half a minute."""
    try:
        from huggingface_hub import constants

        address = urlsplit(constants.ENDPOINT)
        socket.getaddrinfo(address.hostname, address.port or 443)
    except OSError:
        return False
    except ImportError:
        return True
    return True


def _load(
    name: HubName,
    split: str | None,
    text: str,
) -> "Dataset | DatasetDict":
    """Return the dataset as a stream from the library: the rows of `split`, or a stream for each split by name."""
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
