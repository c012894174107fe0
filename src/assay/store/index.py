"""The index: which samples of a run were answered and scored, and where their lines lie in the journal.

Derived from the journal whenever a run folder is opened; a later line for the same thing replaces the earlier one.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import msgspec

from ..core import OutputRecord, ScoreRecord
from .cell_index import Answered, CellIndex
from .journal import decode_output, decode_score, part_of, read_lines
from .places import NOWHERE, SEARCHES, HashTable

BLOCK_BYTES = 1 << 18
Cell = tuple[str, str]
"""Task and model: what one number is about."""
Round = tuple[Cell, str, int, int]
"""One answer: task and model, sample id, epoch and round."""


class _Details(msgspec.Struct, gc=False):
    truncated_tokens: Any = None
    answer_room: Any = None


class _Answer(msgspec.Struct, gc=False):
    error: Any = None
    details: _Details | None = None


if TYPE_CHECKING:
    _OutputHead = OutputRecord
    _ScoreHead = ScoreRecord
else:
    _OutputHead = part_of(
        OutputRecord, "task", "model", "id", "key", "epoch", "round", output=_Answer
    )
    _ScoreHead = part_of(
        ScoreRecord, "task", "model", "id", "scorer", "digest", "outcome", "epoch"
    )
"""What the index needs of a line: reading the rest would take most of the time."""

_output_head = msgspec.json.Decoder(_OutputHead).decode
_score_head = msgspec.json.Decoder(_ScoreHead).decode


class AnswersByKey:
    """What was answered in a task by the keys of its requests, whatever samples and models are called now.

    A key has all an answer depends on, the model's identity too. Of a key, only a hash is held in memory: the line
    that is found says whether it is the one.
    """

    def __init__(self, index: "Index", cells: Sequence[CellIndex]) -> None:
        self._index = index
        self._cells = cells
        self._searches = (
            SEARCHES
            if any(cell.replaced or cell.answers.is_dialogue for cell in cells)
            else 0
        )
        self._table: HashTable | None = None
        self._offsets = array("q")

    def get(self, key: str) -> Answered | None:
        """The answer to the request with this key."""
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
                    cell.replaced, cell.answers.that_came()
                ):
                    self._table.add(hash(answer_key))
                    self._offsets.append(offset)
        found = self._table.find(hash(key))
        return self._offsets[found] if found >= 0 else NOWHERE


class Index:
    """All cells of a run, with access to their lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[Cell, CellIndex] = {}
        self.damaged = 0
        self.damaged_range: tuple[int, int] | None = None
        """From the first damaged byte to behind the last, as far as lines can tell."""
        self.media: dict[str, set[Round]] = {}
        """By digest: the answers that hold a medium the model made; none where all were replaced by later ones."""
        self._media_of: dict[Round, tuple[str, ...]] = {}
        self._by_key: dict[str, AnswersByKey] = {}
        self._latest: tuple[str, str, CellIndex] | None = None
        """The cell that was asked for last: lines of one follow each other."""
        self._file: BinaryIO | None = None
        self._turn = Lock()
        """Drivers and judges read from threads of their own: nobody moves the file between a search and its line."""
        if path.exists():
            self._scan()
        self.is_empty = not self.cells
        """Whether the journal held nothing: whoever asks for many samples need not look each of them up."""

    @property
    def damage(self) -> str:
        """What is wrong with the lines, in one line; empty if nothing is."""
        if self.damaged_range is None:
            return ""
        lines = (
            "1 damaged line was"
            if self.damaged == 1
            else f"{self.damaged} damaged lines were"
        )
        return f"records.jsonl: {lines} passed over (bytes {self.damaged_range[0]} to {self.damaged_range[1]})"

    def cell(self, task: str, model: str) -> CellIndex:
        """The index of one task and model."""
        latest = self._latest
        if latest is not None and latest[1] == model and latest[0] == task:
            return latest[2]
        cell = self.cells.get((task, model))
        if cell is None:
            cell = self.cells[task, model] = CellIndex()
        self._latest = task, model, cell
        return cell

    def by_key(self, task: str) -> AnswersByKey:
        """What was answered in a task by the keys of its requests; made when it is first asked for."""
        if task not in self._by_key:
            cells = [
                cell for (cell_task, _), cell in self.cells.items() if cell_task == task
            ]
            self._by_key[task] = AnswersByKey(self, cells)
        return self._by_key[task]

    def answer_at(self, offset: int) -> Answered:
        """What the line of an answer says of it."""
        record = decode_output(self._line(offset))
        return Answered(record.key, offset, *_facts(record))

    def output(self, answer: Answered) -> OutputRecord:
        """The output record at its place."""
        return decode_output(self._line(answer.offset))

    def score(self, offset: int) -> ScoreRecord:
        """The score record at its place."""
        return decode_score(self._line(offset))

    def close(self) -> None:
        """Lets go of the file."""
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
                damaged.append(offset)  # whole, but not a record: somebody else's line
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
        failed, cut, room = _facts(head)
        # Nearly every line of a long journal is the one answer of a new sample.
        is_plain = (
            not (failed or head.epoch or head.round) and cut is None and room is None
        )
        if not is_plain or not cell.append(head.id, head.key, offset):
            cell.add_output(
                head.id, head.epoch, head.round, head.key, offset, failed, cut, room
            )
        if self._media_of or b'"sha256"' in line:
            self._add_media(
                ((head.task, head.model), head.id, head.epoch, head.round), line
            )

    def _add_media(self, round: "Round", line: bytes) -> None:
        for digest in self._media_of.pop(round, ()):
            self.media[digest].discard(round)
        if digests := tuple(made_media(line)):
            self._media_of[round] = digests
            for digest in digests:
                self.media.setdefault(digest, set()).add(round)

    def drop(self, digest: str) -> None:
        """Forgets the answers that hold a medium, as if they had never come."""
        for (task, model), id, epoch, round in self.media.get(digest, ()):
            self.cell(task, model).answers.drop(id, epoch, round)
        self._by_key.clear()

    def _add_score(self, offset: int, line: bytes) -> None:
        head: _ScoreHead | ScoreRecord
        try:
            head = _score_head(line)
        except msgspec.DecodeError:
            head = decode_score(line)
        # A judge that failed is an infrastructure error: without a digest its line is stale, and it is asked again.
        digest = "" if head.outcome == "judge_error" else head.digest
        self.cell(head.task, head.model).add_score(
            head.scorer, head.id, head.epoch, offset, digest
        )

    def _line(self, offset: int) -> bytes:
        # A buffered file rather than a map: pages of a map would count as this process's memory.
        with self._turn:
            file = self._file
            if file is None:
                file = self._file = open(self.path, "rb", buffering=1 << 18)  # noqa: SIM115 - closed by close()
            file.seek(offset)
            return file.readline()[:-1]


