"""One HTTP question, one attempt, over connections that are kept open for the next.

What a failure means is in `http_failures`; nothing here tries again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from .http_answer import BrokenOff, Reply, TooLarge, Unreadable
from .http_connecting import Origin, connect, target
from .http_connection import NO_ANSWER, Connection, Limits
from .http_failures import HttpFailure, Refused, parsed, retry_after

__all__ = ["Client", "HttpFailure", "Limits", "Refused", "Reply", "retry_after"]

MOST_IDS = 256
"""Ids of answers that are remembered, to see whether a server repeats them."""


@dataclass
class Client:
    """Posts, and keeps idle connections by event loop and origin."""

    limits: Limits = field(default_factory=Limits)
    _idle: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Origin, list[Connection]]]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )
    _heads: dict[tuple[Any, ...], tuple[Origin, bytes]] = field(
        default_factory=dict, init=False, repr=False
    )
    """By what was asked: an endpoint has a handful of URLs, each with the headers of its model."""
    _reached: set[Origin] = field(default_factory=set, init=False, repr=False)
    """Where an answer once came from: a server that never gave one is soon taken for a wrong address."""
    _missed: dict[Origin, float] = field(default_factory=dict, init=False, repr=False)
    """When a server that was not there was first looked for."""
    _seen: dict[Origin, deque[str]] = field(
        default_factory=dict, init=False, repr=False
    )
    """Ids of the latest answers."""
    _repeating: set[Origin] = field(default_factory=set, init=False, repr=False)
    """Servers whose ids repeat for different questions."""

    async def post(
        self, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Any:
        """The decoded JSON of one attempt; raises `Refused` for an error status, `HttpFailure` for the rest.

        An answer that has come before is asked for once more over a connection of its own.
        """
        is_new = False
        data = msgspec.json.encode(body)
        while True:
            origin, connection, reply = await self._exchange(
                url, data, headers, "application/json", is_new=is_new
            )
            try:
                answer = decoded(reply)
                if not self._is_repeated(answer, origin, connection):
                    return answer
                connection.close()
                is_new = True
            finally:
                self._keep(origin, connection)

    async def send(
        self,
        url: str,
        data: bytes,
        headers: Mapping[str, str],
        content_type: str = "application/json",
    ) -> Reply:
        """The answer as it came; raises as `post` does."""
        origin, connection, reply = await self._exchange(
            url, data, headers, content_type
        )
        self._keep(origin, connection)
        return reply

    async def _exchange(
        self,
        url: str,
        data: bytes,
        headers: Mapping[str, str],
        content_type: str,
        *,
        is_new: bool = False,
    ) -> tuple[Origin, Connection, Reply]:
        key = (url, content_type, *headers.items())
        origin, head = self._heads.get(key) or self._heads.setdefault(
            key, _head(url, headers, content_type)
        )
        try:
            connection = await self._connection(origin, is_new=is_new)
            reply = await connection.exchange(
                b"%bContent-Length: %d\r\n\r\n%b" % (head, len(data), data)
            )
        except TimeoutError as error:
            raise HttpFailure("timeout", str(error), retryable=True) from error
        except TooLarge as error:
            most = self.limits.response_bytes
            raise HttpFailure(
                "too_large", f"the answer is larger than {most} bytes", retryable=False
            ) from error
        except Unreadable as error:
            raise HttpFailure(
                error.kind, f"{origin.named}: {error}", retryable=False
            ) from error
        except (BrokenOff, OSError) as error:
            raise self._broken_off(origin, error) from error
        self._reached.add(origin)
        if reply.status >= 300:
            self._keep(origin, connection)
            if reply.status == 407 and origin.proxy is not None:
                raise origin.proxy.wants_login()
            raise Refused(reply.status, reply.headers, reply.body)
        return origin, connection, reply

    def _keep(self, origin: Origin, connection: Connection) -> None:
        """Keeps a connection for the next question, if it may be used again."""
        if connection.is_open:
            self._idle[asyncio.get_running_loop()].setdefault(origin, []).append(
                connection
            )

    def _is_repeated(self, answer: Any, origin: Origin, connection: Connection) -> bool:
        """Whether an answer has come over this connection before: a server sent it twice, and late.

        The first answer of a connection can be to no other question. Where one has an id that others had, ids of this
        server say nothing: many that are made for tests give every answer the same.
        """
        name = (
            (answer.get("id") or answer.get("responseId"))
            if isinstance(answer, Mapping)
            else None
        )
        if not name or not isinstance(name, str) or origin in self._repeating:
            return False
        ids = self._seen.setdefault(origin, deque(maxlen=MOST_IDS))
        if connection.questions > 1:
            if name in connection.ids:
                return True
        elif name in ids:
            self._repeating.add(origin)
        connection.ids.append(name)
        ids.append(name)
        return False

    async def close(self) -> None:
        """Closes the connections of the running loop; those at work close when they are cancelled."""
        for connections in self._idle.pop(asyncio.get_running_loop(), {}).values():
            for connection in connections:
                connection.close()
        await asyncio.sleep(0)  # lets the transports say goodbye before the loop ends

    async def _connection(self, origin: Origin, *, is_new: bool) -> Connection:
        idle = self._idle.setdefault(asyncio.get_running_loop(), {}).get(origin)
        while idle and not is_new:
            # The one used last is the least likely to have been closed by the server meanwhile.
            connection = idle.pop()
            if connection.is_open:
                return connection
        try:
            connection = await connect(
                origin, lambda: Connection(self.limits), self.limits.connect
            )
        except HttpFailure as failure:
            failure.retryable = failure.retryable and self._may_come(origin)
            raise
        return connection

    def _may_come(self, origin: Origin) -> bool:
        """Whether a server that gave no answer may still give one: it was there before, or may be starting."""
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
        fix = (
            "check base_url"
            if origin.is_tls
            else "check base_url, which may have to start with https://"
        )
        return HttpFailure(
            "connection",
            f"{origin.named}: {message}; fix: {fix}",
            retryable=self._may_come(origin),
        )


def decoded(reply: Reply) -> Any:
    """The JSON of an answer; raises `HttpFailure` where it is none."""
    try:
        return parsed(reply.body)
    except ValueError as error:
        start = reply.body[:60].decode("utf-8", "replace")
        message = (
            f"HTTP {reply.status}, but the body is not whole JSON ({error}): {start!r}"
        )
        raise HttpFailure("bad_response", message, retryable=True) from error


def _head(
    url: str, headers: Mapping[str, str], content_type: str
) -> tuple[Origin, bytes]:
    """Where to, and all lines of the head but the length: the same for every question of a run."""
    origin, named = target(url)
    lines = [
        f"POST {named} HTTP/1.1",
        f"Host: {origin.named}",
        "Accept: */*",
        "Accept-Encoding: gzip, deflate",
        "User-Agent: assay",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if origin.proxy is not None and origin.proxy.login and not origin.is_tls:
        lines.append(f"Proxy-Authorization: {origin.proxy.login}")
    return origin, ("\r\n".join(lines) + "\r\n").encode("latin-1")
