"""Users' model objects that are called once per request. An exception in their code fails only that request."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ..core import ModelError, Output, Prompt, Request, Sample
from ..models.answers import failure


class RequestModel:
    """Base of adapters for users' model classes.

    The user's object is built on first use and called in a separate thread.
    """

    name: str
    built: Any = None
    """The user's object; None until it is built."""
    prompt: Callable[[Sample, Prompt], Prompt | None]
    """Builds a prompt with the user's object; returns None if its class has no method for that."""

    def build(self) -> Any:
        """Return the user's object, built on first use."""
        raise NotImplementedError

    def answer(self, model: Any, request: Request) -> Output:
        """Call the user's object `model` for one request, and convert its answer to an output."""
        raise NotImplementedError

    def load(self) -> None:
        """Build the user's object now, so that an error in its constructor is reported early."""
        self.build()

    def generate(self, requests: Sequence[Request]) -> Any:
        """Return one answer for each request."""
        return [self.attempt(request) for request in requests]

    def attempt(self, request: Request) -> Output:
        """Return the answer to one request. If the user's code raises, return a failed output."""
        model = self.build()
        try:
            return self.answer(model, request)
        except Exception as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
            return self.failed(error)

    def failed(self, error: Exception) -> Output:
        """Return the failed output for a request during which the user's code raised `error`."""
        return failure(error, self.name)

    def built_for_prompt(self) -> Any:
        """Return the user's object, or None if it cannot be built. `load` reports that error once for all rows."""
        try:
            return self.build()
        except ModelError:
            return None

    def close(self) -> object:
        """Close the user's object, if it was built and has `close`."""
        close = getattr(self.built, "close", None)
        return close() if callable(close) else None


class ThreadedRequestModel(RequestModel):
    """A `RequestModel` for an object that waits for a server: several requests run at once, each in a thread."""

    concurrency = 8

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return one answer for each request."""
        return [await asyncio.to_thread(self.attempt, request) for request in requests]
