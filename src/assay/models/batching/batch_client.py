"""An HTTP client for batches: it records an adapter's requests, and later supplies the replies from the batch.

A request in a batch therefore has the same body as one sent alone, and the same code
reads the reply.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import Output
from ..http import HttpFailure, Refused, Reply
from ..http_model import HttpModel

RECORDED = "recorded"
"""Kind of failure for an attempt whose request was only recorded."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request in the form in which the adapter would send it."""

    path: str
    """The path below the base URL, such as `chat/completions`."""
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchReply:
    """The reply of a batch to one request: a body, an error status, or another failure."""

    custom_id: str
    body: Any = None
    refused: Refused | None = None
    failure: HttpFailure | None = None


class BatchClient:
    """Replaces an adapter's HTTP client: records the next request, or returns the reply prepared for it."""

    def __init__(self, model: HttpModel) -> None:
        self._client = model._client
        self._place = model._place
        self.recorded: RecordedRequest | None = None
        self.reply: BatchReply | None = None

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Any:
        """Record a request and raise, or return its prepared reply as the HTTP client would."""
        reply = self.reply
        if reply is None:
            path = url.partition("?")[0].removeprefix(f"{self._place}/")
            self.recorded = RecordedRequest(path, dict(headers), dict(body))
            raise HttpFailure(RECORDED, "recorded for a batch", retryable=False)
        if reply.refused is not None:
            raise reply.refused
        if reply.failure is not None:
            raise reply.failure
        return reply.body

    def take_notes(self) -> list[str]:
        """Return an empty list, because a batch has no notes about HTTP connections."""
        return []

    async def get(
        self,
        url: str,
        headers: Mapping[str, str],
    ) -> Reply:
        """Send a GET request immediately, such as for the list of models."""
        return await self._client.get(url, headers)

    async def send(
        self,
        url: str,
        data: bytes,
        headers: Mapping[str, str],
        content_type: str = "application/json",
    ) -> Reply:
        """Raise, because only JSON requests can be part of a batch."""
        raise HttpFailure("data", "a batch takes JSON requests only", retryable=False)


class BatchedModel:
    """A model adapter connected to a `BatchClient`, to record requests and read replies.

    Its calls must not overlap.
    """

    def __init__(self, model: HttpModel) -> None:
        self.client = BatchClient(model)
        self.model = copy.copy(model)
        """The adapter copy whose requests are recorded. Call `record_next` or
        `answer_next` before each call of the adapter.
        """
        self.model._client = self.client  # type: ignore[assignment]

    def record_next(self) -> None:
        """Make the next call from the adapter record its request instead of sending it."""
        self.client.recorded = None
        self.client.reply = None

    def answer_next(self, reply: BatchReply) -> None:
        """Make the next call from the adapter read this reply instead of sending a request."""
        self.client.reply = reply

    def recorded(self, output: Output) -> RecordedRequest | None:
        """Return the request that the last call recorded; None if the adapter made
        none, as for an unsupported prompt.
        """
        if output.error is None or output.error.kind != RECORDED:
            return None
        return self.client.recorded
