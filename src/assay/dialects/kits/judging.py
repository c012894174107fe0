"""Judges that a user's `evaluate` calls: models of assay, called synchronously, with answers in the run's journal."""

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
        self._asked: Counter[str] = Counter()
        self._models: dict[str, Helper | Scheduler] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

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
        with self._lock:
            loop = self._running_loop()
            question_key = digest_of([name, prompt_to_plain(prompt), options.given()])
            again = self._asked[question_key]
            self._asked[question_key] += 1
        if again:
            chosen = options.set(seed=(options.seed or 0) + again)
        else:
            chosen = options
        return asyncio.run_coroutine_threadsafe(
            self._answer(name, prompt, chosen), loop
        ).result()

    async def _answer(
        self,
        name: str,
        prompt: Prompt,
        options: GenerateOptions,
    ) -> Output:
        if name not in self._models:
            self._models[name] = self._judge(name)
        judge = self._models[name]
        if isinstance(judge, Helper):
            return await judge.ask(prompt, options)
        job = Job(
            Sample("", media=prompt.media), Request(prompt, options, options.seed)
        )
        standing = Standing(judge)
        try:
            [output] = await standing.ask([job], Unkept())
        finally:
            await standing.close()  # A script may never close its judges.
        return output

    def _judge(self, name: str) -> Helper | Scheduler:
        model: Model = build_model(name, self._args.get(name, EMPTY))
        if "text" not in model.abilities.produces:
            raise UsageError(f"the judge {name!r} writes no text")
        if self._writer is None:
            return Scheduler(model, concurrency=self._concurrency)
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

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=self._loop.run_forever,
                name="judges",
                daemon=True,
            ).start()
        return self._loop

    def close(self) -> None:
        """Write the answers to disk and close the judges' models."""
        if self._writer is not None:
            self._writer.journal.flush()
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._close_models(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _close_models(self) -> None:
        for judge in self._models.values():
            if isinstance(judge, Helper):
                await judge.close()
            await close_model(judge.model)


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
        chosen = self._options
        changes = _known(options)
        if changes:
            chosen = chosen.set(**changes)
        prompt = Prompt(tuple(messages))
        return self._judge_pool.ask(self.model, prompt, chosen)


def is_known(name: str) -> bool:
    """Return True if a name is one of assay's own models. No model is loaded."""
    scheme, slash, rest = name.partition("/")
    is_name = (
        name in registry
        or name in CATALOGUE
        or (bool(slash and rest) and scheme in registry)
    )
    return is_name or is_reference(name) or name.endswith(".gguf")


def assay_name(judge: str) -> str:
    """Return assay's name for a judge. An unknown name means a model at an OpenAI-compatible endpoint."""
    if is_known(judge):
        return judge
    return f"openai/{judge}"


def _known(settings: Fields) -> Record:
    return {
        name: value
        for name, value in settings.items()
        if name in OPTION_NAMES and value is not None
    }
