"""One HTTP question, one attempt: timeouts, size limits, and what each failure means for trying again.

Whoever calls decides nothing about retries: a failure says whether another try may help, the scheduler tries.
Secrets are taken out of every message made here.
"""

import asyncio
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import msgspec

from ..core import Output

if TYPE_CHECKING:
    import aiohttp

RETRYABLE = frozenset({408, 409, 425, 429})
HIDDEN = "[hidden]"
SHORTEST_SECRET = 8
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_AUTHORIZATION = re.compile(r"(?i)\b(authorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic)?\s*|bearer\s+)[^\s'\",}]+")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without secrets: the given ones, those in the environment, passwords in URLs, authorization headers."""
    named = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    known = {value for value in (*secrets, *named) if len(value) >= SHORTEST_SECRET}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _USERINFO.sub(HIDDEN, text)
    return _AUTHORIZATION.sub(lambda match: match.group(1) + HIDDEN, text)


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


class HttpFailure(Exception):
    """An attempt that brought no answer, with what that means."""

    def __init__(self, kind: str, message: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.retryable, self.retry_after = kind, message, retryable, retry_after

    def as_output(self, secrets: Iterable[str] = ()) -> Output:
        """The failure as an output, on one line and without secrets."""
        message = " ".join(redact(self.message, secrets).split())
        return Output.failed(self.kind, message, retryable=self.retryable, retry_after=self.retry_after)


class Refused(Exception):
    """An answer with an error status, before it is decided what it means."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self) -> Mapping[str, Any]:
        """The `error` object of the body; empty if there is none."""
        try:
            body = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return {}
        error = body.get("error", body) if isinstance(body, Mapping) else {}
        return error if isinstance(error, Mapping) else {"message": str(error)}

    def failure(self) -> HttpFailure:
        """What the status means."""
        said = self.error.get("message") or self.body[:200].decode("utf-8", "replace")
        message = f"HTTP {self.status}: {str(said)[:300]}".strip().rstrip(":")
        if 300 <= self.status < 400:
            target = urlsplit(self.headers.get("Location", "")).netloc or "elsewhere"
            message = f"HTTP {self.status}: redirected to {target}, which is not followed; fix: correct base_url"
            return HttpFailure("http", message, retryable=False)
        if self.status in (401, 403):
            return HttpFailure("auth", message, retryable=False)
        if self.status == 429 and self.error.get("code") == "insufficient_quota":
            return HttpFailure("quota", message, retryable=False)
        kind = "rate_limit" if self.status == 429 else "timeout" if self.status == 408 else "http"
        retryable = self.status in RETRYABLE or self.status >= 500
        return HttpFailure(kind, message, retryable=retryable, retry_after=retry_after(self.headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asked to wait, from a number or a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After")
    if said is None or (seconds := _number(said)) is not None:
        return None if said is None else seconds
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


@dataclass
class Client:
    """Posts JSON, with one session for each event loop."""

    limits: Limits = field(default_factory=Limits)
    _sessions: "WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )

    async def post(self, url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """The decoded answer of one attempt; raises `Refused` for an error status, `HttpFailure` for the rest."""
        import aiohttp

        data = msgspec.json.encode(body)
        try:
            status, answered, received = await self._exchange(url, data, headers)
        except TimeoutError as error:
            raise HttpFailure("timeout", str(error) or "no answer in time", retryable=True) from error
        except aiohttp.ClientPayloadError as error:
            raise HttpFailure("connection", f"the answer broke off: {error}", retryable=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise HttpFailure("connection", f"{type(error).__name__}: {error}", retryable=True) from error
        if status >= 300:
            raise Refused(status, answered, received)
        try:
            return msgspec.json.decode(received)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            start = received[:60].decode("utf-8", "replace")
            raise HttpFailure(
                "bad_response", f"HTTP {status}, but the body is not whole JSON ({error}): {start!r}", retryable=True
            ) from error

    async def close(self) -> None:
        """Closes the session of the running loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _exchange(
        self, url: str, data: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        session = self._session(url)
        limits = self.limits
        sent = {"Content-Type": "application/json", **headers}
        request = session.post(url, data=data, headers=sent, allow_redirects=False)
        async with _within(limits.total, "the answer was not complete"):
            async with _within(limits.first_byte, "no first byte"):
                response = await request
            async with response:
                return response.status, response.headers, await self._read(response)

    async def _read(self, response: "aiohttp.ClientResponse") -> bytes:
        most = self.limits.response_bytes
        received = bytearray()
        chunks = response.content.iter_any()
        while True:
            async with _within(self.limits.idle, "the answer stalled"):
                chunk = await anext(chunks, b"")
            if not chunk:
                return bytes(received)
            received += chunk
            if len(received) > most:
                response.close()
                raise HttpFailure("too_large", f"the answer is larger than {most} bytes", retryable=False)

    def _session(self, url: str) -> "aiohttp.ClientSession":
        import aiohttp

        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = aiohttp.ClientSession(
                # The scheduler bounds how many are in flight; a second bound here would only hide it.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.limits.connect),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=_proxy(url),
            )
        return session


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


class _within(AbstractAsyncContextManager[None]):
    """`asyncio.timeout` whose error says which limit was passed."""

    def __init__(self, seconds: float, what: str) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._message = f"{what} within {seconds:g} s"

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *exception: Any) -> None:
        try:
            await self._timeout.__aexit__(*exception)
        except TimeoutError:
            raise TimeoutError(self._message) from None
