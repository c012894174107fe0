"""A user's model object that is called once per request. An exception in its code fails only that request."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ..core import ModelError, Output, Prompt, Request, Sample
from ..models.answers import failure


class RequestModel:
    """A user's class, inspected without an instance and built on first use; called in its own thread."""

    name: str
    built: Any = None
    """The user's object, once it is built."""
    prompt: Callable[[Sample, Prompt], Prompt | None]
    """The function for prompts, if objects of the class build their own."""

    def build(self) -> Any:
        """Return the user's object, built on first use."""
        raise NotImplementedError

    def answer(self, model: Any, request: Request) -> Output:
        """Return the answer of the user's object to one request."""
        raise NotImplementedError

    def load(self) -> None:
        """Build the user's object now, so that a failure to build it is reported early."""
        self.build()

    def generate(self, requests: Sequence[Request]) -> Any:
        """Return one answer for each request."""
        return [self.attempt(request) for request in requests]

    def attempt(self, request: Request) -> Output:
        """Return the answer to one request, or its failure."""
        model = self.build()
        try:
            return self.answer(model, request)
        except Exception as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
            return self.failed(error)

    def failed(self, error: Exception) -> Output:
        """Return the failure of a request whose answer raised an exception."""
        return failure(error, self.name)

    def built_for_prompt(self) -> Any:
        """Return the user's object; None if it cannot be built, which `load` reports once instead of for each row."""
        try:
            return self.build()
        except ModelError:
            return None

    def close(self) -> object:
        """Close the user's object, if it was built and has `close`."""
        close = getattr(self.built, "close", None)
        return close() if callable(close) else None


class ThreadedRequestModel(RequestModel):
    """A `RequestModel` for an object that waits for a server: it asks several requests at once, each in a thread."""

    concurrency = 8

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return one answer for each request."""
        return [await asyncio.to_thread(self.attempt, request) for request in requests]
