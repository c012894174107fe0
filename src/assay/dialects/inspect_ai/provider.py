"""The model provider `assay` of inspect_ai: `inspect eval TASK --model assay/hf/PATH`.

inspect_ai finds this module through its entry points. In a run of assay the provider
calls the recording engine; otherwise it calls the model directly.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from ...core import GenerateOptions, Model, Output, Prompt, Request
from .chat_bridge import options_of, output_of, prompt_of

CHARACTERS_PER_TOKEN = 4
"""Average number of characters in a token. inspect_ai uses it to estimate context lengths."""
Ask = Callable[[Sequence[Prompt], Sequence[str]], list[Output]]
"""A function that takes prompts and sample ids, waits for all answers, and returns them."""


class Refused(Exception):
    """Raised if a call to the model failed, so that inspect_ai records the sample as failed."""


class Collected:
    """Collects calls from inspect_ai into batches: calls that arrive while the model is busy become its next batch."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._waiting: list[tuple[Prompt, str, asyncio.Future[Output]]] = []
        self._is_busy = False

    async def answer(self, prompt: Prompt, sample: str) -> Output:
        """Add a prompt to the next batch, and return its answer."""
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, sample, future))
        if not self._is_busy:
            await self._work()
        return await future

    async def _work(self) -> None:
        self._is_busy = True
        try:
            while self._waiting:
                await asyncio.sleep(0)  # let other samples add their calls
                batch, self._waiting = self._waiting, []
                await self._answer_batch(batch)
        finally:
            self._is_busy = False

    async def _answer_batch(
        self, batch: Sequence[tuple[Prompt, str, asyncio.Future[Output]]]
    ) -> None:
        prompts = [prompt for prompt, _, _ in batch]
        samples = [sample for _, sample, _ in batch]
        try:
            outputs = await anyio.to_thread.run_sync(self._ask, prompts, samples)
        except BaseException as error:  # noqa: BLE001 - every waiting call gets the error
            if isinstance(error, Exception):
                reason = error
            else:
                reason = Refused(str(error))
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(reason)
            return
        for (_, _, future), output in zip(batch, outputs, strict=True):
            if not future.done():
                future.set_result(output)


@modelapi("assay")
class AssayModel(ModelAPI):  # type: ignore[misc]
    """A model of assay with the interface of inspect_ai's models."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        ask: Ask | None = None,
        usual: GenerateOptions | None = None,
        chosen: Mapping[str, Any] | None = None,
        connections: int = 16,
        **model_args: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._usual = usual or GenerateOptions()
        self._chosen = dict(chosen or {})
        self._connections = connections
        if base_url is not None:
            model_args["base_url"] = base_url
        self._asking = Collected(ask or _DirectModel(model_name, model_args))

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the model's answer to one call from a solver or a scorer."""
        from dataclasses import replace

        options = replace(options_of(config, self._usual), **self._chosen)
        prompt = prompt_of(input, tools, tool_choice, options)
        output = await self._asking.answer(prompt, _sample_id())
        if output.error is not None:
            raise Refused(f"{output.error.kind}: {output.error.message}")
        return output_of(output, self.model_name)

    def max_connections(self) -> int:
        """Return the maximum number of calls that inspect_ai may have in progress."""
        return self._connections

    async def count_text_tokens(self, text: str) -> int:
        """Estimate the number of tokens from the length of the text. A real tokenizer might have to be downloaded."""
        return len(text) // CHARACTERS_PER_TOKEN + 1


def _sample_id() -> str:
    """Return the sample id of the current call; empty outside of a sample."""
    from inspect_ai.log._samples import sample_active

    active = sample_active()
    if active is None:
        return ""
    return str(active.sample.id)


class _DirectModel:
    """Calls a model outside of a run. The model is loaded at the first call."""

    def __init__(
        self,
        name: str,
        args: Mapping[str, Any],
    ) -> None:
        self._name, self._args = name, args
        self._model: Model | None = None

    def __call__(
        self,
        prompts: Sequence[Prompt],
        samples: Sequence[str],
    ) -> list[Output]:
        """Answer prompts in one batch. If the model's `generate` is asynchronous, the calls run in parallel."""
        model: Any = self._loaded()
        requests = [
            Request(prompt, prompt.options or GenerateOptions(), id=sample)
            for prompt, sample in zip(prompts, samples, strict=True)
        ]
        if not inspect.iscoroutinefunction(model.generate):
            return list(model.generate(requests))

        async def ask_all() -> list[Output]:
            answers = await asyncio.gather(*[model.generate([r]) for r in requests])
            return [answer[0] for answer in answers]

        return asyncio.run(ask_all())

    def _loaded(self) -> Model:
        if self._model is None:
            from ...models.resolve import build_model

            self._model = build_model(self._name, self._args)
            load = getattr(self._model, "load", None)
            if load is not None:
                load()
        return self._model
