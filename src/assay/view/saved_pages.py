"""A run as files: the same JSON that the server sends, in pieces small enough for any file host.

`columns`, `rows` and `samples` are chunks of one run; `places` says which chunk contains a row. Media are named by
their digest, and the caller decides where they are stored: in a folder, or in the page itself.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import DataError
from .records import LONGEST_TEXT
from .run_folders import runs_document
from .run_media import Found, MediaShelf
from .run_page import damage_of, run_page
from .run_view import RunView, rows_of

ROWS_A_CHUNK = 500
SAMPLES_A_CHUNK = 100
CHARACTERS_A_CHUNK = 600_000

Keep = Callable[[Found, str], str | None]
"""Returns the address of a medium in one of its forms (`full` or `small`) for a page; `None` if it is not stored."""


@dataclass(slots=True)
class SavedRun:
    """One run, as named documents that are made one after another, so that few are in memory at once."""

    run: RunView
    shelf: MediaShelf
    keep: Keep
    chosen: Sequence[int] | None = None
    """The rows whose samples are saved, in their display order; None saves all."""
    domains: Mapping[str, Sequence[float]] | None = None
    """The axes of the metrics over all saved runs."""
    listed: Sequence[int] = ()
    """Further rows of which only the beginnings of question and answer are saved."""

    def documents(self) -> Iterator[tuple[str, Any]]:
        """Yield name and content of each document."""
        run = self.run
        columns = run.columns()
        rows: list[int] = rows_of(columns)
        if self.chosen is None:
            saved = rows
        else:
            saved = list(self.chosen)
        page = run_page(run, self.domains)
        yield f"run-{run.id}", {**page, "live": False, "damage": damage_of(run)}
        yield f"columns-{run.id}", columns
        size = max(rows, default=-1) + 1
        snippets = [-1] * size
        samples = [-1] * size
        rows_with_text = list(dict.fromkeys([*saved, *self.listed]))
        for count, start in enumerate(range(0, len(rows_with_text), ROWS_A_CHUNK)):
            part = rows_with_text[start : start + ROWS_A_CHUNK]
            yield (
                f"rows-{run.id}-{count}",
                [self._snippet(snippet) for snippet in run.snippets(part)],
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
                "order": None if whole else saved,
            },
        )

    def _chunks(self, rows: Sequence[int]) -> Iterator[dict[int, Any]]:
        chunk: dict[int, Any] = {}
        characters = 0
        for row in rows:
            record = self.run.record(row)
            plain = record.to_plain()
            media = {}
            for part in record.media():
                media[str(part["sha256"])] = self._addresses(row, str(part["sha256"]))
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
        """Return the addresses of a medium, its small form and its waveform; nothing if it cannot be shown."""
        try:
            content = self.shelf.find(self.run.record(row), digest)
            address = self.keep(content, "full")
            if address is None:
                return {}
            if content.kind == "image":
                return {"url": address, "small_url": self.keep(content, "small")}
            if content.kind == "audio":
                return {"url": address, "wave": list(self.shelf.waveform(content))}
            return {"url": address}
        except DataError:
            return {}


def saved_runs(runs: Sequence[RunView], folder: str) -> dict[str, Any]:
    """Return the list of runs for a saved page, with none of them marked as running."""
    document = runs_document(runs, folder)
    document["runs"] = [{**run, "live": False} for run in document["runs"]]
    return document


def data_address(
    found: Found,
    data: bytes | None = None,
    type: str | None = None,
) -> str:
    """Return a medium as a data URL."""
    body = found.data() if data is None else data
    return f"data:{type or found.type};base64,{base64.b64encode(body).decode('ascii')}"


def _with_addresses(value: object, media: Mapping[str, Mapping[str, Any]]) -> object:
    """Return JSON in which every medium also has the addresses of its files."""
    if isinstance(value, Mapping):
        plain = {}
        for name, inner in value.items():
            plain[name] = _with_addresses(inner, media)
        if "sha256" in value and "type" in value:
            digest = str(value.get("sha256"))
            plain.update(media.get(digest, {}))
        return plain
    if isinstance(value, list):
        return [_with_addresses(inner, media) for inner in value]
    return value


def _length(value: object) -> int:
    if isinstance(value, str):
        return min(len(value), LONGEST_TEXT)
    if isinstance(value, Mapping):
        return sum(_length(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(_length(inner) for inner in value)
    return 8
