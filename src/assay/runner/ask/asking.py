"""Asking: from a request to its answer on disk, the same for rows, for drivers and for judges.

An answer is known by its place in the journal, else by the key of its request wherever the same was asked, else from
the cache that runs share. What is not known is asked, through a scheduler or replicas. What comes back is written down
before it is judged; its tokens, its oddities and its failure are counted here, so that they count alike for all three.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core import EMPTY, ErrorBudgetExceeded, KeyMaker, Model, Output, OutputRecord
from ...core.record import output_from_plain, prompt_to_plain
from ...store import Answered, OutputLine, RunWriter
from ...store.cache import ResponseCache
from ..counts.budget import ErrorBudget
from ..counts.remarks import Remarks
from ..counts.spending import count_usage
from ..counts.spending_limit import SpendingLimit
from ..events import CellProgress
from .work import Answers, Job

Stored = Sequence[Answered | None]
"""What the journal holds at a sample and epoch, round by round."""


@dataclass(eq=False)
class Asking:
    """One model as one task asks it; a desk for whoever has nothing to do with answers but to take them."""

    task: str
    name: str
    model: Model
    writer: RunWriter
    progress: CellProgress
    cache: ResponseCache | None = None
    """Answers that runs share."""
    budget: ErrorBudget | None = None
    """Without one no failure stops the run; that of a helper, and its progress, are those of the cell."""
    role: str = ""
    """What a helper model is to its scorers."""
    may_ask: bool = True
    """Whether the model may be asked; else a failure of an earlier run is the answer of this one."""
    spending: SpendingLimit | None = None
    """What the run may spend, where there is a limit."""
    prices: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Of a million tokens of this model."""
    remarks: Remarks = field(default_factory=Remarks)
    """What is odd about the answers; nobody looks at it where a helper gave them."""
    tokens: dict[str, float] = field(default_factory=dict, init=False)
    """Tokens and cost as the backend counted them, summed over what was asked."""
    asked: int = field(default=0, init=False)
    """Requests that this run really put to the model, whatever came of them."""

    def __post_init__(self) -> None:
        self.key_of = KeyMaker(
            getattr(self.model, "key_identity", None) or self.model.identity
        ).key_of
        self.is_new = self.writer.index.is_empty
        """Whether nothing was answered before this run."""
        self.index = self.writer.cell(self.task, self.name)

    def stored(self, id: str, epoch: int) -> Stored:
        """What the journal held at a place when the run began."""
        found: Stored = () if self.is_new else self.index.answers.get((id, epoch), ())
        return found

    def known(
        self, job: Job, stored: Stored | None = None, *, moves: bool = False
    ) -> Answered | None:
        """The answer the journal has to a request: in its place, else wherever the same was asked, as before rows moved
        or the model got another name. With `moves` it is then written in its place too."""
        if self.is_new:
            return None
        key = job.request.key
        stored = self.stored(job.sample.id, job.epoch) if stored is None else stored
        answer = stored[job.round] if job.round < len(stored) else None
        if answer is not None and answer.key == key:
            return None if answer.failed and self.may_ask else answer
        answer = self.writer.index.by_key(self.task).get(key)
        if answer is None:
            return None if self.may_ask else self._failures.get(key)
        if moves:
            self._copy(answer, job)
        return answer

    def cached(self, job: Job) -> Output | None:
        """The answer another run left in the cache; it is written down as one of this run."""
        output = None if self.cache is None else self.cache.get(job.request.key)
        if output is not None:
            self._write(job, output, {"cached": True})
            self.writer.journal.flush()
        return output

    def read(self, answer: Answered) -> OutputRecord:
        """The record of an answer."""
        return self.writer.read_output(answer)

    def output(self, answer: Answered) -> Output:
        """An answer of the journal."""
        return output_from_plain(self.read(answer).output, self.writer.blobs)

    def keep(self, answers: Answers) -> None:
        """Writes down what the model answered and counts it; when it returns, a kill loses none of it."""
        refused: ErrorBudgetExceeded | None = None
        for job, output in answers:
            self._write(job, output)
            self.asked += 1
            count_usage(self.tokens, output.usage)
            if self.spending is not None and (
                output.error is None or output.usage is not None
            ):
                self.spending.add(output.usage, self.prices, self.name)
            if self.cache is not None and output.error is None:
                self.cache.put(job.request.key, output)
            try:
                if self.budget is not None:
                    self.budget.note(output.error, self.role, job.judged)
            except ErrorBudgetExceeded as error:
                refused = (
                    refused or error
                )  # raised once the rest of the batch is written
        self.writer.journal.flush()
        if refused is not None:
            raise refused

    def judge(self, answers: Answers) -> None:
        """Nothing but to stop when the error budget is spent."""
        if any(output.error is not None for _, output in answers):
            self.check()

    def check(self) -> None:
        """Raises when the error budget is spent: nothing more is asked."""
        if self.budget is not None:
            self.budget.check(self.progress.done, self.progress.expected)

    def _write(
        self, job: Job, output: Output, details: dict[str, Any] | None = None
    ) -> None:
        request, sample = job.request, job.sample
        prompt = request.prompt
        plain = self.writer.plain_output(output)
        if job.notes:
            plain["details"] = {**plain.get("details", {}), **job.notes}
        job.offset = self.writer.write(
            OutputLine(
                self.task,
                self.name,
                sample.id,
                request.key,
                job.epoch,
                job.round,
                prompt_to_plain(prompt),
                prompt.continuations,
                plain,
                sample.target,
                {**prompt.details, **details} if details else prompt.details or EMPTY,
            )
        )
        if not self.role:
            self.remarks.count(sample, job.epoch, job.round, output)

    def _copy(self, answer: Answered, job: Job) -> None:
        """Writes an answer in the place its sample, or its model, has now."""
        record = self.read(answer)
        moved = {"copied_from": {"model": record.model, "id": record.id}}
        self.writer.write(
            OutputLine(
                self.task,
                self.name,
                job.sample.id,
                record.key,
                job.epoch,
                job.round,
                record.prompt,
                record.continuations,
                record.output,
                job.sample.target,
                {**record.details, **job.request.prompt.details, **moved},
            )
        )
        self.writer.journal.flush()

    @cached_property
    def _failures(self) -> dict[str, Answered]:
        """By key, the requests that failed in an earlier run: the model may not be asked for them now."""
        rounds = (answer for stored in self.index.answers.values() for answer in stored)
        return {
            answer.key: answer
            for answer in rounds
            if answer is not None and answer.failed
        }
