"""The batches of a run folder: what was sent to a batch API, and the batches that were created.

Each event is one line of `batches.jsonl`, which is written to disk before the next step
begins. So after a killed run, the next run can find the batches that were paid for. It
finds them by their id or, if no id was recorded, by a marker.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .layout import disk_error, sync_to_disk

Step = Literal["planned", "uploaded", "created", "finished", "dropped"]
LAST_STEPS = ("finished", "dropped")


@dataclass(slots=True)
class LoggedBatch:
    """One batch of requests in the log."""

    marker: str
    """A text that identifies the batch. It is chosen before anything is sent, and is sent with the batch.

    So the batch can be found again even if its id was never recorded.
    """
    task: str
    model: str
    keys: Sequence[str]
    """The request keys, in the order of the requests."""
    newest: str = ""
    """The id of the account's newest batch at the time when this batch was sent."""
    input_id: str = ""
    """The id of the uploaded file with the requests."""
    batch_id: str = ""
    step: Step = "planned"

    @property
    def is_open(self) -> bool:
        """True if the journal may still lack answers of this batch."""
        return self.step not in LAST_STEPS

    @property
    def name(self) -> str:
        """The name of the batch in messages: the id that the service assigned or, before there is one, the marker."""
        return self.batch_id or f"assay-{self.marker}"


class BatchLog:
    """The file `batches.jsonl` of a run folder. Only the process that holds the folder's lock may add to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: dict[str, LoggedBatch] = {}
        """Batches by marker, the oldest first."""
        self._size = 0
        """Number of bytes in complete lines. A kill may have left an incomplete line after them."""
        self._read()

    def open_batches(
        self,
        task: str,
        model: str,
    ) -> list[LoggedBatch]:
        """Return the batches of a task and model whose answers may be missing from the journal."""
        return [
            batch
            for batch in self.batches.values()
            if batch.is_open and (batch.task, batch.model) == (task, model)
        ]

    def plan(self, batch: LoggedBatch) -> None:
        """Record a batch before any part of it is sent."""
        self.batches[batch.marker] = batch
        entry = {
            "step": "planned",
            "marker": batch.marker,
            "task": batch.task,
            "model": batch.model,
            "newest": batch.newest,
            "keys": list(batch.keys),
        }
        self._append(entry)

    def note(
        self,
        batch: LoggedBatch,
        step: Step,
        **ids: str,
    ) -> None:
        """Record the next step of a batch. When this returns, the record survives a power loss."""
        batch.step = step
        for name, value in ids.items():
            setattr(batch, name, value)
        self._append({"step": step, "marker": batch.marker, **ids})

    def finish(
        self,
        batch: LoggedBatch,
        journal: Path,
    ) -> None:
        """Record that all answers of a batch are in the journal. The journal is synced first."""
        try:
            sync_to_disk(journal)
        except OSError as error:
            raise disk_error(error, journal) from error
        self.note(batch, "finished")

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        is_new = not self.path.exists()
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o666)
            try:
                os.ftruncate(handle, self._size)
                os.lseek(handle, self._size, os.SEEK_SET)
                _write_all(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
            if is_new:
                sync_to_disk(self.path.parent)
        except OSError as error:
            raise disk_error(error, self.path) from error
        self._size += len(line)

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_error(error, self.path) from error
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return  # a kill cut it off: its step was never begun
            self._size += len(line)
            entry = _entry_of(line)
            if entry is not None:
                self._apply(entry)

    def _apply(self, entry: Mapping[str, Any]) -> None:
        marker = str(entry.get("marker"))
        if entry["step"] == "planned":
            self.batches[marker] = LoggedBatch(
                marker=marker,
                task=str(entry.get("task", "")),
                model=str(entry.get("model", "")),
                keys=tuple(str(key) for key in entry.get("keys", ())),
                newest=str(entry.get("newest", "")),
            )
            return
        batch = self.batches.get(marker)
        if batch is None:
            return
        batch.step = entry["step"]
        batch.input_id = str(entry.get("input_id", batch.input_id))
        batch.batch_id = str(entry.get("batch_id", batch.batch_id))


def _entry_of(line: bytes) -> dict[str, Any] | None:
    """Return the event recorded in a line; None if the line is damaged."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if isinstance(entry, dict) and isinstance(entry.get("step"), str):
        return entry
    return None


def _write_all(
    handle: int,
    data: bytes,
) -> None:
    while data:
        length = os.write(handle, data)
        data = data[length:]
