"""An HTTP/1.1 answer, read from the bytes a server sends: by length, in chunks or until it hangs up; perhaps packed.

Lines may end with a bare LF, as RFC 9112 lets a recipient allow. Where two readers of the same bytes could disagree (a
bare LF, chunks beside a length) nothing more is read from that connection; where lengths contradict each other, the
answer is none.
"""

import re
import zlib
from collections.abc import Mapping

MOST_HEAD_BYTES = 64 * 1024
BODILESS = frozenset({204, 304})
START = b"HTTP/1."
TLS_ALERT = b"\x15\x03"
"""How a server that expects TLS answers a question in plain text."""
PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_DIGITS = {10: re.compile(r"[0-9]+\Z").match, 16: re.compile(r"[0-9a-fA-F]+\Z").match}
_STATUS = re.compile(r"HTTP/1\.[0-9] +([1-9][0-9][0-9])(?![0-9])").match


class Reply:
    """A whole answer; header names are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


class BrokenOff(ConnectionError):
    """The connection ended, or what came over it is no HTTP, before the answer was whole."""


class TooLarge(Exception):
    """The answer is larger than allowed."""


class Unreadable(Exception):
    """What the server speaks will be no better next time; `kind` is that of the failure."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Answer:
    """One answer as it comes in."""

    __slots__ = ("_chunks", "_headers", "_length", "_most", "_received", "_status", "is_plain")

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._received = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._length: int | None = None
        self._chunks: bytearray | None = None
        """What the chunks held so far; `None` where the answer does not come in chunks."""
        self.is_plain = True
        """Whether every reader would see the same in it."""

    @property
    def has_begun(self) -> bool:
        """Whether anything came at all."""
        return bool(self._status or self._received)

    @property
    def may_be_followed(self) -> bool:
        """Whether, once it is whole, the next answer may come over the same connection."""
        is_bounded = self._length is not None or self._chunks is not None
        if not is_bounded or not self.is_plain or self._received:
            return False
        return "connection" not in self._headers or "close" not in _words(self._headers["connection"])

    def take_in(self, data: bytes) -> Reply | None:
        """A further piece; the answer, once it is whole."""
        self._received += data
        while not self._status:
            if not self._read_head():
                return None
        if self._chunks is not None:
            body = self._read_chunks(self._chunks)
        elif self._length is not None:
            body = self._take(self._length) if len(self._received) >= self._length else None
        else:
            if len(self._received) > self._most:
                raise TooLarge
            body = None
        return None if body is None else Reply(self._status, self._headers, self._unpacked(body))

    def ended(self) -> Reply | None:
        """The answer that ends with its connection; `None` where more was to come."""
        if not self._status or self._length is not None or self._chunks is not None:
            return None
        return Reply(self._status, self._headers, self._unpacked(bytes(self._received)))

    def _read_head(self) -> bool:
        received = self._received
        if received[:7] != START[: len(received)]:
            raise _not_http(bytes(received[:200]))
        end, size = self._blank_line(0)
        if end < 0:
            if len(received) > MOST_HEAD_BYTES:
                raise BrokenOff("the head of the answer does not end")
            return False
        first, *lines = self._lines(self._take(end + size)[:end].decode("latin-1"))
        self.is_plain = self.is_plain and size == 4
        if (found := _STATUS(first)) is None:
            raise BrokenOff(f"the server does not speak HTTP: {first[:60]!r}")
        status = int(found[1])
        if status == 101:
            raise BrokenOff("the server changes to another protocol, which was not asked for")
        if status < 200:
            return True  # a word in between: the answer is still to come
        self._headers = headers = _headers(lines)
        self._status = status
        self._measure(headers)
        if first.startswith("HTTP/1.0") and "keep-alive" not in headers.get("connection", "").lower():
            headers["connection"] = "close"
        return True

    def _lines(self, head: str) -> list[str]:
        ends = head.count("\r\n")
        if head.count("\r") != ends:
            raise BrokenOff("a line of the answer's head is broken by a carriage return")
        if head.count("\n") == ends:
            return head.split("\r\n")
        self.is_plain = False
        return [line.removesuffix("\r") for line in head.split("\n")]

    def _measure(self, headers: Mapping[str, str]) -> None:
        """How the end of the body is known."""
        coding = headers.get("transfer-encoding", "").lower()
        if self._status in BODILESS:
            self._length = 0
        elif coding == "chunked":
            self._chunks = bytearray()
            self.is_plain = self.is_plain and "content-length" not in headers
        elif coding not in ("", "identity"):
            raise Unreadable("bad_response", f"the answer is sent as {coding[:40]!r}, which was not asked for")
        elif "content-length" in headers:
            length = headers["content-length"]
            if "," in length:
                length, *others = set(_words(length))
                if others:
                    raise BrokenOff(f"the answer has several lengths: {headers['content-length'][:40]!r}")
            self._length = self._number(length, 10)

    def _number(self, text: str, base: int) -> int:
        if not _DIGITS[base](text):
            raise BrokenOff(f"the answer has no length but {text[:20]!r}")
        if len(text) > 16 or (number := int(text, base)) > self._most:
            raise TooLarge
        return number

    def _blank_line(self, start: int) -> tuple[int, int]:
        """Where the line before the first empty one behind `start` ends, and how many bytes the two ends take."""
        end = self._received.find(b"\n\r\n", start)
        bare = self._received.find(b"\n\n", start, end + 1 if end >= 0 else len(self._received))
        end, size = (end, 3) if bare < 0 else (bare, 2)
        return (end - 1, size + 1) if self._ends_in_both(end) else (end, size)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _read_chunks(self, chunks: bytearray) -> bytes | None:
        received = self._received
        while True:
            end = received.find(b"\n")
            if end < 0:
                if len(received) > MOST_HEAD_BYTES:
                    raise BrokenOff("a chunk of the answer has no length")
                return None
            is_plain = self._ends_in_both(end)
            self.is_plain = self.is_plain and is_plain
            line = received[: end - 1 if is_plain else end]
            size = self._number(line.partition(b";")[0].strip().decode("latin-1"), 16)
            if size == 0:
                return self._end_of_chunks(chunks, end)
            stop = end + 1 + size
            mark = bytes(received[stop : stop + 2])
            if mark in (b"", b"\r"):
                return None
            if mark != b"\r\n" and mark[:1] != b"\n":
                raise BrokenOff("a chunk of the answer is longer than it says")
            self.is_plain = self.is_plain and mark == b"\r\n"
            chunks += received[end + 1 : stop]
            if len(chunks) > self._most:
                raise TooLarge
            del received[: stop + (2 if mark == b"\r\n" else 1)]

    def _ends_in_both(self, end: int) -> bool:
        """Whether the line that ends at this LF has a CR before it."""
        return end > 0 and self._received[end - 1] == 13

    def _end_of_chunks(self, chunks: bytearray, end: int) -> bytes | None:
        """The body, once the trailer, which is mostly empty, has come too."""
        blank, size = self._blank_line(end)
        if blank < 0:
            if len(self._received) > MOST_HEAD_BYTES:
                raise BrokenOff("the trailer of the answer does not end")
            return None
        self._lines(self._take(blank + size).decode("latin-1"))
        return bytes(chunks)

    def _unpacked(self, body: bytes) -> bytes:
        encoding = self._headers.get("content-encoding", "").lower()
        if encoding in ("", "identity") or not body:
            return body
        if encoding not in PACKED:
            raise Unreadable("bad_response", f"the answer is packed as {encoding[:40]!r}, which was not asked for")
        try:
            return _inflated(body, self._most)
        except zlib.error as error:
            raise BrokenOff(f"the answer cannot be unpacked: {error}") from error


def _not_http(start: bytes) -> Exception:
    if start.startswith(TLS_ALERT):
        return Unreadable("tls", "the server speaks TLS; fix: start base_url with https://")
    first = start.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    return BrokenOff(f"the server does not speak HTTP: {first[:60]!r}")


def _headers(lines: list[str]) -> dict[str, str]:
    """By name; of one that is repeated, all values, as a list of words."""
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


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
