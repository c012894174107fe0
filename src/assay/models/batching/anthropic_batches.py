"""Message batches of Anthropic."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ...core import EMPTY
from ..anthropic import Anthropic
from ..http import HttpFailure, Refused
from ..inline_media import mapping_in
from .batch_api import (
    MEGABYTE,
    BatchApi,
    BatchResults,
    BatchStatus,
    ResultsGone,
    count_in,
    id_of,
    read_results,
)
from .batch_client import BatchReply, RecordedRequest

COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
ENDED = COUNTS[1:]
FAILED = ("errored", "canceled", "expired")
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""For each type of error in a results file, the HTTP status of the same error outside a batch."""
PAGE = 100
MOST_PAGES = 100
GONE = (404, 410)


class AnthropicBatches(BatchApi):
    """The Message Batches API. Its batches have no metadata, so assay finds a batch by the ids of its requests."""

    model: Anthropic
    title: ClassVar[str] = "Anthropic's message batches"
    paths: ClassVar[str] = "/v1/messages/batches"
    most_requests: ClassVar[int] = 100_000
    most_bytes: ClassVar[int] = 256 * MEGABYTE
    finds_by_marker: ClassVar[bool] = False
    has_several_candidates: ClassVar[bool] = False

    def _headers(self) -> Mapping[str, str]:
        return self.model._headers_for(EMPTY)

    async def newest(self) -> str:
        """Return the id of the newest batch."""
        reply = await self._get("messages/batches", limit=1)
        batches = reply.get("data") or []
        return id_of(batches[0]) if batches else ""

    def encode(self, custom_id: str, request: RecordedRequest) -> bytes:
        """Return a request as JSON: one element of the list that creates a batch."""
        entry = {"custom_id": custom_id, "params": request.body}
        return msgspec.json.encode(entry) + b","

    async def create(
        self,
        marker: str,
        request: RecordedRequest,
        lines: Sequence[bytes],
        input_id: str,
    ) -> str:
        """Create a batch, with the API version that its requests need."""
        listed = b"".join(lines).rstrip(b",")
        data = b'{"requests":[' + listed + b"]}"
        headers = {**request.headers, "Idempotency-Key": f"assay-{marker}"}
        return id_of(await self._post("messages/batches", data, headers))

    async def find(
        self,
        marker: str,
        input_id: str,
        newest: str,
        count: int,
    ) -> list[str]:
        """Return the ids of the batches with `count` requests that were created after `newest`, oldest first."""
        candidates: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            reply = await self._get(
                "messages/batches",
                limit=PAGE,
                after_id=after,
            )
            for batch in reply.get("data") or []:
                batch_id = id_of(batch)
                if batch_id == newest:
                    return candidates[::-1]
                counts = mapping_in(batch, "request_counts")
                if count_in(counts, *COUNTS) == count:
                    candidates.append(batch_id)
            after = str(reply.get("last_id") or "")
            if not after or not reply.get("has_more"):
                break
        return candidates[::-1]

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the state of a batch. The state of a cancelled batch is ended."""
        reply = await self._get(f"messages/batches/{batch_id}")
        counts = mapping_in(reply, "request_counts")
        has_ended = reply.get("processing_status") == "ended"
        was_cancelled = bool(reply.get("cancel_initiated_at"))
        state = "cancelled" if was_cancelled else "ended"
        return BatchStatus(
            state if has_ended else "running",  # type: ignore[arg-type]
            count_in(counts, *COUNTS),
            count_in(counts, *ENDED),
            count_in(counts, *FAILED),
            plain=reply,
        )

    async def results(self, status: BatchStatus) -> BatchResults:
        """Download the results file of a finished batch, and return its replies."""
        batch_id = id_of(status.plain)
        if not status.plain.get("results_url"):
            raise ResultsGone(batch_id)
        url = self._url(f"messages/batches/{batch_id}/results")
        try:
            reply = await self._client.get(url, self._headers())
        except Refused as refused:
            if refused.status in GONE:
                raise ResultsGone(batch_id) from refused
            raise
        return read_results([reply.body], read_row)

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        await self._post(f"messages/batches/{batch_id}/cancel", b"")


def read_row(row: Mapping[str, Any]) -> BatchReply | None:
    """Return the reply in a line of a results file; None if the line has no result."""
    custom_id = str(row["custom_id"])
    result = mapping_in(row, "result")
    kind = result.get("type")
    if kind == "succeeded":
        return BatchReply(custom_id, result.get("message"))
    if kind == "errored":
        error = mapping_in(result, "error")
        described = mapping_in(error, "error") or error
        status = STATUSES.get(str(described.get("type")), 500)
        refused = Refused(status, EMPTY, msgspec.json.encode({"error": described}))
        return BatchReply(custom_id, refused=refused)
    if not isinstance(kind, str):
        return None
    message = f"the request was {kind} before it was answered"
    return BatchReply(custom_id, failure=HttpFailure("batch", message, retryable=True))
