"""Helper models: judges, detectors and the like, given to a scorer by role.

Their calls are requests like any other: keyed, kept in the journal, never asked twice for the same thing.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core import EMPTY, GenerateOptions, KeyMaker, Model, Output, Prompt, Request
from ...core.record import output_from_plain
from ...core.request import DEFAULT_OPTIONS
from ...media import without_metadata
from ...models import build_model
from ...scorers.judge_canaries import try_canaries
from ...store import Answered, RunWriter
from ...store.cache import ResponseCache
from ..ask.calls import close_model
from ..ask.retry import RetryPolicy, Stopped
from ..ask.schedule import Scheduler
from ..counts.budget import ErrorBudget
from ..counts.spending import cost_of, count_usage, without_prices
from ..events import CellProgress
from ..options import RunOptions
from ..plan.cell import Cell
from ..score.scoring import Scoring
from .gathered import Gathered
from .verdicts import helper_calls, judged

CANARY = "canary"
"""The role under which a judge's answers to canaries are kept."""


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
        budget: "HelperBudget | None" = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.role = role
        self.name = name
        self.model = model
        self._task = f"{task}#{role}"
        self._writer = writer
        self._cache = cache
        self._budget = budget
        self._scheduler = Scheduler(model, concurrency=concurrency, policy=policy)
        self._gathered = None if self._scheduler.is_async else Gathered(self._scheduler)
        self._keys = KeyMaker(model.identity)
        # By key, whatever the model was called then: from another folder its file has another name.
        self._stored = writer.index.by_key(self._task)
        self._known: dict[str, Answered] = {}
        self._asked: dict[str, asyncio.Future[Output]] = {}
        self.spent: dict[str, float] = {"asked": 0}
        """Questions this run really asked, with tokens and cost as the backend counted them."""

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
        if (calls := helper_calls.get()) is not None:
            calls.append((self.role, key))
        known = self._known.get(key) or self._stored.get(key)
        if known is not None:
            return output_from_plain(self._writer.read_output(known).output, self._writer.blobs)
        if key not in self._asked:
            asked = self._asked[key] = asyncio.ensure_future(self._ask(request, key, removed))
            # Answers lie in the journal: only those on their way are held in memory.
            asked.add_done_callback(lambda done: self._came(key, done))
        return await asyncio.shield(self._asked[key])

    def _came(self, key: str, done: "asyncio.Future[Output]") -> None:
        self._asked.pop(key, None)
        if not done.cancelled():
            done.exception()  # whoever asked may have left: it is no news that nobody heard of it

    def stop(self) -> None:
        """Questions that wait for another try are not asked again."""
        self._scheduler.patience.stop()
        if self._gathered is not None:
            self._gathered.stop()

    async def close(self) -> None:
        """Asks nothing more."""
        for asked in self._asked.values():
            asked.cancel()
        if self._gathered is not None:
            await self._gathered.close()

    async def _ask(self, request: Request, key: str, removed: tuple[str, ...]) -> Output:
        output = self._cache.get(key) if self._cache is not None else None
        is_new = output is None
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
        if is_new and self._budget is not None:
            self._budget.note(self.role, output)
        return output

    async def _ask_model(self, request: Request) -> Output:
        if self._budget is not None:
            self._budget.check()
        try:
            return await (self._scheduler if self._gathered is None else self._gathered).ask(request)
        except Stopped:
            raise asyncio.CancelledError from None  # no verdict, and no fault of the judge


class HelperBudget:
    """The error budget of a cell, as its helpers spend it: a sample they fail is one error, however often they do."""

    def __init__(self, budget: ErrorBudget, progress: CellProgress) -> None:
        self._budget = budget
        self._progress = progress
        self._failed: set[tuple[str, int]] = set()

    def check(self) -> None:
        """Raises where nothing is left of it: nobody is asked any more."""
        if self._budget.spent is not None:
            raise self._budget.spent

    def note(self, role: str, output: Output) -> None:
        """Counts what a helper answered; raises when the budget is spent."""
        if output.error is None:
            self._budget.answered(role)
        elif output.error.kind != "data" and (judged.get() not in self._failed or output.error.kind == "auth"):
            if (sample := judged.get()) is not None:
                self._failed.add(sample)
            self._budget.count(output.error, role)
            self._budget.check(self._progress.done, self._progress.expected)


