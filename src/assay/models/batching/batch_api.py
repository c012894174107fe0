"""The interface of all batch APIs: create a batch, find it again, check its status, read its results, cancel it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ...core import EMPTY
from ..http import Client, HttpFailure, Limits, Refused, decoded
from ..http_failures import parsed
from ..http_model import HttpModel
from .batch_client import BatchReply, RecordedRequest

State = Literal["running", "ended", "failed", "cancelled"]
"""The state of a batch. `failed` means that the service rejected the whole batch and processed no request."""
MEGABYTE = 1_000_000
LARGEST_RESULTS = 4 * 1024**3
SECONDS_FOR_A_FILE = 3600.0
SECONDS_TO_ANSWER = 600.0
SECONDS_IDLE = 120.0
BATCH_PRICE = 0.5
"""The price of a batch at OpenAI, Anthropic and Google, as a fraction of the normal price."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The state of a batch, as the service reports it."""

    state: State
    total: int = 0
    done: int = 0
    """Number of requests that have finished, including failed ones."""
    failed: int = 0
    why: str = ""
    """Reason why the service rejected the batch."""
    is_over_quota: bool = False
    """True if the batch was rejected because too many requests are waiting. It may be sent again later."""
    plain: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The service's JSON object for the batch, unchanged. It contains the location of the results."""


@dataclass(frozen=True, slots=True)
class BatchResults:
    """The replies of a batch, in the order in which the service returned them."""

    replies: Sequence[BatchReply]
    broken_lines: int = 0
    """Number of result lines that are not JSON, or that name no request."""
    is_cut_off: bool = False
    """True if the last line of the results is incomplete. A second download may help."""


class ResultsGone(Exception):
    """Raised if the service no longer has the results of a batch."""


