"""The index: which samples of a run were answered and scored, and where their lines lie in the journal.

Derived from the journal whenever a run folder is opened; a later line for the same thing replaces the earlier one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, overload

import msgspec

from ..core import OutputRecord, ScoreRecord
from .journal import decode_output, decode_score, read_lines

BLOCK_BYTES = 1 << 18
Cell = tuple[str, str]
"""Task and model: what one number is about."""


class _Details(msgspec.Struct):
    truncated_tokens: Any = None
    answer_room: Any = None


class _Answer(msgspec.Struct):
    error: Any = None
    state: Any = None
    details: _Details | None = None


class _OutputHead(msgspec.Struct):
    task: str
    model: str
    id: str
    key: str
    epoch: int = 0
    round: int = 0
    output: _Answer = msgspec.field(default_factory=_Answer)


class _ScoreHead(msgspec.Struct):
    task: str
    model: str
    id: str
    scorer: str
    digest: str
    outcome: str
    epoch: int = 0


_output_head = msgspec.json.Decoder(_OutputHead).decode
_score_head = msgspec.json.Decoder(_ScoreHead).decode


@dataclass(slots=True)
class Answered:
    """Where the answer of one sample lies."""

    key: str
    offset: int
    failed: bool = False
    truncated_tokens: Any = None
    """This and the next: what the model said in the details of its output, whatever that is."""
    answer_room: Any = None


@dataclass(slots=True)
class CellIndex:
    """What is known of one task and model."""

    answers: dict[tuple[str, int], list[Answered | None]] = field(default_factory=dict)
    """By sample id and epoch: one entry for each round."""
    scores: dict[str, dict[tuple[str, int], tuple[int, str]]] = field(default_factory=dict)
    """By scorer, then sample id and epoch: offset and the scorer's digest."""
    replaced: list[Answered] = field(default_factory=list)
    """Answers in whose place another question was answered since: rows may have moved."""

    def add_output(self, id: str, epoch: int, round: int, answer: Answered) -> None:
        """Notes an answer; rounds may come again after a restart."""
        rounds = self.answers.setdefault((id, epoch), [])
        while len(rounds) <= round:
            rounds.append(None)
        before = rounds[round]
        if before is not None and before.key != answer.key:
            self.replaced.append(before)
        rounds[round] = answer

    def by_key(self) -> dict[str, Answered]:
        """Every answer that came, whatever its sample is called now."""
        known = {answer.key: answer for answer in self.replaced if not answer.failed}
        for rounds in self.answers.values():
            for answer in rounds:
                if answer is not None and not answer.failed:
                    known[answer.key] = answer
        return known


class Index:
    """All cells of a run, with access to their lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[Cell, CellIndex] = {}
        self.damaged = 0
        self.damaged_range: tuple[int, int] | None = None
        """From the first damaged byte to behind the last, as far as lines can tell."""
        self._by_key: dict[str, dict[str, Answered]] = {}
        self._file: BinaryIO | None = None
        if path.exists():
            self._scan()

    def cell(self, task: str, model: str) -> CellIndex:
        """The index of one task and model."""
        return self.cells.setdefault((task, model), CellIndex())

    def by_key(self, task: str) -> Mapping[str, Answered]:
        """What was answered in a task by the keys of its requests, whatever the sample and the model are called now.

        A key has all an answer depends on, the model's identity too. It is made when it is first asked for.
        """
        if task not in self._by_key:
            known = self._by_key[task] = {}
            for (own, _), cell in self.cells.items():
                if own == task:
                    known.update(cell.by_key())
        return self._by_key[task]

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
        if damaged:
            self.damaged = len(damaged)
            self.damaged_range = damaged[0], damaged[-1] + len(self._line(damaged[-1])) + 1

    def _add_output(self, offset: int, line: bytes) -> None:
        try:
            head = _output_head(line)
            failed = head.output.error is not None
            details = head.output.details
            cut, room = (details.truncated_tokens, details.answer_room) if details is not None else (None, None)
            id, epoch, round, key, task, model = head.id, head.epoch, head.round, head.key, head.task, head.model
        except msgspec.DecodeError:
            record = decode_output(line)
            failed = record.failed
            said = record.output.get("details")
            said = said if isinstance(said, dict) else {}
            cut, room = said.get("truncated_tokens"), said.get("answer_room")
            id, epoch, round, key = record.id, record.epoch, record.round, record.key
            task, model = record.task, record.model
        self.cell(task, model).add_output(id, epoch, round, Answered(key, offset, failed, cut, room))

    def _add_score(self, offset: int, line: bytes) -> None:
        head: _ScoreHead | ScoreRecord
        try:
            head = _score_head(line)
        except msgspec.DecodeError:
            head = decode_score(line)
        scored = self.cell(head.task, head.model).scores.setdefault(head.scorer, {})
        # A judge that failed is an infrastructure error: without a digest its line is stale, and it is asked again.
        scored[head.id, head.epoch] = (offset, "" if head.outcome == "judge_error" else head.digest)

    def _line(self, offset: int) -> bytes:
        # A buffered file rather than a map: pages of a map would count as this process's memory.
        file = self._file
        if file is None:
            file = self._file = open(self.path, "rb", buffering=1 << 18)  # noqa: SIM115 - closed by close()
        file.seek(offset)
        return file.readline()[:-1]


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
