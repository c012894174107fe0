"""A model asked directly, without a run around it: for whoever builds the engine himself."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...core import DEFAULT_OPTIONS, GenerateOptions, Model, Output, Prompt, Request
from ...runner.schedule import Scheduler, call_model


class Direct:
    """Puts prompts to a model and keeps nothing."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.calls = 0
        self._repeats: Counter[Prompt] = Counter()

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]:
        """The answers, in the order of the prompts."""
        requests = [self._request(prompt, options or DEFAULT_OPTIONS) for prompt in prompts]
        scheduler = Scheduler(self.model)
        if not requests or not scheduler.is_async:
            return call_model(self.model, requests) if requests else []
        outputs: list[Output] = []

        async def ask() -> None:
            outputs.extend(await asyncio.gather(*(scheduler.ask(request) for request in requests)))

        # A thread of its own: a notebook's thread already has a running loop.
        thread = threading.Thread(target=lambda: asyncio.run(ask()))
        thread.start()
        thread.join()
        return outputs

    def _request(self, prompt: Prompt, options: GenerateOptions) -> Request:
        repeat = self._repeats[prompt]
        self._repeats[prompt] += 1
        self.calls += 1
        return Request(prompt, options, None if options.seed is None else options.seed + repeat, repeat)
