"""A user's model object that is called once per request. An exception in its code fails only that request."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ...core import ModelError, Output, Prompt, Request, Sample
from ...models.answers import failure
from ...models.building import Builder
from ..shapes import Fields


class RequestModel:
    """A user's class, inspected without an instance and built on first use; called in its own thread."""

    prompt: Callable[[Sample, Prompt], Prompt | None]
    """The function for prompts, if objects of the class build their own."""

    def __init__(self, target: Any, name: str, args: Fields) -> None:
        self.name = name
        self._builder = Builder(target, args, name)

    def load(self) -> None:
        """Build the user's class."""
        self._builder.build()

    def answer(self, model: object, request: Request) -> Output:
        """Return the user's answer to one request."""
        raise NotImplementedError

    def generate(self, requests: Sequence[Request]) -> Any:
        """Return one answer for each request."""
        return [self.attempt(request) for request in requests]

    def attempt(self, request: Request) -> Output:
        """Return the answer to one request, or its failure."""
        try:
            return self.answer(self._builder.build(), request)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
            return failure(error, self.name)

    def built_for_prompt(self) -> Any:
        """Return the user's object; None if it cannot be built, which `load` reports once instead of for each row."""
        try:
            return self._builder.build()
        except ModelError:
            return None

    def close(self) -> Any:
        """Close the user's object, if it has `close`."""
        close = getattr(self._builder.built, "close", None)
        return close() if callable(close) else None


class ThreadedRequestModel(RequestModel):
    """The same for an object that waits for a server: several requests at once, each in its own thread."""

    concurrency = 8

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return one answer for each request."""
        return [await asyncio.to_thread(self.attempt, request) for request in requests]
