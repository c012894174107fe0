"""The judges' desk: helper models for code that calls them by itself, blocking, from whatever thread it works in.

The same question is not asked twice; the k-th identical question of one evaluation is a question of its own (it has
seed k), so that asking again after an unreadable answer may give another. Answers lie in the run's journal under the
task's helper role, as those of a scorer's judge do: what was asked before a kill is not asked again.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...core import (
    EMPTY,
    GenerateOptions,
    Model,
    Output,
    Prompt,
    Request,
    Sample,
    UsageError,
    digest_of,
)
from ...core.record import prompt_to_plain
from ...models import build_model
from ...runner.ask.asking import Asking
from ...runner.ask.calls import close_model
from ...runner.ask.schedule import Scheduler
from ...runner.ask.standing import Standing, Unkept
from ...runner.ask.work import Job
from ...runner.events import CellProgress
from ...runner.flow.helpers import Helper
from ...store import RunWriter

ROLE = "judge"


class Desk:
    """Asks judges from any thread; one loop of its own holds their connections."""

    def __init__(
        self,
        writer: RunWriter | None,
        task: str,
        concurrency: int | None = None,
        args: Mapping[str, Mapping[str, Any]] = EMPTY,
    ) -> None:
        self._writer = writer
        """Where answers are kept; `None` outside a run, where none is."""
        self._task = task
        self._concurrency = concurrency
        self._args = args
        """Options of the judges by their names."""
        self._asked: Counter[str] = Counter()
        self._models: dict[str, Helper | Scheduler] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def ask(self, name: str, prompt: Prompt, options: GenerateOptions) -> Output:
        """The answer of a judge; from the journal if it was given before."""
        with self._lock:
            loop = self._running_loop()
            place = digest_of([name, prompt_to_plain(prompt), options.given()])
            again = self._asked[place]
            self._asked[place] += 1
        chosen = options.set(seed=(options.seed or 0) + again) if again else options
        return asyncio.run_coroutine_threadsafe(
            self._answer(name, prompt, chosen), loop
        ).result()

    async def _answer(
        self, name: str, prompt: Prompt, options: GenerateOptions
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
            await standing.close()  # a script may never close its judges
        return output

    def _judge(self, name: str) -> Helper | Scheduler:
        model: Model = build_model(name, self._args.get(name, EMPTY))
        if "text" not in model.abilities.produces:
            raise UsageError(f"the judge {name!r} writes no text")
        if self._writer is None:
            return Scheduler(model, concurrency=self._concurrency)
        task = f"{self._task}#{ROLE}"
        asking = Asking(
            task, name, model, self._writer, CellProgress(task, name), role=ROLE
        )
        return Helper(asking, self._concurrency)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=self._loop.run_forever, name="judges", daemon=True
            ).start()
        return self._loop

    def close(self) -> None:
        """Lets the judges go, with their answers on the disk."""
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
