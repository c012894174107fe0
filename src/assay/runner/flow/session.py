"""A session: all cells of one run in one folder, from the first request to the summary."""

import asyncio
import inspect
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import AssayError, ErrorBudgetExceeded, Model, ModelError, Result, StoreError, blamed
from ...core.record import result_from_plain
from ...core.score import UNRESOLVED
from ...store import RunWriter
from ...store.cache import ResponseCache
from ...store.integrity import is_vouched
from ..ask.calls import close_model
from ..ask.executors import SharedWork, Spread, is_spread, make_spread
from ..ask.preflight import Preflight
from ..ask.retry import RetryPolicy
from ..ask.schedule import Scheduler
from ..ask.sizing import as_number, fit_batch
from ..ask.threads import in_thread
from ..ask.work import Work
from ..counts.budget import ErrorBudget
from ..events import CellProgress, Watcher
from ..options import RunOptions
from ..plan.cell import Cell
from ..plan.forecast import expected_requests
from ..plan.labels import metrics_apart
from ..result import RunResult
from ..resume.counted import counted_samples
from ..resume.manifest import changed_digests, described_cell, is_manifest, is_unchecked, make_manifest
from ..score.guard import GUARD
from ..summary.summarize import set_level, summarize
from .drivers import drive
from .helpers import HelperBudget, Helpers
from .interruption import interruptible
from .rows import CellRun
from .usage import UsageMeter


