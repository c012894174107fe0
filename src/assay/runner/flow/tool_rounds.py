"""Samples with tools: after an answer with calls, run them, record the results, and queue the next round.

The results for one answer are one journal line of the task `TASK#tools`, under the key of the answered request. The
line is written before the next request is sent, so a kill loses at most the calls that were running.

After a restart, a sample is replayed from its first round: answers come from the journal, and so do the results of
tools without state. Calls that change a state are repeated, and their results are compared with the recorded ones. If
one differs, the sample continues from there with the new result, and the run reports this.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...core import (
    AssayError,
    Candidate,
    Media,
    Message,
    Outcome,
    Output,
    Prompt,
    Reasoning,
    Request,
    Round,
    Sample,
    Score,
    generation_role,
)
from ...core.errors import plural
from ...core.message import plain_turns, to_plain
from ...core.output import LIMIT
from ...core.secrets import scrub
from ...core.tools import TOOLS_ROLE, ToolCall, ToolResult
from ...media.checks import check_media
from ...store import Answered, OutputLine
from ...templates import Dialogue
from ...tooling import SampleContext, SampleTools, ToolSet, Used, result_digest
from ...tooling.sample_limits import Unmeasured
from ...tooling.tool_results import LARGEST_RESULT, is_cut
from ..ask.work import Job, Work
from ..counts.spending import spent_of
from ..plan.planned_task import tools_digest
from ..scoring.scoring import Scoring
from .verdicts import judged

if TYPE_CHECKING:
    from .rows import TaskRun

MOST_OPEN = 256
"""Maximum number of samples with tools in progress. A limit on the requests in flight replaces this number."""
Place = tuple[str, int]
"""Identifies a sample in progress: its id and its epoch."""


@dataclass(eq=False)
class SampleAtWork:
    """The progress of one sample with tools: its tool session, its rounds so far and its limits."""

    sample: Sample
    epoch: int
    tools: SampleTools
    dialogue: Dialogue
    first: Prompt
    used: Used = field(default_factory=Used)
    limit: Outcome | None = None
    rounds: list[Round] = field(default_factory=list)
    spoken: list[tuple[str, str]] = field(default_factory=list)
    """The messages of the conversation so far, as (role, text)."""
    call_ids: set[str] = field(default_factory=set)
    restarted: bool = False
    """True if a call that was repeated after a restart returned a different result."""

    def add_round(
        self,
        request: Request,
        known_messages: int,
        output: Output,
    ) -> None:
        """Store a round for the scorers."""
        new = []
        for m in request.messages[known_messages:]:
            if m.parts is not None:
                new.append(to_plain(m))
        self.spoken += plain_turns(new)
        self.rounds.append(Round(tuple(self.spoken), output))

    def output(self) -> Output:
        """Return the last answer with all rounds, the state of the tools, and any limit that ended the sample."""
        last = self.rounds[-1].output
        details = dict(last.details)
        if len(self.rounds) > 1:
            details["rounds"] = [entry.output.text for entry in self.rounds]
        if self.limit is not None:
            details[LIMIT] = self.limit.value
        return replace(
            last,
            rounds=tuple(self.rounds),
            state=self.tools.state,
            details=details,
        )


class ToolRounds:
    """Runs the samples with tools of one task × model."""

    def __init__(
        self,
        run: "TaskRun",
        tool_set: ToolSet,
        models: Mapping[str, Any],
        say: Callable[[str], None],
    ) -> None:
        self.most_open = MOST_OPEN
        self._run = run
        self._set = tool_set
        self._models = models
        self._say = say
        self._limits = run.planned.limits
        self._unmeasured = Unmeasured(self._limits)
        self._digest = tools_digest(run.planned)
        self._role_task = f"{run.planned.task.name}#{TOOLS_ROLE}"
        self._recorded = run.writer.cell(self._role_task, run.planned.model_name)
        self._open: dict[Place, SampleAtWork] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._hung: set[str] = set()
        self._cut: Counter[str] = Counter()
        """Number of truncated results, by tool."""

    def is_behind(self) -> bool:
        """Return True if too many samples are in progress to begin another one."""
        return len(self._open) >= self.most_open

    def begin(
        self,
        sample: Sample,
        request: Request,
        epoch: int,
        order: int,
        stored: Sequence[Answered | None],
    ) -> Job | None:
        """Start a sample and return its first request; None if tools must be prepared or rounds replayed first."""
        at_work = self._at_work(sample, request.prompt, epoch)
        job = Job(sample, request, epoch, order=order)
        asking = self._run.asking
        is_new = asking.is_new or asking.known(job, stored) is None
        if is_new and not self._set.begins and asking.may_ask:
            return job
        self._start(self._replay(at_work, job, stored))
        return None

    def continue_with(self, job: Job, output: Output) -> None:
        """Run the tool calls in an answer and queue the next round. If there is none, score the sample."""
        at_work = self._open[job.sample.id, job.epoch]
        self._start(self._after_answer(at_work, job, output))

    def begin_again(self, job: Job) -> Job:
        """Return the first round of a sample, for a model that no longer remembers the earlier rounds."""
        left = self._open.pop((job.sample.id, job.epoch))
        self._start(left.tools.close())
        self._at_work(job.sample, left.first, job.epoch)
        request = self._run.request_of(job.sample, left.first, job.epoch)
        return Job(job.sample, request, job.epoch, order=job.order)

    async def settle(self) -> None:
        """Wait until no calls are running. Raise if one of them stopped the run."""
        while self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self.check()
        self.check()

    def check(self) -> None:
        """Raise the error of a sample if it must stop the run, such as a full disk."""
        if self._broken is not None:
            raise self._broken

    async def close(self) -> None:
        """Cancel everything that is running, and close the tools of all samples."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for at_work in list(self._open.values()):
            await at_work.tools.close()
        self._open.clear()
        await self._set.close()

    def notes(self) -> list[str]:
        """Return notes about slow tool calls, truncated results, and limits that could not be checked."""
        task = self._run.planned.task.name
        seconds = self._limits.call_seconds
        lines = []
        for name in sorted(self._hung):
            line = f"{task}: the tool {name!r} was ended after {seconds:g} s (--tool_seconds)"
            lines.append(line)
        for name, count in sorted(self._cut.items()):
            results = plural(count, "result")
            lines.append(
                f"{task}: {results} of the tool {name!r} cut to {LARGEST_RESULT:,} bytes"
            )
        return lines + self._unmeasured.notes(task)

    def _at_work(
        self,
        sample: Sample,
        prompt: Prompt,
        epoch: int,
    ) -> SampleAtWork:
        context = SampleContext(sample, epoch, None, self._models)
        tools = SampleTools(self._set, context, self._limits)
        dialogue = self._run.planned.dialogue(sample, prompt)
        at_work = SampleAtWork(sample, epoch, tools, dialogue, prompt)
        self._open[sample.id, epoch] = at_work
        return at_work

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine alongside the requests, and make the run wait until it ends."""
        queue = self._run.work
        if queue is not None:
            queue.hold()
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, queue))

    def _ended(
        self,
        task: "asyncio.Task[None]",
        queue: Work | None,
    ) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and self._broken is None:
            self._broken = error
            if queue is not None:
                queue.stop()
        if queue is not None:
            queue.finished(1)

    async def _replay(
        self,
        at_work: SampleAtWork,
        job: Job,
        stored: Sequence[Answered | None],
    ) -> None:
        """Replay the rounds in the journal. Then queue the next round, or score the sample if there is none."""
        judged.set((job.sample.id, job.epoch))
        run = self._run
        answers: list[Answered] = []
        try:
            job = await self._first_job(at_work, job)
            while (answer := run.asking.known(job, stored, moves=True)) is not None:
                answers.append(answer)
                output = run.asking.output(answer)
                following = await self._next(at_work, job, output)
                if following is None:
                    await self._finish_known(at_work, job, answers, stored)
                    return
                job = following
        except AssayError as error:
            await self._fail(at_work, job, error)
            return
        run.count_remarks(job.sample, job.epoch, answers)
        if run.asking.may_ask and run.work is not None:
            run.work.put(job)
            return
        await self._leave(at_work)
        earlier = [*answers, *stored[job.round :]]
        run.skip_unanswered(job.sample, job.epoch, job.order, earlier, job.round)

    async def _first_job(self, at_work: SampleAtWork, job: Job) -> Job:
        """Return the first job of a sample, with the prompt and the tools that its tool session begins with."""
        if not self._set.begins:
            return job
        prompt = await at_work.tools.begin(job.request.prompt)
        prompt = replace(prompt, tools=at_work.tools.offered)
        at_work.first = prompt
        request = self._run.request_of(job.sample, prompt, job.epoch)
        return replace(job, request=request)

    async def _after_answer(
        self,
        at_work: SampleAtWork,
        job: Job,
        output: Output,
    ) -> None:
        """Run the tool calls in a new answer and queue the next round. If there is none, score the sample."""
        judged.set((job.sample.id, job.epoch))
        try:
            following = await self._next(at_work, job, output)
        except AssayError as error:
            await self._fail(at_work, job, error)
            return
        if following is None:
            await self._finish(at_work, job, self._run.planned.scorings)
        elif self._run.work is not None:
            self._run.work.put(following)

    async def _next(
        self,
        at_work: SampleAtWork,
        job: Job,
        output: Output,
    ) -> Job | None:
        """Return the next round of a sample, or None if it is finished, failed or at a limit."""
        at_work.add_round(job.request, job.known_messages, output)
        _, cost = spent_of(output.usage, self._run.asking.prices)
        at_work.used.add_answer(output, cost)
        if output.error is not None:
            return None
        self._unmeasured.add_answer(output, cost)
        answer = self._own_message(at_work, job.request, output)
        calls = answer.calls
        history = (*_with_content(job.request.messages), answer)
        turns: tuple[Message, ...] = ()
        if not calls:
            turns = await self._later_turns(at_work, history, output)
        elif not self._is_left_open(at_work, calls):
            turns = await self._result_turns(at_work, job, calls)
        if not turns:
            return None
        limit = at_work.used.limit_reached(self._limits)
        if limit is not None:
            at_work.limit = limit
            return None
        return self._following(at_work, job, output, history, turns)

    def _is_left_open(
        self,
        at_work: SampleAtWork,
        calls: Sequence[ToolCall],
    ) -> bool:
        """Return True if a call names a tool that only the data row declares. The call itself is then the answer."""
        declared = {tool.name for tool in at_work.sample.tools}
        if not declared:
            return False
        runnable = {tool.name for tool in at_work.tools.offered}
        return any(c.name in declared and c.name not in runnable for c in calls)

    def _own_message(
        self,
        at_work: SampleAtWork,
        request: Request,
        output: Output,
    ) -> Message:
        """Return the answer as an assistant message with unique call ids. Reasoning is included only if signed."""
        parts: list[Any] = []
        for part in output.candidates[0].parts if output.candidates else ():
            if isinstance(part, Reasoning) and not part.signature:
                continue
            if isinstance(part, ToolCall):
                part = _with_own_id(part, at_work.call_ids, len(at_work.rounds))
            parts.append(part)
        return Message(generation_role(request.messages), tuple(parts))

    async def _result_turns(
        self,
        at_work: SampleAtWork,
        job: Job,
        calls: Sequence[ToolCall],
    ) -> tuple[Message, ...]:
        """Run the calls, and return one turn per result; none if the tools ended the sample."""
        results = await self._results(at_work, job, calls)
        at_work.used.calls += len(results)
        if at_work.tools.hung:
            self._hung.add(at_work.tools.hung)
        for call, result in zip(calls, results, strict=False):
            if is_cut(result):
                self._cut[call.name] += 1
            for part in result.parts:
                if isinstance(part, Media):
                    check_media(part)
        if at_work.tools.is_over:
            plain = [to_plain(Message("tool", (result,))) for result in results]
            at_work.spoken += plain_turns(plain)
            return ()
        return tuple(Message("tool", (result,)) for result in results)

    async def _results(
        self,
        at_work: SampleAtWork,
        job: Job,
        calls: Sequence[ToolCall],
    ) -> tuple[ToolResult, ...]:
        """Return recorded results if the tools have no state; otherwise run the calls and record the results."""
        recorded, seconds = self._recorded_results(job)
        if recorded is not None and not self._set.is_stateful:
            at_work.used.seconds += seconds
            return recorded
        room = None
        if self._limits.calls is not None:
            room = max(0, self._limits.calls - at_work.used.calls)
        started = time.monotonic()
        results = await at_work.tools.run(calls, room)
        elapsed = time.monotonic() - started
        if recorded is not None:
            if result_digest(recorded) == result_digest(results):
                at_work.used.seconds += seconds
                return recorded
            self._say_differs(at_work, job)
        at_work.used.seconds += elapsed
        self._record(job, results, elapsed)
        return results

    def _say_differs(self, at_work: SampleAtWork, job: Job) -> None:
        """Report, once for each sample, that a repeated call returned a different result than before the restart."""
        if at_work.restarted:
            return
        at_work.restarted = True
        self._say(
            f"{self._run.planned.task.name}: sample {job.sample.id}: a repeated call gave another result"
            f" than before the restart; it is asked again from round {job.round + 2} on"
        )

    def _recorded_results(
        self, job: Job
    ) -> tuple[tuple[ToolResult, ...] | None, float]:
        """Return the recorded tool results for this answer and the seconds they took; (None, 0) if there are none."""
        stored = self._recorded.answers.get((job.sample.id, job.epoch), ())
        if job.round >= len(stored):
            return None, 0.0
        answer = stored[job.round]
        if answer is None or answer.key != job.request.key:
            return None, 0.0
        asking = self._run.asking
        record = asking.read(answer)
        if record.details.get(TOOLS_ROLE) != self._digest:
            return None, 0.0
        output = asking.output_of(record)
        parts = (part for candidate in output.candidates for part in candidate.parts)
        results = tuple(part for part in parts if isinstance(part, ToolResult))
        return results, output.seconds or 0.0

    def _record(
        self,
        job: Job,
        results: tuple[ToolResult, ...],
        seconds: float,
    ) -> None:
        """Write results to the journal. Once this returns, they survive a kill of the process."""
        writer = self._run.writer
        output = Output((Candidate(results),), seconds=seconds)
        writer.write(
            OutputLine(
                self._role_task,
                self._run.planned.model_name,
                job.sample.id,
                job.request.key,
                job.epoch,
                job.round,
                (),
                None,
                writer.plain_output(output),
                None,
                {TOOLS_ROLE: self._digest},
            )
        )
        writer.journal.flush()

    async def _later_turns(
        self,
        at_work: SampleAtWork,
        history: tuple[Message, ...],
        output: Output,
    ) -> tuple[Message, ...]:
        """Return the user turns that follow an answer without tool calls; an empty tuple if the sample is over."""
        tools = at_work.tools
        if self._set.replies:
            turns = await tools.reply(history, output)
        else:
            turns = at_work.dialogue.next_turns(history)
        if turns is None or tools.is_over:
            return ()
        tools.turn += 1
        return turns

    def _following(
        self,
        at_work: SampleAtWork,
        job: Job,
        output: Output,
        history: tuple[Message, ...],
        turns: tuple[Message, ...],
    ) -> Job:
        """Return the job of the next round. Its key is made from the previous round's key and the new messages."""
        opened = tuple(m for m in at_work.first.messages if m.parts is None)
        messages = (*history, *turns, *opened)
        known_messages = len(history) - 1
        offered = at_work.tools.offered
        prompt = replace(at_work.first, messages=messages, tools=offered)
        for message in turns:
            for medium in message.media:
                check_media(medium)
        request = self._run.request_of(
            job.sample,
            prompt,
            job.epoch,
            job.round + 1,
            job.request.key,
            output.state,
            known_messages,
        )
        return Job(
            job.sample,
            request,
            job.epoch,
            job.round + 1,
            job.order,
            known_messages=known_messages,
        )

    async def _finish(
        self,
        at_work: SampleAtWork,
        job: Job,
        scorings: Sequence[Scoring],
    ) -> None:
        """Score a finished sample, then close its tools."""
        run = self._run
        if at_work.rounds[-1].output.error is None:
            try:
                # Scorers read the state of the tools, even if no tool was called.
                await at_work.tools.open()
            except AssayError as error:
                await self._fail(at_work, job, error)
                return
        output = at_work.output()
        if not run.asking.is_new:
            run.note_rounds(job.sample.id, job.epoch, job.round + 1)
        try:
            score = run.verdicts.score
            later = score(job.sample, output, job.epoch, job.order, scorings)
            if output.error is not None:
                run.asking.check()
            run.verdicts.check()
            if later:
                await asyncio.gather(*later, return_exceptions=True)
        finally:
            await self._leave(at_work)

    async def _finish_known(
        self,
        at_work: SampleAtWork,
        job: Job,
        answers: Sequence[Answered],
        stored: Sequence[Answered | None],
    ) -> None:
        """Count a sample whose rounds are all in the journal. Score it again if a score is missing or out of date."""
        run = self._run
        stale = run.count_reused(job.sample, job.epoch, job.order, answers, stored)
        if stale:
            await self._finish(at_work, job, stale)
            return
        run.progress.done += 1
        await self._leave(at_work)

    async def _fail(
        self,
        at_work: SampleAtWork,
        job: Job,
        error: AssayError,
    ) -> None:
        """Leave a sample unscored because its tools failed, so that the next run repeats it."""
        run = self._run
        sample = job.sample
        details = {"error": scrub(f"its tools: {error}")}
        score = Score(None, Outcome.JUDGE_ERROR, details=details)
        for scoring in run.planned.scorings:
            run.verdicts.write(scoring, sample, score, job.epoch, job.order)
        run.progress.done += 1
        await self._leave(at_work)

    async def _leave(self, at_work: SampleAtWork) -> None:
        """Close the tools of a sample and remove it from those in progress."""
        self._open.pop((at_work.sample.id, at_work.epoch), None)
        await at_work.tools.close()


def _with_content(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages, excluding the empty turn that marks where the model's answer begins."""
    return tuple(message for message in messages if message.parts is not None)


def _with_own_id(
    call: ToolCall,
    used_ids: set[str],
    round_number: int,
) -> ToolCall:
    """Return the call with an id that is unique in the sample, and record the id."""
    call_id = call.id
    number = 0
    while not call_id or call_id in used_ids:
        number += 1
        call_id = f"call_{round_number}_{number}"
    used_ids.add(call_id)
    if call_id == call.id:
        return call
    return replace(call, id=call_id)
