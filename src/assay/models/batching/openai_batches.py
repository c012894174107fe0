"""Batches of OpenAI and of servers with `/v1/files` and `/v1/batches`."""

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
    read_results,
)
from .batch_client import BatchReply, RecordedRequest

STATES: Mapping[str, State] = {
    "failed": "failed",
    "completed": "ended",
    "expired": "ended",
    "cancelled": "cancelled",
}
"""assay's state for each final state of OpenAI. In any other state, the batch is still running."""
PAGE = 100
MOST_PAGES = 100
MARKER = "assay"
"""Key of the marker in the metadata of a batch."""
GONE = (404, 410)


class OpenAIBatches(BatchApi):
    """The Batch API of OpenAI: a file of requests, then a batch of that file."""

    title: ClassVar[str] = "OpenAI's batch API"
    paths: ClassVar[str] = "/v1/files and /v1/batches"
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 200 * MEGABYTE

    async def newest(self) -> str:
        """Return the id of the newest batch."""
        reply = await self._get("batches", limit=1)
        batches = _entries(reply)
        if batches:
            return str(batches[0].get("id", ""))
        return ""

    def encode(self, custom_id: str, request: RecordedRequest) -> bytes:
        """Return a request as one line of the uploaded file."""
        line = {
            "custom_id": custom_id,
            "method": "POST",
            "url": f"/v1/{request.path}",
            "body": request.body,
        }
        return msgspec.json.encode(line) + b"\n"

    async def upload(
        self,
        marker: str,
        lines: Sequence[bytes],
    ) -> str:
        """Upload the requests as a file named after the marker."""
        boundary = f"assay-{marker}"
        purpose = _form_part(boundary, 'name="purpose"', b"batch")
        name = f'name="file"; filename="{_file_name(marker)}"'
        content = b"".join(lines)
        file = _form_part(boundary, name, content, "application/jsonl")
        form = purpose + file + f"--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return id_of(await self._post("files", form, content_type=kind))

    async def create(
        self,
        marker: str,
        request: RecordedRequest,
        lines: Sequence[bytes],
        input_id: str,
    ) -> str:
        """Create a batch of the uploaded file."""
        body = {
            "input_file_id": input_id,
            "endpoint": f"/v1/{request.path}",
            "completion_window": "24h",
            "metadata": {MARKER: marker},
        }
        headers = {**self._headers(), "Idempotency-Key": f"assay-{marker}"}
        return id_of(await self._post("batches", msgspec.json.encode(body), headers))

    async def find(
        self,
        marker: str,
        input_id: str,
        newest: str,
        count: int,
    ) -> list[str]:
        """Return a list with the id of the batch that has this marker or uses the
        uploaded file; empty if there is none.
        """
        after = ""
        for _ in range(MOST_PAGES):
            reply = await self._get(
                "batches",
                limit=PAGE,
                after=after,
            )
            batches = _entries(reply)
            for batch in batches:
                has_marker = mapping_in(batch, "metadata").get(MARKER) == marker
                has_file = bool(input_id) and batch.get("input_file_id") == input_id
                if has_marker or has_file:
                    return [id_of(batch)]
            if batches:
                after = str(batches[-1].get("id", ""))
            else:
                after = ""
            is_known = any(batch.get("id") == newest for batch in batches)
            if is_known or not after or not reply.get("has_more"):
                break
        return []

    async def status(self, batch_id: str) -> BatchStatus:
        """Return the state of a batch."""
        reply = await self._get(f"batches/{batch_id}")
        counts = mapping_in(reply, "request_counts")
        errors = _entries(mapping_in(reply, "errors"))
        codes = {str(error.get("code")) for error in errors}
        return BatchStatus(
            STATES.get(str(reply.get("status")), "running"),
            count_in(counts, "total"),
            count_in(counts, "completed", "failed"),
            count_in(counts, "failed"),
            "; ".join(_error_text(error) for error in errors[:3]),
            "token_limit_exceeded" in codes or "request_limit_exceeded" in codes,
            reply,
        )

    async def results(self, status: BatchStatus) -> BatchResults:
        """Download the output and error files of a batch, and return the replies in them."""
        files = []
        for name in ("output_file_id", "error_file_id"):
            file_id = status.plain.get(name)
            if file_id:
                files.append(await self._download(f"files/{file_id}/content"))
        return read_results(files, read_row)

    async def _download(self, path: str) -> bytes:
        try:
            reply = await self._client.get(self._url(path), self._headers())
        except Refused as refused:
            if refused.status in GONE:
                raise ResultsGone(path) from refused
            raise
        return reply.body

    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch."""
        await self._post(f"batches/{batch_id}/cancel", b"")


def read_row(row: Mapping[str, Any]) -> BatchReply:
    """Return the reply in a line of an output file or error file."""
    custom_id = str(row["custom_id"])
    response = mapping_in(row, "response")
    status = response.get("status_code")
    body = response.get("body")
    if isinstance(status, int) and status >= 300:
        refused = Refused(status, EMPTY, msgspec.json.encode(body))
        return BatchReply(custom_id, refused=refused)
    error = mapping_in(row, "error")
    if error or body is None:
        code = str(error.get("code") or "no_answer")
        message = f"{code}: {error.get('message') or 'the batch has no answer'}"
        return BatchReply(
            custom_id, failure=HttpFailure("batch", message, retryable=True)
        )
    return BatchReply(custom_id, body)


def _entries(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objects in the list under `data` in a reply."""
    data = reply.get("data")
    if isinstance(data, list):
        entries = data
    else:
        entries = []
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _error_text(error: Mapping[str, Any]) -> str:
    line = error.get("line")
    where = f" (line {line})" if line else ""
    return f"{error.get('message') or error.get('code')}{where}"


def _file_name(marker: str) -> str:
    return f"assay-{marker}.jsonl"


def _form_part(
    boundary: str,
    name: str,
    content: bytes,
    kind: str = "",
) -> bytes:
    """Return one part of a multipart form, as bytes."""
    head = f"--{boundary}\r\nContent-Disposition: form-data; {name}\r\n"
    if kind:
        head += f"Content-Type: {kind}\r\n"
    return head.encode() + b"\r\n" + content + b"\r\n"
