"""The endpoint of one sample: an HTTP server that answers the requests of an agent
program with the run's model.

It listens on the loopback interface of the sample's workspace, where no other sample
can reach it, and it accepts only requests with the sample's key.
"""

import asyncio
import hmac
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from ..core import Output, Prompt
from ..core.errors import shorten
from .wire import BadRequest, WireFormat, WireRequest
from .wire_anthropic import AnthropicFormat, count_tokens
from .wire_chat import ChatFormat
from .wire_responses import ResponsesFormat

MOST_BODY_BYTES = 32 << 20
MOST_HEAD_BYTES = 64 << 10
MOST_CONNECTIONS = 64
STATUSES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    502: "Bad Gateway",
}
ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
    502: "api_error",
}
OPENAI_ERRORS = {**ANTHROPIC_ERRORS, 429: "rate_limit_exceeded", 502: "server_error"}

Ask = Callable[[Prompt], Awaitable[tuple[int, Output]]]
"""Function that sends a prompt to the model, and returns the index of the exchange and the answer.

It raises `CancelledError` if the sample must end.
"""


@dataclass(slots=True)
class HttpRequest:
    """One HTTP request from the program."""

    method: str = ""
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    head_bytes: int = 0
    too_large: bool = False

    @property
    def path(self) -> str:
        """The path of the URL without a leading `/v1`."""
        path = urlsplit(self.target.decode("latin-1")).path.rstrip("/")
        return path.removeprefix("/v1")

    @property
    def key(self) -> str:
        """The API key in the headers."""
        bearer = self.headers.get(b"authorization", b"").decode("latin-1")
        plain = self.headers.get(b"x-api-key", b"").decode("latin-1")
        return bearer.removeprefix("Bearer ").strip() or plain.strip()


