"""A run as files: the same JSON that the server answers, in pieces small enough for any file host.

`columns`, `rows` and `samples` are chunks of one run; `places` says which chunk holds a row. Media are named by their
digest; where they go (a folder, or into the page itself) is said by whoever saves.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import DataError
from .folders import listed
from .media import Found, MediaShelf
from .records import LONGEST_TEXT
from .run_page import damage_of, run_page
from .run_view import RunView, rows_of

ROWS_A_CHUNK = 500
SAMPLES_A_CHUNK = 100
CHARACTERS_A_CHUNK = 600_000

Keep = Callable[[Found, str], str | None]
"""A medium and its form (`full` or `small`) to the address by which a page finds it; `None` where it is not kept."""


@dataclass(slots=True)
class SavedRun:
    """One run, its documents by name, made one after another so that few are held at once."""

    run: RunView
    shelf: MediaShelf
    keep: Keep
    chosen: Sequence[int] | None = None
    """The rows whose samples are saved; `None`: all of them."""

    def documents(self) -> Iterator[tuple[str, Any]]:
        """Name and content of each document."""
        run = self.run
        columns = run.columns()
        rows: list[int] = rows_of(columns)
        saved = (
            rows
            if self.chosen is None
            else [row for row in rows if row in set(self.chosen)]
        )
        yield (
            f"run-{run.id}",
            {**run_page(run), "live": False, "damage": damage_of(run)},
        )
        yield f"columns-{run.id}", columns
        size = max(rows, default=-1) + 1
        snippets, samples = [-1] * size, [-1] * size
        for count, start in enumerate(range(0, len(saved), ROWS_A_CHUNK)):
            part = saved[start : start + ROWS_A_CHUNK]
            yield (
                f"rows-{run.id}-{count}",
                [self._snippet(one) for one in run.snippets(part)],
            )
            for row in part:
                snippets[row] = count
        chunks = 0
        for chunk in self._chunks(saved):
            yield f"samples-{run.id}-{chunks}", chunk
            for row in chunk:
                samples[row] = chunks
            chunks += 1
        whole = self.chosen is None
        yield (
            f"places-{run.id}",
            {
                "snippets": snippets,
                "samples": samples,
                "chunks": chunks,
                "whole": whole,
            },
        )

    def _chunks(self, rows: Sequence[int]) -> Iterator[dict[int, Any]]:
        chunk: dict[int, Any] = {}
        characters = 0
        for row in rows:
            record = self.run.record(row)
            plain = record.to_plain()
            media = {
                str(part["sha256"]): self._addresses(row, str(part["sha256"]))
                for part in record.media()
            }
            chunk[row] = _with_addresses(plain, media) if media else plain
            characters += _length(plain)
            if len(chunk) >= SAMPLES_A_CHUNK or characters > CHARACTERS_A_CHUNK:
                yield chunk
                chunk, characters = {}, 0
        if chunk:
            yield chunk

    def _snippet(self, snippet: dict[str, Any]) -> dict[str, Any]:
        for name in ("media", "made"):
            for part in snippet.get(name) or ():
                part |= self._addresses(snippet["row"], part["sha256"])
        return snippet

    def _addresses(self, row: int, digest: str) -> dict[str, Any]:
        """Where a page finds a medium, its small form and its waveform; nothing where it cannot be shown."""
        try:
            found = self.shelf.find(self.run.record(row), digest)
            address = self.keep(found, "full")
            if address is None:
                return {}
            if found.kind == "image":
                return {"url": address, "small_url": self.keep(found, "small")}
            if found.kind == "audio":
                return {"url": address, "wave": list(self.shelf.waveform(found))}
            return {"url": address}
        except DataError:
            return {}


def runs_document(runs: Sequence[RunView], folder: str) -> dict[str, Any]:
    """The list of runs, none of which goes on any more for whoever reads a saved page."""
    return {"folder": folder, "runs": [{**listed(run), "live": False} for run in runs]}


def data_address(
    found: Found, data: bytes | None = None, type: str | None = None
) -> str:
    """A medium inside the page itself."""
    body = found.data() if data is None else data
    return f"data:{type or found.type};base64,{base64.b64encode(body).decode('ascii')}"


def _with_addresses(value: Any, media: Mapping[str, Mapping[str, Any]]) -> Any:
    if isinstance(value, Mapping):
        plain = {name: _with_addresses(inner, media) for name, inner in value.items()}
        return (
            {**plain, **media.get(str(value.get("sha256")), {})}
            if "sha256" in value and "type" in value
            else plain
        )
    if isinstance(value, list):
        return [_with_addresses(inner, media) for inner in value]
    return value


def _length(value: Any) -> int:
    if isinstance(value, str):
        return min(len(value), LONGEST_TEXT)
    if isinstance(value, Mapping):
        return sum(_length(inner) for inner in value.values())
    return sum(_length(inner) for inner in value) if isinstance(value, list) else 8
