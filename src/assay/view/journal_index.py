"""The index of a run's journal for pages: one row per sample, and the offsets of its lines.

The index follows a growing journal: `read_on` reads new lines. A later line replaces an
earlier line for the same answer or verdict, and an answer after a verdict makes the
verdict outdated. Columns are arrays of numbers, so that 100,000 samples need some ten
megabytes. Texts stay in the journal.
"""

import math
import os
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

from .journal_lines import (
    OutputHead,
    TextLog,
    UsageHead,
    answer_length,
    confidence,
    number,
    output_head,
    output_text,
    score_head,
    score_text,
)

NONE = -1
MOST_METRICS = 32
"""Maximum number of columns with values. Further metrics are shown only on the page of a sample."""
ROOM = 1024
"""The number of rows for which new columns reserve memory."""
LARGEST = (1 << 31) - 1
SMALL = ("cell", "epoch", "order", "chars", "tokens_in", "tokens_out")
REAL = ("seconds", "confidence")


def _codes_of(values: Sequence[str]) -> dict[str, int]:
    """Return a mapping from each value in the list to its index."""
    return {value: code for code, value in enumerate(values)}


class JournalIndex:
    """The index of one journal: a row per sample, the offsets of its lines, and the words to search."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        """The offset after the last complete line that was read."""
        self.damaged = 0
        self.cells: list[tuple[str, str]] = []
        """Task and model by code. Answers of judges have no code."""
        self.outcomes: list[str] = [""]
        """Outcomes by code. The first one, empty, stands for a sample without a verdict."""
        self.ids: list[str] = []
        self.small: dict[str, array[int]] = {name: array("i") for name in SMALL}
        self.real: dict[str, array[float]] = {name: array("f") for name in REAL}
        self.failed = bytearray()
        self.metrics: dict[str, array[float]] = {}
        self.verdicts: dict[str, bytearray] = {}
        """The code of each row's outcome, by scorer."""
        self.compound_scorers: set[str] = set()
        """Scorers whose verdicts cover several answers or clusters. Their values are read from the journal."""
        self.tags: dict[str, array[int]] = {}
        self.tag_values: dict[str, list[str]] = {}
        self.offsets = array("q")
        """The offset of each tracked line, in the order of the journal."""
        self.line_rows = array("i")
        self.line_slots = array("i")
        """The kind of each line: 0, 1, … for the rounds of the answer, and -1, -2, … for the scorers' verdicts."""
        self.current = bytearray()
        """1 for each line that is still valid, 0 for a line that a later one replaced."""
        self.calls: dict[bytes, int] = {}
        """The offset of each call to a judge or another helper model, by hashed key."""
        self.words = TextLog()
        self._lines_by_row: tuple[int, Any, Any] | None = None
        """Lines sorted by row, valid until more lines are read."""
        self._rows: dict[tuple[str, str], dict[str | tuple[str, int], int]] = {}
        self._answers = array("i")
        """For each row, the line of its first round. `_judged` has the line of the first scorer's verdict."""
        self._judged = array("i")
        self._slots: dict[tuple[int, int], int] = {}
        """The lines of later rounds and further scorers."""
        self._last: tuple[str, str, str, int, int] = ("", "", "", -1, NONE)
        """Task, model, id, epoch and row of the last answer, because its verdict is usually on the next line."""
        self._outcome_codes: dict[str, int] = {"": 0}
        self._tag_codes: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def read_on(self) -> int:
        """Read the lines added to the journal since the last call, and return their number."""
        count = 0
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            return 0
        if size <= self.end:
            return 0
        if self.ids and not self._rows:
            self._recall()
        add_output = self._add_output
        add_score = self._add_score
        with open(self.path, "rb") as file:
            file.seek(self.end)
            offset = self.end
            for line in file:
                if line[-1] != 10:
                    break  # the line is still being written
                if line[-19:] != b',"crc":"%08x"}\n' % crc32(b"}", crc32(line[:-19])):
                    self.damaged += 1
                else:
                    try:
                        if line.startswith(b'{"kind":"output'):
                            add_output(offset, line)
                        elif line.startswith(b'{"kind":"score'):
                            add_score(offset, line)
                    except (TypeError, ValueError, RecursionError):
                        self.damaged += 1  # undamaged, but not a record of assay
                offset += len(line)
                count += 1
            self.end = offset
        return count

    def lines_of(self, row: int) -> list[tuple[int, int]]:
        """Return the valid lines of a row, in the order of the journal: the number of
        the round or scorer, and the offset.
        """
        if self._lines_by_row is None or self._lines_by_row[0] != len(self.line_rows):
            self._lines_by_row = len(self.line_rows), *_sorted_lines(self.line_rows)
        _, rows, lines = self._lines_by_row
        line_numbers = lines[
            rows.searchsorted(row) : rows.searchsorted(row, "right")
        ].tolist()
        return [
            (self.line_slots[line], self.offsets[line])
            for line in line_numbers
            if self.current[line]
        ]

    def first_lines(self, row: int) -> tuple[int, int]:
        """Return the offsets of the first answer and of the first scorer's verdict; -1 for one that does not exist."""
        answer = verdict = NONE
        best = 0
        for slot, offset in self.lines_of(row):
            if slot >= 0 and (answer == NONE or slot == 0):
                answer = offset
            elif slot < 0 and (verdict == NONE or slot > best):
                verdict = offset
                best = slot
        return answer, verdict

    def call(
        self,
        task: str,
        role: str,
        key: str,
    ) -> int:
        """Return the journal offset of the call to a helper model with this request key; -1 if there is none."""
        return self.calls.get(_hash(f"{task}#{role}", key), NONE)

    def search(self, words: str) -> list[int]:
        """Return the rows in which the id or a text of the sample contains a text."""
        rows = set()
        for line in self.words.search(words):
            if self.current[line]:
                rows.add(self.line_rows[line])
        folded = words.lower()
        rows |= {row for row, id in enumerate(self.ids) if folded in id.lower()}
        rows.discard(NONE)
        return sorted(rows)

    def _row(
        self,
        task: str,
        model: str,
        id: str,
        epoch: int,
    ) -> int:
        rows_of_cell = self._rows.get((task, model))
        if rows_of_cell is None:
            rows_of_cell = self._rows[task, model] = {}
            self.cells.append((task, model))
        key = (id, epoch) if epoch else id
        row = rows_of_cell.setdefault(key, len(self.ids))
        if row == len(self.ids):
            self.ids.append(id)
            if row == len(self.failed):
                self._grow()
            if len(self.cells) > 1:
                self.small["cell"][row] = self.cells.index((task, model))
            else:
                self.small["cell"][row] = 0
            self.small["epoch"][row] = epoch
        return row

    def _grow(self) -> None:
        """Make the columns longer than the number of rows, so that not every new row needs new memory."""
        more = max(ROOM, len(self.failed) // 4)
        no_numbers = array("i", [NONE]) * more
        for column in self.small.values():
            column.extend(no_numbers)
        for codes in self.tags.values():
            codes.extend(no_numbers)
        self._answers.extend(no_numbers)
        self._judged.extend(no_numbers)

        for reals in (*self.real.values(), *self.metrics.values()):
            no_reals = array(reals.typecode, [math.nan]) * more
            reals.extend(no_reals)

        no_flags = bytes(more)
        self.failed.extend(no_flags)
        for outcomes in self.verdicts.values():
            outcomes.extend(no_flags)

    def _line(
        self,
        offset: int,
        row: int,
        slot: int,
        text: str,
    ) -> bool:
        """Add a line to the index. Return True if it replaces an earlier line."""
        line = len(self.offsets)
        if -1 <= slot <= 0:
            first = self._judged if slot else self._answers
            before, first[row] = first[row], line
        else:
            before = self._slots.get((row, slot), NONE)
            self._slots[row, slot] = line
        if before >= 0:
            self.current[before] = 0
        self.offsets.append(offset)
        self.line_rows.append(row)
        self.line_slots.append(slot)
        self.current.append(1)
        self.words.append(text)
        return before >= 0

    def _add_output(self, offset: int, line: bytes) -> None:
        """Add an answer. For a judge's answer (`TASK#ROLE`), only the request key is stored."""
        head = output_head(line)
        if "#" in head.task:
            self.calls[_hash(head.task, head.key)] = offset
            return
        row = self._row(head.task, head.model, head.id, head.epoch)
        is_changed = self._line(offset, row, head.round, output_text(head))
        if is_changed:
            self._outdate(row)
        self._last = head.task, head.model, head.id, head.epoch, row
        self._measure(row, head)

    def _measure(self, row: int, head: OutputHead) -> None:
        """Write the size, time, confidence and usage of an answer to the columns of its row."""
        answer = head.output
        self.failed[row] = answer.error is not None
        self.small["chars"][row] = answer_length(head)
        self.real["seconds"][row] = number(answer.seconds)
        if answer.likelihoods is not None:
            self.real["confidence"][row] = confidence(answer.likelihoods)
        if answer.usage is not None:
            self._count_tokens(row, answer.usage)

    def _count_tokens(self, row: int, usage: UsageHead) -> None:
        """Write the input and output tokens of an answer to the columns of its row. Invalid counts are ignored."""
        tokens_in = usage.input_tokens
        tokens_out = usage.output_tokens
        if type(tokens_in) is int and 0 <= tokens_in <= LARGEST:
            self.small["tokens_in"][row] = tokens_in
        if type(tokens_out) is int and 0 <= tokens_out <= LARGEST:
            self.small["tokens_out"][row] = tokens_out

    def _outdate(self, row: int) -> None:
        for scorer, codes in enumerate(self.verdicts.values()):
            codes[row] = 0
            if scorer:
                line = self._slots.get((row, -1 - scorer), NONE)
            else:
                line = self._judged[row]
            if line >= 0:
                self.current[line] = 0
        for column in self.metrics.values():
            column[row] = math.nan

    def _add_score(self, offset: int, line: bytes) -> None:
        head = score_head(line)
        task, model, id, epoch, row = self._last
        is_of_last_answer = (
            head.id == id
            and head.epoch == epoch
            and head.task == task
            and head.model == model
        )
        if not is_of_last_answer:
            row = self._row(head.task, head.model, head.id, head.epoch)
        verdicts = self.verdicts.get(head.scorer)
        if verdicts is None:
            verdicts = self.verdicts[head.scorer] = bytearray(len(self.failed))
        if len(self.verdicts) == 1:
            scorer = 0
        else:
            scorer = list(self.verdicts).index(head.scorer)
        if self._line(offset, row, -1 - scorer, score_text(head)):
            self._forget_values(row, head.scorer)
        if head.candidates or head.cluster is not None or head.group is not None:
            self.compound_scorers.add(head.scorer)
        verdicts[row] = self._outcome(head.outcome)
        order = head.order
        if order > LARGEST:
            order = LARGEST
        self.small["order"][row] = order
        self._add_values(row, head.values)
        if head.tags:
            self._tag(row, head.tags)

    def _add_values(
        self,
        row: int,
        values: Mapping[str, float | None],
    ) -> None:
        """Write the values of a score to the columns of their metrics, except for metrics beyond `MOST_METRICS`."""
        for name, value in values.items():
            column = self.metrics.get(name)
            if column is None:
                if len(self.metrics) == MOST_METRICS:
                    continue
                column = array("d", [math.nan]) * len(self.failed)
                self.metrics[name] = column
            column[row] = math.nan if value is None else value

    def _forget_values(self, row: int, scorer: str) -> None:
        """Remove the values of the scorer's earlier verdict."""
        for name, column in self.metrics.items():
            if name == scorer or name.startswith(f"{scorer}."):
                column[row] = math.nan

    def _outcome(self, outcome: str) -> int:
        code = self._outcome_codes.get(outcome)
        if code is None:
            code = self._outcome_codes[outcome] = min(len(self.outcomes), 255)
            self.outcomes.append(outcome)
        return code

    def _tag(
        self,
        row: int,
        tags: dict[str, object],
    ) -> None:
        for name, value in tags.items():
            codes = self._tag_codes.get(name)
            if codes is None:
                codes = self._tag_codes[name] = {}
                self.tags[name] = array("i", [NONE]) * len(self.failed)
                self.tag_values[name] = []
            text = value if type(value) is str else str(value)
            code = codes.get(text)
            if code is None:
                code = codes[text] = len(codes)
                self.tag_values[name].append(text)
            self.tags[name][row] = code

    def _recall(self) -> None:
        """Rebuild the data that only `read_on` needs, because the index file does not contain it."""
        self._outcome_codes = _codes_of(self.outcomes)
        self._tag_codes = {}
        for name, values in self.tag_values.items():
            self._tag_codes[name] = _codes_of(values)

        self._rows = {cell: {} for cell in self.cells}
        samples = zip(self.small["cell"], self.ids, self.small["epoch"], strict=False)
        for row, (code, id, epoch) in enumerate(samples):
            rows_of_cell = self._rows[self.cells[code]]
            key = (id, epoch) if epoch else id
            rows_of_cell[key] = row

        self._answers = array("i", [NONE]) * len(self.failed)
        self._judged = array("i", [NONE]) * len(self.failed)
        lines = zip(self.line_rows, self.line_slots, strict=True)
        for line, (row, slot) in enumerate(lines):
            if slot == 0:
                self._answers[row] = line
            elif slot == -1:
                self._judged[row] = line
            else:
                self._slots[row, slot] = line

    def forget(self) -> None:
        """Free the data that only `read_on` needs. It is rebuilt if the journal grows."""
        self._rows = {}
        self._slots = {}
        self._answers = array("i")
        self._judged = array("i")


def _sorted_lines(line_rows: "array[int]") -> tuple[Any, Any]:
    import numpy as np

    rows = np.array(line_rows, np.int32)
    lines = np.argsort(rows, kind="stable").astype(np.int32)
    return rows[lines], lines


def _hash(task: str, key: str) -> bytes:
    return blake2b(
        f"{task}\0{key}".encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
