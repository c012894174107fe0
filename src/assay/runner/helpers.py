"""Helper models: judges, detectors and the like, given to a scorer by role.

Their calls are requests like any other: keyed, kept in the journal, never asked twice for the same thing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import GenerateOptions, KeyMaker, Model, Output, Prompt, Request
from ..core.record import output_from_plain
from ..core.request import DEFAULT_OPTIONS
from ..media import without_metadata
from ..models import build_model
from ..scorers.judge_canaries import try_canaries
from ..store import Answered, RunWriter
from ..store.cache import ResponseCache
from .cell import Cell
from .ledger import count_usage
from .options import RunOptions
from .schedule import Scheduler
from .scoring import Scoring


class Helper:
    """One helper model, as a scorer sees it: `await helper.ask(prompt)`."""

    def __init__(
        self,
        role: str,
        name: str,
        model: Model,
        writer: RunWriter,
        task: str,
        concurrency: int | None,
        cache: ResponseCache | None = None,
    ) -> None:
        self.role = role
        self.name = name
        self.model = model
        self._task = f"{task}#{role}"
        self._writer = writer
        self._cache = cache
        self._scheduler = Scheduler(model, concurrency=concurrency)
        self._keys = KeyMaker(model.identity)
        cell = writer.cell(self._task, name)
        self._known = {
            answer.key: answer for rounds in cell.answers.values() for answer in rounds if answer and not answer.failed
        }
        self._asked: dict[str, asyncio.Future[Output]] = {}
        self.spent: dict[str, float] = {"asked": 0}
        """Questions this run really asked, with tokens and cost as the backend counted them."""
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_served(self) -> bool:
        """Whether many questions are under way at once, as with an endpoint."""
        return self._scheduler.is_async

    async def ask(self, prompt: Prompt, options: GenerateOptions | None = None) -> Output:
        """The answer; from the journal if it was given before. Media are shown without their metadata."""
        prompt, removed = without_metadata(prompt)
        chosen = options or prompt.options or DEFAULT_OPTIONS
        request = Request(prompt, chosen, chosen.seed)
        key = self._keys.key(request)
        if key in self._known:
            return output_from_plain(self._writer.read_output(self._known[key]).output, self._writer.blobs)
        if key not in self._asked:
            asked = self._asked[key] = asyncio.ensure_future(self._ask(request, key, removed))
            # Answers lie in the journal: only those on their way are held in memory.
            asked.add_done_callback(lambda _: self._asked.pop(key, None))
        return await asyncio.shield(self._asked[key])

    async def _ask(self, request: Request, key: str, removed: tuple[str, ...]) -> Output:
        output = self._cache.get(key) if self._cache is not None else None
        if output is None:
            output = await self._ask_model(request)
            self.spent["asked"] += 1
            count_usage(self.spent, output.usage)
            if self._cache is not None and output.error is None:
                self._cache.put(key, output)
        if removed:
            output = replace(output, details={**output.details, "metadata_removed": list(removed)})
        offset = self._writer.write_output(self._task, self.name, key, key, request.prompt, output)
        self._writer.journal.flush()
        if output.error is None:
            self._known[key] = Answered(key, offset)
        return output

    async def _ask_model(self, request: Request) -> Output:
        if self._scheduler.is_async:
            return await self._scheduler.ask(request)
        async with self._one_at_a_time:
            return await self._scheduler.ask(request)


class Helpers:
    """The helper models of one cell, built when first asked for."""

    def __init__(self, options: RunOptions, writer: RunWriter, cell: Cell, cache: ResponseCache | None = None) -> None:
        self._options = options
        self._cache = cache
        self._writer = writer
        self._cell = cell
        self._built: dict[str, Helper] = {}
        self._all: list[Helper] = []

    def models(self, roles: Sequence[str]) -> Mapping[str, Helper]:
        """Helpers by role."""
        for role in roles:
            if role not in self._built:
                name = self._options.judges[role]
                model = build_model(name, self._options.judge_args_of(role))
                self._built[role] = self._helper(role, name, model)
        return {role: self._built[role] for role in roles}

    def single(self) -> list[str]:
        """A line for each helper that is one copy whatever the model is; a server has as many as it likes."""
        return [
            f"{role} {helper.name!r} runs once, where this command runs: --replicas are copies of the model only"
            for role, helper in self._built.items()
            if not helper.is_served
        ]

    async def canaries(self, scorings: Sequence[Scoring]) -> list[str]:
        """How each judge took answers that demand the best mark, a line each; its calls are kept as `TASK#canary`."""
        lines = []
        for scoring in scorings:
            best = getattr(scoring.scorer, "best_mark", None)
            if best is None or "judge" not in self._built:
                continue
            judge = self._built["judge"]
            asked = self._helper("canary", judge.name, judge.model)
            report = await try_canaries(replace(scoring.scorer, models={"judge": asked}), best)
            lines.append(f"{self._cell.task.name}, scorer {scoring.name!r}: judge {judge.name!r} {report}")
        return lines

    def spent(self) -> dict[str, dict[str, Any]]:
        """What each helper was asked and cost, by `TASK#ROLE/MODEL`."""
        task = self._cell.task.name
        asked = [helper for helper in self._all if helper.spent["asked"]]
        return {f"{task}#{helper.role}/{helper.name}": dict(helper.spent) for helper in asked}

    def _helper(self, role: str, name: str, model: Model) -> Helper:
        task = self._cell.task.name
        made = Helper(role, name, model, self._writer, task, self._options.concurrency, self._cache)
        self._all.append(made)
        return made

    async def close(self) -> None:
        """Lets the models go."""
        for helper in self._built.values():
            close: Any = getattr(helper.model, "close", None)
            if close is not None:
                done = close()
                if asyncio.iscoroutine(done):
                    await done
