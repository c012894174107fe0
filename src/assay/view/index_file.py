"""Store the index of a journal on disk, and extend it when the journal has grown.

The index is the file `view.index` in the run folder. If that folder is read-only, or
has a file of that name that assay did not write, the index is stored in the user's
cache, or otherwise built each time. An index is used only if the beginning of the
journal has not changed since.
"""

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import zstandard

from ..core import StoreError
from ..store.layout import Layout, write_whole
from ..store.ownership import VIEW_INDEX
from .journal_index import JournalIndex

MAGIC = VIEW_INDEX + b"2\n"
"""The first bytes of an index, with the version of its format. An index of another version is built again."""
WORTH_KEEPING = 8 << 20
"""The size in bytes from which the index of a journal is saved. A shorter journal is
read as fast as its saved index.
"""
COMPARED_BYTES = 1 << 16
"""How many bytes are compared to check whether a journal has changed, at each end of its indexed part."""


ARRAY_TYPES = {"small": "i", "real": "f", "metrics": "d", "tags": "i"}
"""The array type of the columns in each group of columns."""


def open_index(layout: Layout) -> JournalIndex:
    """Return the current index of a run's journal. Save it if the journal is long enough."""
    index = _load(layout) or JournalIndex(layout.journal)
    if index.read_on() and index.end >= WORTH_KEEPING:
        save_index(index, layout)
    index.forget()
    return index


def save_index(index: JournalIndex, layout: Layout) -> Path | None:
    """Write the index to the first writable location, and return the path; None if no location is writable."""
    data = _pack(index)
    for path in _locations(layout):
        try:
            if path.exists() and not _is_ours(path):
                continue
            if path.parent != layout.folder:
                path.parent.mkdir(
                    parents=True,
                    exist_ok=True,
                    mode=0o700,
                )
            write_whole(path, data)
        except (OSError, StoreError):
            continue
        return path
    return None


def _locations(layout: Layout) -> Iterator[Path]:
    yield layout.view_index
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = hashlib.sha256(os.fsencode(layout.folder.resolve())).hexdigest()[:32]
    with suppress(RuntimeError):  # the user has no home folder
        yield Path(cache).expanduser() / "assay" / "view" / f"{name}.index"


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(VIEW_INDEX)) == VIEW_INDEX


def _load(layout: Layout) -> JournalIndex | None:
    for path in _locations(layout):
        try:
            index = None
            if _is_ours(path):
                index = _unpack(path.read_bytes(), layout.journal)
            if index is not None:
                return index
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            msgspec.MsgspecError,
            zstandard.ZstdError,
        ):
            continue  # a damaged index is built again
    return None


def _mark(path: Path, end: int) -> dict[str, int]:
    """Return checksums that show later whether the indexed part of a journal is unchanged."""
    with path.open("rb") as file:
        first = crc32(file.read(min(COMPARED_BYTES, end)))
        file.seek(max(0, end - COMPARED_BYTES))
        last = crc32(file.read(end - file.tell()))
        return {"end": end, "first": first, "last": last}


def _pack(index: JournalIndex) -> bytes:
    """Return an index as bytes: the magic bytes, the length of a JSON head, the head,
    and the compressed columns and words.
    """
    index.words.seal()
    columns: dict[str, Any] = {
        "offsets": index.offsets,
        "line_rows": index.line_rows,
        "firsts": index.words.firsts,
        "line_slots": index.line_slots,
        "current": index.current,
        "failed": index.failed,
    }
    for kind in ("small", "real", "metrics", "tags", "verdicts"):
        for name, column in getattr(index, kind).items():
            columns[f"{kind}\0{name}"] = column
    columns["ids"] = "\0".join(index.ids).encode("utf-8", "surrogatepass")
    columns["calls"] = b"".join(
        key + offset.to_bytes(8, "little") for key, offset in index.calls.items()
    )
    compress = zstandard.ZstdCompressor(level=1).compress
    blocks = [compress(bytes(column)) for column in columns.values()]
    stat = index.path.stat()
    head = {
        "journal": _mark(index.path, index.end)
        | {"mtime_ns": stat.st_mtime_ns, "size": stat.st_size},
        "damaged": index.damaged,
        "cells": index.cells,
        "outcomes": index.outcomes,
        "compound_scorers": sorted(index.compound_scorers),
        "tag_values": index.tag_values,
        "words": len(index.words),
        "columns": [
            [name, len(block)] for name, block in zip(columns, blocks, strict=True)
        ],
        "blocks": [len(block) for block in index.words.blocks],
    }
    packed = msgspec.json.encode(head)
    return b"".join(
        [MAGIC, len(packed).to_bytes(8, "little"), packed, *blocks, *index.words.blocks]
    )


