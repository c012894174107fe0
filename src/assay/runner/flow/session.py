"""A session: run every task × model in one folder, one after another, and handle interruptions."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ...core import AssayError, ErrorBudgetExceeded, Result
from ...core.errors import plural
from ...core.protocols import AsksThroughRun
from ...store import RunWriter
from ...store.cache import ResponseCache
from ...tooling.sample_limits import Unmeasured
from ..ask.asking import Asking, think_tags_of
from ..ask.executors.check import is_spread
from ..ask.loading import LoadedModels, Preflight
from ..counts.budget import ErrorBudget
from ..counts.remarks import Remarks, SameTargets
from ..counts.spending import SpendingLimit, UsageMeter, parse_budget
from ..events import TaskProgress, Watcher
from ..options import RunOptions
from ..plan.checks import can_shuffle_choices
from ..plan.forecast import expected_requests, small_limit_note
from ..plan.planned_task import PlannedTask
from ..result import RunResult
from ..resume.finished import EarlierRun
from ..resume.manifest import make_manifest
from ..resume.spent import SECONDS, seconds_before, spent_before
from ..scoring.guard import GUARD
from ..summary.anytime import decided_lines
from ..summary.chance import with_chance
from ..summary.ending import (
    close_manifest,
    counted_samples,
    first_errors,
    status_of,
    task_results,
)
from ..summary.suite_scores import overall_rows
from ..summary.table_rows import with_cut_answers
from ..tasks.components import limits_of
from .drivers import RecordingEngine, drive
from .early_stop import early_stop
from .exchanges import ROLE, RecordedConversations
from .floors import Floors, with_floors
from .helpers import Helpers
from .interruption import interruptible
from .rows import TaskRun
from .rows_asked import ask_rows


class Stoppable(Protocol):
    """An object that can be told to stop when the run is interrupted."""

    def stop(self) -> None: ...


@dataclass(eq=False)
class Session:
    """One run of all planned tasks in one folder."""

    options: RunOptions
    planned_tasks: Sequence[PlannedTask]
    writer: RunWriter
    watcher: Watcher
    ask_model: bool
    cache: ResponseCache | None = None
    floors: Floors = field(default_factory=dict)
    """The scores of agents that do nothing, by task and metric, for tasks with tools."""

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.progress = [
            TaskProgress(planned.task.name, planned.model_name)
            for planned in self.planned_tasks
        ]
        self.results: list[Result] = []
        self.usage: dict[str, Any] = {}
        self.stopped = False
        self._under_way: list[Stoppable] = []
        """The models, judges and jobs in use, which an interruption stops."""
        self._failure: AssayError | None = None
        self._is_incomplete = False
        self._at_once = False
        self._spending: SpendingLimit | None = None
        self._spent = ""
        """Reason why the run must not send more requests; empty until `--budget` is used up."""
        self._models = LoadedModels(self.options, self._say, self._whisper)

    async def run(self) -> RunResult:
        """Run all planned tasks, one after another. The summary is written even after a failure."""
        earlier = EarlierRun(self.writer)
        if (
            self.ask_model
            and (earlier_results := earlier.results(self.planned_tasks, self._whisper))
            is not None
        ):
            return earlier_results
        earlier.mark_unchecked(self.planned_tasks)
        manifest = make_manifest(self.options, self.planned_tasks, "running")
        self._seconds_before = manifest[SECONDS] = seconds_before(
            self.writer, earlier.manifest
        )
        self._started = time.monotonic()
        if not self.ask_model:
            manifest["config"] = earlier.manifest.get("config", manifest["config"])
        self.writer.write_manifest(manifest)
        end = self.writer.journal.end
        for line in earlier.damage:
            self._say(line)
        if str(self.writer.repair):
            self._say(f"{self.writer.layout.journal.name}: {self.writer.repair}")
        self.watcher.start(self.progress)
        self._name_own_models()
        if self.options.budget is not None and self.ask_model:
            spent = spent_before(self.writer, earlier.manifest, self.options)
            self._spending = SpendingLimit(parse_budget(self.options.budget), spent)
            self._spending.when_reached = self._stop_spending
            self._spending.look()
        if self.ask_model and (
            note := small_limit_note(self.options, self.planned_tasks)
        ):
            self._whisper(note)
        ticking = asyncio.ensure_future(self._tick())
        try:
            with (
                GUARD.watching(self.options.scorer_seconds),
                interruptible(self._stop, self._stop_at_once),
            ):
                for planned, progress, described in zip(
                    self.planned_tasks,
                    self.progress,
                    manifest["cells"],
                    strict=True,
                ):
                    if self._failure or (
                        self.stopped
                        and not (self._spent and earlier.has_answers(planned))
                    ):
                        self._is_incomplete = True
                        continue
                    progress.expected = described["n_expected"] = earlier.expected(
                        planned
                    ) or expected_requests(planned)
                    # A viewer of the run shows the progress from the manifest.
                    self.writer.write_manifest(manifest)
                    await self._run_planned(planned, progress, earlier)
        except AssayError:
            # A run that only scored and wrote no score yet is left unchanged.
            is_untouched = (
                not self.ask_model
                and bool(earlier.manifest)
                and self.writer.journal.end == end
            )
            self.writer.write_manifest(
                earlier.manifest if is_untouched else {**manifest, "status": "failed"}
            )
            raise
        finally:
            ticking.cancel()
            self.watcher.stop()
            await self._models.close()
        return self._finish(manifest)

    def _name_own_models(self) -> None:
        """Tell the user which model is evaluated if a task's files define several and the run names none."""
        for planned in self.planned_tasks:
            others = [
                name for name in planned.task.models if name != planned.model_name
            ]
            if not self.options.models and others:
                listed = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
                self._whisper(
                    f"{planned.task.name}: asks {planned.model_name}, as its files say; --model takes another: {listed}"
                )

    def _asking(
        self,
        planned: PlannedTask,
        progress: TaskProgress,
    ) -> Asking:
        """Create the `Asking` of a task × model, which sends its requests and writes its answers."""
        model_args = planned.run.model_args
        asking = Asking(
            planned.task.name,
            planned.model_name,
            planned.model,
            self.writer,
            progress,
            self.cache,
            ErrorBudget(self.options.on_error),
            may_ask=self.ask_model,
            spending=self._spending,
            prices=model_args,
            remarks=Remarks.of(
                planned.scorings,
                planned.task.produces,
                SameTargets(
                    lambda sample: can_shuffle_choices(planned, sample),
                    planned.template,
                ),
            ),
            think_tags=think_tags_of(planned.task.protocol, planned.model, model_args),
        )
        progress.tokens = asking.tokens
        return asking

    def _task_run(
        self,
        planned: PlannedTask,
        asking: Asking,
        helpers: Helpers,
        earlier: EarlierRun,
    ) -> TaskRun:
        """Return the `TaskRun` that sends and scores the rows of a task, with its tools and its stopping rule."""
        is_unknown = planned.unchecked or planned.makes_rows
        is_known = not is_unknown or not self.ask_model
        task_run = TaskRun(planned, asking, known_by_id=is_known)
        if not self.ask_model:
            asking.compares_questions = earlier.has_edited_data(planned)
        task_run.is_spent = lambda: bool(self._spent)
        roles = () if planned.tools is None else planned.tools.needs
        task_run.use_tools(helpers.models(roles), self._say)
        if self.ask_model:
            tallies = task_run.verdicts.tallies
            task_run.early = early_stop(planned, tallies, self.writer)
        elif self.options.until is not None:
            planned.counted_rows = earlier.taken(planned)
        return task_run

    async def _run_planned(
        self,
        planned: PlannedTask,
        progress: TaskProgress,
        earlier: EarlierRun,
    ) -> None:
        """Send the requests of one task × model, and score and summarize the answers."""
        task = planned.task.name
        name = planned.model_name
        if self.ask_model:
            changed = earlier.changes(planned)
            if changed and earlier.has_answers(planned):
                self._say(
                    f"{task}: {', '.join(changed)} changed: samples whose request differs are asked again"
                )
        asking = self._asking(planned, progress)
        meter = UsageMeter()
        helpers = self._helpers(planned, asking)
        task_run: TaskRun | None = None
        exchanges = self._exchanges(planned, asking)
        try:
            if planned.task.driver is not None:
                self.results += await self._drive(planned, asking)
            else:
                task_run = self._task_run(planned, asking, helpers, earlier)
                await self._ask(planned, task_run)
                if not self.stopped:
                    for line in await helpers.canaries(planned.scorings, self._whisper):
                        self._say(line)
        except ErrorBudgetExceeded as error:
            self._failure = error
        except asyncio.CancelledError:
            if not self.stopped or self._at_once:
                raise
            # The time for requests in flight is over. The answers received so far are still summarized.
        finally:
            if exchanges is not None:
                await exchanges.close()
            await helpers.close(self._roles_after(planned))
            self._under_way.clear()
        is_whole = not self.stopped and not self._failure
        progress.state = "finished" if is_whole else "stopped"
        if self.ask_model and not self.stopped and not self._failure:
            planned.unchecked = False
        self.writer.journal.flush()
        usage = meter.read(
            progress,
            asking.tokens,
            asking.remarks.to_plain(),
            planned.run.model_args,
        )
        self.usage.update({f"{task}/{name}": usage, **helpers.spent()})
        self.notes += [*asking.remarks.lines(task, name), *planned.notes()]
        if task_run is not None and task_run.tool_rounds is not None:
            self.notes += task_run.tool_rounds.notes()
        if exchanges is not None:
            self.notes += exchanges.notes()
        if task_run is not None:
            await self._summarize(planned, task_run)

    def _exchanges(
        self,
        planned: PlannedTask,
        asking: Asking,
    ) -> RecordedConversations | None:
        """Return the recorded conversations of an agent program; None if the run has no agent program."""
        if not isinstance(planned.model, AsksThroughRun):
            return None
        inner = replace(planned, model=planned.model.inner)
        recorded = Asking(
            f"{asking.task}#{ROLE}",
            asking.name,
            inner.model,
            self.writer,
            TaskProgress(asking.task, asking.name),
            self.cache,
            may_ask=self.ask_model,
            spending=self._spending,
            prices=asking.prices,
            think_tags=asking.think_tags,
            role=ROLE,
        )
        recorded.tokens = asking.tokens
        engine = self._recording(inner, recorded)
        unmeasured = Unmeasured(limits_of(planned.task, planned.run))
        conversations = RecordedConversations(engine, unmeasured)
        planned.model.use(conversations)
        for line in planned.model.plan_lines():
            self._whisper(line)
        self._hold(engine)
        return conversations

    def _helpers(
        self,
        planned: PlannedTask,
        asking: Asking,
    ) -> Helpers:
        """Build the helper models of a task × model, and pass them to its scorers."""
        models = self._models.helpers
        helpers = Helpers(
            self.options,
            self.writer,
            planned,
            self.cache,
            asking.budget,
            asking.progress,
            models,
            self._spending,
        )
        self._under_way.append(helpers)
        planned.scorings = [
            scoring.given(helpers.models(scoring.roles)) for scoring in planned.scorings
        ]
        if self.ask_model and is_spread(self.options):
            for line in helpers.single():
                self._whisper(line)
        return helpers

    def _roles_after(self, planned: PlannedTask) -> set[str]:
        """Return the helper roles that later tasks need. If the run ends now, return an empty set."""
        if self.stopped or self._failure:
            return set()
        position = next(
            index for index, other in enumerate(self.planned_tasks) if other is planned
        )
        roles = set()
        for later in self.planned_tasks[position + 1 :]:
            for scoring in later.scorings:
                for role in scoring.roles:
                    roles.add(role)
        return roles

    async def _drive(
        self,
        planned: PlannedTask,
        asking: Asking,
    ) -> list[Result]:
        """Run the driver of a task."""
        engine = self._recording(planned, asking)
        self._hold(engine)
        return await drive(engine)

    def _recording(
        self,
        planned: PlannedTask,
        asking: Asking,
    ) -> RecordingEngine:
        """Return an engine that calls the model of a task × model and records every request."""
        return RecordingEngine(
            planned,
            asking,
            self.options,
            self._preflight(planned),
            load=(lambda: self._models.load(planned)) if self.ask_model else None,
            spread=(lambda: self._models.replicas(planned, asking.progress))
            if is_spread(self.options)
            else None,
        )

    async def _ask(
        self,
        planned: PlannedTask,
        task_run: TaskRun,
    ) -> None:
        """Send requests for all rows, and score the answers. In `assay score`, only score the recorded answers."""
        if self.ask_model:
            await ask_rows(
                task_run,
                self.options,
                self._models,
                self._preflight(planned),
                self._hold,
                self._whisper,
                self._say,
            )
        else:
            await task_run.score_only()

    def _hold(self, under_way: Stoppable) -> None:
        """Register an object to stop at an interruption. If the run was already interrupted, stop it now."""
        self._under_way.append(under_way)
        if self.stopped:
            under_way.stop()

    def _preflight(self, planned: PlannedTask) -> Preflight:
        """Return an object that checks the first prompt of a task × model. Each warning is reported once."""
        return Preflight(
            planned,
            lambda line: None if line in self.notes else self._say(line),
            self._whisper,
        )

    async def _summarize(
        self,
        planned: PlannedTask,
        task_run: TaskRun,
    ) -> None:
        """Add the results and notes of a task × model."""
        task = planned.task.name
        if task_run.redacted:
            answers = plural(task_run.redacted, "answer was", "answers were")
            self._say(
                f"{task}: {answers} scored with [redacted] in place of a secret, as in the journal"
            )
        if task_run.unanswered:
            self._is_incomplete = True
            samples = plural(len(task_run.unanswered), "sample has", "samples have")
            why = ""
            other_questions = task_run.asking.other_questions
            if other_questions:
                answers = plural(other_questions, "answer was", "answers were")
                why = f": the data changed, and {answers} given to another question"
            self._say(
                f"{task}: {samples} no answer in this run{why} (run it again to ask for them)"
            )
        whole = not self.stopped and not self._failure
        asked_for = (task_run.progress.expected or 0) // planned.task.epochs
        if whole:
            expected = task_run.expected
        else:
            expected = max(asked_for, task_run.expected)
        offsets = {
            name: tally.offsets() for name, tally in task_run.verdicts.tallies.items()
        }
        results = await task_results(
            planned,
            self.writer,
            offsets,
            expected,
            self.results,
            self._say_fault,
        )
        if planned.options.max_tokens != 1:  # an answer of one token is cut on purpose
            results = with_cut_answers(results, task_run.remarks.cut_answers)
        results = with_chance(results, task_run.chance, planned.scorings)
        results = with_floors(results, self.floors)
        self.results += results
        if task_run.early is not None:
            self.notes += [
                *task_run.early.notes(task_run.expected, is_whole=whole),
                *decided_lines(results),
            ]

    def _finish(self, manifest: dict[str, Any]) -> RunResult:
        """Write the summary and the manifest, and return the result of the run."""
        self.results += overall_rows(self.options.tasks, self.results)
        manifest[SECONDS] = round(
            self._seconds_before + time.monotonic() - self._started, 3
        )
        if self.stopped and not self._spent:
            status = "interrupted"
        elif self._failure is not None:
            status = "failed"
            self.notes.append(str(self._failure))
        else:
            status = status_of(
                self.results,
                self.progress,
                is_incomplete=self._is_incomplete,
            )
            if self._spent and status == "failed":
                status = "partial"  # this is no error: there may be no value yet
        self.notes += first_errors(self.results, self.progress)
        changed = self.writer.redactor.answers_changed
        if changed:
            answers = plural(changed, "answer was", "answers were")
            self.notes.append(
                f"{answers} written with [redacted] in place of a secret: scoring again sees that instead"
                " (unset the variable whose value is no secret)"
            )
        notes = tuple(self.writer.redactor.text(note) for note in self.notes)
        result = RunResult(
            status,
            self.writer.layout.folder,
            tuple(self.results),
            notes,
            self.usage,
        )
        close_manifest(
            manifest,
            status,
            time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            self.planned_tasks,
            self.progress,
        )
        self.writer.finish(
            manifest,
            {**result.to_plain(), **counted_samples(self.planned_tasks, self.writer)},
        )
        return result

    async def _tick(self) -> None:
        """Refresh the progress display a few times a second until the session ends."""
        while True:
            await asyncio.sleep(0.2)
            self.watcher.update()
            if self._spending is not None:
                self._spending.look()

    def _say(self, line: str) -> None:
        """Show a line, and add it to the notes of the run."""
        line = self.writer.redactor.text(line)
        self.notes.append(line)
        self.watcher.say(line)

    def _say_fault(self, error: AssayError) -> None:
        """Report an error that leaves a metric without a value.

        If the same error was already reported, do nothing.
        """
        self._is_incomplete = True
        if self.writer.redactor.text(str(error)) not in self.notes:
            self._say(str(error))

    def _whisper(self, line: str) -> None:
        """Show the user a line that matters only during the run. It is not added to the notes."""
        self.watcher.say(self.writer.redactor.text(line))

    def _stop(self) -> None:
        """Stop after an interruption. Requests in flight are finished."""
        self._spent = ""  # an interruption takes precedence over a spent budget
        self.watcher.say(
            "stopping: waiting for requests in flight (once more to stop at once)"
        )
        self._halt()
        self._models.interrupt()

    def _stop_spending(self, reason: str) -> None:
        """Stop because the budget is used up. Requests in flight are finished."""
        self._spent = reason
        self._say(
            f"{reason}; the same command with a larger --budget continues"
            if "fix: " not in reason
            else reason
        )
        self._halt()

    def _halt(self) -> None:
        """Stop all requests."""
        self.stopped = True
        for under_way in self._under_way:
            under_way.stop()

    def _stop_at_once(self) -> None:
        """Stop without waiting for requests in flight."""
        self._at_once = True
