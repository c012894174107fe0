"""The engine that scripts create, as in `batch_engine`, for a model that is asked directly."""

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
from ...models import adapt_model, build_model
from ...runner.ask.calls import call_model
from ...runner.ask.schedule import Scheduler
from ...runner.ask.standing import Standing, Unkept
from ...runner.ask.work import Job
from .pipeline_engine import Engine, as_turn
from .pipeline_launch import model_name


class Direct:
    """Sends prompts to a model and records nothing."""

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
        """Return the answers in the order of the prompts."""
        requests = [
            self._request(prompt, options or DEFAULT_OPTIONS) for prompt in prompts
        ]
        scheduler = Scheduler(self.model)
        if not requests or not scheduler.is_async:
            if requests:
                return call_model(self.model, requests)
            return []

        async def ask() -> list[Output]:
            return await Standing(scheduler).ask(
                [Job(Sample(""), request) for request in requests], Unkept()
            )

        # Use a separate thread: a notebook's thread already has a running loop.
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


class RWKVInferenceEngine(Engine):
    """Any model of assay with the engine's methods. It loads on first use."""

    def __init__(
        self,
        model_path: object,
        vocab_path: str | None = None,
        vocab_size: int = 65536,
        head_size: int = 64,
        seed: int = 42,
    ) -> None:
        if isinstance(model_path, str):
            model = build_model(model_name(model_path))
        else:
            model = adapt_model(model_path)
        super().__init__(
            Direct(model),
            options=GenerateOptions(seed=seed),
            render=_render,
        )


def _render(sample: Any) -> Any:
    from ...templates import as_prompt

    return as_prompt(as_turn(sample))
