"""A chat endpoint that fails in every way a real one does, on the loop of the run itself and in its virtual time.

Connections are socket pairs, so that everything above them is the real client; what is asked and which fault was the
last word on it are remembered by the sample's number, which the question names: "say 17".
"""

import asyncio
import gzip
import json
import random
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from assay.models import http_connecting
from assay.models.http_connecting import Origin
from assay.models.http_connection import Connection

ASKED_FOR = {
    "rate_limit_with_wait": 0.05,
    "rate_limit": 0.05,
    "http_500": 0.05,
    "http_503": 0.02,
    "reset_before_head": 0.02,
    "reset_in_body": 0.02,
    "cut_json": 0.02,
    "no_choices": 0.01,
    "null_cut_by_length": 0.02,
    "empty_text": 0.01,
    "html_with_200": 0.01,
    "wrong_content_type": 0.005,
    "gzip_bomb": 0.001,
    "invalid_utf8": 0.005,
    "reply_twice": 0.002,
    "slow_loris": 0.005,
    "hang": 0.005,
    "redirect": 0.001,
    "http_413": 0.002,
}
"""How often each fault happens, of all requests."""
FINAL = frozenset({"gzip_bomb", "redirect", "http_413"})
"""Faults that another try would not mend."""
BOMB = gzip.compress(bytes(1 << 20)) * (64 * 160)
"""10 MB that unpack to 10 GB: a gzip file may consist of several."""


def chat(text: str | None, reason: str = "stop") -> bytes:
    """The body of an answer."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": reason,
    }
    return json.dumps(
        {"choices": [choice], "usage": {"prompt_tokens": 2, "completion_tokens": 1}}
    ).encode()


def reply(
    body: bytes, status: str = "200 OK", *headers: str, kind: str = "application/json"
) -> bytes:
    """A whole answer."""
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


PACKED_BOMB = reply(BOMB, "200 OK", "Content-Encoding: gzip")


class FaultyServer:
    """Serves as many at once as it has room for; whoever comes then is told to slow down."""

    def __init__(
        self,
        rates: Mapping[str, float] | None = None,
        *,
        seconds: tuple[float, float] = (0.2, 1.0),
        room: int = 10_000,
        gone: tuple[float, float] = (0.0, 0.0),
        without_tls: tuple[float, float] = (0.0, 0.0),
        revoked_after: int | None = None,
        freeze: tuple[int, float] | None = None,
    ) -> None:
        self.rates = rates or {}
        self.seconds = seconds
        self.room = room
        self.gone = gone
        self.without_tls = without_tls
        self.revoked_after = revoked_after
        self.freeze = freeze
        """At which attempt the process of the client is put to sleep, and for how many seconds."""
        self.attempts = 0
        self.after_refusal = 0
        self.served: list[float] = []
        """When each good answer was given."""
        self.last: dict[str, str] = {}
        """By sample: the fault of its last attempt, or `none`."""
        self.faults: Counter[str] = Counter()
        self._serving = 0
        self._was_refused = False
        self._rng = random.Random(23)
        self._tasks: set[asyncio.Task[None]] = set()

    def install(self, patch: Any) -> None:
        """Takes the place of every server, for as long as `patch` lasts."""
        patch.setattr(http_connecting, "_connected", self._connected)

    async def _connected(
        self, origin: Origin, make: Callable[[], Connection]
    ) -> Connection:
        loop = asyncio.get_running_loop()
        if self.without_tls[0] <= loop.time() < self.without_tls[1]:
            await asyncio.sleep(0.05)
            raise ssl.SSLError(
                1, "[SSL: TLSV1_ALERT_INTERNAL_ERROR] alert internal error"
            )
        if self._is_gone():
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        _, connection = await loop.create_connection(make, sock=ours)
        return connection

    def _is_gone(self) -> bool:
        return self.gone[0] <= asyncio.get_running_loop().time() < self.gone[1]

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length:")[2].split()[0])
                body = json.loads(await reader.readexactly(length))
                if self._is_gone():
                    return
                if not await self._answer(
                    body["messages"][-1]["content"].split()[-1], writer
                ):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, number: str, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is kept."""
        self.attempts += 1
        self.after_refusal += self._was_refused
        if self.freeze is not None and self.attempts == self.freeze[0]:
            asyncio.get_running_loop().jump(self.freeze[1])  # type: ignore[attr-defined]
        if self.revoked_after is not None and self.attempts > self.revoked_after:
            await asyncio.sleep(0.05)
            self._was_refused = True
            writer.write(
                reply(b'{"error": {"message": "key revoked"}}', "401 Unauthorized")
            )
            return True
        if self._serving >= self.room:
            await asyncio.sleep(0.02)
            self.faults["no_room"] += 1
            writer.write(reply(b"{}", "429 Too Many Requests"))
            return True
        self._serving += 1
        try:
            await asyncio.sleep(self._rng.uniform(*self.seconds))
        finally:
            self._serving -= 1
        if self._is_gone():
            return False
        fault = self._drawn()
        self.last[number] = fault
        self.faults[fault] += 1
        if fault == "none":
            self.served.append(asyncio.get_running_loop().time())
        return await self._fail(fault, number, writer)

    def _drawn(self) -> str:
        place = self._rng.random()
        for fault, rate in self.rates.items():
            place -= rate
            if place < 0:
                return fault
        return "none"

    async def _fail(
        self, fault: str, number: str, writer: asyncio.StreamWriter
    ) -> bool:
        good = chat(number)
        whole = {
            "none": reply(good),
            "rate_limit_with_wait": reply(
                b"{}", "429 Too Many Requests", "Retry-After: 2"
            ),
            "rate_limit": reply(b"{}", "429 Too Many Requests"),
            "http_500": reply(b"{}", "500 Internal Server Error"),
            "http_503": reply(b"{}", "503 Service Unavailable"),
            "cut_json": reply(good[:-20]),
            "no_choices": reply(b'{"id": "x"}'),
            "null_cut_by_length": reply(chat(None, "length")),
            "empty_text": reply(chat("")),
            "html_with_200": reply(b"<html>it works</html>", kind="text/html"),
            "wrong_content_type": reply(good, kind="text/plain"),
            "invalid_utf8": reply(good.replace(b'"content": "', b'"content": "\xff')),
            "reply_twice": reply(good) + reply(chat("another's")),
            "redirect": reply(
                b"", "302 Found", "Location: http://169.254.169.254/latest"
            ),
            "http_413": reply(b"{}", "413 Payload Too Large"),
        }
        if fault in whole or fault == "gzip_bomb":
            writer.write(whole.get(fault) or PACKED_BOMB)
            return True
        if fault == "reset_before_head":
            return False
        if fault == "reset_in_body":
            writer.write(reply(good)[:-30])
            await writer.drain()
            return False
        if fault == "slow_loris":
            for byte in reply(good + b" " * 2000):
                if writer.is_closing():
                    break
                writer.write(bytes([byte]))
                await asyncio.sleep(1)
            return False
        assert fault == "hang", fault
        await asyncio.sleep(3600)
        return False
