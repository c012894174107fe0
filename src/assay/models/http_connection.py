"""HTTP/1.1 over asyncio: one connection, one question at a time, kept open for the next.

Only what endpoints need: a POST with a body of known length, an answer by length, in chunks or until the connection
closes, perhaps compressed. Made by hand because it costs a third of what the libraries do (`decisions/`).
"""

import asyncio
import zlib
from collections.abc import Mapping
from typing import Protocol

MOST_HEAD_BYTES = 64 * 1024
BODILESS = frozenset({204, 304})


class Patience(Protocol):
    """How long to wait, in seconds, and how much to read."""

    @property
    def first_byte(self) -> float: ...
    @property
    def idle(self) -> float: ...
    @property
    def total(self) -> float: ...
    @property
    def response_bytes(self) -> int: ...


class Reply:
    """A whole answer; header names are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


class BrokenOff(ConnectionError):
    """The connection ended, or what came over it is no HTTP, before the answer was whole."""


class TooLarge(Exception):
    """The answer is larger than allowed."""


class Connection(asyncio.Protocol):
    """One connection to a server.

    Time limits cost nothing while they hold: there is one timer, which looks at the deadline when it rings and is set
    anew, instead of one for each wait.
    """

    def __init__(self, limits: Patience) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._received = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = self._last = 0.0
        self._waited_for = ""
        self._reset()

    def _reset(self) -> None:
        self._status = 0
        self._headers: dict[str, str] = {}
        self._length: int | None = None
        self._chunks: bytearray | None = None
        """What the chunks held so far; `None` where the answer does not come in chunks."""

    @property
    def is_open(self) -> bool:
        """Whether another question may be asked over it."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, data: bytes) -> Reply:
        """Sends one question and waits for the whole answer; whatever goes wrong, the connection is closed."""
        if self._transport is None or self._transport.is_closing():
            raise BrokenOff("the connection was closed")
        self._reset()
        now = self._loop.time()
        self._last = now + self._limits.total
        self._wait_until(now + self._limits.first_byte, f"no first byte within {self._limits.first_byte:g} s")
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiter = waiter
        self._transport.write(data)
        try:
            return await waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None

    def close(self) -> None:
        """Closes at once; what was not sent is dropped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """A piece of the answer."""
        if self._waiter is None:
            self.close()  # bytes nobody asked for: whatever they are, they must not be taken for the next answer
            return
        self._received += data
        try:
            reply = self._read()
        except (BrokenOff, TooLarge) as error:
            self._fail(error)
            return
        if reply is not None:
            self._finish(reply)
        else:
            self._wait_until(
                self._loop.time() + self._limits.idle, f"the answer stalled within {self._limits.idle:g} s"
            )

    def eof_received(self) -> None:
        """The server has nothing more to say."""

    def connection_lost(self, error: Exception | None) -> None:
        """The connection ended: that is the end of an answer without a length, and else its failure."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is None:
            return
        if error is None and self._status and self._length is None and self._chunks is None:
            try:
                self._finish(Reply(self._status, self._headers, self._unpacked(bytes(self._received))))
            except (BrokenOff, TooLarge) as broken:
                self._fail(broken)
            return
        began = "the answer broke off" if self._status or self._received else "the server closed the connection"
        self._fail(BrokenOff(f"{began}: {error}" if error else began))

    def _finish(self, reply: Reply) -> None:
        waiter, self._waiter = self._waiter, None
        is_bounded = self._length is not None or self._chunks is not None
        if not is_bounded or self._received or "close" in _words(self._headers.get("connection", "")):
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(reply)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.close()

    def _wait_until(self, deadline: float, what: str) -> None:
        if deadline > self._last:
            deadline, what = self._last, f"the answer was not complete within {self._limits.total:g} s"
        self._deadline, self._waited_for = deadline, what
        if self._timer is None or self._timer.when() > deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(TimeoutError(self._waited_for))
        else:
            self._timer = self._loop.call_at(self._deadline, self._ring)

    def _read(self) -> Reply | None:
        """The answer, once it is whole."""
        while not self._status:
            if not self._read_head():
                return None
        if self._chunks is not None:
            body = self._read_chunks(self._chunks)
        elif self._length is not None:
            body = self._take(self._length) if len(self._received) >= self._length else None
        else:
            if len(self._received) > self._limits.response_bytes:
                raise TooLarge
            body = None
        return None if body is None else Reply(self._status, self._headers, self._unpacked(body))

    def _read_head(self) -> bool:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > MOST_HEAD_BYTES:
                raise BrokenOff("the head of the answer does not end")
            return False
        first, *lines = self._take(end + 4)[:-4].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise BrokenOff(f"the server does not speak HTTP: {first[:60]!r}")
        if rest[0] == "1":
            return True  # a word in between: the answer is still to come
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self._status, self._headers = int(rest[:3]), headers
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunks = bytearray()
        elif self._status in BODILESS:
            self._length = 0
        elif "content-length" in headers:
            self._length = self._number(headers["content-length"], 10)
        if version == "HTTP/1.0" and "keep-alive" not in _words(headers.get("connection", "")):
            headers["connection"] = "close"
        return True

    def _number(self, text: str, base: int) -> int:
        try:
            number = int(text, base)
        except ValueError:
            number = -1
        if number < 0:
            raise BrokenOff(f"the answer has no length but {text[:20]!r}")
        if number > self._limits.response_bytes:
            raise TooLarge
        return number

    def _take(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _read_chunks(self, chunks: bytearray) -> bytes | None:
        received = self._received
        while True:
            end = received.find(b"\r\n")
            if end < 0:
                if len(received) > MOST_HEAD_BYTES:
                    raise BrokenOff("a chunk of the answer has no length")
                return None
            size = self._number(received[:end].partition(b";")[0].strip().decode("latin-1"), 16)
            if size == 0:
                return self._end_of_chunks(chunks, end)
            if len(received) < end + 2 + size + 2:
                return None
            if received[end + 2 + size : end + 2 + size + 2] != b"\r\n":
                raise BrokenOff("a chunk of the answer is longer than it says")
            chunks += received[end + 2 : end + 2 + size]
            if len(chunks) > self._limits.response_bytes:
                raise TooLarge
            del received[: end + 2 + size + 2]

    def _end_of_chunks(self, chunks: bytearray, end: int) -> bytes | None:
        """The body, once the trailer, which is mostly empty, has come too."""
        received = self._received
        if received[end + 2 : end + 4] == b"\r\n":
            del received[: end + 4]
            return bytes(chunks)
        trailer = received.find(b"\r\n\r\n", end)
        if trailer < 0:
            return None
        del received[: trailer + 4]
        return bytes(chunks)

    def _unpacked(self, body: bytes) -> bytes:
        encoding = self._headers.get("content-encoding", "").lower()
        if encoding not in ("gzip", "x-gzip", "deflate") or not body:
            return body
        try:
            return _inflated(body, self._limits.response_bytes)
        except zlib.error as error:
            raise BrokenOff(f"the answer cannot be unpacked: {error}") from error


def _words(value: str) -> list[str]:
    """A header that lists words."""
    return [word.strip() for word in value.lower().split(",")]


def _inflated(body: bytes, most: int) -> bytes:
    """The bytes that were packed; gzip may come in several pieces, deflate with or without its frame."""
    plain = b""
    bits = zlib.MAX_WBITS | 32
    while body:
        unpacker = zlib.decompressobj(bits)
        try:
            plain += unpacker.decompress(body, most + 1 - len(plain))
        except zlib.error:
            if plain or bits < 0:
                raise
            bits = -zlib.MAX_WBITS
            continue
        if len(plain) > most:
            raise TooLarge
        if not unpacker.eof:
            raise zlib.error("it breaks off")
        body = unpacker.unused_data
    return plain
