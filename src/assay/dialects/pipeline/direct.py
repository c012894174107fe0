"""A model asked directly, without a run around it: for whoever builds the engine himself."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...core import (
    DEFAULT_OPTIONS,
    GenerateOptions,
    KeyMaker,
    Model,
    Output,
    Prompt,
    Request,
    Sample,
)
from ...core.request import repeated
from ...runner.ask.calls import call_model
from ...runner.ask.schedule import Scheduler
from ...runner.ask.standing import Standing, Unkept
from ...runner.ask.work import Job


class Direct:
    """Puts prompts to a model and keeps nothing."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.calls = 0
        self._keys = KeyMaker(model.identity)
        self._repeats: Counter[str] = Counter()

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]:
        """The answers, in the order of the prompts."""
        requests = [
            self._request(prompt, options or DEFAULT_OPTIONS) for prompt in prompts
        ]
        scheduler = Scheduler(self.model)
        if not requests or not scheduler.is_async:
            return call_model(self.model, requests) if requests else []

        async def ask() -> list[Output]:
            return await Standing(scheduler).ask(
                [Job(Sample(""), request) for request in requests], Unkept()
            )

        # A thread of its own: a notebook's thread already has a running loop.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(ask())).result()

    def _request(self, prompt: Prompt, options: GenerateOptions) -> Request:
        key = self._keys.key_of(prompt, options, options.seed)
        repeat = self._repeats[key]
        self._repeats[key] += 1
        self.calls += 1
        return Request(
            prompt,
            options,
            None if options.seed is None else repeated(options.seed, repeat),
            repeat,
        )
