"""An HTTP/1.1 answer, read from the bytes a server sends: by length, in chunks or until it hangs up.

The bytes are parsed by httptools (llhttp, in C; `decisions/`). Here stands what a client of endpoints adds to it:
limits, and whether the next answer may come over the same connection. Where two readers of the same bytes could
disagree it may not; where lengths contradict each other, the answer is none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MOST_HEAD_BYTES = 64 * 1024
MOST_FRAMING = 8
"""Bytes received for one byte of the body, beyond the head: a chunk of one byte takes six."""
START = b"HTTP/1."
TLS_ALERT = b"\x15\x03"
"""How a server that expects TLS answers a question in plain text."""
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search


@dataclass(slots=True)
class Reply:
    """A whole answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


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
    """One answer as it comes in; the methods `on_…` are called by the parser."""

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
        """What came until the head was whole; then the head."""
        self._headers: dict[str, str] = {}
        self._status = 0
        self._has_head = self._is_between = self._is_done = False
        self._body: list[bytes] = []
        self._fault: Exception | None = None
        """What is wrong with the answer, where the parser takes it."""
        self._received = 0
        self._tail = b""
        """The last bytes that came."""
        self.size = 0
        """Bytes of the body that came so far."""
        self.is_plain = True
        """Whether every reader would see the same in it."""
        self.is_followed = False
        """Whether bytes came behind it, with its last ones."""

    @property
    def has_begun(self) -> bool:
        """Whether anything came at all."""
        return self._has_head or (bool(self._head) and not self._is_between)

    @property
    def expected(self) -> int:
        """Bytes of the body, as far as its head says; 0 where it does not."""
        return (
            int(self._headers.get("content-length", 0))
            if self._has_head and not self._is_chunked
            else 0
        )

    @property
    def may_be_followed(self) -> bool:
        """Whether, once it is whole, the next answer may come over the same connection."""
        if not self._is_done or not self.is_plain or self.is_followed:
            return False
        return "connection" not in self._headers or "close" not in words(
            self._headers["connection"]
        )

    @property
    def _is_chunked(self) -> bool:
        return "transfer-encoding" in self._headers

    def take_in(self, data: bytes) -> Reply | None:
        """A further piece; the answer, once it is whole."""
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
        """The answer that ends with its connection; `None` where more was to come."""
        if not self._has_head or self._is_chunked or "content-length" in self._headers:
            return None
        return self._reply()

    def _reply(self) -> Reply:
        self._parser = None  # the two hold each other: a large body must not wait for the garbage collector
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        return Reply(self._status, self._headers, body)

    def _take_head(self, data: bytes) -> None:
        self._head += data
        if self._head[:7] != START[: len(self._head)]:
            raise _not_http(self._head[:200])
        self._feed(data)
        if not self._has_head and len(self._head) > MOST_HEAD_BYTES:
            raise BrokenOff("the head of the answer does not end")
        if self._has_head and (end := self._head.find(b"\r\n\r\n")) >= 0:
            self._head = self._head[: end + 4]

    def _feed(self, data: bytes) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self._is_done:
                self.is_followed = True  # and what is behind the answer is none of it
            elif not self._has_head and self.is_plain:
                self._read_once_more()
            elif self._fault is None:
                line = self._head.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
                self._fault = BrokenOff(
                    f"the answer is not well-formed HTTP: {error} ({line[:60]!r})"
                )

    def _read_once_more(self) -> None:
        """Reads the head with what RFC 9112 lets a recipient allow: lines that end with a bare LF, chunks and a length.

        Others may read it differently, so it is the last answer of its connection.
        """
        self.is_plain, self._headers = False, {}
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True, lenient_chunked_length=True
        )
        self._feed(self._head)

    def _has_more(self) -> bool:
        """Whether bytes came behind the answer; the parser passes over empty lines there."""
        if self._is_chunked:
            return self._tail[-4:] != b"\r\n\r\n" or self._tail[:1] == b"\n"
        return self._received != len(self._head) + self.size

    def on_message_begin(self) -> None:
        """The first byte of this answer, or of what comes behind it."""
        self.is_followed = self._is_done

    def on_status(self, reason: bytes) -> None:
        """What stands behind the number."""
        if _CONTROL(reason):
            self.is_plain = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head; those of a trailer are passed over."""
        if not self._has_head:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self._headers[key] = (
                f"{self._headers[key]}, {text}" if key in self._headers else text
            )

    def on_headers_complete(self) -> None:
        """The head is whole."""
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
            ]  # says nothing, and the body ends with the connection
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
        """A piece of the body, without the frames of chunks."""
        if self._is_done or self._fault is not None:
            return
        self.size += len(piece)
        if self.size > self._most:
            self._fault = TooLarge()
            return
        self._body.append(piece)

    def on_message_complete(self) -> None:
        """The answer is whole, or was a word in between: then it is still to come."""
        if self._status < 200 and not self._is_done:
            self._headers, self._status, self.is_plain, self._is_between = (
                {},
                0,
                False,
                True,
            )
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
    """A header that lists words."""
    return [word.strip() for word in value.lower().split(",")]
