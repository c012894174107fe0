"""Read an HTTP/1.1 response from bytes, and decompress it with limits.

httptools (llhttp, in C) parses the bytes; `decisions/` explains why. This module adds
limits, and closes the connection after a response that another parser might read
differently. Contradicting lengths are an error.

Decompression is limited in gzip members, size and CPU time, because a server may send
ten megabytes that expand to ten gigabytes, or a million empty members. If it may take
long, it runs outside the event loop.
"""

import asyncio
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MOST_HEAD_BYTES = 64 * 1024
MOST_FRAMING = 8
"""Maximum ratio of received bytes to body bytes, excluding the head. A chunk of one byte takes six bytes."""
START = b"HTTP/1."
TLS_ALERT = b"\x15\x03"
"""First bytes of the reply from a TLS server that received plain text."""
_FORBIDDEN = re.compile(rb"[\x00\x0a-\x0d]").search
"""Matches characters that no parser allows in a header. Other control characters only make the connection close."""
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+").fullmatch
_FOLDED = re.compile(rb"\n[ \t]").search
"""Matches a header that continues on the next line."""
SMALL_PIECE = 4 * 1024
"""Pieces of a body with fewer bytes than this are joined, because a list of single
bytes takes eight times their size.
"""
JOINED_PIECE = 64 * 1024
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search


