"""Run one task × model, from rows of data to scored records.

`TaskRun.rows` reads the data. `take` turns a row into a request, or scores the answer that is already in the journal.
The scheduler sends the requests and passes their answers to `keep`, which writes them to disk, and to `judge`, which
scores them while the model works on the next requests.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, NamedTuple

from ...core import (
    AssayError,
    BadSample,
    Outcome,
    Output,
    Prompt,
    Request,
    Sample,
    Score,
    StoreError,
    blamed,
    seeds_of,
)
from ...core.errors import TemplateError
from ...core.record import prompt_to_plain, whole_prompts
from ...core.secrets import scrub
from ...media.checks import check_media
from ...store import Answered
from ...templates import Dialogue, has_rounds
from ..ask.asking import Asking
from ..ask.work import Answers, Asker, Job, Work
from ..plan.planned_task import PlannedTask
from ..scoring.scoring import Scoring, with_rounds
from ..summary.chance import ChanceLevel
from .early_stop import EarlyStop
from .tool_rounds import ToolRounds
from .verdicts import Verdicts


class Row(NamedTuple):
    """One sample in one epoch, with its number in the journal's index."""

    item: Sample | BadSample
    epoch: int
    order: int
    """Index of this sample and epoch in the order of the run."""
    number: int
    """Index of this sample and epoch among those in the journal; -1 if the journal does not contain them."""


