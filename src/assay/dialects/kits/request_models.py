"""A user's model object that is called once per request; an exception of its code fails that request only."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import ModelError, Output, Prompt, Request, Sample
from ...models.answers import failure
from ...models.building import Builder


class RequestModel:
    """A user's class, inspected without an instance and built on first use; called in its own thread."""

    prompt: Callable[[Sample, Prompt], Prompt | None]
    """Set by subclasses whose objects build their own prompts."""

    def __init__(self, target: Any, name: str, args: Mapping[str, Any]) -> None:
        self.name = name
        self._builder = Builder(target, args, name)

    def load(self) -> None:
        """Build the user's class."""
        self._builder.build()

    def answer(self, model: Any, request: Request) -> Output:
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
        """Return the user's object, or None if it cannot be built: `load` reports that once, not for each row."""
        try:
            return self._builder.build()
        except ModelError:
            return None

    def close(self) -> Any:
        """Close the user's object, if it has `close`."""
        close = getattr(self._builder.built, "close", None)
        return close() if callable(close) else None


class ThreadedRequestModel(RequestModel):
    """The same for an object that waits for a server: several requests at once, each in a thread."""

    concurrency = 8

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return one answer for each request."""
        return [await asyncio.to_thread(self.attempt, request) for request in requests]
