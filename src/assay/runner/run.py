"""Running: plan, ask, score, summarize; the one way in for Python and the command line."""

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import (
    AssayError,
    BadSample,
    ErrorBudgetExceeded,
    Model,
    Result,
    Sample,
    StoreError,
)
from ..core.record import output_from_plain
from ..core.score import UNRESOLVED
from ..store import RunReader, RunWriter, safe_name
from ..store.cache import ResponseCache
from .budget import ErrorBudget
from .events import CellProgress, Silent, Watcher
from .helpers import Helpers
from .manifest import changed_digests, make_manifest
from .options import RunOptions
from .pipeline import CellRun
from .plan import Cell, make_plan
from .recorded import recorded_models
from .result import RunResult
from .schedule import DRAIN_SECONDS, Scheduler, Work
from .summary import set_level_results, summarize
from .usage import UsageMeter


def run(
    tasks: Any = (),
    model: Any = None,
    *,
    watcher: Watcher | None = None,
    options: RunOptions | None = None,
    **settings: Any,
) -> RunResult:
    """Runs tasks on models and returns the results; the same call again goes on where it stopped.

    `tasks` and `model` are names, paths, `file.py:name`, or the things themselves; everything else is a field of
    `RunOptions`.

    Example: `assay.run("quickstart", model="smollm2", limit=10)`
    """
    chosen, objects = _options(tasks, model, options, settings)
    return _in_loop(lambda: _run(chosen, objects, watcher or Silent()))


def score(folder: str | Path, *, watcher: Watcher | None = None, **settings: Any) -> RunResult:
    """Scores a run again from its journal, without asking the model; `scorers=` replaces the task's own."""
    reader = RunReader(folder)
    config = reader.manifest.get("config")
    if not isinstance(config, Mapping):
        raise StoreError("run.json holds no config", where=str(folder))
    options = RunOptions.from_plain(config, where=str(folder)).but(output=str(folder), fresh=False, **settings)
    models = recorded_models(reader.manifest)
    options = options.but(models=tuple(models) or options.models)
    return _in_loop(lambda: _run(options, models, watcher or Silent(), ask_model=False))


def _options(
    tasks: Any, model: Any, options: RunOptions | None, settings: Mapping[str, Any]
) -> tuple[RunOptions, dict[str, Any]]:
    """Options with names only; objects given in their place are kept beside them."""
    chosen = options or RunOptions.from_plain(settings, where="assay.run")
    objects: dict[str, Any] = {}
    if tasks:
        entries = [tasks] if isinstance(tasks, str) or not isinstance(tasks, (list, tuple)) else list(tasks)
        chosen = chosen.but(tasks=tuple(entries))
    if model is not None:
        entries = [model] if isinstance(model, str) or not isinstance(model, (list, tuple)) else list(model)
        names = []
        for entry in entries:
            if isinstance(entry, str):
                names.append(entry)
                continue
            from ..models import adapt_model

            adapted = adapt_model(entry)
            name = str(getattr(entry, "name", None) or getattr(entry, "__name__", None) or type(entry).__name__)
            objects[name] = adapted
            names.append(name)
        chosen = chosen.but(models=tuple(names))
    return chosen, objects