def _is_current(mark: Mapping[str, int], journal: Path) -> bool:
    """Return True if the indexed part of the journal is unchanged. Lines may have been added after it."""
    stat = journal.stat()
    has_grown = stat.st_size > mark["size"]
    has_same_size = stat.st_size == mark["size"]
    is_untouched = has_same_size and stat.st_mtime_ns == mark["mtime_ns"]
    if not has_grown and not is_untouched:
        return False
    checksums = _mark(journal, mark["end"])
    return checksums.items() <= mark.items()


def _unpack(data: bytes, journal: Path) -> JournalIndex | None:
    """Return the index in the bytes of a file; None if they are not an index, or not the index of this journal."""
    if not data.startswith(MAGIC):
        return None
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    head = msgspec.json.decode(data[start:end])
    if not _is_current(head["journal"], journal):
        return None
    lengths = dict(head["columns"])
    pieces = _cut(data, end, [*lengths.values(), *head["blocks"]])
    blocks = pieces[len(lengths) :]
    expand = zstandard.ZstdDecompressor().decompress
    columns = {}
    for name, piece in zip(lengths, pieces, strict=False):
        columns[name] = expand(piece)
    index = _index_of(head, columns, journal)
    index.words.restore(blocks, array("q", columns["firsts"]), head["words"])
    return index


def _cut(
    data: bytes,
    offset: int,
    lengths: Iterable[int],
) -> list[bytes]:
    """Cut bytes from an offset on into consecutive pieces of the given lengths."""
    pieces = []
    for length in lengths:
        pieces.append(data[offset : offset + length])
        offset += length
    return pieces


def _index_of(
    head: Mapping[str, Any],
    columns: Mapping[str, bytes],
    journal: Path,
) -> JournalIndex:
    """Build an index from the parts of its file. The searchable words are not included."""
    index = JournalIndex(journal)
    index.end = head["journal"]["end"]
    index.damaged = head["damaged"]
    index.cells = [(task, model) for task, model in head["cells"]]
    index.outcomes = head["outcomes"]
    index.tag_values = head["tag_values"]
    index.compound_scorers = set(head["compound_scorers"])
    ids = columns["ids"].decode("utf-8", "surrogatepass")
    index.ids = ids.split("\0") if ids or head["words"] else []
    calls = columns["calls"]
    for start in range(0, len(calls), 16):
        key = calls[start : start + 8]
        offset = calls[start + 8 : start + 16]
        index.calls[key] = int.from_bytes(offset, "little")
    index.current = bytearray(columns["current"])
    index.failed = bytearray(columns["failed"])
    index.offsets = array("q", columns["offsets"])
    index.line_rows = array("i", columns["line_rows"])
    index.line_slots = array("i", columns["line_slots"])
    for name, column in columns.items():
        kind, separator, column_name = name.partition("\0")
        if separator and kind == "verdicts":
            index.verdicts[column_name] = bytearray(column)
        elif separator:
            values = array(ARRAY_TYPES[kind], column)
            getattr(index, kind)[column_name] = values
    return index
