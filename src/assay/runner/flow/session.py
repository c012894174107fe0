"""A session: all cells of one run in one folder, one after another, and what an interruption does to them."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import AssayError, ErrorBudgetExceeded, Result
from ...store import RunWriter
from ...store.cache import ResponseCache
from ..ask.asking import Asking
from ..ask.executors.check import is_spread
from ..ask.loading import LoadedModels
from ..ask.preflight import Preflight
from ..counts.budget import ErrorBudget
from ..counts.remarks import Remarks
from ..counts.spending import UsageMeter
from ..counts.spending_limit import SpendingLimit, parse_budget
from ..events import CellProgress, Watcher
from ..options import RunOptions
from ..plan.cell import Cell
from ..plan.forecast import expected_requests, small_limit_note
from ..result import RunResult
from ..resume.finished import EarlierRun
from ..resume.manifest import make_manifest
from ..resume.spent import SECONDS, seconds_before, spent_before
from ..scoring.guard import GUARD
from ..summary.anytime import decided_lines
from ..summary.ending import (
    cell_results,
    close_manifest,
    counted_samples,
    first_errors,
    status_of,
)
from .drivers import RecordingEngine, drive
from .early_stop import early_stop
from .helpers import Helpers
from .interruption import interruptible
from .rows import CellRun
from .rows_asked import ask_rows


class Stoppable(Protocol):
    """What an interruption stops."""

    def stop(self) -> None: ...


@dataclass(eq=False)
class Session:
    """One run of all cells in one folder."""

    options: RunOptions
    cells: Sequence[Cell]
    writer: RunWriter
    watcher: Watcher
    ask_model: bool
    cache: ResponseCache | None = None

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.progress = [
            CellProgress(cell.task.name, cell.model_name) for cell in self.cells
        ]
        self.results: list[Result] = []
        self.usage: dict[str, Any] = {}
        self.stopped = False
        self._under_way: list[Stoppable] = []
        """What is asked now, of the model and of its judges."""
        self._failure: AssayError | None = None
        self._is_incomplete = False
        self._at_once = False
        self._spending: SpendingLimit | None = None
        self._spent = ""
        """Why nothing more may be asked, where `--budget` says so."""
        self._models = LoadedModels(self.options, self._say, self._whisper)

    async def run(self) -> RunResult:
        """All cells, one after another; the summary is written whatever happens."""
        earlier = EarlierRun(self.writer)
        if (
            self.ask_model
            and (found := earlier.results(self.cells, self._whisper)) is not None
        ):
            return found
        earlier.mark_unchecked(self.cells)
        manifest = make_manifest(self.options, self.cells, "running")
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
        if self.ask_model and (note := small_limit_note(self.options, self.cells)):
            self._whisper(note)
        ticking = asyncio.ensure_future(self._tick())
        try:
            with (
                GUARD.watching(self.options.scorer_seconds),
                interruptible(self._stop, self._stop_at_once),
            ):
                for cell, progress, described in zip(
                    self.cells, self.progress, manifest["cells"], strict=True
                ):
                    if self._failure or (
                        self.stopped and not (self._spent and earlier.has_answers(cell))
                    ):
                        self._is_incomplete = True
                        continue
                    progress.expected = described["n_expected"] = earlier.expected(
                        cell
                    ) or expected_requests(cell)
                    self.writer.write_manifest(
                        manifest
                    )  # a viewer of the run can tell how far it is
                    await self._run_cell(cell, progress, earlier)
        except AssayError:
            # A run that only scored, and wrote no verdict yet, is what it was before.
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
        """Says which of the models that a task brings is asked, where the run names none and there was a choice."""
        for cell in self.cells:
            others = [name for name in cell.task.models if name != cell.model_name]
            if not self.options.models and others:
                listed = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
                self._whisper(
                    f"{cell.task.name}: asks {cell.model_name}, as its files say; --model takes another: {listed}"
                )

    async def _run_cell(
        self, cell: Cell, progress: CellProgress, earlier: EarlierRun
    ) -> None:
        task, name = cell.task.name, cell.model_name
        if (
            self.ask_model
            and (changed := earlier.changes(cell))
            and earlier.has_answers(cell)
        ):
            self._say(
                f"{task}: {', '.join(changed)} changed since the last run, so every key is checked"
            )
        asking = Asking(
            task,
            name,
            cell.model,
            self.writer,
            progress,
            self.cache,
            ErrorBudget(self.options.on_error),
            may_ask=self.ask_model,
            spending=self._spending,
            prices=cell.run.model_args,
            remarks=Remarks.of(cell.scorings, cell.task.produces),
        )
        progress.tokens = asking.tokens
        meter = UsageMeter()
        helpers = self._helpers(cell, asking)
        rows: CellRun | None = None
        try:
            if cell.task.driver is not None:
                self.results += await self._drive(cell, asking)
            else:
                is_known = not (cell.unchecked or cell.makes_rows) or not self.ask_model
                rows = CellRun(cell, asking, known_by_id=is_known)
                rows.is_spent = lambda: bool(self._spent)
                if self.ask_model:
                    rows.early = early_stop(cell, rows.verdicts.tallies, self.writer)
                elif self.options.until is not None:
                    cell.taken = earlier.taken(cell)
                await self._ask(cell, rows)
                if not self.stopped:
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
            self._under_way.clear()
        progress.state = "finished"
        if self.ask_model and not self.stopped and not self._failure:
            cell.unchecked = False
        self.writer.journal.flush()
        usage = meter.read(
            progress, asking.tokens, asking.remarks.to_plain(), cell.run.model_args
        )
        self.usage.update({f"{task}/{name}": usage, **helpers.spent()})
        self.notes += [*asking.remarks.lines(task, name), *cell.notes()]
        if rows is not None:
            await self._summarize(cell, rows)

    def _helpers(self, cell: Cell, asking: Asking) -> Helpers:
        """The judges of a cell, given to its scorers."""
        models = self._models.helpers
        helpers = Helpers(
            self.options,
            self.writer,
            cell,
            self.cache,
            asking.budget,
            asking.progress,
            models,
            self._spending,
        )
        self._under_way.append(helpers)
        cell.scorings = [
            scoring.given(helpers.models(scoring.roles)) for scoring in cell.scorings
        ]
        if self.ask_model and is_spread(self.options):
            for line in helpers.single():
                self._whisper(line)
        return helpers

    def _roles_after(self, cell: Cell) -> set[str]:
        """The roles that later cells ask, unless there will be none."""
        if self.stopped or self._failure:
            return set()
        place = next(at for at, other in enumerate(self.cells) if other is cell)
        return {
            role
            for later in self.cells[place + 1 :]
            for scoring in later.scorings
            for role in scoring.roles
        }

    async def _drive(self, cell: Cell, asking: Asking) -> list[Result]:
        engine = RecordingEngine(
            cell,
            asking,
            self.options,
            self._preflight(cell),
            load=(lambda: self._models.load(cell)) if self.ask_model else None,
            spread=(lambda: self._models.replicas(cell, asking.progress))
            if is_spread(self.options)
            else None,
        )
        self._hold(engine)
        return await drive(engine)

    async def _ask(self, cell: Cell, rows: CellRun) -> None:
        if self.ask_model:
            await ask_rows(
                rows,
                self.options,
                self._models,
                self._preflight(cell),
                self._hold,
                self._whisper,
            )
        else:
            await rows.score_only()

    def _hold(self, under_way: Stoppable) -> None:
        """What an interruption stops; at once where it came first."""
        self._under_way.append(under_way)
        if self.stopped:
            under_way.stop()

    def _preflight(self, cell: Cell) -> Preflight:
        """Says once what is wrong with how the model renders prompts."""
        return Preflight(
            cell,
            lambda line: None if line in self.notes else self._say(line),
            self._whisper,
        )

    async def _summarize(self, cell: Cell, rows: CellRun) -> None:
        task = cell.task.name
        if rows.redacted:
            what = f"{task}: {_answers(rows.redacted)} scored with [redacted] in place of a secret"
            self._say(f"{what}, as the journal has it")
        if rows.unanswered:
            self._is_incomplete = True
            what = f"{task}: {len(rows.unanswered)} samples have no answer in this run"
            self._say(f"{what} (run it again to ask for them)")
        whole = not self.stopped and not self._failure
        asked_for = (rows.progress.expected or 0) // cell.task.epochs
        expected = rows.expected if whole else max(asked_for, rows.expected)
        offsets = {
            name: tally.offsets() for name, tally in rows.verdicts.tallies.items()
        }
        results = await cell_results(
            cell, self.writer, offsets, expected, self.results, self._say_fault
        )
        self.results += results
        if rows.early is not None:
            self.notes += [
                *rows.early.notes(rows.expected, is_whole=whole),
                *decided_lines(results),
            ]

    def _finish(self, manifest: dict[str, Any]) -> RunResult:
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
                self.results, self.progress, is_incomplete=self._is_incomplete
            )
            if self._spent and status == "failed":
                status = (
                    "partial"  # nothing went wrong: there may just be no number yet
                )
        self.notes += first_errors(self.results, self.progress)
        if changed := self.writer.redactor.answers_changed:
            self.notes.append(
                f"{_answers(changed)} written with [redacted] in place of a secret: scoring again sees that instead"
                " (unset the variable whose value is no secret)"
            )
        notes = tuple(self.writer.redactor.text(note) for note in self.notes)
        result = RunResult(
            status, self.writer.layout.folder, tuple(self.results), notes, self.usage
        )
        close_manifest(
            manifest,
            status,
            time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            self.cells,
            self.progress,
        )
        self.writer.finish(
            manifest, {**result.to_plain(), **counted_samples(self.cells, self.writer)}
        )
        return result

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            self.watcher.update()
            if self._spending is not None:
                self._spending.look()

    def _say(self, line: str) -> None:
        line = self.writer.redactor.text(line)
        self.notes.append(line)
        self.watcher.say(line)

    def _say_fault(self, error: AssayError) -> None:
        """Says why a number is missing, once however many of them the fault keeps away."""
        self._is_incomplete = True
        if self.writer.redactor.text(str(error)) not in self.notes:
            self._say(str(error))

    def _whisper(self, line: str) -> None:
        """For whoever watches; of no interest once the run is done."""
        self.watcher.say(self.writer.redactor.text(line))

    def _stop(self) -> None:
        self._spent = (
            ""  # whoever interrupts a run that is about to end wants to see that it was
        )
        self.watcher.say(
            "stopping: waiting for what is in flight (once more to stop at once)"
        )
        self._halt()

    def _stop_spending(self, reason: str) -> None:
        """Nothing more is asked; what is in flight comes back."""
        self._spent = reason
        self._say(
            f"{reason}; the same command with a larger --budget goes on"
            if "fix: " not in reason
            else reason
        )
        self._halt()

    def _halt(self) -> None:
        self.stopped = True
        for under_way in self._under_way:
            under_way.stop()

    def _stop_at_once(self) -> None:
        self._at_once = True


def _answers(count: int) -> str:
    return "1 answer was" if count == 1 else f"{count} answers were"
