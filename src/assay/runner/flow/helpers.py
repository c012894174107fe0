"""Helper models: judges, detectors and the like, given to a scorer by role.

Their calls are requests like any other: keyed, kept in the journal, never asked twice for the same thing.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import EMPTY, GenerateOptions, Model, Output, Prompt, Request, Sample
from ...core.request import DEFAULT_OPTIONS
from ...media import without_metadata
from ...models import build_model
from ...scorers.judge.judge_canaries import try_canaries
from ...store import Answered, RunWriter
from ...store.cache import ResponseCache
from ..ask.asking import Asking
from ..ask.calls import close_model
from ..ask.retry import RetryPolicy, Stopped
from ..ask.schedule import Scheduler
from ..ask.standing import Standing
from ..ask.work import Job
from ..counts.budget import ErrorBudget
from ..counts.spending import cost_of, without_prices
from ..counts.spending_limit import SpendingLimit
from ..events import CellProgress
from ..options import RunOptions
from ..plan.cell import Cell
from ..scoring.scoring import Scoring
from .verdicts import helper_calls, judged

CANARY = "canary"
"""The role under which a judge's answers to canaries are kept."""


class Helper:
    """One helper model, as a scorer sees it: `await helper.ask(prompt)`."""

    def __init__(
        self,
        asking: Asking,
        concurrency: int | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.role = asking.role
        self.name = asking.name
        self.model = asking.model
        self._asking = asking
        scheduler = Scheduler(asking.model, concurrency=concurrency, policy=policy)
        self._scheduler = scheduler
        self._standing = Standing(scheduler)
        self._answered: dict[str, Answered] = {}
        """By key: what was answered in this run."""
        self._underway: dict[str, asyncio.Future[Output]] = {}

    @property
    def is_served(self) -> bool:
        """Whether many questions are under way at once, as with an endpoint."""
        return self._scheduler.is_async

    @property
    def spent(self) -> dict[str, float]:
        """Questions this run really asked, with tokens and cost as the backend counted them."""
        return {"asked": self._asking.asked, **self._asking.tokens}

    async def ask(
        self, prompt: Prompt, options: GenerateOptions | None = None
    ) -> Output:
        """The answer; from the journal if it was given before. Media are shown without their metadata."""
        job = self._job(*without_metadata(prompt), options)
        key = job.request.key
        if (calls := helper_calls.get()) is not None:
            calls.append((self.role, key))
        # By key, whatever the model was called then: from another folder its file has another name.
        answer = self._answered.get(key) or self._asking.known(job)
        if answer is not None:
            return self._asking.output(answer)
        if key not in self._underway:
            underway = self._underway[key] = asyncio.ensure_future(self._ask(job))
            # Answers lie in the journal: only those on their way are held in memory.
            underway.add_done_callback(lambda done: self._came(key, done))
        return await asyncio.shield(self._underway[key])

    def _job(
        self, prompt: Prompt, removed: Sequence[str], options: GenerateOptions | None
    ) -> Job:
        """A question; the same one is one request however often it is asked, so its key is its place too."""
        chosen = options or prompt.options or DEFAULT_OPTIONS
        key = self._asking.key_of(prompt, chosen, chosen.seed)
        request = Request(prompt, chosen, chosen.seed, key=key)
        notes = {"metadata_removed": list(removed)} if removed else None
        return Job(
            Sample(key, media=prompt.media), request, judged=judged.get(), notes=notes
        )

    async def _ask(self, job: Job) -> Output:
        output = self._asking.cached(job)
        if output is None:
            self._asking.check()
            try:
                [output] = await self._standing.ask([job], self._asking)
            except Stopped:
                raise asyncio.CancelledError from None  # no verdict, and no fault of the judge
        if output.error is None:
            self._answered[job.request.key] = Answered(job.request.key, job.offset)
        return output

    def _came(self, key: str, done: "asyncio.Future[Output]") -> None:
        self._underway.pop(key, None)
        if not done.cancelled():
            done.exception()  # the scorer that asked may have left: an error it no longer waits for is no news

    def stop(self) -> None:
        """Questions that wait for another try are not asked again."""
        self._standing.stop()

    async def close(self) -> None:
        """Asks nothing more."""
        for underway in self._underway.values():
            underway.cancel()
        await self._standing.close()


@dataclass(eq=False)
class Helpers:
    """The helper models of one cell, built when first asked for and kept for the cells after it."""

    options: RunOptions
    writer: RunWriter
    cell: Cell
    cache: ResponseCache | None = None
    budget: ErrorBudget | None = None
    progress: CellProgress = field(default_factory=lambda: CellProgress("", ""))
    built_models: dict[str, Model] = field(default_factory=dict)
    """By role: the models, those of earlier cells too, which are not loaded again."""
    spending: SpendingLimit | None = None
    _built: dict[str, Helper] = field(default_factory=dict, init=False)
    _all: list[Helper] = field(default_factory=list, init=False)

    def models(self, roles: Sequence[str]) -> Mapping[str, Helper]:
        """Helpers by role."""
        for role in roles:
            if role not in self._built:
                name = self.options.helper_of(role) or role
                if role not in self.built_models:
                    self.built_models[role] = build_model(
                        name, without_prices(self.options.judge_args_of(role))
                    )
                self._built[role] = self._helper(role, name, self.built_models[role])
        return {role: self._built[role] for role in roles}

    def single(self) -> list[str]:
        """A line for each helper that is one copy whatever the model is; a server has as many as it likes."""
        return [
            f"{role} {helper.name!r} runs once, where this command runs: --replicas are copies of the model only"
            for role, helper in self._built.items()
            if not helper.is_served
        ]

    async def canaries(
        self, scorings: Sequence[Scoring], say: Callable[[str], None] | None = None
    ) -> list[str]:
        """How each judge took answers that demand the best mark, a line each; its calls are kept as `TASK#canary`."""
        lines = []
        for scoring in scorings:
            best = getattr(scoring.scorer, "best_mark", None)
            if best is None or "judge" not in self._built:
                continue
            judge = self._built["judge"]
            canary = self._helper(CANARY, judge.name, judge.model)
            if say is not None:
                say(
                    f"{self.cell.task.name}: trying judge {judge.name!r} on answers that demand the best mark"
                )
            first = self.cell.first_sample()
            row = EMPTY if first is None else first.fields
            report = await try_canaries(
                replace(scoring.scorer, models={"judge": canary}), best, row
            )
            lines.append(
                f"{self.cell.task.name}, scorer {scoring.name!r}: judge {judge.name!r} {report}"
            )
        return lines

    def spent(self) -> dict[str, dict[str, Any]]:
        """What each helper was asked and cost, by `TASK#ROLE/MODEL`."""
        task = self.cell.task.name
        helpers = [helper for helper in self._all if helper.spent["asked"]]
        return {
            f"{task}#{helper.role}/{helper.name}": self._priced(helper)
            for helper in helpers
        }

    def _priced(self, helper: Helper) -> dict[str, Any]:
        """With its cost, where the backend or the run says what tokens cost; canaries have the judge's prices."""
        spent = helper.spent
        cost = cost_of(spent, self._prices(helper.role))
        return dict(spent) if cost is None else {**spent, "cost": cost}

    def _prices(self, role: str) -> Mapping[str, Any]:
        return self.options.judge_args_of("judge" if role == CANARY else role)

    def _helper(self, role: str, name: str, model: Model) -> Helper:
        task = f"{self.cell.task.name}#{role}"
        budget = (
            None if role == CANARY else self.budget
        )  # no sample is lost by a canary that is not judged
        asking = Asking(
            task,
            name,
            model,
            self.writer,
            self.progress,
            self.cache,
            budget,
            role,
            spending=self.spending,
            prices=self._prices(role),
        )
        helper = Helper(
            asking,
            self.options.concurrency,
            RetryPolicy(wrong_seconds=self.options.give_up_after),
        )
        self._all.append(helper)
        return helper

    def stop(self) -> None:
        """What is in flight comes back, nothing is tried again."""
        for helper in self._all:
            helper.stop()

    async def close(self, later: Collection[str] = ()) -> None:
        """Asks nothing more, and lets the models go but those of the roles that are asked `later`."""
        for helper in self._all:
            await helper.close()
        for role in [role for role in self.built_models if role not in later]:
            await close_model(self.built_models.pop(role))
