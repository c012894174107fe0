"""Judges that a user's `evaluate` calls: models of assay, called synchronously, with answers in the run's journal.

A question passes through these steps:

    Judge.ask           in the user's thread: makes a prompt of the messages, with the options of the judge
    JudgePool.ask       in the same thread: gives a repeated question another seed, and waits for the answer
    JudgePool._answer   in the thread of the event loop: builds the judge's model at its first question
    Helper.ask          in a run: answers from the journal, or asks the model and records the answer
    _Unrecorded.ask     in a script, without a run: asks the model
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

from ...code.userfiles import is_reference
from ...core import (
    DEFAULT_OPTIONS,
    EMPTY,
    GenerateOptions,
    Message,
    Model,
    Output,
    Prompt,
    Request,
    Sample,
    UsageError,
    digest_of,
)
from ...core.record import prompt_to_plain
from ...core.request import OPTION_NAMES
from ...models import build_model
from ...models.embedded import CATALOGUE
from ...registry import models as registry
from ...runner.ask.asking import Asking
from ...runner.ask.calls import close_model
from ...runner.ask.schedule import Scheduler
from ...runner.ask.standing import Standing, Unkept
from ...runner.ask.work import Job
from ...runner.events import TaskProgress
from ...runner.flow.helpers import Helper
from ...store import RunWriter
from ..shapes import Fields, Record
from .state import current

ROLE = "judge"


class Judge:
    """A judge, given by its name. Its answers are stored in the run's journal; in a script they are not stored."""

    def __init__(self, name: str, options: Fields) -> None:
        self.model = name
        self._judge_pool = current().judge_pool or JudgePool(None, "script")
        self._options = DEFAULT_OPTIONS.set(**_known(options))

    def ask(
        self,
        turns: Sequence[Message],
        system: str | None,
        options: Fields,
    ) -> Output:
        """Return the answer to the messages `turns`, after the system prompt `system` if there is one."""
        messages = list(turns)
        if system:
            messages.insert(0, Message.of("system", system))
        chosen = self._options.set(**_known(options))
        return self._judge_pool.ask(self.model, Prompt(tuple(messages)), chosen)


class JudgePool:
    """The judges of one task, which any thread may call. One event loop sends their requests.

    In a run, each answer is stored in the journal and reused if the same question is
    asked after a restart.
    """

    def __init__(
        self,
        writer: RunWriter | None,
        task: str,
        concurrency: int | None = None,
        args: Mapping[str, Fields] = EMPTY,
    ) -> None:
        self._writer = writer
        """The run that stores the answers; `None` outside a run."""
        self._task = task
        self._concurrency = concurrency
        self._args = args
        """Options of the judges by their names."""
        self._lock = threading.Lock()
        """Guards the two attributes that every calling thread uses."""
        self._times_asked: Counter[str] = Counter()
        """Number of times that each question was asked, by its digest."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._judges: dict[str, Helper | _Unrecorded] = {}
        """The judges by name. Only the thread of the event loop uses them."""

    def ask(
        self,
        name: str,
        prompt: Prompt,
        options: GenerateOptions,
    ) -> Output:
        """Return the answer of the judge `name` to a prompt, from the journal if it is there.

        If a question is repeated within a run, each repetition gets a different seed
        and answer.
        """
        question = digest_of([name, prompt_to_plain(prompt), options.given()])
        with self._lock:
            loop = self._running_loop()
            repeat = self._times_asked[question]
            self._times_asked[question] += 1
        if repeat > 0:
            options = options.set(seed=(options.seed or 0) + repeat)
        answer = self._answer(name, prompt, options)
        return asyncio.run_coroutine_threadsafe(answer, loop).result()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop. The first question starts it in a separate thread."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=self._loop.run_forever,
                name="judges",
                daemon=True,
            ).start()
        return self._loop

    async def _answer(
        self,
        name: str,
        prompt: Prompt,
        options: GenerateOptions,
    ) -> Output:
        if name not in self._judges:
            self._judges[name] = self._build_judge(name)
        return await self._judges[name].ask(prompt, options)

    def _build_judge(self, name: str) -> "Helper | _Unrecorded":
        """Build the model of a judge. In a run, its answers are recorded under the task name `TASK#judge`."""
        model: Model = build_model(name, self._args.get(name, EMPTY))
        if "text" not in model.abilities.produces:
            raise UsageError(f"the judge {name!r} writes no text")
        if self._writer is None:
            return _Unrecorded(model, self._concurrency)
        task = f"{self._task}#{ROLE}"
        asking = Asking(
            task,
            name,
            model,
            self._writer,
            TaskProgress(task, name),
            role=ROLE,
        )
        return Helper(asking, self._concurrency)

    def close(self) -> None:
        """Write the answers to disk and close the judges' models."""
        if self._writer is not None:
            self._writer.journal.flush()
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._close_judges(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _close_judges(self) -> None:
        for judge in self._judges.values():
            await judge.close()
            await close_model(judge.model)


class _Unrecorded:
    """A judge outside a run. It has the members of `Helper` that the pool uses, and its answers are not stored."""

    def __init__(self, model: Model, concurrency: int | None) -> None:
        self.model = model
        self._scheduler = Scheduler(model, concurrency=concurrency)

    async def ask(self, prompt: Prompt, options: GenerateOptions) -> Output:
        """Ask the model one question."""
        sample = Sample("", media=prompt.media)
        job = Job(sample, Request(prompt, options, options.seed))
        # Each question has its own `Standing`, because a script may never close its judges.
        standing = Standing(self._scheduler)
        try:
            [output] = await standing.ask([job], Unkept())
        finally:
            await standing.close()
        return output

    async def close(self) -> None:
        """Do nothing, because a question leaves no connection open."""


def is_known(name: str) -> bool:
    """Return True if a name is one of assay's own models. No model is loaded."""
    if name in registry or name in CATALOGUE:
        return True
    scheme, _, rest = name.partition("/")
    if scheme in registry and rest:
        return True
    return is_reference(name) or name.endswith(".gguf")


def assay_name(judge: str) -> str:
    """Return the model reference of a judge. An unknown name means an OpenAI-compatible endpoint: `x` -> `openai/x`."""
    if is_known(judge):
        return judge
    return f"openai/{judge}"


def _known(settings: Fields) -> Record:
    """Keep only the settings that are generation options of assay and are not None."""
    return {
        name: value
        for name, value in settings.items()
        if name in OPTION_NAMES and value is not None
    }