@dataclass(slots=True)
class Reply:
    """A complete response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class BrokenOff(ConnectionError):
    """Raised if the response was incomplete when the connection ended or sent something other than HTTP."""


class TooLarge(Exception):
    """Raised if the response is larger than allowed."""


class Unreadable(Exception):
    """Raised if the response cannot be read and a retry would not help. `kind` is the type of error to record."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Answer:
    """One response during its arrival. The parser calls the methods `on_…`."""

    __slots__ = (
        "_body",
        "_fault",
        "_has_head",
        "_head",
        "_headers",
        "_is_between",
        "_is_done",
        "_most",
        "_parser",
        "_received",
        "_small",
        "_status",
        "_tail",
        "is_followed",
        "is_plain",
        "size",
    )

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._head = b""
        """The bytes received so far until the head is complete, then the head."""
        self._headers: dict[str, str] = {}
        self._status = 0
        self._has_head = self._is_between = self._is_done = False
        self._body: list[bytes] = []
        self._small = bytearray()
        """Small pieces of the body that were not yet added to `_body`."""
        self._fault: Exception | None = None
        """An error found in a response that the parser accepts."""
        self._received = 0
        self._tail = b""
        """The last five received bytes, from which `_has_more` detects bytes after the response."""
        self.size = 0
        """Number of bytes of the body received so far."""
        self.is_plain = True
        """True if every HTTP parser would read this response in the same way."""
        self.is_followed = False
        """True if more bytes followed the response."""

    @property
    def has_begun(self) -> bool:
        """True if the first byte of the final response has arrived."""
        return self._has_head or (bool(self._head) and not self._is_between)

    @property
    def expected(self) -> int:
        """Number of bytes of the body according to the head; 0 if the head has no length."""
        if self._has_head and not self._is_chunked:
            return int(self._headers.get("content-length", 0))
        return 0

    @property
    def may_be_followed(self) -> bool:
        """True if another response may follow this complete one, so that the connection can be reused."""
        if not self._is_done or not self.is_plain or self.is_followed:
            return False
        return "connection" not in self._headers or "close" not in words(
            self._headers["connection"]
        )

    @property
    def _is_chunked(self) -> bool:
        return "transfer-encoding" in self._headers

    def take_in(self, data: bytes) -> Reply | None:
        """Process further bytes. Return the response once it is complete."""
        self._received += len(data)
        if not self._has_head:
            self._take_head(data)
        else:
            self._feed(data)
        if self._is_chunked:
            self._tail = (self._tail + data[-5:])[-5:]
        if self._fault is not None:
            raise self._fault
        if (
            self._received
            > len(self._head) + MOST_HEAD_BYTES + MOST_FRAMING * self.size
        ):
            raise BrokenOff("the trailer of the answer does not end")
        if not self._is_done:
            return None
        self.is_followed = self.is_followed or self._has_more()
        return self._reply()

    def ended(self) -> Reply | None:
        """Return the response if the server marks its end by closing the connection; None if it is incomplete."""
        if not self._has_head or self._is_chunked or "content-length" in self._headers:
            return None
        return self._reply()

    def _reply(self) -> Reply:
        self._parser = None  # breaks a reference cycle: a large body must not wait for the garbage collector
        self._join_small_pieces()
        if len(self._body) == 1:
            body = self._body[0]
        else:
            body = b"".join(self._body)
        self._body = []
        return Reply(self._status, self._headers, body)

    def _take_head(self, data: bytes) -> None:
        self._head += data
        start = self._head[: len(START)]
        if not START.startswith(start):
            raise _not_http(self._head[:200])
        self._feed(data)
        if not self._has_head and len(self._head) > MOST_HEAD_BYTES:
            raise BrokenOff("the head of the answer does not end")
        end = self._head.find(b"\r\n\r\n")
        if self._has_head and end >= 0:
            self._head = self._head[: end + 4]

    def _feed(self, data: bytes) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self._is_done:
                self.is_followed = True  # what follows the response is not part of it
            elif not self._has_head and self.is_plain:
                self._read_once_more()
            elif self._fault is None:
                line = self._head.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
                self._fault = BrokenOff(
                    f"the answer is not well-formed HTTP: {error} ({line[:60]!r})"
                )

    def _read_once_more(self) -> None:
        """Parse the head again with rules that the standard permits: bare LF, chunks and a length, control
        characters.

        Other programs may parse it differently, so the connection is closed after it. `on_header` rejects the control
        characters that h11 rejects.
        """
        self.is_plain = False
        self._headers = {}
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True,
            lenient_chunked_length=True,
            lenient_headers=not _FOLDED(self._head),
        )
        self._feed(self._head)

    def _has_more(self) -> bool:
        """Return True if bytes followed the response, including empty lines, which the parser skips."""
        if self._is_chunked:
            return self._tail[-4:] != b"\r\n\r\n" or self._tail[:1] == b"\n"
        return self._received != len(self._head) + self.size

    def on_message_begin(self) -> None:
        """Note that another response has started after a complete one."""
        self.is_followed = self._is_done

    def on_status(self, reason: bytes) -> None:
        """Detect control characters in the reason phrase (the text after the status), which some parsers reject."""
        if _CONTROL(reason):
            self.is_plain = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process one line of the head. Lines of a trailer are ignored."""
        if not self.is_plain:
            self._check_header(name, value)
        if not self._has_head:
            key = name.decode("latin-1").lower()
            text = value.decode("latin-1")
            self._headers[key] = (
                f"{self._headers[key]}, {text}" if key in self._headers else text
            )

    def _check_header(self, name: bytes, value: bytes) -> None:
        """Reject a header that a lenient parser accepts and h11 does not."""
        if not _TOKEN(name):
            problem = "Invalid header field char"
        elif _FORBIDDEN(value):
            problem = "Invalid header value char"
        else:
            return
        line = name.decode("latin-1")[:60]
        self._fault = BrokenOff(
            f"the answer is not well-formed HTTP: {problem} ({line!r})"
        )

    def on_headers_complete(self) -> None:
        """Check the complete head: status, transfer encoding, length and version."""
        if self._is_done or self._parser is None:
            return
        self._status = status = self._parser.get_status_code()
        if status < 100 or status == 101:
            self._fault = BrokenOff(
                f"the server answers with status {status}, which was not asked for"
            )
        if status < 200:
            return
        self._has_head = True
        headers = self._headers
        coding = headers.get("transfer-encoding", "chunked").lower()
        if coding == "identity":
            del headers[
                "transfer-encoding"
            ]  # no length is given, so the body ends with the connection
            self.is_plain = False
        elif coding != "chunked":
            self._fault = Unreadable(
                "bad_response",
                f"the answer is sent as {coding[:40]!r}, which was not asked for",
            )
        elif self.expected > self._most:
            self._fault = TooLarge()
        if self._parser.get_http_version() != "1.1":
            self.is_plain = False

    def on_body(self, piece: bytes) -> None:
        """Process a piece of the body, without the framing of chunks."""
        if self._is_done or self._fault is not None:
            return
        self.size += len(piece)
        if self.size > self._most:
            self._fault = TooLarge()
            return
        if len(piece) < SMALL_PIECE:
            self._small += piece
            if len(self._small) >= JOINED_PIECE:
                self._join_small_pieces()
            return
        self._join_small_pieces()
        self._body.append(piece)

    def _join_small_pieces(self) -> None:
        """Join the latest small pieces of the body to one."""
        if self._small:
            self._body.append(bytes(self._small))
            self._small.clear()

    def on_message_complete(self) -> None:
        """Record the end of the response, or of an interim (1xx) response before it."""
        if self._status < 200 and not self._is_done:
            self._headers = {}
            self._status = 0
            self.is_plain = False
            self._is_between = True
            return
        self._is_done = True


def _not_http(start: bytes) -> Exception:
    if start.startswith(TLS_ALERT):
        return Unreadable(
            "tls", "the server speaks TLS; fix: start base_url with https://"
        )
    first = start.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    return BrokenOff(f"the server does not speak HTTP: {first[:60]!r}")


def words(value: str) -> list[str]:
    """Return the words of a comma-separated header."""
    return [word.strip() for word in value.lower().split(",")]


PACKED = frozenset({"gzip", "x-gzip", "deflate"})
MOST_MEMBERS = 100
"""Maximum number of members in one gzip body. Almost all bodies have one."""
MOST_SECONDS = 5.0
"""CPU time limit in seconds for decompressing one answer, because empty blocks cost time but no memory."""
SLICE_BYTES = 64 * 1024
PIECE_BYTES = 1024 * 1024
INLINE_BYTES = 8 * 1024
"""Largest body, in bytes, that is decompressed in the event loop.

