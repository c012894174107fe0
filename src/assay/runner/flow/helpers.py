"""Helper models that scorers call by role, such as judges and detectors.

Their calls are ordinary requests: they have keys, are stored in the journal, and are
not sent twice.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import EMPTY, GenerateOptions, Model, Output, Prompt, Request, Sample
from ...core.output import INTERRUPTED
from ...core.request import DEFAULT_OPTIONS
from ...media import without_metadata
from ...models import build_model
from ...scorers.given_models import GivenModel, ModelsByRole
from ...scorers.judge.judge_canaries import try_canaries
from ...store import Answered, RunWriter
from ...store.cache import ResponseCache
from ..ask.asking import Asking, think_tags_of
from ..ask.calls import close_model
from ..ask.retry import RetryPolicy, Stopped
from ..ask.schedule import Scheduler
from ..ask.standing import Standing
from ..ask.work import Job
from ..counts.budget import ErrorBudget
from ..counts.spending import SpendingLimit, cost_of, model_options
from ..events import TaskProgress
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
from ..resume.spent import canary_role, role_of_canary
from ..scoring.scoring import Scoring
from .verdicts import helper_calls, judged

"""The role under which a judge's answers to canaries are kept."""


class Helper(GivenModel):
    """One helper model of a task × model, such as its judge. Its answers are stored in the journal."""

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
        scheduler = Scheduler(
            asking.model,
            concurrency=concurrency,
            policy=policy,
        )
        self._scheduler = scheduler
        self._standing = Standing(scheduler)
        self._answered: dict[str, Answered] = {}
        """The answers received by this run, by request key."""
        self._underway: dict[str, asyncio.Future[Output]] = {}

    @property
    def is_served(self) -> bool:
        """True if many requests can be sent at the same time, as to an endpoint."""
        return self._scheduler.is_async

    @property
    def spent(self) -> dict[str, float]:
        """Number of requests sent by this run, with the tokens and cost that the backend reported."""
        return {"asked": self._asking.request_count, **self._asking.tokens}

    async def answer(
        self,
        prompt: Prompt,
        options: GenerateOptions | None = None,
    ) -> Output:
        """Return the answer, from the journal if it is recorded there. Media are sent without their metadata."""
        job = self._job(*without_metadata(prompt), options)
        key = job.request.key
        calls = helper_calls.get()
        if calls is not None:
            calls.append((self.role, key))
        # Look up by key, because the name of a model file depends on the working folder.
        answer = self._answered.get(key) or self._asking.known(job)
        if answer is not None:
            return self._asking.output(answer)
        if key not in self._underway:
            underway = self._underway[key] = asyncio.ensure_future(self._ask(job))
            # Answers are read from the journal. Only those in flight are held in memory.
            underway.add_done_callback(lambda done: self._remove_answered(key, done))
        return await asyncio.shield(self._underway[key])

    def _job(
        self,
        prompt: Prompt,
        removed: Sequence[str],
        options: GenerateOptions | None,
    ) -> Job:
        """Return the job for a question to the helper.

        The request key is also used as the sample id, so that equal questions are sent
        only once.
        """
        chosen = options or prompt.options or DEFAULT_OPTIONS
        key = self._asking.key_of(prompt, chosen, chosen.seed)
        request = Request(
            prompt,
            chosen,
            chosen.seed,
            key=key,
            think_tags=self._asking.think_tags,
        )
        if removed:
            notes = {"metadata_removed": list(removed)}
        else:
            notes = None
        return Job(
            Sample(key, media=prompt.media),
            request,
            judged=judged.get(),
            notes=notes,
        )

    async def _ask(self, job: Job) -> Output:
        """Send a question, unless the cache has the answer."""
        output = self._asking.cached(job)
        if output is None:
            self._asking.check()
            try:
                [output] = await self._standing.ask([job], self._asking)
            except Stopped:
                raise asyncio.CancelledError from None  # there is no score, and it is not the judge's fault
        if output.error is None:
            self._answered[job.request.key] = Answered(job.request.key, job.offset)
        elif output.error.kind == INTERRUPTED:
            raise asyncio.CancelledError  # the user stopped the run: there is no score
        return output

    def _remove_answered(self, key: str, done: "asyncio.Future[Output]") -> None:
        """Remove an answered question from the questions in progress."""
        self._underway.pop(key, None)
        if not done.cancelled():
            done.exception()  # the scorer may have stopped waiting: its error is not reported

    def stop(self) -> None:
        """Stop retrying failed requests. Requests in flight are finished."""
        self._standing.stop()

    async def close(self) -> None:
        """Send no more requests."""
        for underway in self._underway.values():
            underway.cancel()
        await self._standing.close()