def _in_loop(action: Callable[[], Any]) -> RunResult:
    """Runs a coroutine to its end, also where an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        result: RunResult = asyncio.run(action())
        return result
    import threading

    box: list[Any] = []

    def work() -> None:
        try:
            box.append(asyncio.run(action()))
        except BaseException as error:  # noqa: BLE001 - carried over to the calling thread
            box.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(box[0], BaseException):
        raise box[0]
    result = box[0]
    return result


async def _run(
    options: RunOptions, objects: Mapping[str, Model], watcher: Watcher, *, ask_model: bool = True
) -> RunResult:
    cells = make_plan(options, objects)
    if options.on_data_error == "stop":
        _refuse_bad_rows(cells)
    ErrorBudget(options.on_error)  # a wrong policy is a fault before anything is written
    folder = run_folder(options)
    if options.fresh and folder.exists() and ask_model:
        _remove_run(folder)
    with RunWriter(folder) as writer:
        return await Session(options, cells, writer, watcher, ask_model).run()


def run_folder(options: RunOptions) -> Path:
    """Where a run is kept: `-o`, or a name under `runs/` that the same command finds again."""
    if options.output:
        return Path(options.output).expanduser()
    names = [safe_name(Path(str(getattr(t, "name", t))).stem, 24) for t in options.tasks]
    label = "+".join(names)[:48] + "--" + safe_name(Path(options.models[0].partition(":")[0]).stem, 24)
    return Path("runs") / f"{label}-{options.folder_digest()}"


def _remove_run(folder: Path) -> None:
    """`--fresh`: only what assay itself wrote is removed."""
    for name in ("run.json", "records.jsonl", "summary.json"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "media", ignore_errors=True)


def _refuse_bad_rows(cells: Sequence[Cell]) -> None:
    """`--on_data_error stop`: the first row that cannot be used ends the run before anything is written."""
    for cell in cells:
        for item in cell.view():
            if isinstance(item, BadSample):
                raise item.error
            cell.template(item)


class Session:
    """One run of all cells in one folder."""

    def __init__(
        self, options: RunOptions, cells: Sequence[Cell], writer: RunWriter, watcher: Watcher, ask_model: bool
    ) -> None:
        self.options = options
        self.cells = cells
        self.writer = writer
        self.watcher = watcher
        self.ask_model = ask_model
        self.notes: list[str] = []
        self.progress = [CellProgress(cell.task.name, cell.model_name) for cell in cells]
        self.results: list[Result] = []
        self.usage: dict[str, Any] = {}
        self.stopped = False
        self._work: Work | None = None
        self._failure: AssayError | None = None
        self._incomplete = False

    async def run(self) -> RunResult:
        """All cells, one after another; the summary is written whatever happens."""
        before = self.writer.read_manifest()
        manifest = make_manifest(self.options, self.cells, "running")
        if not self.ask_model:
            manifest["config"] = before.get("config", manifest["config"])
        self.writer.write_manifest(manifest)
        if str(self.writer.repair):
            self._say(f"{self.writer.layout.journal.name}: {self.writer.repair}")
        self.watcher.start(self.progress)
        ticking = asyncio.ensure_future(self._tick())
        cache = ResponseCache(self.options.cache) if self.options.cache else None
        try:
            with self._signals():
                for cell, progress in zip(self.cells, self.progress, strict=True):
                    if self.stopped or self._failure:
                        break
                    await self._run_cell(cell, progress, before, cache)
        finally:
            ticking.cancel()
            self.watcher.stop()
            if cache is not None:
                cache.close()
        return self._finish(manifest)

    async def _run_cell(
        self, cell: Cell, progress: CellProgress, before: Mapping[str, Any], cache: ResponseCache | None
    ) -> None:
        changed = changed_digests(before, cell)
        known_by_id = changed == [] or not self.ask_model
        if changed and self.ask_model and self.writer.cell(cell.task.name, cell.model_name).answers:
            self._say(f"{cell.task.name}: {', '.join(changed)} changed since the last run, so every key is checked")
        progress.expected = _expected(before, cell, changed) or cell.samples.known_length
        helpers = Helpers(self.options, self.writer, cell)
        cell.scorings = [scoring.given(helpers.models(scoring.roles)) for scoring in cell.scorings]
        running = CellRun(
            cell,
            self.writer,
            progress,
            known_by_id=known_by_id,
            cache=cache,
            budget=ErrorBudget(self.options.on_error),
            ask_model=self.ask_model,
        )
        meter = UsageMeter()
        progress.state = "running"
        try:
            if self.ask_model:
                scheduler = Scheduler(
                    cell.model, batch_size=self.options.batch_size, concurrency=self.options.concurrency
                )
                self._work = Work(running.jobs())
                await running.run(scheduler, self._work)
            else:
                await running.score_only()
        except ErrorBudgetExceeded as error:
            self._failure = error
        finally:
            await helpers.close()
            self._work = None
        progress.state = "finished"
        self.writer.journal.flush()
        self.usage[f"{cell.task.name}/{cell.model_name}"] = meter.read(self.writer, cell, running)
        await self._summarize(cell, running, progress)

    async def _summarize(self, cell: Cell, running: CellRun, progress: CellProgress) -> None:
        expected = (
            running.expected if not self.stopped and not self._failure else (progress.expected or running.expected)
        )
        if running.unanswered:
            self._incomplete = True
            self._say(
                f"{cell.task.name}: {len(running.unanswered)} samples have no answer in this run"
                " (run it again to ask for them)"
            )
        for scoring in cell.scorings:
            if scoring.is_set_level:
                self.results += self._set_level(cell, scoring, expected)
                continue
            records = self.writer.scores_at(running.tallies[scoring.name].offsets())
            try:
                found = summarize(cell, scoring, records, expected)
            except AssayError as error:
                self._say(str(error))
                self._incomplete = True
                continue
            self.results += found
            unresolved = sum(progress.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED)
            if found and any(r.n < (r.n_expected or 0) for r in found):
                self._incomplete = True
            if unresolved:
                self._incomplete = True

    def _set_level(self, cell: Cell, scoring: Any, expected: int) -> list[Result]:
        rows = []
        index = self.writer.cell(cell.task.name, cell.model_name)
        self.writer.reload()
        index = self.writer.cell(cell.task.name, cell.model_name)
        for item in cell.view():
            if isinstance(item, Sample):
                stored = index.answers.get((item.id, 0))
                if stored and stored[-1] is not None and not stored[-1].failed:
                    plain = self.writer.read_output(stored[-1]).output
                    rows.append((item, output_from_plain(plain, self.writer.blobs)))
        try:
            values = scoring.scorer.score_all(rows)
        except Exception as error:  # noqa: BLE001 - the boundary to other people's scorers: said, and the run is partial
            self._say(f"scorer {scoring.name!r}: {type(error).__name__}: {error}")
            self._incomplete = True
            return []
        if len(rows) < expected:
            self._incomplete = True
        return set_level_results(cell, scoring, values, len(rows), expected)

    def _finish(self, manifest: dict[str, Any]) -> RunResult:
        status = self._status()
        if self._failure is not None:
            self.notes.append(str(self._failure))
        self.notes += self._first_errors()
        result = RunResult(status, self.writer.layout.folder, tuple(self.results), tuple(self.notes), self.usage)
        manifest["status"] = status
        manifest["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        for described, cell, progress in zip(manifest["cells"], self.cells, self.progress, strict=True):
            described["n_expected"] = progress.done if status == "complete" else progress.expected
            described["complete"] = status == "complete"
            described["data_sha256"] = cell.samples.digest()
        self.writer.write_manifest(manifest)
        self.writer.write_summary(result.to_plain())
        return result

    def _status(self) -> str:
        if self.stopped:
            return "interrupted"
        if self._failure is not None or (self.results and all(r.n == 0 for r in self.results)):
            return "failed"
        if not self.results and self._incomplete:
            return "failed"
        return "partial" if self._incomplete else "complete"

    def _first_errors(self) -> list[str]:
        """The first unresolved sample of each kind, so that the cause is on the screen."""
        lines = []
        for progress in self.progress:
            for outcome in sorted(str(o) for o in UNRESOLVED):
                count = progress.outcomes.get(outcome, 0)
                if count:
                    lines.append(f"{progress.task}: {count} {outcome}; first: {self._example(progress, outcome)}")
        return lines

    def _example(self, progress: CellProgress, outcome: str) -> str:
        for offsets in self._offsets(progress):
            for record in self.writer.scores_at(offsets):
                if record.outcome == outcome:
                    return f"{record.id}: {record.details.get('error', '')}"
        return "see records.jsonl"

    def _offsets(self, progress: CellProgress) -> list[list[int]]:
        self.writer.reload()
        cell = self.writer.cell(progress.task, progress.model)
        return [[place[0] for place in places.values()] for places in cell.scores.values()]

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            self.watcher.update()

    def _say(self, line: str) -> None:
        self.notes.append(line)
        self.watcher.say(line)

    @contextlib.contextmanager
    def _signals(self) -> Any:
        """First Ctrl-C: no new requests, what is in flight comes back; second, or ten seconds later: out at once."""
        loop = asyncio.get_running_loop()
        current = asyncio.current_task()

        def interrupt() -> None:
            if self.stopped:
                if current is not None:
                    current.cancel()
                return
            self.stopped = True
            self.watcher.say("stopping: waiting for what is in flight (once more to stop at once)")
            if self._work is not None:
                self._work.stop()
            loop.call_later(DRAIN_SECONDS, lambda: current.cancel() if current is not None else None)

        installed = []
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, interrupt)
                installed.append(number)
            except (NotImplementedError, RuntimeError, ValueError):
                continue
        try:
            yield
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            for number in installed:
                loop.remove_signal_handler(number)


def _expected(before: Mapping[str, Any], cell: Cell, changed: list[str] | None) -> int | None:
    if changed != []:
        return None
    for described in before.get("cells", ()):
        if described.get("task") == cell.task.name and described.get("model") == cell.model_name:
            expected = described.get("n_expected")
            return expected if isinstance(expected, int) else None
    return None
