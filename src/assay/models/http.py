"""An HTTP client that makes one attempt per call and keeps connections open for the next.

`http_failures` classifies failures; nothing is retried here.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from .http_answer import BrokenOff, Reply, TooLarge, Unreadable
from .http_connecting import Origin, connect, target
from .http_connection import NO_ANSWER, Connection, Limits
from .http_failures import HttpFailure, Refused, error_status, parsed, retry_after
from .http_servers import Server

__all__ = ["Client", "HttpFailure", "Limits", "Refused", "Reply", "retry_after"]

STREAMS = frozenset({"text/event-stream", "application/x-ndjson"})
"""Content types of streamed answers."""


@dataclass
class Client:
    """Sends HTTP requests, and keeps idle connections for later requests, by event loop and origin."""

    limits: Limits = field(default_factory=Limits)
    keep_alive: bool = True
    """True if a connection may serve several requests."""
    _idle: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Origin, list[Connection]]]" = field(
        default_factory=WeakKeyDictionary,
        init=False,
        repr=False,
    )
    _heads: dict[tuple[Any, ...], tuple[Origin, bytes]] = field(
        default_factory=dict,
        init=False,
        repr=False,
    )
    """The bytes of request heads, by URL and headers. An endpoint has only a few different ones."""
    _reached: set[Origin] = field(
        default_factory=set,
        init=False,
        repr=False,
    )
    """Servers that have answered at least once. Any other may be a wrong address."""
    _missed: dict[Origin, float] = field(
        default_factory=dict,
        init=False,
        repr=False,
    )
    """When the first attempt was made to connect to each server that has not answered yet."""
    _servers: dict[Origin, Server] = field(
        default_factory=dict,
        init=False,
        repr=False,
    )

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Any:
        """Return the decoded JSON of one attempt. Raise `Refused` for an error status, `HttpFailure` otherwise.

        If the reply may belong to an earlier request, retry once on a new connection.
        """
        data = msgspec.json.encode(body)
        doubtful_mark: str | None = None
        while True:
            exchange = await self._exchange(
                url,
                data,
                headers,
                "application/json",
                is_new=doubtful_mark is not None,
            )
            server = exchange.server
            connection = exchange.connection
            try:
                reply = exchange.reply
                answer = decoded(reply)
                mark = server.mark_of(answer, reply.body)
                if doubtful_mark is None and server.is_doubtful(connection, mark):
                    connection.close()
                    doubtful_mark = mark
                    continue
                if doubtful_mark and doubtful_mark != mark:
                    server.sends_surplus = True
                server.remember(connection, mark)
                status = error_status(answer)
                if status is not None:
                    raise Refused(status, reply.headers, reply.body, reply.status)
                return answer
            finally:
                self._keep(exchange)

    async def send(
        self,
        url: str,
        data: bytes,
        headers: Mapping[str, str],
        content_type: str = "application/json",
    ) -> Reply:
        """Return the undecoded reply to a POST request. Raise as `post` does."""
        exchange = await self._exchange(
            url,
            data,
            headers,
            content_type,
        )
        self._keep(exchange)
        return exchange.reply

    async def get(
        self,
        url: str,
        headers: Mapping[str, str],
    ) -> Reply:
        """Return the reply to a GET request. Raise as `post` does."""
        exchange = await self._exchange(url, None, headers, "")
        self._keep(exchange)
        return exchange.reply

    async def _exchange(
        self,
        url: str,
        data: bytes | None,
        headers: Mapping[str, str],
        content_type: str,
        *,
        is_new: bool = False,
    ) -> "_Exchange":
        """Send one request, a GET if `data` is None, and return the reply and its connection."""
        key = (url, content_type, *headers.items())
        if key not in self._heads:
            self._heads[key] = _head(url, headers, content_type)
        origin, head = self._heads[key]
        if data is None:
            question = head + b"\r\n"
        else:
            question = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(data), data)
        server = self._server(origin)
        server.requests += 1
        started = time.monotonic()
        try:
            connection = await self._connection(origin, is_new=is_new)
            started = time.monotonic()
            reply = await connection.exchange(question)
        except TimeoutError as error:
            raise HttpFailure("timeout", str(error), retryable=True) from error
        except TooLarge as error:
            most = self.limits.response_bytes
            raise HttpFailure(
                "too_large",
                f"the answer is larger than {most} bytes",
                retryable=False,
            ) from error
        except Unreadable as error:
            raise HttpFailure(
                error.kind,
                f"{origin.named}: {error}",
                retryable=False,
            ) from error
        except (BrokenOff, OSError) as error:
            raise self._broken_off(origin, error) from error
        finally:
            server.requests -= 1
        self._reached.add(origin)
        seconds = time.monotonic() - started
        exchange = _Exchange(origin, server, connection, reply, seconds)
        if reply.status >= 300:
            self._keep(exchange)
            if reply.status == 407 and origin.proxy is not None:
                raise origin.proxy.login_failure()
            raise Refused(reply.status, reply.headers, reply.body)
        return exchange

    def _server(self, origin: Origin) -> Server:
        server = self._servers.get(origin)
        if server is None:
            server = self._servers[origin] = Server(self.keep_alive)
        return server

    def _keep(self, exchange: "_Exchange") -> None:
        """Keep a connection for the next request if it is reusable; otherwise close it."""
        connection = exchange.connection
        if exchange.server.may_reuse(connection, exchange.seconds):
            idle = self._idle[asyncio.get_running_loop()]
            idle.setdefault(exchange.origin, []).append(connection)
        else:
            connection.close()

    def take_notes(self) -> list[str]:
        """Return notes for the user about earlier answers, without duplicates."""
        notes = [server.note for server in self._servers.values() if server.note]
        for server in self._servers.values():
            server.note = ""
        return notes

    async def close(self) -> None:
        """Close the idle connections of the running event loop. Busy ones close when they are cancelled."""
        for connections in self._idle.pop(asyncio.get_running_loop(), {}).values():
            for connection in connections:
                connection.close()
        await asyncio.sleep(0)  # let the transports close before the loop ends

    async def _connection(self, origin: Origin, *, is_new: bool) -> Connection:
        server = self._server(origin)
        idle = self._idle.setdefault(asyncio.get_running_loop(), {}).get(origin)
        while idle and not is_new:
            # Prefer the connection used last: the server is least likely to have closed it.
            connection = idle.pop()
            if connection.is_open and not server.sends_surplus:
                return connection
            connection.close()
        started = time.monotonic()
        try:
            connection = await connect(
                origin,
                lambda: Connection(self.limits, server.see_surplus),
                self.limits.connect,
            )
        except HttpFailure as failure:
            failure.retryable = failure.retryable and self._may_come(origin)
            raise
        server.connect_seconds = min(server.connect_seconds, time.monotonic() - started)
        return connection

    def _may_come(self, origin: Origin) -> bool:
        """Return True if waiting for an unreachable server makes sense.

        It does if the server has answered before, or if its start time limit has not
        passed yet.
        """
        now = time.monotonic()
        return (
            origin in self._reached
            or now - self._missed.setdefault(origin, now) < self.limits.start
        )

    def _broken_off(self, origin: Origin, error: OSError) -> HttpFailure:
        message = str(error) or type(error).__name__
        if message != NO_ANSWER and isinstance(error, BrokenOff):
            return HttpFailure("broken_reply", message, retryable=True)
        if origin in self._reached:
            return HttpFailure("connection", message, retryable=True)
        if origin.is_tls:
            fix = "check base_url"
        else:
            fix = "check base_url, which may have to start with https://"
        return HttpFailure(
            "connection",
            f"{origin.named}: {message}; fix: {fix}",
            retryable=self._may_come(origin),
        )


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request and its reply."""

    origin: Origin
    server: Server
    connection: Connection
    reply: Reply
    seconds: float