class TaskRun:
    """Runs one task on one model: makes the requests, and receives, stores and scores the answers."""

    def __init__(
        self,
        planned: PlannedTask,
        asking: Asking,
        *,
        known_by_id: bool,
    ) -> None:
        self.planned = planned
        self.asking = asking
        self.writer = asking.writer
        self.progress = asking.progress
        self.remarks = asking.remarks
        self.expected = 0
        """The number of samples, including bad ones. Epochs are not counted."""
        self.chance = ChanceLevel()
        self.unanswered: list[str] = []
        """Ids of samples without an answer, in a run that must not call the model."""
        self.redacted = 0
        """Number of answers that contained a secret, so that their redacted text from the journal was scored."""
        self.is_spent: Callable[[], bool] = lambda: False
        """Function that returns True if the budget is used up. Answers in the journal still count."""
        self.early: EarlyStop | None = None
        """Applies the `--until` rule; None without such a rule."""
        self._known_by_id = known_by_id
        self._may_be_finished = (
            known_by_id and asking.may_ask and planned.template.next_turn is None
        )
        self._index = asking.index
        self._dialogues: dict[tuple[str, int], Dialogue] = {}
        self.work: Work | None = None
        """The jobs of this task × model, while the model is asked."""
        self.tool_rounds: ToolRounds | None = None
        """Runs the samples with tools; None in a task without tools."""
        self._builds_prompt = getattr(planned.model, "prompt", None)
        self._hints_of = getattr(planned.model, "hints_of", None)
        self._epochs = planned.task.epochs
        self.verdicts = Verdicts(
            planned.scorings,
            self.writer,
            self.progress,
            self._index.scores,
            when_score_arrives=self._look_again,
            budget=asking.budget,
        )

    def use_tools(
        self,
        models: Mapping[str, Any],
        say: Callable[[str], None],
    ) -> None:
        """Set up the task's tools, if any. `models` maps roles to the helper models that these tools need."""
        tool_set = self.planned.tools
        if tool_set is not None:
            self.tool_rounds = ToolRounds(self, tool_set, models, say)

    def is_behind(self) -> bool:
        """Return True if too many samples or scores are pending. No more rows should be read then."""
        if self.tool_rounds is not None and self.tool_rounds.is_behind():
            return True
        return self.verdicts.is_behind()

    async def settle(self) -> None:
        """Wait for all tool calls and delayed scores.

        Raise at once if one of them failed in a way that stops the run.
        """
        if self.tool_rounds is not None:
            await self.tool_rounds.settle()
        await self.verdicts.settle()

    async def has_jobs(self, work: Work) -> bool:
        """Return True if there are requests to send.

        Rows before the first request that are already answered are scored.
        """
        self.work = work
        while not work.has_jobs():
            if work.stopped or work.is_done():
                return False
            await self.settle()
        return True

    async def run(
        self,
        work: Work,
        asker: Asker | None,
    ) -> None:
        """Send requests and score answers until no rows are left. With `asker=None`, only wait for pending scores."""
        self.work = work
        try:
            if asker is not None:
                await asker.run(work, self)
            if self.is_spent() and not self.asking.is_new:
                await self._take_all(work.rest())
            await self.settle()
        finally:
            await self._close()

    async def score_only(self) -> None:
        """Score the answers in the journal without calling the model."""
        try:
            await self._take_all(self.rows())
            await self.settle()
        finally:
            await self._close()

    async def _take_all(self, rows: Iterator[Row]) -> None:
        """Count and score the rows that have answers in the journal. List the others as unanswered."""
        for row in rows:
            self.take(row)
            if self.is_behind():
                await self.settle()

    async def _close(self) -> None:
        if self.tool_rounds is not None:
            await self.tool_rounds.close()
        self.verdicts.close()
        self.writer.journal.flush()

    def rows(self) -> Iterator[Row]:
        """Yield every sample and epoch of the run in order, until the data end or `--until` is reached."""
        is_new = self.asking.is_new
        find = self._index.places.find
        count_in_journal = 0
        for position, item in enumerate(self.planned.view()):
            if self._has_enough(position):
                break
            self.expected += 1
            self.chance.add(item)
            if isinstance(item, BadSample):
                epochs = 1
            else:
                epochs = self._epochs
            for epoch in range(epochs):
                order = position * self._epochs + epoch
                number = -1 if is_new else find(item.id, epoch)
                if number >= 0:
                    count_in_journal += 1
                yield Row(item, epoch, order, number)
        self.planned.holds_more = count_in_journal < len(self._index.places)

    def take(self, row: Row) -> Job | None:
        """Return the job for a row; None if no request is needed.

        If the journal or the cache has the answer, the row is counted and scored here. A bad row is counted as
        `data_error`.
        """
        item = row.item
        if isinstance(item, BadSample):
            if self.early is not None:
                self.early.leave_out(row.order // self._epochs)
            self._count_bad(item.id, str(item.error), row.order)
            return None
        is_in_journal = row.number >= 0
        if not is_in_journal and self.is_spent():
            return None
        sample = self.planned.samples.in_epoch(item, row.epoch)
        if is_in_journal and self._take_finished(sample, row.order, row.number):
            return None
        return self._job(sample, row.epoch, row.order)

    def _has_enough(self, position: int) -> bool:
        """Return True if the run ends before this row: `--until` is reached, now or in the earlier run."""
        if (
            self.early is not None
            and self.planned.counted_rows is None
            and self.early.is_reached()
        ):
            self.planned.counted_rows = position
        return (
            self.planned.counted_rows is not None
            and position >= self.planned.counted_rows
        )

    def _take_finished(
        self,
        sample: Sample,
        order: int,
        number: int,
    ) -> bool:
        """Fast path of `_reuse`: if a sample is answered and scored, count it and return True."""
        is_dialogue = bool(sample.turns) and self.planned.tools is None
        if not self._may_be_finished or is_dialogue or self.remarks.reads_answers:
            return False
        has_tools = self.planned.tools is not None and bool(self.planned.scorings)
        if not self._index.answers.is_settled(number, may_have_rounds=has_tools):
            return False
        if not self.verdicts.take_finished(sample, order, number):
            return False
        self.progress.reused += 1
        self.progress.done += 1
        return True

    def _job(
        self,
        sample: Sample,
        epoch: int,
        order: int,
    ) -> Job | None:
        """Return the job for a sample. If an answer is known, score it and return None.

        The journal is searched by sample id (if nothing has changed since the earlier run) and then by request key;
        after it, the cache.
        """
        stored = self.asking.stored(sample.id, epoch)
        if stored and self._known_by_id and self.tool_rounds is None:
            finished = self._finished(stored, sample)
            first = finished[0] if finished and self._builds_prompt is None else None
            if first is not None and self.asking.is_other_question(
                first, lambda: self._built_prompt(sample)
            ):
                self.unanswered.append(sample.id)
                return None
            if finished:
                self._reuse(sample, epoch, order, finished, stored)
                return None
        try:
            prompt = self._prompt(sample)
            # Opens the media: their digests are part of the key.
            request = self.request_of(sample, prompt, epoch)
        except StoreError:
            raise
        except AssayError as error:
            self._count_bad(sample.id, str(error), order, epoch)
            return None
        if self.tool_rounds is not None:
            return self.tool_rounds.begin(sample, request, epoch, order, stored)
        if has_rounds(sample, self.planned.template):
            return self._resume_dialogue(sample, request, epoch, order, stored)
        job = Job(sample, request, epoch, order=order)
        answer = self.asking.known(job, stored, moves=True)
        if answer is not None:
            self._reuse(sample, epoch, order, [answer], stored)
            return None
        cached = self.asking.cached(job)
        if cached is not None:
            self.progress.reused += 1
            self.judge([(job, cached)])
            return None
        if not self.asking.may_ask:
            self.skip_unanswered(sample, epoch, order, stored)
            return None
        return job

    def skip_unanswered(
        self,
        sample: Sample,
        epoch: int,
        order: int,
        stored: Sequence[Answered | None],
        round: int = 0,
    ) -> None:
        """Count a sample's earlier failure, or list it as unanswered, in a run that must not call the model."""
        answers = stored[: round + 1]
        if answers and answers[-1] is not None and answers[-1].failed:
            self._reuse(sample, epoch, order, answers, stored)
        else:
            self.unanswered.append(sample.id)

    def _prompt(self, sample: Sample) -> Prompt:
        """Build the prompt of a sample, and check it for leaked targets and bad media."""
        prompt = self._built_prompt(sample)
        self.remarks.leaks.look(sample, prompt)
        # Only the container of the media is checked here. The model that decodes them checks their content.
        for medium in prompt.media:
            check_media(medium)
        return prompt

    def _built_prompt(self, sample: Sample) -> Prompt:
        """Build the prompt of a sample with the task's template, unless the model builds the prompt itself."""
        prompt: Prompt = self.planned.template(sample)
        if self._builds_prompt is not None:
            try:
                built: Prompt | None = self._builds_prompt(sample, prompt)
            except Exception as error:
                raise blamed(
                    TemplateError,
                    error,
                    f"prompt of model {self.planned.model_name!r}",
                    sample.id,
                ) from error
            if built is not None and built is not prompt:
                return replace(built, details={**built.details, "built_by": "model"})
        return prompt

    def request_of(
        self,
        sample: Sample,
        prompt: Prompt,
        epoch: int,
        round: int = 0,
        previous: str = "",
        state: object = None,
        known_messages: int = 0,
    ) -> Request:
        """Return a request with its seed and its key.

        The first `known_messages` messages are not hashed again, because the previous round's key covers them.
        """
        options = self.planned.options_for(prompt)
        seed, draw = seeds_of(options.seed, sample.id, epoch, round)
        hints = self.planned.task.hints
        if self._hints_of is not None:
            hints = {**hints, **self._hints_of(sample.id, epoch, round)}
        keyed = prompt
        if known_messages:
            keyed = replace(prompt, messages=prompt.messages[known_messages:])
        key = self.asking.key_of(keyed, options, seed, epoch, hints, previous, draw)
        return Request(
            prompt,
            options,
            seed,
            epoch,
            state,
            hints,
            key,
            sample.id,
            draw,
            self.asking.think_tags,
        )

    def _finished(
        self,
        stored: Sequence[Answered | None],
        sample: Sample,
    ) -> Sequence[Answered | None]:
        """Return a sample's stored answers if every round has one; otherwise an empty sequence.

        Stored rounds beyond the sample's present number of rounds are left out.
        """
        if self.planned.template.next_turn is not None:
            return ()  # only the template knows whether its dialogue has ended
        answers = stored[: 1 + len(sample.turns)]
        if len(answers) <= len(sample.turns) or any(
            answer is None or answer.failed for answer in answers
        ):
            return ()
        return answers

    def _reuse(
        self,
        sample: Sample,
        epoch: int,
        order: int,
        answers: Sequence[Answered | None],
        stored: Sequence[Answered | None],
    ) -> None:
        """Reuse answers from the journal. Score them again only if a scorer or the sample has changed.

        `stored` has the answers found by sample id and epoch. The scores in the journal belong to these answers only.
        """
        stale = self.count_reused(sample, epoch, order, answers, stored)
        if stale:
            records = [
                self.asking.read(answer) for answer in answers if answer is not None
            ]
            self.redacted += any(record.details.get("redacted") for record in records)
            outputs = [self.asking.output_of(record) for record in records]
            output = with_rounds(outputs, whole_prompts(records))
            self.verdicts.score(sample, output, epoch, order, stale)
        else:
            self.progress.done += 1

    def count_reused(
        self,
        sample: Sample,
        epoch: int,
        order: int,
        answers: Sequence[Answered | None],
        stored: Sequence[Answered | None],
    ) -> Sequence[Scoring]:
        """Count a sample answered in the journal. Return the scorers whose score is missing or outdated."""
        self.progress.reused += 1
        if len(stored) > len(answers):
            self.planned.rounds[sample.id, epoch] = len(answers)
        self.count_remarks(sample, epoch, answers)
        is_in_place = len(stored) >= len(answers) and all(map(is_, answers, stored))
        if self.asking.may_ask and is_in_place:
            return self.verdicts.take_known(sample, epoch, order)
        return self.planned.scorings

    def note_rounds(
        self,
        id: str,
        epoch: int,
        count: int,
    ) -> None:
        """If the journal has more than `count` rounds for a sample, record that only these are used."""
        if len(self.asking.stored(id, epoch)) > count:
            self.planned.rounds[id, epoch] = count

    def count_remarks(
        self,
        sample: Sample,
        epoch: int,
        stored: Sequence[Answered | None],
    ) -> None:
        """Add answers from the journal to the notes of the run (cuts, identical answers and so on)."""
        read = self.asking.output
        for round, answer in enumerate(stored):
            if answer is not None:
                self.remarks.count_stored(sample, epoch, round, answer, read)

    def _count_bad(
        self,
        id: str,
        message: str,
        order: int,
        epoch: int = 0,
    ) -> None:
        """Count a bad row, and write a score with the outcome `data_error` for each scorer."""
        message = scrub(message)
        bad = Sample(id, fields={"error": message})
        is_new = (id, epoch) not in self._index.answers
        if is_new:
            scorings = self.verdicts.take_known(bad, epoch, order)
        else:
            scorings = self.planned.scorings
        for scoring in scorings:
            score = Score(None, Outcome.DATA_ERROR, details={"error": message})
            self.verdicts.write(scoring, bad, score, epoch, order)
        self.progress.done += 1

    def keep(self, answers: Answers) -> None:
        """Write answers to the journal. Once this returns, the answers survive a kill of the process."""
        self.asking.keep(answers)

    def judge(self, answers: Answers) -> None:
        """Score answers, or continue their dialogues with the next round."""
        if self.tool_rounds is not None:
            for job, output in answers:
                self.tool_rounds.continue_with(job, output)
            self.tool_rounds.check()
            return
        scorings = self.planned.scorings
        failed = False
        for job, output in answers:
            if self._dialogues and self._continues(job, output):
                continue
            if not self.asking.is_new:
                self.note_rounds(job.sample.id, job.epoch, job.round + 1)
            if job.history:
                rounds = (*job.history, (job.request, output))
                prompts = [prompt_to_plain(request.prompt) for request, _ in rounds]
                output = with_rounds([answer for _, answer in rounds], prompts)
            self.verdicts.score(job.sample, output, job.epoch, job.order, scorings)
            failed = failed or output.error is not None
        if failed:
            self.asking.check()
        self.verdicts.check()

    def _look_again(self) -> None:
        """After a delayed score, tell waiting workers that more rows may be read now."""
        if self.work is not None:
            self.work.look_again()

    def _continues(self, job: Job, output: Output) -> bool:
        """Queue the next round of a dialogue and return True. Return False if the dialogue has ended."""
        dialogue = self._dialogues.get((job.sample.id, job.epoch))
        if dialogue is None or self.work is None:
            return False
        following = self._next_round(job, output, dialogue)
        if following is None:
            del self._dialogues[job.sample.id, job.epoch]
            return False
        self.work.put(following)
        return True

    def _next_round(
        self,
        job: Job,
        output: Output,
        dialogue: Dialogue,
    ) -> Job | None:
        """Return the next round of a dialogue, or None if it has ended or failed."""
        if output.error is not None:
            return None
        prompt = dialogue.next(job.request.messages, output)
        if prompt is None:
            return None
        for medium in prompt.media:
            check_media(medium)
        request = self.request_of(
            job.sample,
            prompt,
            job.epoch,
            job.round + 1,
            job.request.key,
            output.state,
        )
        history = (*job.history, (job.request, output))
        return Job(job.sample, request, job.epoch, job.round + 1, job.order, history)

    def _resume_dialogue(
        self,
        sample: Sample,
        request: Request,
        epoch: int,
        order: int,
        stored: Sequence[Answered | None],
    ) -> Job | None:
        """Return the job of the first unanswered round of a dialogue; None if all rounds have answers.

        If the model keeps a dialogue's history itself, always return the first round.
        """
        dialogue = self._begin_dialogue(sample, request.prompt, epoch)
        first = job = Job(sample, request, epoch, order=order)
        answers: list[Answered] = []
        while (answer := self.asking.known(job, stored, moves=True)) is not None:
            answers.append(answer)
            following = self._next_round(job, self.asking.output(answer), dialogue)
            if following is None:
                del self._dialogues[sample.id, epoch]
                self._reuse(sample, epoch, order, answers, stored)
                return None
            job = following
        if not self.asking.may_ask:
            del self._dialogues[sample.id, epoch]
            earlier = [*answers, *stored[job.round :]]
            self.skip_unanswered(sample, epoch, order, earlier, job.round)
            return None
        self.count_remarks(sample, epoch, answers)
        if job is not first and self.planned.model.abilities.history != "given":
            # The model no longer remembers the earlier rounds: the dialogue starts again.
            self._begin_dialogue(sample, request.prompt, epoch)
            return first
        return job

    def begin_again(self, job: Job) -> Job:
        """Return the first round of a job's dialogue, for a model that no longer remembers the earlier rounds."""
        if self.tool_rounds is not None:
            return self.tool_rounds.begin_again(job)
        first = job.history[0][0]
        self._begin_dialogue(job.sample, first.prompt, job.epoch)
        return Job(job.sample, first, job.epoch, order=job.order)

    def _begin_dialogue(
        self,
        sample: Sample,
        prompt: Prompt,
        epoch: int,
    ) -> Dialogue:
        dialogue = self.planned.dialogue(sample, prompt)
        self._dialogues[sample.id, epoch] = dialogue
        return dialogue