@dataclass(eq=False)
class Helpers:
    """The helper models of one task × model, built when first needed and shared with later tasks."""

    options: RunOptions
    writer: RunWriter
    planned: PlannedTask
    cache: ResponseCache | None = None
    budget: ErrorBudget | None = None
    progress: TaskProgress = field(default_factory=lambda: TaskProgress("", ""))
    built_models: dict[str, Model] = field(default_factory=dict)
    """The built models by role. Later tasks reuse them without loading them again."""
    spending: SpendingLimit | None = None
    _built: dict[str, Helper] = field(default_factory=dict, init=False)
    _all: list[Helper] = field(default_factory=list, init=False)

    def models(self, roles: Sequence[str]) -> Mapping[str, Helper]:
        """Return helpers by role, built when they are first needed."""
        for role in roles:
            if role in self._built:
                continue
            name = self.options.helper_of(role) or role
            if role not in self.built_models:
                args = model_options(self.options.judge_args_of(role))
                self.built_models[role] = build_model(name, args)
            model = self.built_models[role]
            self._built[role] = self._helper(role, name, model)
        return ModelsByRole({role: self._built[role] for role in roles})

    def single(self) -> list[str]:
        """Return a note for each helper that runs as a single copy in this process,
        although the model has replicas.
        """
        notes = []
        for role, helper in self._built.items():
            if not helper.is_served:
                notes.append(
                    f"{role} {helper.name!r} runs once, where this command runs: "
                    "--replicas are copies of the model only"
                )
        return notes

    async def canaries(
        self,
        scorings: Sequence[Scoring],
        say: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Test whether each judge falls for canaries: made-up answers that ask for
        the top grade. Return notes by judge.

        The calls are stored as `TASK#canary`.
        """
        lines = []
        for scoring in scorings:
            best = getattr(scoring.scorer, "best_mark", None)
            role = getattr(scoring.scorer, "role", "judge")
            if best is None or role not in self._built:
                continue
            judge = self._built[role]
            canary = self._helper(canary_role(role), judge.name, judge.model)
            if say is not None:
                say(
                    f"{self.planned.task.name}: trying judge {judge.name!r} on answers that demand the best mark"
                )
            first = self.planned.first_sample()
            if first is None:
                row = EMPTY
            else:
                row = first.fields
            report = await try_canaries(
                replace(scoring.scorer, models={role: canary}),
                best,
                row,
            )
            line = f"{self.planned.task.name}, scorer {scoring.name!r}: judge {judge.name!r} {report}"
            lines.append(line)
        return lines

    def spent(self) -> dict[str, dict[str, Any]]:
        """Return the usage of each helper, by `TASK#ROLE/MODEL`."""
        task = self.planned.task.name
        helpers = [helper for helper in self._all if helper.spent["asked"]]
        return {
            f"{task}#{helper.role}/{helper.name}": self._priced(helper)
            for helper in helpers
        }

    def _priced(self, helper: Helper) -> dict[str, Any]:
        """Return the usage of a helper, with its cost if prices are known. Canary calls
        cost as much as the judge's.
        """
        spent = helper.spent
        cost = cost_of(spent, self._prices(helper.role))
        if cost is None:
            return dict(spent)
        return {**spent, "cost": cost}

    def _prices(self, role: str) -> Mapping[str, Any]:
        """Return the token prices of the model in a role."""
        return self.options.judge_args_of(role_of_canary(role))

    def _helper(
        self,
        role: str,
        name: str,
        model: Model,
    ) -> Helper:
        """Build the helper for a role."""
        task = f"{self.planned.task.name}#{role}"
        # An unjudged canary costs no sample.
        if role_of_canary(role) != role:
            budget = None
        else:
            budget = self.budget
        think_tags = think_tags_of(
            self.planned.task.protocol,
            model,
            self._prices(role),
        )
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
            think_tags=think_tags,
        )
        helper = Helper(
            asking,
            self.options.concurrency,
            RetryPolicy(wrong_seconds=self.options.give_up_after),
        )
        self._all.append(helper)
        return helper

    def stop(self) -> None:
        """Stop retrying failed requests of all helpers. Requests in flight are finished."""
        for helper in self._all:
            helper.stop()

    async def close(self, later: Collection[str] = ()) -> None:
        """Send no more requests. Close all models except those whose role is in `later`."""
        for helper in self._all:
            await helper.close()
        for role in [role for role in self.built_models if role not in later]:
            await close_model(self.built_models.pop(role))
