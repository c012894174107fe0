"""Answer requests from the journal, the cache or the model, and write each answer to disk.

The requests of rows, drivers and judges are all answered here. The journal is searched
by sample and epoch, then by request key; after it, the cache that runs share. If
neither has the answer, the request goes to the model through a scheduler or replicas.
Each answer is written to disk before it is scored. Tokens, notes and failures are
counted here, so that all three callers are counted in the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core import (
    EMPTY,
    AssayError,
    ErrorBudgetExceeded,
    KeyMaker,
    Model,
    Output,
    OutputRecord,
    Prompt,
)
from ...core.message import to_plain
from ...core.reasoning import THINK_TAGS, ThinkTags, read_think_tags
from ...core.record import output_from_plain, prompt_to_plain
from ...store import Answered, OutputLine, RunWriter
from ...store.cache import ResponseCache
from ..counts.budget import ErrorBudget
from ..counts.remarks import Remarks
from ..counts.spending import SpendingLimit, count_usage
from ..events import TaskProgress
from .work import Answers, Job

Stored = Sequence[Answered | None]
"""The journal's answers for one sample and epoch, one entry per round. None means that the round has no answer."""


@dataclass(eq=False)
class Asking:
    """The requests of one task to one model: finds known answers, writes new ones, and counts both.

    It can be used as a `Sink` that stores answers without scoring them.
    """

    task: str
    name: str
    model: Model
    writer: RunWriter
    progress: TaskProgress
    cache: ResponseCache | None = None
    """The response cache that several runs share."""
    budget: ErrorBudget | None = None
    """Stops the run after too many failures. If it is None, failures do not stop the run.

    A helper model uses the same budget and progress as its task.
    """
    role: str = ""
    """The role of a helper model, such as `judge`; empty for the model that is evaluated."""
    may_ask: bool = True
    """False if the model must not be called. A failure from an earlier run is then used as the answer."""
    spending: SpendingLimit | None = None
    """The limit set by `--budget`; None if there is none."""
    prices: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The prices of a million tokens of this model."""
    remarks: Remarks = field(default_factory=Remarks)
    """Collects notes on the answers, which are printed at the end of the run. Not used for helper models."""
    think_tags: ThinkTags = None
    """How reasoning is marked in the answers: see `think_tags_of`."""
    compares_questions: bool = field(default=False, init=False)
    """True to check that a sample's question is unchanged before an answer found by sample id is reused."""
    other_questions: int = field(default=0, init=False)
    """Number of stored answers that were not reused, because the question of their sample has changed."""
    tokens: dict[str, float] = field(default_factory=dict, init=False)
    """Tokens and cost reported by the backend, summed over the requests of this run."""
    request_count: int = field(default=0, init=False)
    """Number of requests that this run sent to the model, whatever their outcome."""

    def __post_init__(self) -> None:
        identity = getattr(self.model, "key_identity", None) or self.model.identity
        if self.think_tags is not None:
            # The journal stores answers without reasoning, so other tags give other answers.
            tags = "off" if self.think_tags is False else self.think_tags
            identity = {**identity, THINK_TAGS: tags}
        self.key_of = KeyMaker(identity).key_of
        self.is_new = self.writer.index.is_empty
        """True if the journal was empty before this run."""
        self.index = self.writer.cell(self.task, self.name)
        if self.budget is not None and any(self.index.answers.succeeded()):
            self.budget.note_earlier_answers(self.role)

    def stored(self, id: str, epoch: int) -> Stored:
        """Return the answers that the journal had for a sample and epoch when the run began."""
        answers: Stored = () if self.is_new else self.index.answers.get((id, epoch), ())
        return answers

    def known(
        self,
        job: Job,
        stored: Stored | None = None,
        *,
        moves: bool = False,
    ) -> Answered | None:
        """Return the journal's answer to a request, or None.

        The journal is searched by sample and epoch, then by key, because rows may have
        moved or the model may have a new name. With `moves`, an answer found by key is
        written again under the new sample or model.
        """
        if self.is_new:
            return None
        key = job.request.key
        if stored is None:
            stored = self.stored(job.sample.id, job.epoch)
        if job.round < len(stored):
            answer = stored[job.round]
        else:
            answer = None
        if answer is not None and answer.key == key:
            if answer.failed and self.may_ask:
                return None
            return answer
        answer = self.writer.index.by_key(self.task).get(key)
        if answer is None:
            if self.may_ask:
                return None
            return self._failures.get(key)
        if moves:
            self._copy(answer, job)
        return answer

    def is_other_question(
        self,
        answer: Answered,
        build_prompt: Callable[[], Prompt],
    ) -> bool:
        """Return True if a stored answer belongs to another question than the sample
        has now, because the data changed.
        """
        if not self.compares_questions:
            return False
        try:
            prompt = build_prompt()
        except AssayError:
            return False  # scoring reports what is wrong with the sample
        record = self.writer.read_output(answer)
        is_other = _without_paths(record.prompt) != _without_paths(
            prompt_to_plain(prompt)
        )
        self.other_questions += is_other
        return is_other

    def cached(self, job: Job) -> Output | None:
        """Return the cached answer to a request, or None.

        A cached answer is also written to the journal of this run.
        """
        if self.cache is None:
            output = None
        else:
            output = self.cache.get(job.request.key)
        if output is None:
            return None
        output = output.separated(self.think_tags)
        self._write(job, output, {"cached": True})
        self.writer.journal.flush()
        return output

    def read(self, answer: Answered) -> OutputRecord:
        """Read the record of a stored answer from the journal."""
        return self.writer.read_output(answer)

    def output(self, answer: Answered) -> Output:
        """Read the output of a stored answer from the journal."""
        return self.output_of(self.read(answer))

    def output_of(self, record: OutputRecord) -> Output:
        """Return the output of a record. Reasoning in the text of an old record becomes a separate part."""
        output = output_from_plain(record.output, self.writer.blobs)
        return output.separated(self.think_tags)

    def keep(self, answers: Answers) -> None:
        """Write answers to the journal and count them. Once this returns, the answers
        survive a kill of the process.
        """
        refused: ErrorBudgetExceeded | None = None
        for job, output in answers:
            self._write(job, output)
            self.request_count += 1
            count_usage(self.tokens, output.usage)
            if self.spending is not None and (
                output.error is None or output.usage is not None
            ):
                self.spending.add(output.usage, self.prices, self.name)
            if self.cache is not None and output.error is None:
                self.cache.put(job.request.key, output)
            try:
                if self.budget is not None:
                    self.budget.note(
                        output.error,
                        self.role,
                        job.judged,
                        self.progress.expected,
                    )
            except ErrorBudgetExceeded as error:
                # Raised once the rest of the batch is written.
                refused = refused or error
        self.writer.journal.flush()
        if refused is not None:
            raise refused

    def judge(self, answers: Answers) -> None:
        """Raise if one of these answers is a failure and the error budget is used up."""
        if any(output.error is not None for _, output in answers):
            self.check()

    def check(self) -> None:
        """Raise if the error budget is used up, so that no more requests are sent."""
        if self.budget is not None:
            self.budget.check(self.progress.done, self.progress.expected)

    def _write(
        self,
        job: Job,
        output: Output,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Write an answer to the journal."""
        request = job.request
        sample = job.sample
        prompt = request.prompt
        messages = prompt.messages[job.known_messages :]
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
                [to_plain(message) for message in messages],
                prompt.continuations,
                plain,
                sample.target,
                {**prompt.details, **details} if details else prompt.details or EMPTY,
                [tool.to_plain() for tool in prompt.tools] if not job.round else (),
                job.known_messages > 0,
            )
        )
        if not self.role:
            self.remarks.count(sample, job.epoch, job.round, output)

    def _copy(self, answer: Answered, job: Job) -> None:
        """Write an answer of an earlier run to the journal again, with the sample id and model name of this run."""
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
                record.tools,
                record.follows,
            )
        )
        self.writer.journal.flush()

    @cached_property
    def _failures(self) -> dict[str, Answered]:
        """Return the earlier run's failed requests by key.

        They serve as answers if the model must not be called.
        """
        rounds = (answer for stored in self.index.answers.values() for answer in stored)
        return {
            answer.key: answer
            for answer in rounds
            if answer is not None and answer.failed
        }


def _without_paths(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the content of recorded messages without the paths of media, which change if a file is moved."""
    contents = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = [{**part, "path": None} for part in content]
        contents.append({**message, "content": content})
    return contents


def think_tags_of(
    protocol: str,
    model: Model,
    args: Mapping[str, Any],
) -> ThinkTags:
    """Return how to recognise reasoning in a model's answers.

    A task with the protocol of another system treats reasoning as that system does.
    Otherwise the option `think_tags` decides, or the model's attribute of this name if
    the option is not set. If neither is set, all known forms are recognised.
    """
    if "@upstream" in protocol:
        return False
    if args.get(THINK_TAGS) is not None:
        return read_think_tags(args[THINK_TAGS], "--model_args")
    declared = getattr(model, THINK_TAGS, None)
    return read_think_tags(declared, f"attribute of {type(model).__name__}")