For smaller ones, a thread is not worth its cost.
"""
THREADS = 2
"""Maximum number of large answers to decompress at once. Each may take as much memory as the size limit allows."""


async def unpack(
    body: bytes,
    encoding: str,
    most: int,
) -> bytes:
    """Return a body without its `Content-Encoding`. Raise `TooLarge` if it then has more than `most` bytes."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not body:
        return body
    if encoding not in PACKED:
        raise Unreadable(
            "bad_response",
            f"the answer is packed as {encoding[:40]!r}, which was not asked for",
        )
    if len(body) <= INLINE_BYTES:
        return inflate(body, most)
    is_wanted = threading.Event()
    is_wanted.set()
    try:
        return await asyncio.get_running_loop().run_in_executor(
            _threads(),
            inflate,
            body,
            most,
            is_wanted.is_set,
        )
    finally:
        is_wanted.clear()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "unpacking")


def inflate(
    body: bytes,
    most: int,
    is_wanted: Callable[[], bool] = lambda: True,
) -> bytes:
    """Return the decompressed bytes of a body. Gzip data may have several members, deflate data may lack a header."""
    unpacking = _Unpacking(memoryview(body), most, is_wanted)
    try:
        unpacking.run()
        return bytes(unpacking.plain)
    finally:
        unpacking.plain.clear()  # an error keeps its frames alive, and these keep what they read


class _Unpacking:
    def __init__(
        self,
        packed: memoryview,
        most: int,
        is_wanted: Callable[[], bool],
    ) -> None:
        self.packed = packed
        self.most = most
        self.is_wanted = is_wanted
        self.plain = bytearray()
        self.start = 0
        """Index in the body at which the next member starts."""
        self.until = time.thread_time() + MOST_SECONDS

    def run(self) -> None:
        for _ in range(MOST_MEMBERS):
            try:
                try:
                    self._take_member(zlib.MAX_WBITS | 32)
                except zlib.error:
                    if self.plain or self.start:
                        raise
                    self._take_member(
                        -zlib.MAX_WBITS
                    )  # raw deflate without a header, as some servers send it
            except zlib.error as error:
                raise BrokenOff(f"the answer cannot be unpacked: {error}") from error
            if self.start == len(self.packed):
                return
        raise Unreadable(
            "bad_response", f"the answer is packed in more than {MOST_MEMBERS} members"
        )

    def _take_member(self, bits: int) -> None:
        """Decompress the next member of a body and add it to `plain`."""
        unpacker = zlib.decompressobj(bits)
        start = self.start
        while not unpacker.eof:
            piece = self.packed[start : start + SLICE_BYTES]
            chunk = unpacker.decompress(
                piece, min(self.most + 1 - len(self.plain), PIECE_BYTES)
            )
            self.plain += chunk
            if len(self.plain) > self.most:
                raise TooLarge
            # At the end of a member, zlib may report the bytes after it twice.
            consumed = len(piece) - len(
                unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            )
            if not consumed and not chunk and not unpacker.eof:
                raise zlib.error("it breaks off")
            start += consumed
            if time.thread_time() > self.until:
                raise Unreadable(
                    "bad_response",
                    f"the answer takes longer than {MOST_SECONDS:g} s to unpack",
                )
            if not self.is_wanted():
                raise BrokenOff("the answer is no longer needed")
        self.start = start
