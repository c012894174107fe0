"""Open a connection to a server, with name resolution, TLS and proxy, and classify failures.

An unknown host and an untrusted certificate are permanent faults and not retried. A server that is down may come
back.
"""

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlsplit

from ..core.certificates import trust_context
from .http_connection import Connection
from .http_failures import HttpFailure
from .http_proxies import FIX as PROXY_FIX
from .http_proxies import Proxy, proxy_for, with_brackets

P = TypeVar("P", bound=asyncio.Protocol)
STRAGGLER_SECONDS = 0.25
"""If an address does not answer within this time, the next one is tried at the same time."""
NOT_TLS = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "RECORD_LAYER_FAILURE",
    }
)
"""OpenSSL's messages when a server answers in plain text."""
MOST_TUNNEL_BYTES = 16 * 1024
LISTEN_SECONDS = 0.01
"""How long to listen on a new connection. Bytes that come before the first request do not answer it."""
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9][0-9])(?: |\Z)").match


@dataclass(frozen=True, slots=True)
class Origin:
    """The target of connections; connections to the same origin are interchangeable."""

    host: str
    port: int
    is_tls: bool
    proxy: Proxy | None = None

    @property
    def named(self) -> str:
        """`host:port`, for messages and the Host header."""
        return (
            with_brackets(self.host)
            if self.port == (443 if self.is_tls else 80)
            else self.place
        )

    @property
    def place(self) -> str:
        """`host:port`, always with the port, as a tunnel needs it."""
        return f"{with_brackets(self.host)}:{self.port}"


def target(url: str) -> tuple[Origin, str]:
    """Return the origin of a URL and the target of its request line: the path, or the whole URL for a proxy."""
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    host = parts.hostname or ""
    port = parts.port or (443 if is_tls else 80)
    origin = Origin(host, port, is_tls, proxy_for(parts.scheme, host, port))
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (
        f"?{parts.query}" if parts.query else ""
    )
    return (
        origin,
        f"http://{origin.named}{path}" if origin.proxy and not is_tls else path,
    )


async def connect(
    origin: Origin,
    make: Callable[[], Connection],
    seconds: float,
) -> Connection:
    """Open a new connection; raise `HttpFailure` if that is not possible."""
    proxy = origin.proxy
    peer, host = (
        (f"the proxy {proxy.named}", proxy.host)
        if proxy
        else (origin.named, origin.host)
    )
    fix = PROXY_FIX if proxy else "start the server, or check base_url"
    try:
        async with asyncio.timeout(seconds):
            connection = await _connected(origin, make)
    except TimeoutError as error:
        # No connection was accepted: the server is away, not slow to answer.
        message = f"no connection to {peer} within {seconds:g} s; fix: {fix}"
        raise HttpFailure("connection", message, retryable=True) from error
    except ssl.SSLCertVerificationError as error:
        message = (
            f"{origin.named}: its certificate is not trusted ({error.verify_message})"
        )
        fix = "name the right host, or the file of its authority in the environment variable SSL_CERT_FILE"
        raise HttpFailure("tls", f"{message}; fix: {fix}", retryable=False) from error
    except ssl.SSLError as error:
        reason = getattr(error, "reason", None) or str(error)
        is_plain = reason in NOT_TLS
        problem = (
            "does not speak TLS; fix: start base_url with http://"
            if is_plain
            else f"TLS failed: {reason}"
        )
        raise HttpFailure(
            "tls",
            f"{origin.named} {problem}",
            retryable=not is_plain,
        ) from error
    except socket.gaierror as error:
        passes = error.errno == socket.EAI_AGAIN
        fix = PROXY_FIX if proxy else "check base_url"
        message = f"cannot find the host {host!r} ({error.strerror}); fix: {fix}"
        raise HttpFailure("connection", message, retryable=passes) from error
    except OSError as error:
        reason = (
            os.strerror(error.errno)
            if error.errno
            else str(error) or type(error).__name__
        )
        message = f"cannot connect to {peer}: {reason}; fix: {fix}"
        raise HttpFailure("connection", message, retryable=True) from error
    try:
        await asyncio.sleep(LISTEN_SECONDS)
    except asyncio.CancelledError:
        connection.close()
        raise
    return connection


async def _connected(origin: Origin, make: Callable[[], Connection]) -> Connection:
    """Connect to the server or to the proxy; for TLS behind a proxy, open a tunnel."""
    context = trust_context() if origin.is_tls else None
    if origin.proxy is not None and context is not None:
        return await _tunnelled(origin.proxy, origin, make, context)
    return (await _opened(origin.proxy or origin, make, context))[1]


async def _opened(
    place: Origin | Proxy,
    make: Callable[[], P],
    context: ssl.SSLContext | None = None,
) -> tuple[asyncio.Transport, P]:
    """Open a connection to a server or proxy.

    All its addresses are tried, each a little later than the one before.
    """
    loop = asyncio.get_running_loop()
    return await loop.create_connection(
        make,
        place.host,
        place.port,
        ssl=context,
        happy_eyeballs_delay=STRAGGLER_SECONDS,
    )


async def _tunnelled(
    proxy: Proxy,
    origin: Origin,
    make: Callable[[], Connection],
    context: ssl.SSLContext,
) -> Connection:
    """Open a connection through a proxy, which passes the encrypted bytes on."""
    raw, tunnel = await _opened(proxy, _Tunnel)
    try:
        login = f"Proxy-Authorization: {proxy.login}\r\n" if proxy.login else ""
        raw.write(
            f"CONNECT {origin.place} HTTP/1.1\r\nHost: {origin.place}\r\n{login}\r\n".encode(
                "latin-1"
            )
        )
        _check_tunnel(await tunnel.head, proxy)
        connection = make()
        transport = await asyncio.get_running_loop().start_tls(
            raw,
            connection,
            context,
            server_hostname=origin.host,
        )
        if transport is None:
            raise ConnectionResetError(
                errno.ECONNRESET, "the proxy closed the connection"
            )
    except BaseException:
        raw.abort()
        raise
    connection.connection_made(transport)
    return connection


class _Tunnel(asyncio.Protocol):
    """Receives a proxy's answer to CONNECT, up to the empty line after its headers."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Collect received bytes, and finish at the empty line or when there are too many for an answer to CONNECT."""
        self._received += data
        is_whole = (
            self._received.endswith(b"\r\n\r\n")
            or len(self._received) > MOST_TUNNEL_BYTES
        )
        if is_whole and not self.head.done():
            self.head.set_result(self._received)

    def connection_lost(self, error: Exception | None) -> None:
        """Finish when the proxy closes the connection; the bytes received so far may say why."""
        if not self.head.done():
            self.head.set_result(self._received)


def _check_tunnel(head: bytes, proxy: Proxy) -> None:
    """Raise if a proxy's reply to `CONNECT` does not start with a status such as `HTTP/1.1 200 OK`."""
    line = head.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    if not head:
        raise HttpFailure(
            "connection",
            f"the proxy {proxy.named} closed the connection",
            retryable=True,
        )
    if (status := _STATUS(line)) is None:
        message = f"the proxy {proxy.named} does not speak HTTP: {line[:60]!r}; fix: {PROXY_FIX}"
        raise HttpFailure("connection", message, retryable=False)
    if status[1] == "407":
        raise proxy.login_failure()
    if not status[1].startswith("2") or not head.endswith(b"\r\n\r\n"):
        message = f"the proxy refused the connection: {line[:80]}"
        raise HttpFailure("connection", message, retryable=status[1].startswith("5"))
