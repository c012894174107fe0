"""Open a connection to a server, with name resolution, TLS and the proxy of the environment.

An unknown host and an untrusted certificate are permanent failures and not retried. A server that is down may
recover.

The proxy comes from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY. Only plain HTTP proxies are supported, with a
login if the URL has one; others are rejected with an error.
"""

import asyncio
import base64
import errno
import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..core.certificates import trust_context
from .http_connection import Connection
from .http_failures import HttpFailure

FIX = "correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or list the host in NO_PROXY"
_ENTRY = re.compile(
    r"\[(?P<inner>[^]]+)\](?::(?P<inner_port>\d+))?"  # "[::1]:8080"
    r"|(?P<name>[^:]+)(?::(?P<port>\d+))?"  # "example.org:8080"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy to connect to instead of the server."""

    host: str
    port: int
    login: str = field(default="", repr=False)
    """The value of `Proxy-Authorization`; empty if the URL has no login."""

    @property
    def named(self) -> str:
        """`host:port`, for messages."""
        return f"{with_brackets(self.host)}:{self.port}"

    def login_failure(self) -> HttpFailure:
        """Return the failure for status 407: the proxy requires a login, or rejected it."""
        problem = "refuses the login of its URL" if self.login else "asks for a login"
        fix = "name it in the proxy's variable: http://user:password@host:port, other signs than letters as %XX"
        return HttpFailure(
            "connection",
            f"the proxy {self.named} {problem}; fix: {fix}",
            retryable=False,
        )


def with_brackets(host: str) -> str:
    """Return a host in the form used before a port, with IPv6 addresses in brackets."""
    if ":" in host:
        return f"[{host}]"
    return host


def proxy_for(
    scheme: str,
    host: str,
    port: int,
) -> Proxy | None:
    """Return the proxy for a server, or None. Raise `HttpFailure` for an unsupported kind of proxy."""
    settings = getproxies()
    url = settings.get(scheme) or settings.get("all")
    if not url:
        return None
    if (
        is_exempt(host, port, settings["no"])
        if "no" in settings
        else proxy_bypass(host)
    ):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        number = parts.port or 80
    except ValueError as error:
        raise HttpFailure(
            "connection",
            f"the proxy's URL: {error}; fix: {FIX}",
            retryable=False,
        ) from error
    if parts.scheme != "http" or not parts.hostname:
        address = f"{parts.scheme}://{with_brackets(parts.hostname or '')}"
        message = f"the proxy {address} cannot be used: only http:// proxies are spoken to; fix: {FIX}"
        raise HttpFailure("connection", message, retryable=False)
    return Proxy(parts.hostname, number, _login(parts))


def _login(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")


def is_exempt(
    host: str,
    port: int,
    listed: str,
) -> bool:
    """Return True if NO_PROXY contains a server: by host, domain, address or network, with or without a port."""
    host = host.strip("[]").rstrip(".").lower()
    address = _address(host)
    for entry in re.split(r"[\s,]+", listed.lower()):
        if entry == "*":
            return True
        if not entry:
            continue
        name, only = _split(entry)
        if only is not None and only != port:
            continue
        if address is not None:
            network = _network(name)
            if (
                network is not None
                and address.version == network.version
                and address in network
            ):
                return True
        elif (domain := name.removeprefix("*").strip(".")) and (
            host == domain or host.endswith(f".{domain}")
        ):
            return True
    return False


def _split(entry: str) -> tuple[str, int | None]:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return entry, None  # an IPv6 address or network without brackets
    port = match["inner_port"] or match["port"]
    return match["inner"] or match["name"], int(port) if port else None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(name, strict=False)
    except ValueError:
        return None


P = TypeVar("P", bound=asyncio.Protocol)
STRAGGLER_SECONDS = 0.25
"""Seconds after which the next address is tried while the previous one is still pending."""
NOT_TLS = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "RECORD_LAYER_FAILURE",
    }
)
"""OpenSSL's error names for a server that answers in plain text."""
MOST_TUNNEL_BYTES = 16 * 1024
LISTEN_SECONDS = 0.01
"""Seconds to listen on a new connection for bytes sent before the first request, which cannot be its response."""
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9][0-9])(?: |\Z)").match


