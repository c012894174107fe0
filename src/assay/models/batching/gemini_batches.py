"""Batches of Gemini: `batchGenerateContent` sends the requests, and the finished operation contains the replies."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ...core import EMPTY
from ..http import HttpFailure, Refused
from ..inline_media import mapping_in
from .batch_api import (
    MEGABYTE,
    BatchApi,
    BatchResults,
    BatchStatus,
    ResultsGone,
    State,
    count_in,
    id_of,
)
from .batch_client import BatchReply, RecordedRequest

STATES: Mapping[str, State] = {
    "SUCCEEDED": "ended",
    "EXPIRED": "ended",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
}
"""assay's state for each final state of Gemini, named without `BATCH_STATE_` or `JOB_STATE_`.

All others are running.
"""
WITHOUT_RESULTS = ("EXPIRED", "CANCELLED")
"""Final states of a batch that may have no results at all."""
HTTP_STATUSES = {
    1: 499,
    2: 500,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    13: 500,
    14: 503,
    15: 500,
    16: 401,
}
"""The HTTP status for each `google.rpc.Code`."""
PAGE = 100
MOST_PAGES = 100


class GeminiBatches(BatchApi):
    """The Batch API of Gemini."""

    title: ClassVar[str] = "Gemini's batch API"
    paths: ClassVar[str] = "batchGenerateContent and /batches"
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 20 * MEGABYTE
    """The service's size limit for the call that creates a batch and contains all its requests."""

    async def newest(self) -> str:
        """Return the name of the newest batch."""
        reply = await self._get("batches", pageSize=1)
        batches = reply.get("operations") or []
        if batches:
            return id_of(batches[0], "name")
        return ""

    def encode(self, custom_id: str, request: RecordedRequest) -> bytes:
        """Return a request as JSON: one element of the list that creates a batch."""
        entry = {"request": request.body, "metadata": {"key": custom_id}}
        return msgspec.json.encode(entry) + b","

    async def create(
        self,
        marker: str,
        request: RecordedRequest,
        lines: Sequence[bytes],
        input_id: str,
    ) -> str:
        """Create a batch whose display name is the marker."""
        listed = b"".join(lines).rstrip(b",")
        name = _display_name(marker).encode()
        config = b'{"requests":{"requests":[' + listed + b"]}}"
        data = b'{"batch":{"displayName":"%b","inputConfig":%b}}' % (name, config)
        path = f"{request.path.removesuffix(':generateContent')}:batchGenerateContent"
        return id_of(await self._post(path, data), "name")

    async def find(
        self,
        marker: str,
        input_id: str,
        newest: str,
        count: int,
    ) -> list[str]:
        """Return the name of the batch with this marker as display name, in a list; empty if there is none."""
        token = ""
        for _ in range(MOST_PAGES):
            reply = await self._get(
                "batches",
                pageSize=PAGE,
                pageToken=token,
            )
            operations = reply.get("operations") or []
            for operation in operations:
                display_name = _batch_of(operation).get("displayName")
                if display_name == _display_name(marker):
                    return [id_of(operation, "name")]
            is_known = any(entry.get("name") == newest for entry in operations)
            token = str(reply.get("nextPageToken") or "")
            if is_known or not token:
                break
        return []

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the state of a batch."""
        reply = await self._get(batch_id)
        batch = _batch_of(reply)
        counts = mapping_in(batch, "batchStats")
        ended = ("successfulRequestCount", "failedRequestCount")
        error = mapping_in(reply, "error")
        return BatchStatus(
            _state(reply),
            count_in(counts, "requestCount"),
            count_in(counts, *ended),
            count_in(counts, "failedRequestCount"),
            str(error.get("message") or ""),
            error.get("code") == 8,
            reply,
        )

    async def results(self, status: BatchStatus) -> BatchResults:
        """Return the replies of a finished batch. They are part of `status.plain`."""
        entries = _inlined(status.plain)
        if entries is None:
            if _state_name(status.plain) in WITHOUT_RESULTS:
                return BatchResults([])
            raise ResultsGone(str(status.plain.get("name")))
        replies = []
        broken = 0
        for number, entry in enumerate(entries):
            if isinstance(entry, Mapping):
                replies.append(_reply(entry, number))
            else:
                broken += 1
        return BatchResults(replies, broken)

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        await self._post(f"{batch_id}:cancel", b"{}")


def _display_name(marker: str) -> str:
    return f"assay-{marker}"


def _batch_of(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the batch inside an operation. Some replies are the batch itself."""
    return mapping_in(operation, "metadata") or operation


def _state_name(operation: Mapping[str, Any]) -> str:
    """Return the state of a batch without the prefix `BATCH_STATE_` or `JOB_STATE_`."""
    state = _batch_of(operation).get("state") or operation.get("state")
    return str(state or "").rpartition("_STATE_")[2]


def _state(operation: Mapping[str, Any]) -> State:
    state = STATES.get(_state_name(operation), "running")
    is_done = bool(operation.get("done"))
    if state != "running" or not is_done:
        return state
    return "failed" if operation.get("error") else "ended"


def _inlined(operation: Mapping[str, Any]) -> list[Any] | None:
    """Return the list of replies in a finished operation, or None. API versions store it in different fields."""
    response = mapping_in(operation, "response")
    holders = (
        response,
        mapping_in(response, "output"),
        mapping_in(operation, "metadata", "output"),
        mapping_in(operation, "output"),
        mapping_in(operation, "dest"),
    )
    for holder in holders:
        inlined = holder.get("inlinedResponses")
        if isinstance(inlined, Mapping):
            inlined = inlined.get("inlinedResponses")
        if isinstance(inlined, list):
            return inlined
    return None


def _reply(
    entry: Mapping[str, Any],
    number: int,
) -> BatchReply:
    """Convert one reply of a batch.

    `number` is the index of the reply; it stands for the request's id if the reply has
    no key.
    """
    key = mapping_in(entry, "metadata").get("key")
    if isinstance(key, str):
        custom_id = key
    else:
        custom_id = f"-{number}"
    error = mapping_in(entry, "error")
    if error:
        code = error.get("code")
        if isinstance(code, int):
            status = HTTP_STATUSES.get(code, 500)
        else:
            status = 500
        refused = Refused(status, EMPTY, msgspec.json.encode({"error": error}))
        return BatchReply(custom_id, refused=refused)
    if entry.get("response") is None:
        failure = HttpFailure("batch", "the batch has no answer", retryable=True)
        return BatchReply(custom_id, failure=failure)
    return BatchReply(custom_id, entry["response"])