class Session:
    """One run of all cells in one folder."""

    def __init__(
        self,
        options: RunOptions,
        cells: Sequence[Cell],
        writer: RunWriter,
        watcher: Watcher,
        ask_model: bool,
        cache: ResponseCache | None = None,
    ) -> None:
        self.options = options
        self.cells = cells
        self.writer = writer
        self.watcher = watcher
        self.ask_model = ask_model
        self.cache = cache
        self.notes: list[str] = []
        self.progress = [CellProgress(cell.task.name, cell.model_name) for cell in cells]
        self.results: list[Result] = []
        self.usage: dict[str, Any] = {}
        self.stopped = False
        self._work: Work | None = None
        self._failure: AssayError | None = None
        self._incomplete = False
        self._at_once = False
        self._loaded: list[Model] = []
        self._judges: dict[str, Model] = {}
        """By role: helper models that were built, and are asked again by a later cell."""
        self._helpers: Helpers | None = None
        """Those that are asked now."""
        self._spread: Spread | None = None
        """The replicas of the model that is asked now."""

    async def run(self) -> RunResult:
        """All cells, one after another; the summary is written whatever happens."""
        before = self.writer.read_manifest()
        if not is_manifest(before):
            before = {}
        damage = self.writer.damage(before)
        kept = None if damage else self._finished_before(before)
        if kept is not None:
            return kept
        for cell in self.cells:
            answered = self.writer.cell(cell.task.name, cell.model_name).answers
            cell.unchecked = bool(answered) and is_unchecked(before, cell)
        manifest = make_manifest(self.options, self.cells, "running")
        if not self.ask_model:
            manifest["config"] = before.get("config", manifest["config"])
        self.writer.write_manifest(manifest)
        end = self.writer.journal.end
        for line in damage:
            self._say(line)
        if str(self.writer.repair):
            self._say(f"{self.writer.layout.journal.name}: {self.writer.repair}")
        self.watcher.start(self.progress)
        self._name_own_models()
        ticking = asyncio.ensure_future(self._tick())
        try:
            with GUARD.watching(self.options.scorer_seconds), interruptible(self._stop, self._stop_at_once):
                for cell, progress in zip(self.cells, self.progress, strict=True):
                    if self.stopped or self._failure:
                        break
                    await self._run_cell(cell, progress, before, self.cache)
        except AssayError:
            # A run that only scored, and wrote no verdict yet, is what it was before.
            is_untouched = not self.ask_model and bool(before) and self.writer.journal.end == end
            self.writer.write_manifest(before if is_untouched else {**manifest, "status": "failed"})
            raise
        finally:
            ticking.cancel()
            self.watcher.stop()
            await self._close_models()
        return self._finish(manifest)

    def _name_own_models(self) -> None:
        """Says which of the models that a task brings is asked, where the run names none and there was a choice."""
        for cell in self.cells:
            others = [name for name in cell.task.models if name != cell.model_name]
            if not self.options.models and others:
                listed = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
                self._whisper(
                    f"{cell.task.name}: asks {cell.model_name}, as its files say; --model takes another: {listed}"
                )

    def _finished_before(self, before: Mapping[str, Any]) -> RunResult | None:
        """The results of an earlier run of the same thing, when it is complete and nothing has changed since."""
        if not self.ask_model or before.get("status") != "complete":
            return None
        if len(before.get("cells", ())) != len(self.cells):
            return None
        if not is_vouched(before):
            self._whisper("the run has no digests, as the first version wrote it: its numbers are made anew")
            return None
        for cell in self.cells:
            if cell.makes_rows:
                return None
            described = described_cell(before, cell)
            scorers = {scoring.name: scoring.digest for scoring in cell.scorings}
            if described is None or is_unchecked(before, cell) or described.get("scorers") != scorers:
                return None
            if described.get("summarizers") != cell.summarizer_digest:
                return None
        summary = self.writer.read_summary()
        if summary.get("status") != "complete":
            return None
        try:
            results = tuple(result_from_plain(row) for row in summary["results"])
            usage = {
                name: {**spent, "asked": 0, "reused": spent["asked"] + spent["reused"]}
                for name, spent in summary["usage"].items()
            }
        except (AttributeError, KeyError, TypeError):
            return None  # another version's summary: the journal has all it takes to make it anew
        return RunResult("complete", self.writer.layout.folder, results, tuple(summary.get("notes", ())), usage)

    async def _run_cell(
        self, cell: Cell, progress: CellProgress, before: Mapping[str, Any], cache: ResponseCache | None
    ) -> None:
        changed = changed_digests(before, cell)
        if changed and self.ask_model and self.writer.cell(cell.task.name, cell.model_name).answers:
            self._say(f"{cell.task.name}: {', '.join(changed)} changed since the last run, so every key is checked")
        described = described_cell(before, cell) or {}
        progress.expected = (described.get("n_expected") if changed == [] else None) or expected_requests(cell)
        budget = ErrorBudget(self.options.on_error)
        helpers = Helpers(self.options, self.writer, cell, cache, HelperBudget(budget, progress), self._judges)
        self._helpers = helpers
        cell.scorings = [scoring.given(helpers.models(scoring.roles)) for scoring in cell.scorings]
        if self.ask_model and is_spread(self.options):
            for line in helpers.single():
                self._whisper(line)
        running = CellRun(
            cell,
            self.writer,
            progress,
            known_by_id=not (cell.unchecked or cell.makes_rows) or not self.ask_model,
            cache=cache,
            budget=budget,
            ask_model=self.ask_model,
        )
        progress.tokens = running.tokens
        meter = UsageMeter()
        try:
            if cell.task.driver is not None:
                self.results += await drive(
                    cell,
                    self.writer,
                    self.options,
                    progress,
                    self._preflight(cell),
                    load=self._load if self.ask_model else None,
                    spread=(lambda: self._spread_of(cell, progress)) if is_spread(self.options) else None,
                    cache=cache,
                    hold=self._hold,
                    tokens=running.tokens,
                    remarks=running.remarks,
                )
            elif self.ask_model:
                await self._ask(cell, running)
            else:
                await running.score_only()
            if cell.task.driver is None and not self.stopped:
                for line in await helpers.canaries(cell.scorings, self._whisper):
                    self._say(line)
        except ErrorBudgetExceeded as error:
            self._failure = error
        except asyncio.CancelledError:
            if not self.stopped or self._at_once:
                raise
            # The time to come back is over: what has come is still summed up.
        finally:
            await helpers.close(self._roles_after(cell))
            self._work = self._helpers = None
        progress.state = "finished"
        if self.ask_model and not self.stopped and not self._failure:
            cell.unchecked = False
        self.writer.journal.flush()
        self.usage[f"{cell.task.name}/{cell.model_name}"] = meter.read(running)
        self.usage.update(helpers.spent())
        self.notes += running.remarks.lines(cell.task.name, cell.model_name)
        self.notes += cell.notes()
        if running.redacted:
            self._say(
                f"{cell.task.name}: {_answers(running.redacted)} scored with [redacted] in place of a secret, as the"
                " journal has it"
            )
        if cell.task.driver is None:
            await self._summarize(cell, running, progress)

    def _roles_after(self, cell: Cell) -> set[str]:
        """The roles that later cells ask, unless there will be none."""
        if self.stopped or self._failure:
            return set()
        place = next(at for at, other in enumerate(self.cells) if other is cell)
        return {role for later in self.cells[place + 1 :] for scoring in later.scorings for role in scoring.roles}

    def _hold(self, work: Work) -> None:
        """The work that an interruption stops; at once where it came first."""
        self._work = work
        if self.stopped:
            work.stop()

    async def _ask(self, cell: Cell, running: CellRun) -> None:
        if is_spread(self.options):
            await self._ask_replicas(cell, running)
            return
        is_whole = getattr(cell.model, "whole_dialogues", False)
        self._work = Work(running.jobs(), whole_dialogues=is_whole, is_behind=running.verdicts.is_behind)
        if self._work.has_jobs():
            running.progress.state = "loading"
            await self._load(cell.model)
            await self._preflight(cell).look()
            if self.options.batch_size == "auto":
                chosen = await in_thread(fit_batch, cell.model, self.options.concurrency)
                self._whisper(f"{cell.model_name}: --batch_size auto: {chosen}")
        running.progress.state = "running"
        size, most, meter = as_number(self.options.batch_size), self.options.concurrency, running.progress.meter
        policy = RetryPolicy(wrong_seconds=self.options.give_up_after)
        scheduler = Scheduler(
            cell.model, batch_size=size, concurrency=most, policy=policy, say=self._whisper, meter=meter
        )
        await running.run(scheduler, self._work)

    async def _ask_replicas(self, cell: Cell, running: CellRun) -> None:
        """The model is loaded by its replicas only."""
        model = cell.model
        is_whole = getattr(model, "whole_dialogues", False)
        work = self._work = SharedWork(
            running.jobs(),
            begin_again=running.begin_again,
            remembers=is_whole or model.abilities.history != "given",
            whole_dialogues=is_whole,
            is_behind=running.verdicts.is_behind,
        )
        if work.has_jobs():
            running.progress.state = "loading"
            spread = await self._spread_of(cell, running.progress)
            await self._preflight(cell).look(spread)
            running.progress.state = "running"
            await running.run(spread, work)

    async def _spread_of(self, cell: Cell, progress: CellProgress) -> Spread:
        """The replicas of a cell's model; those of another model make room first."""
        if self._spread is None or self._spread.model is not cell.model:
            await self._close_spread()
            self._spread = await make_spread(cell, self.options, self._say, self._whisper)
        self._spread.watched_by(progress)
        return self._spread

    async def _close_spread(self) -> None:
        if self._spread is not None:
            spread, self._spread = self._spread, None
            await spread.close()

    async def _load(self, model: Model) -> None:
        """Loads a model once, before it is first asked: damaged weights stop the run instead of failing each sample."""
        if any(loaded is model for loaded in self._loaded):
            return
        self._loaded.append(model)
        load = getattr(model, "load", None)
        if load is None:
            return
        try:
            done = await in_thread(load)
            if inspect.isawaitable(done):
                await done
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            name = next((cell.model_name for cell in self.cells if cell.model is model), type(model).__name__)
            raise blamed(ModelError, error, f"model {name!r} could not be loaded") from error

    def _preflight(self, cell: Cell) -> Preflight:
        """Says once what is wrong with how the model renders prompts."""
        return Preflight(cell, lambda line: None if line in self.notes else self._say(line), self._whisper)

    async def _close_models(self) -> None:
        await self._close_spread()
        for model in (*self._loaded, *self._judges.values()):
            await close_model(model)

    async def _summarize(self, cell: Cell, running: CellRun, progress: CellProgress) -> None:
        whole = not self.stopped and not self._failure
        asked_for = (progress.expected or 0) // cell.task.epochs
        expected = running.expected if whole else max(asked_for, running.expected)
        if running.unanswered:
            self._incomplete = True
            self._say(
                f"{cell.task.name}: {len(running.unanswered)} samples have no answer in this run"
                " (run it again to ask for them)"
            )
        for scoring in cell.scorings:
            try:
                records = self.writer.scores_at(running.verdicts.tallies[scoring.name].offsets())
                if scoring.is_set_level:
                    found = await set_level(cell, scoring, self.writer, expected, records)
                else:
                    found = summarize(cell, scoring, records, expected, self._say_fault)
            except StoreError:
                raise
            except AssayError as error:
                self._say_fault(error)
                continue
            self.results += metrics_apart(found, self.results, scoring.name)

    def _finish(self, manifest: dict[str, Any]) -> RunResult:
        status = self._status()
        if self._failure is not None:
            self.notes.append(str(self._failure))
        hide = self.writer.redactor.text
        for progress in self.progress:
            for outcome, example in sorted(progress.first_errors.items()):
                self.notes.append(f"{progress.task}: {self._count(progress, outcome)} {outcome}; first: {example}")
        if changed := self.writer.redactor.answers_changed:
            self.notes.append(
                f"{_answers(changed)} written with [redacted] in place of a secret: scoring again sees that instead"
                " (unset the variable whose value is no secret)"
            )
        notes = tuple(hide(note) for note in self.notes)
        result = RunResult(status, self.writer.layout.folder, tuple(self.results), notes, self.usage)
        manifest["status"] = status
        manifest["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        for described, cell, progress in zip(manifest["cells"], self.cells, self.progress, strict=True):
            described["n_expected"] = progress.done if status == "complete" else progress.expected
            described["data_sha256"] = cell.samples.digest()
            if not cell.unchecked:
                described.pop("unchecked", None)
        self.writer.finish(manifest, {**result.to_plain(), **counted_samples(self.cells, self.writer)})
        return result

    def _count(self, progress: CellProgress, outcome: str) -> int:
        """How many samples met an outcome: as the table has it, not once for each scorer."""
        own = [r for r in self.results if (r.task, r.model) == (progress.task, progress.model)]
        return max((r.outcomes.get(outcome, 0) for r in own), default=0) or progress.outcomes.get(outcome, 1)

    def _status(self) -> str:
        """Exactly one of complete, partial, failed; or interrupted."""
        if self.stopped:
            return "interrupted"
        if self._failure is not None or not self.results or all(r.n == 0 for r in self.results):
            return "failed"
        outcomes = [result.outcomes for result in self.results] + [progress.outcomes for progress in self.progress]
        failed = any(counts.get(str(outcome)) for counts in outcomes for outcome in UNRESOLVED)
        lacking = any(r.n < (r.n_expected or 0) for r in self.results)
        return "partial" if self._incomplete or lacking or failed else "complete"

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            self.watcher.update()

    def _say(self, line: str) -> None:
        line = self.writer.redactor.text(line)
        self.notes.append(line)
        self.watcher.say(line)

    def _say_fault(self, error: AssayError) -> None:
        """What kept a number from being there, once whatever it is that has it, too."""
        self._incomplete = True
        if self.writer.redactor.text(str(error)) not in self.notes:
            self._say(str(error))

    def _whisper(self, line: str) -> None:
        """For whoever watches; of no interest once the run is done."""
        self.watcher.say(self.writer.redactor.text(line))

    def _stop(self) -> None:
        self.stopped = True
        self.watcher.say("stopping: waiting for what is in flight (once more to stop at once)")
        if self._work is not None:
            self._work.stop()
        if self._helpers is not None:
            self._helpers.stop()

    def _stop_at_once(self) -> None:
        self._at_once = True


def _answers(count: int) -> str:
    return "1 answer was" if count == 1 else f"{count} answers were"