class Reply(Exception):
    """Raised to answer a request with this HTTP error status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Endpoint:
    """Answers the requests that the program of one sample sends."""

    def __init__(self, key: str, ask: Ask) -> None:
        self.key = key
        self.requests = 0
        self.dropped: set[str] = set()
        """Names of request fields that were not passed on to the model."""
        self._ask = ask
        self._formats: dict[str, WireFormat] = {
            "/chat/completions": ChatFormat(),
            "/responses": ResponsesFormat(),
            "/messages": AnthropicFormat(),
        }
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, listening: socket.socket) -> None:
        """Start to accept connections on this socket."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        self._server = await loop.create_server(self._connect, sock=listening)

    async def close(self) -> None:
        """Close all connections and accept no new ones."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()

    def _connect(self) -> "Connection":
        return Connection(self, self._connections)

    async def respond(self, request: HttpRequest) -> bytes:
        """Return the bytes of the response to a request."""
        wire_format = self._formats.get(request.path)
        is_anthropic = isinstance(wire_format, AnthropicFormat)
        try:
            return await self._respond(request, wire_format)
        except (Reply, BadRequest) as error:
            if isinstance(error, Reply):
                status = error.status
            else:
                status = 400
            kinds = ANTHROPIC_ERRORS if is_anthropic else OPENAI_ERRORS
            speaking = wire_format or self._formats["/chat/completions"]
            body = speaking.error(kinds[status], str(error))
            return http_response(status, as_json(body), is_last=status == 413)

    async def _respond(
        self,
        request: HttpRequest,
        wire_format: WireFormat | None,
    ) -> bytes:
        if not hmac.compare_digest(request.key.encode(), self.key.encode()):
            raise Reply(401, "the key is not that of this sample")
        if request.too_large:
            raise Reply(413, f"the request is larger than {MOST_BODY_BYTES:,} bytes")
        if request.method == "GET" and request.path == "/models":
            model = {"id": "assay", "object": "model", "created": 0, "owned_by": ""}
            return http_response(200, as_json({"object": "list", "data": [model]}))
        counts = request.path == "/messages/count_tokens"
        if request.method != "POST" or (wire_format is None and not counts):
            raise Reply(404, f"there is no {request.method} {request.path} here")
        body = self._body_of(request)
        if counts or wire_format is None:
            return http_response(200, as_json(count_tokens(body)))
        self.requests += 1
        wire_request = wire_format.read(body)
        self.dropped.update(wire_request.dropped)
        number, output = await self._ask(wire_request.prompt)
        return self._write_answer(wire_format, wire_request, output, number)

    def _write_answer(
        self,
        wire_format: WireFormat,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> bytes:
        """Return the model's answer as an HTTP response in the format of the request."""
        if output.error is not None:
            is_refused = not output.error.retryable
            if output.error.kind == "rate_limit":
                status = 429
            else:
                status = 502
            raise Reply(400 if is_refused else status, output.error.message)
        if request.is_stream:
            events = wire_format.events(request, output, number)
            return http_response(200, events, "text/event-stream")
        return http_response(200, as_json(wire_format.answer(request, output, number)))

    def _body_of(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body of a request as a JSON object."""
        if request.headers.get(b"content-encoding", b"identity") != b"identity":
            raise Reply(415, "compressed requests are not read")
        try:
            body = json.loads(bytes(request.body))
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON: {shorten(error)}") from error
        if not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        return body


class Connection(asyncio.Protocol):
    """One connection from the program. Requests are answered one after another."""

    def __init__(self, endpoint: Endpoint, connections: "set[Connection]") -> None:
        self._endpoint = endpoint
        self._connections = connections
        self._parser = HttpRequestParser(self)
        self._request = HttpRequest()
        self._waiting: list[HttpRequest] = []
        self._working: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept a connection, or close it if too many are open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)
        if len(self._connections) > MOST_CONNECTIONS:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the connection. An answer in progress is still recorded."""
        self._connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes, which may be only part of a request."""
        self._request.head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.close()
            return
        pending = self._request.head_bytes - len(self._request.body)
        if pending > MOST_HEAD_BYTES + len(data) or len(self._waiting) > 8:
            self.close()

    def close(self) -> None:
        """Close the connection immediately."""
        if self._working is not None:
            self._working.cancel()
        if self._transport is not None:
            self._transport.abort()

    def on_url(self, url: bytes) -> None:
        """Append a piece to the path of the request that is being received."""
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header of the request that is being received."""
        self._request.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Answer `Expect: 100-continue`, so that the program sends the body."""
        self._request.method = self._parser.get_method().decode("latin-1")
        expects = self._request.headers.get(b"expect", b"").lower()
        if expects == b"100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Receive a piece of the body. Bytes beyond the limit are dropped."""
        if len(self._request.body) + len(body) > MOST_BODY_BYTES:
            self._request.too_large = True
            self._request.head_bytes -= len(body)
            return
        self._request.body += body

    def on_message_complete(self) -> None:
        """Queue the complete request. It is answered after the earlier ones."""
        self._waiting.append(self._request)
        self._request = HttpRequest()
        if self._working is None:
            self._working = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        """Answer queued requests until none is left."""
        try:
            while self._waiting:
                response = await self._endpoint.respond(self._waiting.pop(0))
                if self._transport is None or self._transport.is_closing():
                    return
                self._transport.write(response)
        finally:
            self._working = None


def as_json(value: object) -> bytes:
    """Return a value as JSON. Unpaired surrogates become question marks."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def http_response(
    status: int,
    body: bytes,
    content_type: str = "application/json",
    *,
    is_last: bool = False,
) -> bytes:
    """Build a complete HTTP response. A header tells the common SDKs not to retry."""
    head = (
        f"HTTP/1.1 {status} {STATUSES[status]}\r\n"
        f"content-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\n"
    )
    if status != 200:
        head += "x-should-retry: false\r\n"
    if is_last:
        head += "connection: close\r\n"
    return head.encode("latin-1") + b"\r\n" + body