class Helpers:
    """The helper models of one cell, built when first asked for and kept for the cells after it."""

    def __init__(
        self,
        options: RunOptions,
        writer: RunWriter,
        cell: Cell,
        cache: ResponseCache | None = None,
        budget: HelperBudget | None = None,
        kept: dict[str, Model] | None = None,
    ) -> None:
        self._budget = budget
        self._models = {} if kept is None else kept
        """By role: the models, those of earlier cells too, which are not loaded again."""
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
                name = self._options.helper_of(role) or role
                if role not in self._models:
                    self._models[role] = build_model(name, without_prices(self._options.judge_args_of(role)))
                self._built[role] = self._helper(role, name, self._models[role])
        return {role: self._built[role] for role in roles}

    def single(self) -> list[str]:
        """A line for each helper that is one copy whatever the model is; a server has as many as it likes."""
        return [
            f"{role} {helper.name!r} runs once, where this command runs: --replicas are copies of the model only"
            for role, helper in self._built.items()
            if not helper.is_served
        ]

    async def canaries(self, scorings: Sequence[Scoring], say: Callable[[str], None] | None = None) -> list[str]:
        """How each judge took answers that demand the best mark, a line each; its calls are kept as `TASK#canary`."""
        lines = []
        for scoring in scorings:
            best = getattr(scoring.scorer, "best_mark", None)
            if best is None or "judge" not in self._built:
                continue
            judge = self._built["judge"]
            asked = self._helper(CANARY, judge.name, judge.model)
            if say is not None:
                say(f"{self._cell.task.name}: trying judge {judge.name!r} on answers that demand the best mark")
            first = self._cell.first_sample()
            row = EMPTY if first is None else first.fields
            report = await try_canaries(replace(scoring.scorer, models={"judge": asked}), best, row)
            lines.append(f"{self._cell.task.name}, scorer {scoring.name!r}: judge {judge.name!r} {report}")
        return lines

    def spent(self) -> dict[str, dict[str, Any]]:
        """What each helper was asked and cost, by `TASK#ROLE/MODEL`."""
        task = self._cell.task.name
        asked = [helper for helper in self._all if helper.spent["asked"]]
        return {f"{task}#{helper.role}/{helper.name}": self._priced(helper) for helper in asked}

    def _priced(self, helper: Helper) -> dict[str, Any]:
        """With what it cost where somebody said; canaries are put to the judge, at the judge's prices."""
        prices = self._options.judge_args_of("judge" if helper.role == CANARY else helper.role)
        cost = cost_of(helper.spent, prices)
        return dict(helper.spent) if cost is None else {**helper.spent, "cost": cost}

    def _helper(self, role: str, name: str, model: Model) -> Helper:
        task = self._cell.task.name
        budget = None if role == CANARY else self._budget  # no sample is lost by a canary that is not judged
        concurrency = self._options.concurrency
        policy = RetryPolicy(wrong_seconds=self._options.give_up_after)
        made = Helper(role, name, model, self._writer, task, concurrency, self._cache, budget, policy)
        self._all.append(made)
        return made

    def stop(self) -> None:
        """What is in flight comes back, nothing is tried again."""
        for helper in self._all:
            helper.stop()

    async def close(self, later: Collection[str] = ()) -> None:
        """Asks nothing more, and lets the models go but those of the roles that are asked `later`."""
        for helper in self._all:
            await helper.close()
        for role in [role for role in self._models if role not in later]:
            await close_model(self._models.pop(role))
