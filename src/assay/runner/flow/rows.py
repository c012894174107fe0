"""Rows: one task with one model, from rows to scored records, exactly once.

Rows stream in; a sample whose answer is already in the journal is not asked again; an answer is on disk before it is
scored; scoring goes on while the model works.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

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
from ...core.record import output_from_plain, prompt_to_plain
from ...core.secrets import scrub
from ...media.checks import check_media
from ...store import Answered
from ...templates import Dialogue, has_rounds, rounds
from ..ask.asking import Asking
from ..ask.work import Answers, Asker, Job, Work
from ..plan.cell import Cell
from ..scoring.scoring import with_rounds
from .early_stop import EarlyStop
from .verdicts import Verdicts


class CellRun:
    """One cell at work; the desk its scheduler hands answers to."""

    def __init__(self, cell: Cell, asking: Asking, *, known_by_id: bool) -> None:
        self.cell = cell
        self.asking = asking
        self.writer = asking.writer
        self.progress = asking.progress
        self.remarks = asking.remarks
        self.expected = 0
        """Samples, whether they could be asked or not, however often each is asked."""
        self.unanswered: list[str] = []
        """Samples without an answer when the model may not be asked."""
        self.redacted = 0
        """Answers scored from the journal, which has them without the secret they held."""
        self.is_spent: Callable[[], bool] = lambda: False
        """Whether nothing more may be asked; what the journal has is still counted."""
        self.early: EarlyStop | None = None
        """The rule of `--until`, where there is one."""
        self._known_by_id = known_by_id
        self._may_be_settled = (
            known_by_id and asking.may_ask and cell.template.next_turn is None
        )
        self._index = asking.index
        self._dialogues: dict[tuple[str, int], Dialogue] = {}
        self._work: Work | None = None
        self._builds_prompt = getattr(cell.model, "prompt", None)
        self._hints_of = getattr(cell.model, "hints_of", None)
        self._epochs = cell.task.epochs
        self.verdicts = Verdicts(
            cell.scorings,
            self.writer,
            self.progress,
            self._index.scores,
            when_one_came=self._look_again,
        )

    async def has_jobs(self, work: Work) -> bool:
        """Whether there is anything to ask; what is known and comes before the first such row is scored for it."""
        while not work.has_jobs():
            if work.stopped or work.is_done():
                return False
            await self.verdicts.settle()
        return True

    async def run(self, work: Work, asker: Asker | None) -> None:
        """Asks and scores until there is nothing left; without an asker there is nothing to ask."""
        self._work = work
        try:
            if asker is not None:
                await asker.run(work, self)
            if self.is_spent() and not self.asking.is_new:
                await self._take_rest(work)
            await self.verdicts.settle()
        finally:
            self.verdicts.close()
            self.writer.journal.flush()

    async def _take_rest(self, work: Work) -> None:
        """Counts what the journal has of the rows that nobody will be asked for."""
        for _ in work.rest():
            await self.verdicts.settle()

    async def score_only(self) -> None:
        """Scores what the journal holds; the model is not asked."""
        try:
            for _ in self.jobs():
                await self.verdicts.settle()
            await self.verdicts.settle()
        finally:
            self.verdicts.close()
            self.writer.journal.flush()

    def jobs(self) -> Iterator[Job | None]:
        """The requests that are not answered yet, or `None` where verdicts must be awaited before the next is read;
        scores what was answered but not scored on the way."""
        met, find = 0, _nowhere if self.asking.is_new else self._index.places.find
        for order, item in enumerate(self.cell.view()):
            if self._has_enough(order):
                break
            self.expected += 1
            if isinstance(item, BadSample):
                if self.early is not None:
                    self.early.leave_out(order)
                self._count_bad(item.id, str(item.error), order * self._epochs)
                met += find(item.id, 0) >= 0
                continue
            for epoch in range(self._epochs):
                number, place = find(item.id, epoch), order * self._epochs + epoch
                met += number >= 0
                if number < 0 and self.is_spent():
                    continue
                if number >= 0 and self._takes_settled(item, place, number):
                    continue
                job = self._job(item, epoch, place)
                if job is not None:
                    yield job
                elif self.verdicts.is_behind():
                    yield None
        self.cell.holds_more = met < len(self._index.places)

    def _has_enough(self, order: int) -> bool:
        """Whether `--until` ends the run before this row: now, or when its answers were asked for."""
        if (
            self.early is not None
            and self.cell.taken is None
            and self.early.is_reached()
        ):
            self.cell.taken = order
        return self.cell.taken is not None and order >= self.cell.taken

    def _takes_settled(self, sample: Sample, order: int, number: int) -> bool:
        """Whether a sample is done: the short way for the many of a run that goes on, as `_reuse` has it."""
        if not self._may_be_settled or sample.turns or self.remarks.reads_answers:
            return False
        if not self._index.answers.is_settled(number) or not self.verdicts.take_settled(
            sample, order, number
        ):
            return False
        self.progress.reused += 1
        self.progress.done += 1
        return True

    def _job(self, sample: Sample, epoch: int, order: int) -> Job | None:
        stored = self.asking.stored(sample.id, epoch)
        if (
            stored
            and self._known_by_id
            and (finished := self._finished(stored, sample))
        ):
            self._reuse(sample, epoch, order, finished, stored)
            return None
        try:
            prompt = self._prompt(sample)
            request = self._request(
                sample, prompt, epoch
            )  # opens the media: their digests are part of the key
        except StoreError:
            raise
        except AssayError as error:
            self._count_bad(sample.id, str(error), order, epoch)
            return None
        if has_rounds(sample, self.cell.template):
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
            self._pass_over(sample, epoch, order, stored)
            return None
        return job

    def _pass_over(
        self,
        sample: Sample,
        epoch: int,
        order: int,
        stored: Sequence[Answered | None],
        round: int = 0,
    ) -> None:
        """A sample the model may not be asked: a request that failed is counted as it was."""
        answers = stored[: round + 1]
        if answers and answers[-1] is not None and answers[-1].failed:
            self._reuse(sample, epoch, order, answers, stored)
        else:
            self.unanswered.append(sample.id)

    def _prompt(self, sample: Sample) -> Prompt:
        prompt = self._built_prompt(sample)
        self.remarks.leaks.look(sample, prompt)
        # Media that are only passed on are looked at from outside; whoever decodes them looks inside.
        for medium in prompt.media:
            check_media(medium)
        return prompt

    def _built_prompt(self, sample: Sample) -> Prompt:
        prompt: Prompt = self.cell.template(sample)
        if self._builds_prompt is not None:
            try:
                built: Prompt | None = self._builds_prompt(sample, prompt)
            except Exception as error:
                raise blamed(
                    TemplateError,
                    error,
                    f"prompt of model {self.cell.model_name!r}",
                    sample.id,
                ) from error
            if built is not None and built is not prompt:
                return replace(built, details={**built.details, "built_by": "model"})
        return prompt

    def _request(
        self,
        sample: Sample,
        prompt: Prompt,
        epoch: int,
        round: int = 0,
        previous: str = "",
        state: Any = None,
    ) -> Request:
        options = self.cell.options_for(prompt)
        seed, draw = seeds_of(options.seed, sample.id, epoch, round)
        hints = self.cell.task.hints
        if self._hints_of is not None:
            hints = {**hints, **self._hints_of(sample.id, epoch, round)}
        key = self.asking.key_of(prompt, options, seed, epoch, hints, previous, draw)
        return Request(prompt, options, seed, epoch, state, hints, key, sample.id, draw)

    def _finished(
        self, stored: Sequence[Answered | None], sample: Sample
    ) -> Sequence[Answered | None]:
        """The rounds of a sample that was answered to its end, without those that it no longer has; else none."""
        if self.cell.template.next_turn is not None:
            return ()  # only the template knows whether its dialogue was over
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
        """Answers from the journal: their scores too, unless a scorer or what it judges by has changed since.

        Scores at the sample's place belong to the answers that are `stored` there, and not to others.
        """
        self.progress.reused += 1
        if len(stored) > len(answers):
            self.cell.rounds[sample.id, epoch] = len(answers)
        self._remark_on(sample, epoch, answers)
        is_in_place = len(stored) >= len(answers) and all(map(is_, answers, stored))
        is_current = self.asking.may_ask and is_in_place
        stale = (
            self.verdicts.take_known(sample, epoch, order)
            if is_current
            else self.cell.scorings
        )
        if stale:
            records = [
                self.asking.read(answer) for answer in answers if answer is not None
            ]
            self.redacted += any(record.details.get("redacted") for record in records)
            outputs = [
                output_from_plain(record.output, self.writer.blobs)
                for record in records
            ]
            prompts = [record.prompt for record in records]
            self.verdicts.score(
                sample, with_rounds(outputs, prompts), epoch, order, stale
            )
        else:
            self.progress.done += 1

    def _note_rounds(self, id: str, epoch: int, count: int) -> None:
        """Notes for whoever reads the journal that it holds rounds which the sample no longer has."""
        if len(self.asking.stored(id, epoch)) > count:
            self.cell.rounds[id, epoch] = count

    def _remark_on(
        self, sample: Sample, epoch: int, stored: Sequence[Answered | None]
    ) -> None:
        for round, answer in enumerate(stored):
            if answer is not None:
                self.remarks.count_stored(
                    sample, epoch, round, answer, self.asking.output
                )

    def _count_bad(self, id: str, message: str, order: int, epoch: int = 0) -> None:
        message = scrub(message)
        bad = Sample(id, fields={"error": message})
        is_new = (id, epoch) not in self._index.answers
        for scoring in (
            self.verdicts.take_known(bad, epoch, order)
            if is_new
            else self.cell.scorings
        ):
            score = Score(None, Outcome.DATA_ERROR, details={"error": message})
            self.verdicts.write(scoring, bad, score, epoch, order)
        self.progress.done += 1

    def keep(self, answers: Answers) -> None:
        """Writes answers to the journal; when it returns, a kill loses none of them."""
        self.asking.keep(answers)

    def judge(self, answers: Answers) -> None:
        """Scores answers, and sends the next round of a dialogue on its way."""
        failed = False
        for job, output in answers:
            if self._dialogues and self._continues(job, output):
                continue
            if not self.asking.is_new:
                self._note_rounds(job.sample.id, job.epoch, job.round + 1)
            if job.history:
                rounds = (*job.history, (job.request, output))
                prompts = [prompt_to_plain(request.prompt) for request, _ in rounds]
                output = with_rounds([answer for _, answer in rounds], prompts)
            self.verdicts.score(
                job.sample, output, job.epoch, job.order, self.cell.scorings
            )
            failed = failed or output.error is not None
        if failed:
            self.asking.check()
        self.verdicts.check()

    def _look_again(self) -> None:
        if self._work is not None:
            self._work.look_again()

    def _continues(self, job: Job, output: Output) -> bool:
        """Whether a dialogue goes on after this answer; if so, its next round is put to the work."""
        dialogue = self._dialogues.get((job.sample.id, job.epoch))
        if dialogue is None or self._work is None:
            return False
        following = self._next_round(job, output, dialogue)
        if following is None:
            del self._dialogues[job.sample.id, job.epoch]
            return False
        self._work.put(following)
        return True

    def _next_round(self, job: Job, output: Output, dialogue: Dialogue) -> Job | None:
        if output.error is not None:
            return None
        prompt = dialogue.next(job.request.messages, output)
        if prompt is None:
            return None
        for medium in prompt.media:
            check_media(medium)
        request = self._request(
            job.sample, prompt, job.epoch, job.round + 1, job.request.key, output.state
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
        """The first round that is not answered yet; a model that keeps its own history starts from the beginning."""
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
            self._pass_over(
                sample, epoch, order, [*answers, *stored[job.round :]], job.round
            )
            return None
        self._remark_on(sample, epoch, answers)
        if job is not first and self.cell.model.abilities.history != "given":
            # What the model remembered of the earlier rounds is gone: the dialogue starts again whole.
            self._begin_dialogue(sample, request.prompt, epoch)
            return first
        return job

    def begin_again(self, job: Job) -> Job:
        """The first round of a job's dialogue: what its model remembered of the earlier rounds is gone."""
        first = job.history[0][0]
        self._begin_dialogue(job.sample, first.prompt, job.epoch)
        return Job(job.sample, first, job.epoch, order=job.order)

    def _begin_dialogue(self, sample: Sample, prompt: Prompt, epoch: int) -> Dialogue:
        dialogue = rounds(
            sample, prompt, template=self.cell.template, history=self.cell.task.history
        )
        self._dialogues[sample.id, epoch] = dialogue
        return dialogue


def _nowhere(id: str, epoch: int) -> int:
    """The place of a sample in a journal that held nothing."""
    return -1