def _facts(head: _OutputHead | OutputRecord) -> tuple[bool, Any, Any]:
    """Whether a request failed; what the model said of cut prompts and of the room for its answer."""
    if isinstance(head, OutputRecord):
        found = head.output.get("details")
        found = found if isinstance(found, dict) else {}
        return head.failed, found.get("truncated_tokens"), found.get("answer_room")
    output = head.output
    if output.details is None:
        return output.error is not None, None, None
    return (
        output.error is not None,
        output.details.truncated_tokens,
        output.details.answer_room,
    )


def made_media(line: bytes) -> Iterator[str]:
    """The digests of the media that the answer of a line holds."""
    if b'"sha256"' not in line:
        return
    for candidate in decode_output(line).output.get("candidates", ()):
        for part in candidate.get("parts", ()):
            if isinstance(part, dict) and isinstance(part.get("sha256"), str):
                yield part["sha256"]


class Scores(Sequence[ScoreRecord]):
    """The score records of one scorer on one cell, in the order of their ids; read from disk when asked for."""

    def __init__(self, index: Index, offsets: Sequence[int]) -> None:
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
        """The same records in another order."""
        return Scores(self._index, [self._offsets[position] for position in order])

    def __iter__(self) -> Iterator[ScoreRecord]:
        """Reads the journal block by block: most lines follow each other."""
        with open(self._index.path, "rb") as file:
            block, start = b"", 0
            for offset in self._offsets:
                at = offset - start
                end = block.find(b"\n", at) if 0 <= at < len(block) else -1
                if end < 0:
                    file.seek(offset)
                    block, start, at = file.read(BLOCK_BYTES), offset, 0
                    end = block.find(b"\n")
                    if end < 0:
                        block += file.readline()
                        end = len(block) - 1
                yield decode_score(block[at:end])
