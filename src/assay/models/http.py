"""One HTTP question, one attempt, over connections that are kept open for the next.

What a failure means is in `http_failures`; nothing here tries again.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from .http_answer import BrokenOff, Reply, TooLarge, Unreadable
from .http_connecting import Origin, connect, target
from .http_connection import NO_ANSWER, Connection
from .http_failures import HttpFailure, Refused, parsed, retry_after

__all__ = ["Client", "HttpFailure", "Limits", "Refused", "Reply", "retry_after"]

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, in seconds, and how much to read."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 60.0
    """Between two pieces of the answer."""
    total: float = 600.0
    """Ends an answer that trickles in just fast enough to never be idle."""
    response_bytes: int = 32 * 1024 * 1024
    """After decompression."""
    start: float = 5.0
    """How long a server that was never there is waited for: it may be starting."""


@dataclass
class Client:
    """Posts, and keeps idle connections by event loop and origin."""

    limits: Limits = field(default_factory=Limits)
    _idle: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Origin, list[Connection]]]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )
    _reached: set[Origin] = field(default_factory=set, init=False, repr=False)
    """Where an answer once came from: a server that never gave one is soon taken for a wrong address."""
    _missed: dict[Origin, float] = field(default_factory=dict, init=False, repr=False)
    """When a server that was not there was first looked for."""

    async def post(self, url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """The decoded JSON of one attempt; raises `Refused` for an error status, `HttpFailure` for the rest."""
        reply = await self.send(url, msgspec.json.encode(body), headers)
        return decoded(reply)

    async def send(
        self, url: str, data: bytes, headers: Mapping[str, str], content_type: str = "application/json"
    ) -> Reply:
        """The answer as it came; raises as `post` does."""
        origin, head = _head(url, tuple(headers.items()), content_type)
        try:
            connection = await self._connection(origin)
            reply = await connection.exchange(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(data), data))
        except TimeoutError as error:
            raise HttpFailure("timeout", str(error), retryable=True) from error
        except TooLarge as error:
            most = self.limits.response_bytes
            raise HttpFailure("too_large", f"the answer is larger than {most} bytes", retryable=False) from error
        except Unreadable as error:
            raise HttpFailure(error.kind, f"{origin.named}: {error}", retryable=False) from error
        except (BrokenOff, OSError) as error:
            raise self._broken_off(origin, str(error) or type(error).__name__) from error
        self._reached.add(origin)
        if connection.is_open:
            self._idle[asyncio.get_running_loop()].setdefault(origin, []).append(connection)
        if reply.status >= 300:
            raise Refused(reply.status, reply.headers, reply.body)
        return reply

    async def close(self) -> None:
        """Closes the connections of the running loop; those at work close when they are cancelled."""
        for connections in self._idle.pop(asyncio.get_running_loop(), {}).values():
            for connection in connections:
                connection.close()
        await asyncio.sleep(0)  # lets the transports say goodbye before the loop ends

    async def _connection(self, origin: Origin) -> Connection:
        idle = self._idle.setdefault(asyncio.get_running_loop(), {}).get(origin)
        while idle:
            # The one used last is the least likely to have been closed by the server meanwhile.
            connection = idle.pop()
            if connection.is_open:
                return connection
        try:
            connection = await connect(origin, lambda: Connection(self.limits), self.limits.connect)
        except HttpFailure as failure:
            failure.retryable = failure.retryable and self._may_come(origin)
            raise
        return connection

    def _may_come(self, origin: Origin) -> bool:
        """Whether a server that gave no answer may still give one: it was there before, or may be starting."""
        now = time.monotonic()
        return origin in self._reached or now - self._missed.setdefault(origin, now) < self.limits.start

    def _broken_off(self, origin: Origin, message: str) -> HttpFailure:
        if origin in self._reached or message != NO_ANSWER:
            return HttpFailure("connection", message, retryable=True)
        fix = "check base_url" if origin.is_tls else "check base_url, which may have to start with https://"
        return HttpFailure("connection", f"{origin.named}: {message}; fix: {fix}", retryable=self._may_come(origin))


def decoded(reply: Reply) -> Any:
    """The JSON of an answer; raises `HttpFailure` where it is none."""
    try:
        return parsed(reply.body)
    except ValueError as error:
        start = reply.body[:60].decode("utf-8", "replace")
        message = f"HTTP {reply.status}, but the body is not whole JSON ({error}): {start!r}"
        raise HttpFailure("bad_response", message, retryable=True) from error


@lru_cache(maxsize=64)
def _head(url: str, headers: Headers, content_type: str) -> tuple[Origin, bytes]:
    """Where to, and all lines of the head but the length: the same for every question of a run."""
    origin, named = target(url)
    lines = [
        f"POST {named} HTTP/1.1",
        f"Host: {origin.named}",
        "Accept: */*",
        "Accept-Encoding: gzip, deflate",
        "User-Agent: assay",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return origin, ("\r\n".join(lines) + "\r\n").encode("latin-1")