class BatchApi(ABC):
    """The batch API of one endpoint. Every call makes one attempt, and raises `Refused` or `HttpFailure`.

    Each batch has a *marker*, a unique text. If the connection is lost while a batch is
    created, assay looks for this text to find the batch again.
    """

    title: ClassVar[str]
    paths: ClassVar[str]
    """The paths that a server must offer for batches. Shown in error messages."""
    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    finds_by_marker: ClassVar[bool] = True
    """False if the service's list of batches does not contain markers. `find` then returns all possible batches."""
    has_several_candidates: ClassVar[bool] = True
    """False if a request may have only one candidate."""

    def __init__(self, model: HttpModel) -> None:
        self.model = model
        limits = Limits(
            connect=model.connect_timeout,
            first_byte=max(SECONDS_TO_ANSWER, model.first_byte_timeout),
            idle=max(SECONDS_IDLE, model.idle_timeout),
            total=max(SECONDS_FOR_A_FILE, model.total_timeout),
            start=model.start_timeout,
            response_bytes=LARGEST_RESULTS,
        )
        self._client = Client(limits)

    @property
    def price_share(self) -> float | None:
        """The price of a batch as a fraction of the normal price; None for a server that is not the public one."""
        is_public = self.model._place.startswith(self.model.public_url)
        return BATCH_PRICE if is_public else None

    @property
    def address(self) -> str:
        """The base URL, without a query that may contain a key."""
        return self.model._place

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def failure_of(self, refused: Refused) -> HttpFailure:
        """Return the failure for a response with an error status, as the model adapter classifies it."""
        outcome = self.model._refused(refused)
        if isinstance(outcome, HttpFailure):
            return outcome
        return refused.failure()

    def plain_message(self, error: HttpFailure) -> str:
        """Return the message of a failure with secrets removed."""
        output = error.as_output(self.model._secrets)
        if output.error is None:
            return ""
        return output.error.message

    @abstractmethod
    async def newest(self) -> str:
        """Return the id of the most recently created batch; empty if there is none.

        Raise if the server has no batch API.
        """

    @abstractmethod
    def encode(self, custom_id: str, request: RecordedRequest) -> bytes:
        """Return one request of a batch as JSON."""

    def group_of(self, request: RecordedRequest) -> tuple[Any, ...]:
        """Return the path and headers of a request. Only requests that agree in both can be in one batch."""
        return (request.path, tuple(sorted(request.headers.items())))

    async def upload(
        self,
        marker: str,
        lines: Sequence[bytes],
    ) -> str:
        """Upload the requests and return the id of the file; empty if the requests are
        sent when the batch is created.
        """
        return ""

    @abstractmethod
    async def create(
        self,
        marker: str,
        request: RecordedRequest,
        lines: Sequence[bytes],
        input_id: str,
    ) -> str:
        """Create a batch and return its id.

        `request` is one of its requests; the path and the headers are the same in all
        of them.
        """

    @abstractmethod
    async def find(
        self,
        marker: str,
        input_id: str,
        newest: str,
        count: int,
    ) -> list[str]:
        """Return the ids of batches that may have this marker: with `count` requests, and newer than `newest`."""

    @abstractmethod
    async def status(self, batch_id: str) -> BatchStatus:
        """Return the state of a batch."""

    @abstractmethod
    async def results(self, status: BatchStatus) -> BatchResults:
        """Return the replies of a finished batch. Raise `ResultsGone` if the service no longer has them."""

    @abstractmethod
    async def cancel(self, batch_id: str) -> None:
        """Cancel a batch. Results that are already computed stay available."""

    def _url(self, path: str, **query: object) -> str:
        """Return the full URL of a path. `query` is appended to any query that the base URL already has."""
        url = self.model._address(path)
        for name, value in query.items():
            if value not in (None, ""):
                separator = "&" if "?" in url else "?"
                url += f"{separator}{name}={value}"
        return url

    def _headers(self) -> Mapping[str, str]:
        return self.model._headers

    async def _get(self, path: str, **query: object) -> Mapping[str, Any]:
        reply = await self._client.get(self._url(path, **query), self._headers())
        return _object(decoded(reply))

    async def _post(
        self,
        path: str,
        data: bytes,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Mapping[str, Any]:
        """Send a request once. The HTTP client must not retry it, because each copy may create another batch."""
        if headers is None:
            chosen = self._headers()
        else:
            chosen = headers
        reply = await self._client.send(self._url(path), data, chosen, content_type)
        return _object(decoded(reply))


def _object(value: object) -> Mapping[str, Any]:
    """Return a decoded reply if it is a JSON object; otherwise raise `HttpFailure`."""
    if isinstance(value, Mapping):
        return value
    raise HttpFailure("bad_response", "the reply is not an object", retryable=True)


def id_of(
    reply: Mapping[str, Any],
    name: str = "id",
) -> str:
    """Return the id in a reply. Raise `HttpFailure` if it has none."""
    value = reply.get(name)
    if isinstance(value, str) and value:
        return value
    raise HttpFailure("bad_response", f"the reply has no `{name}`", retryable=True)


def count_in(
    counts: Mapping[str, Any],
    *names: str,
) -> int:
    """Add up the counts under these names. A count may be a number or text such as "12"; other values count as 0."""
    total = 0
    for name in names:
        value = counts.get(name)
        if isinstance(value, (int, str)) and str(value).isdecimal():
            total += int(value)
    return total


def rows_of(data: bytes) -> Iterator[tuple[Any, bool]]:
    """Yield the value of each line of JSON, None for an invalid one, and whether the line ends with a line break."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        is_whole = end >= 0
        line = data[start : end if is_whole else len(data)]
        start += len(line) + 1
        if line.strip():
            yield _parsed_or_none(line), is_whole


def _parsed_or_none(line: bytes) -> object:
    try:
        return parsed(line)
    except ValueError:
        return None


def read_results(
    data: Sequence[bytes],
    read_row: Callable[[Mapping[str, Any]], BatchReply | None],
) -> BatchResults:
    """Read the replies from files of JSON lines.

    `read_row` converts one line's object to a reply, or returns None if the object is
    not a valid reply.
    """
    replies: list[BatchReply] = []
    broken = 0
    is_cut_off = False
    for file in data:
        for row, is_whole in rows_of(file):
            has_id = isinstance(row, Mapping) and isinstance(row.get("custom_id"), str)
            reply = read_row(row) if has_id else None
            if reply is not None:
                replies.append(reply)
                continue
            broken += 1
            is_cut_off = is_cut_off or not is_whole
    return BatchResults(replies, broken, is_cut_off)