@dataclass(frozen=True, slots=True)
class Origin:
    """The server that connections lead to. Connections to the same origin are interchangeable."""

    host: str
    port: int
    is_tls: bool
    proxy: Proxy | None = None

    @property
    def named(self) -> str:
        """`host:port`, for messages and the Host header."""
        usual_port = 443 if self.is_tls else 80
        if self.port == usual_port:
            return with_brackets(self.host)
        return self.place

    @property
    def place(self) -> str:
        """The server as `host:port`, always with the port, as CONNECT requires."""
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
    """Open a new connection. Raise `HttpFailure` if that is not possible."""
    proxy = origin.proxy
    peer, host = (
        (f"the proxy {proxy.named}", proxy.host)
        if proxy
        else (origin.named, origin.host)
    )
    fix = FIX if proxy else "start the server, or check base_url"
    try:
        async with asyncio.timeout(seconds):
            connection = await _connected(origin, make)
    except TimeoutError as error:
        # No connection was accepted, so the server is down, not just slow.
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
        if is_plain:
            problem = "does not speak TLS; fix: start base_url with http://"
        else:
            problem = f"TLS failed: {reason}"
        raise HttpFailure(
            "tls",
            f"{origin.named} {problem}",
            retryable=not is_plain,
        ) from error
    except socket.gaierror as error:
        passes = error.errno == socket.EAI_AGAIN
        fix = FIX if proxy else "check base_url"
        message = f"cannot find the host {host!r} ({error.strerror}); fix: {fix}"
        raise HttpFailure("connection", message, retryable=passes) from error
    except OSError as error:
        if error.errno:
            reason = os.strerror(error.errno)
        else:
            reason = str(error) or type(error).__name__
        message = f"cannot connect to {peer}: {reason}; fix: {fix}"
        raise HttpFailure("connection", message, retryable=True) from error
    try:
        await asyncio.sleep(LISTEN_SECONDS)
    except asyncio.CancelledError:
        connection.close()
        raise
    return connection


async def _connected(
    origin: Origin,
    make: Callable[[], Connection],
) -> Connection:
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

    If the host has several addresses, each is tried shortly after the previous one,
    without waiting for it to fail.
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
    """Open a connection through a proxy, which forwards the encrypted bytes."""
    raw, tunnel = await _opened(proxy, _Tunnel)
    try:
        if proxy.login:
            login = f"Proxy-Authorization: {proxy.login}\r\n"
        else:
            login = ""
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
        """Collect received bytes until the empty line, or until the reply is too long for a CONNECT."""
        self._received += data
        is_whole = (
            self._received.endswith(b"\r\n\r\n")
            or len(self._received) > MOST_TUNNEL_BYTES
        )
        if is_whole and not self.head.done():
            self.head.set_result(self._received)

    def connection_lost(self, error: Exception | None) -> None:
        """Finish when the proxy closes the connection. The bytes received so far may contain the reason."""
        if not self.head.done():
            self.head.set_result(self._received)


def _check_tunnel(head: bytes, proxy: Proxy) -> None:
    """Raise unless a proxy's reply to `CONNECT` starts with a status such as `HTTP/1.1 200 OK`."""
    line = head.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    if not head:
        raise HttpFailure(
            "connection",
            f"the proxy {proxy.named} closed the connection",
            retryable=True,
        )
    if (status := _STATUS(line)) is None:
        message = (
            f"the proxy {proxy.named} does not speak HTTP: {line[:60]!r}; fix: {FIX}"
        )
        raise HttpFailure("connection", message, retryable=False)
    if status[1] == "407":
        raise proxy.login_failure()
    if not status[1].startswith("2") or not head.endswith(b"\r\n\r\n"):
        message = f"the proxy refused the connection: {line[:80]}"
        raise HttpFailure("connection", message, retryable=status[1].startswith("5"))
