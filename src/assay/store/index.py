"""The index of a journal: which samples of a run were answered and scored, and where their lines are.

It is computed from the journal whenever a run folder is opened. A later line replaces
an earlier one for the same sample, epoch, round and scorer.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import msgspec

from ..core import OutputRecord, ScoreRecord
from .cell_index import NO_REMARKS, Answered, AnswerRemarks, CellIndex
from .journal import decode_output, decode_score, part_of, read_lines
from .places import NOWHERE, SEARCHES, HashTable

BLOCK_BYTES = 1 << 18
REASONING_PART = b'"type":"reasoning"'
"""A text that occurs only in journal lines of answers with reasoning, because quotes inside texts are escaped."""
Cell = tuple[str, str]
"""The task and the model of one row of the results table."""
Round = tuple[Cell, str, int, int]
"""Identifies one answer: task and model, sample id, epoch and round."""


class _Details(msgspec.Struct, gc=False):
    truncated_tokens: Any = None
    answer_room: Any = None
    notes: Any = None


class _Candidate(msgspec.Struct, gc=False):
    stop_reason: Any = None


class _Answer(msgspec.Struct, gc=False):
    error: Any = None
    details: _Details | None = None
    candidates: tuple[_Candidate, ...] = ()


if TYPE_CHECKING:
    _OutputHead = OutputRecord
    _ScoreHead = ScoreRecord
else:
    _OutputHead = part_of(
        OutputRecord,
        "task",
        "model",
        "id",
        "key",
        "epoch",
        "round",
        output=_Answer,
    )
    _ScoreHead = part_of(
        ScoreRecord,
        "task",
        "model",
        "id",
        "scorer",
        "digest",
        "outcome",
        "epoch",
    )
"""The fields of a journal line that the index needs. Decoding all fields would take most of the time."""

_output_head = msgspec.json.Decoder(_OutputHead).decode
_score_head = msgspec.json.Decoder(_ScoreHead).decode


class AnswersByKey:
    """The answers of a task by request key. It finds answers even if samples or models were renamed.

    A key covers everything on which an answer depends, including the model's identity.
    Only a hash of each key is in memory. The journal line of the answer confirms that
    the key matches.
    """

    def __init__(
        self,
        index: "Index",
        cells: Sequence[CellIndex],
    ) -> None:
        self._index = index
        self._cells = cells
        if any(cell.replaced or cell.answers.is_dialogue for cell in cells):
            self._searches = SEARCHES
        else:
            self._searches = 0
        self._table: HashTable | None = None
        self._offsets = array("q")

    def get(self, key: str) -> Answered | None:
        """Return the answer to the request with this key; None if there is none."""
        offset = self._search(key)
        if offset < 0:
            return None
        answer = self._index.answer_at(offset)
        return answer if answer.key == key else None

    def _search(self, key: str) -> int:
        self._searches += 1
        if self._table is None and self._searches <= SEARCHES:
            return max(
                (cell.answers.search(key) for cell in self._cells), default=NOWHERE
            )
        if self._table is None:
            self._table = HashTable()
            for cell in self._cells:
                for answer_key, offset in chain(
                    cell.replaced, cell.answers.succeeded()
                ):
                    self._table.add(hash(answer_key))
                    self._offsets.append(offset)
        number = self._table.find(hash(key))
        if number >= 0:
            return self._offsets[number]
        return NOWHERE


class Index:
    """The index of all tasks × models of a run, through which their lines are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[Cell, CellIndex] = {}
        self.damaged = 0
        self.damaged_range: tuple[int, int] | None = None
        """Offsets of the first damaged byte and of the end of the last damaged line."""
        self.media: dict[str, set[Round]] = {}
        """For each medium, by digest, the answers that contain it; empty if later answers replaced these."""
        self._media_of: dict[Round, tuple[str, ...]] = {}
        self._by_key: dict[str, AnswersByKey] = {}
        self._latest: tuple[str, str, CellIndex] | None = None
        """Task, model and index that were requested last. Lines of one task × model often follow each other."""
        self._file: BinaryIO | None = None
        self._turn = Lock()
        """Lock for reads, so that no other thread moves the file position between a seek and its read."""
        if path.exists():
            self._scan()
        self.is_empty = not self.cells
        """True if the journal was empty, so that callers can skip looking up samples."""

    @property
    def damage(self) -> str:
        """A line that describes the damaged lines; empty if there are none."""
        if self.damaged_range is None:
            return ""
        if self.damaged == 1:
            lines = "1 damaged line was"
        else:
            lines = f"{self.damaged} damaged lines were"
        return f"records.jsonl: {lines} skipped (bytes {self.damaged_range[0]} to {self.damaged_range[1]})"

    def cell(self, task: str, model: str) -> CellIndex:
        """Return the index of the answers of one model to one task. An empty one is created on first use."""
        latest = self._latest
        if latest is not None and latest[1] == model and latest[0] == task:
            return latest[2]
        cell = self.cells.get((task, model))
        if cell is None:
            cell = self.cells[task, model] = CellIndex()
        self._latest = task, model, cell
        return cell

    def by_key(self, task: str) -> AnswersByKey:
        """Return the answers of a task by request key, built on first use."""
        if task not in self._by_key:
            cells = [
                cell for (cell_task, _), cell in self.cells.items() if cell_task == task
            ]
            self._by_key[task] = AnswersByKey(self, cells)
        return self._by_key[task]

    def answer_at(self, offset: int) -> Answered:
        """Return the answer in the line that begins at an offset."""
        line = self._line(offset)
        record = decode_output(line)
        return Answered(record.key, offset, *_facts(record, line))

    def output(self, answer: Answered) -> OutputRecord:
        """Return the output record of an answer."""
        return decode_output(self._line(answer.offset))

    def score(self, offset: int) -> ScoreRecord:
        """Return the score record at an offset."""
        return decode_score(self._line(offset))

    def close(self) -> None:
        """Close the journal."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _scan(self) -> None:
        damaged = []
        for offset, line in read_lines(self.path):
            if line is None:
                damaged.append(offset)
                continue
            try:
                if line.startswith(b'{"kind":"output"'):
                    self._add_output(offset, line)
                elif line.startswith(b'{"kind":"score"'):
                    self._add_score(offset, line)
            except (TypeError, ValueError, RecursionError):
                damaged.append(
                    offset
                )  # the checksum is right, but this is not a record
        for cell in self.cells.values():
            cell.places.pack()
        if damaged:
            self.damaged = len(damaged)
            self.damaged_range = (
                damaged[0],
                damaged[-1] + len(self._line(damaged[-1])) + 1,
            )

    def _add_output(self, offset: int, line: bytes) -> None:
        try:
            head: _OutputHead | OutputRecord = _output_head(line)
        except msgspec.DecodeError:
            head = decode_output(line)
        cell = self.cell(head.task, head.model)
        failed, remarks = _facts(head, line)
        # Nearly every line of a long journal is the only answer of a new sample.
        is_plain = remarks == NO_REMARKS
        if failed or head.epoch or head.round:
            is_plain = False
        is_added = is_plain and cell.append(head.id, head.key, offset)
        if not is_added:
            answer = Answered(head.key, offset, failed, remarks)
            cell.add_output(head.id, head.epoch, head.round, answer)
        if self._media_of or b'"sha256"' in line:
            task_model = (head.task, head.model)
            self._add_media((task_model, head.id, head.epoch, head.round), line)

    def _add_media(self, round: "Round", line: bytes) -> None:
        for digest in self._media_of.pop(round, ()):
            self.media[digest].discard(round)
        digests = tuple(made_media(line))
        if digests:
            self._media_of[round] = digests
            for digest in digests:
                self.media.setdefault(digest, set()).add(round)

    def drop(self, digest: str) -> None:
        """Remove the answers that contain the medium with this digest from the index."""
        for (task, model), id, epoch, round in self.media.get(digest, ()):
            self.cell(task, model).answers.drop(id, epoch, round)
        self._by_key.clear()

    def _add_score(self, offset: int, line: bytes) -> None:
        head: _ScoreHead | ScoreRecord
        try:
            head = _score_head(line)
        except msgspec.DecodeError:
            head = decode_score(line)
        # A failed judge is an infrastructure error. Without a digest its line is outdated, so the
        # judge is asked again.
        if head.outcome == "judge_error":
            digest = ""
        else:
            digest = head.digest
        self.cell(head.task, head.model).add_score(
            head.scorer,
            head.id,
            head.epoch,
            offset,
            digest,
        )

    def _line(self, offset: int) -> bytes:
        # A buffered file instead of a memory map, whose pages would be counted as this process's memory.
        with self._turn:
            file = self._file
            if file is None:
                file = self._file = open(self.path, "rb", buffering=1 << 18)  # noqa: SIM115 - closed by close()
            file.seek(offset)
            return file.readline()[:-1]


def _facts(
    head: _OutputHead | OutputRecord,
    line: bytes,
) -> tuple[bool, AnswerRemarks]:
    """Return whether a request failed, and the facts about its answer that are counted in the notes of a run."""
    has_reasoning = REASONING_PART in line
    if isinstance(head, OutputRecord):
        details = head.output.get("details")
        if not isinstance(details, dict):
            details = {}
        reasons = [
            candidate.get("stop_reason")
            for candidate in head.output.get("candidates", ())
        ]
        remarks = AnswerRemarks(
            details.get("truncated_tokens"),
            details.get("answer_room"),
            details.get("notes"),
            reasons.count("length"),
            has_reasoning,
        )
        return head.failed, remarks
    output = head.output
    cut = sum(candidate.stop_reason == "length" for candidate in output.candidates)
    failed = output.error is not None
    details = output.details
    if details is None and not cut and not has_reasoning:
        return failed, NO_REMARKS
    if details is None:
        return failed, AnswerRemarks(cut_answers=cut, has_reasoning=has_reasoning)
    return failed, AnswerRemarks(
        details.truncated_tokens,
        details.answer_room,
        details.notes,
        cut,
        has_reasoning,
    )


def made_media(line: bytes) -> Iterator[str]:
    """Yield the digests of the media in the answer of a journal line."""
    if b'"sha256"' not in line:
        return
    for candidate in decode_output(line).output.get("candidates", ()):
        for part in candidate.get("parts", ()):
            if isinstance(part, dict) and isinstance(part.get("sha256"), str):
                yield part["sha256"]


class Scores(Sequence[ScoreRecord]):
    """The score records of one scorer on one task × model in the order of their ids.

    They are read from disk when they are accessed.
    """

    def __init__(
        self,
        index: Index,
        offsets: Sequence[int],
    ) -> None:
        self._index = index
        self._offsets = offsets

    @overload
    def __getitem__(self, position: int) -> ScoreRecord: ...
    @overload
    def __getitem__(self, position: slice) -> "Scores": ...
    def __getitem__(self, position: int | slice) -> "ScoreRecord | Scores":
        if isinstance(position, slice):
            return Scores(self._index, self._offsets[position])
        return self._index.score(self._offsets[position])

    def __len__(self) -> int:
        return len(self._offsets)

    def arranged(self, order: Sequence[int]) -> "Scores":
        """Return the same records, in the order given by `indexes`."""
        return Scores(self._index, [self._offsets[position] for position in order])

    def __iter__(self) -> Iterator[ScoreRecord]:
        """Yield the records. The journal is read in blocks, because most lines follow each other."""
        with open(self._index.path, "rb") as file:
            block = b""
            start = 0
            for offset in self._offsets:
                position = offset - start
                if 0 <= position < len(block):
                    end = block.find(b"\n", position)
                else:
                    end = -1
                if end < 0:
                    file.seek(offset)
                    block = file.read(BLOCK_BYTES)
                    start = offset
                    position = 0
                    end = block.find(b"\n")
                    if end < 0:
                        block += file.readline()
                        end = len(block) - 1
                yield decode_score(block[position:end])
