"""Judges that a guest's `evaluate` asks: any model of assay, every call kept in the run's journal.

The same question is not asked twice; the k-th identical question of one evaluation is a question of its own (it has
seed k), so that asking again after an unreadable answer may give another. What was asked before a kill is not asked
again.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ...core import (
    DEFAULT_OPTIONS,
    GenerateOptions,
    Message,
    Model,
    Output,
    Prompt,
    Request,
    Text,
    UsageError,
    digest_of,
)
from ...core.record import prompt_to_plain
from ...core.request import OPTION_NAMES
from ...models import build_model
from ...runner.helpers import Helper
from ...runner.schedule import Scheduler
from ...store import RunWriter
from .context import current
from .core_models import is_known
from .messages import as_prompt

Ask = Callable[[str, Prompt, GenerateOptions], Output]


class Judge:
    """A judge by name; the run around it decides how it is asked."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name if is_known(name) else f"openai/{name}"
        self.options = DEFAULT_OPTIONS.set(**options)
        self._ask: Ask | None = current().ask_judge
        self._alone: Desk | None = None
        self._lock = threading.Lock()

    def ask(self, message: Any, system: str | None, settings: Mapping[str, Any]) -> Output:
        """The answer to one message."""
        messages = as_prompt(message).messages
        if system:
            messages = (Message("system", (Text(system),)), *messages)
        known = {name: value for name, value in settings.items() if name in OPTION_NAMES and value is not None}
        if self._ask is None:
            with self._lock:
                self._alone = self._alone or Desk(None, "script")
            self._ask = self._alone.ask
        return self._ask(self.name, Prompt(messages), self.options.set(**known) if known else self.options)


class Desk:
    """Asks judges from whatever thread a guest works in; one loop of its own holds their connections."""

    def __init__(self, writer: RunWriter | None, task: str, concurrency: int | None = None) -> None:
        self._writer = writer
        self._task = task
        self._concurrency = concurrency
        self._asked: Counter[str] = Counter()
        self._models: dict[str, Any] = {}
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
        return asyncio.run_coroutine_threadsafe(self._answer(name, prompt, chosen), loop).result()

    async def _answer(self, name: str, prompt: Prompt, options: GenerateOptions) -> Output:
        if name not in self._models:
            self._models[name] = self._made(name)
        judge = self._models[name]
        if isinstance(judge, Helper):
            return await judge.ask(prompt, options)
        output: Output = await judge.ask(Request(prompt, options, options.seed))
        return output

    def _made(self, name: str) -> Any:
        model: Model = build_model(name)
        if "text" not in model.abilities.produces:
            raise UsageError(f"the judge {name!r} writes no text")
        if self._writer is None:
            return Scheduler(model, concurrency=self._concurrency)
        return Helper("judge", name, model, self._writer, self._task, self._concurrency)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="judges", daemon=True).start()
        return self._loop

    def close(self) -> None:
        """Lets the judges go."""
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._close_models(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _close_models(self) -> None:
        for judge in self._models.values():
            close = getattr(judge.model, "close", None)
            if close is not None:
                done = close()
                if asyncio.iscoroutine(done):
                    await done