def decoded(reply: Reply) -> object:
    """Return the JSON of an answer. Raise `HttpFailure` if it has none."""
    if stream := _stream_of(reply):
        message = f"the server streams its answer ({stream}), which was not asked for"
        fix = "leave `stream` out of `body`, or set it to false"
        raise HttpFailure("bad_response", f"{message}; fix: {fix}", retryable=False)
    try:
        return parsed(reply.body)
    except ValueError as error:
        start = reply.body[:60].decode("utf-8", "replace")
        message = (
            f"HTTP {reply.status}, but the body is not whole JSON ({error}): {start!r}"
        )
        if reply.body.lstrip()[:1] == b"<":
            message = f"HTTP {reply.status}, but the body is a web page: {start!r}"
        raise HttpFailure("bad_response", message, retryable=True) from error


def _stream_of(reply: Reply) -> str:
    """Return the stream type of a reply, such as `text/event-stream`; empty if the reply is not a stream.

    Some servers label an event stream as JSON, so the first bytes are also checked.
    """
    kind = reply.headers.get("content-type", "").lower().partition(";")[0]
    if kind in STREAMS:
        return kind
    is_stream = reply.body.startswith((b"data:", b"event:"))
    return "text/event-stream" if is_stream else ""


def _head(
    url: str,
    headers: Mapping[str, str],
    content_type: str,
) -> tuple[Origin, bytes]:
    """Return the target of a request, and the lines of its head except the length. A GET has no content type."""
    origin, named = target(url)
    lines = [
        f"{'POST' if content_type else 'GET'} {named} HTTP/1.1",
        f"Host: {origin.named}",
        "Accept: */*",
        "Accept-Encoding: gzip, deflate",
        "User-Agent: assay",
    ]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if origin.proxy is not None and origin.proxy.login and not origin.is_tls:
        lines.append(f"Proxy-Authorization: {origin.proxy.login}")
    return origin, ("\r\n".join(lines) + "\r\n").encode("latin-1")
