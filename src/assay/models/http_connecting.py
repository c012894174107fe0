"""Getting a connection to a server: name, TLS and proxy, and what it means when one of them fails.

A wrong name and a certificate nobody vouches for stay wrong: they are not tried again. A server that is gone may come
back.
"""

import asyncio
import base64
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..core.secrets import without
from .http_connection import Connection
from .http_failures import HttpFailure

STRAGGLER_SECONDS = 0.25
"""An address that does not answer so soon is left to itself while the next is tried."""
NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
"""What OpenSSL says when a server answers in plain text."""
MOST_TUNNEL_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Origin:
    """Where connections go to; those of one origin can be used for one another's questions."""

    host: str
    port: int
    is_tls: bool
    proxy: str | None = None

    @property
    def named(self) -> str:
        """`host:port`, for messages and the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


def target(url: str) -> tuple[Origin, str]:
    """The origin of a URL, and what the first line of a question names: the path, or for a proxy the whole URL."""
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    host = parts.hostname or ""
    proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
    origin = Origin(host, parts.port or (443 if is_tls else 80), is_tls, proxy)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")
    return origin, f"http://{origin.named}{path}" if proxy and not is_tls else path


async def connect(origin: Origin, make: Callable[[], Connection], seconds: float) -> Connection:
    """A new connection; raises `HttpFailure` where there is none to be had."""
    try:
        async with asyncio.timeout(seconds):
            return await (_connected(origin, make) if origin.proxy is None else _through_proxy(origin, make))
    except TimeoutError as error:
        # Nobody took the call: whatever is the matter, it is the server that is away, and no answer that is slow.
        message = f"no connection to {origin.named} within {seconds:g} s; fix: start the server, or check base_url"
        raise HttpFailure("connection", message, retryable=True) from error
    except ssl.SSLCertVerificationError as error:
        message = f"{origin.named}: its certificate is not trusted ({error.verify_message})"
        fix = "name the right host, or the file of its authority in the environment variable SSL_CERT_FILE"
        raise HttpFailure("tls", f"{message}; fix: {fix}", retryable=False) from error
    except ssl.SSLError as error:
        reason = getattr(error, "reason", None) or str(error)
        is_plain = reason in NOT_TLS
        said = "does not speak TLS; fix: start base_url with http://" if is_plain else f"TLS failed: {reason}"
        raise HttpFailure("tls", f"{origin.named} {said}", retryable=not is_plain) from error
    except socket.gaierror as error:
        passes = error.errno == socket.EAI_AGAIN
        message = f"cannot find the host {origin.host!r} ({error.strerror}); fix: check base_url"
        raise HttpFailure("connection", message, retryable=passes) from error
    except OSError as error:
        message = f"cannot connect to {origin.named}: {_reason(error)}; fix: start the server, or check base_url"
        raise HttpFailure("connection", message, retryable=True) from error


@lru_cache(maxsize=4)
def _trust(authorities: str | None) -> ssl.SSLContext:
    """Whom to believe: reading the certificates takes long, so it is done once for each file of them."""
    return ssl.create_default_context(cafile=authorities)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


async def _connected(origin: Origin, make: Callable[[], Connection]) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        make,
        origin.host,
        origin.port,
        ssl=_trust(os.environ.get("SSL_CERT_FILE")) if origin.is_tls else None,
        happy_eyeballs_delay=STRAGGLER_SECONDS,
    )
    return connection


async def _through_proxy(origin: Origin, make: Callable[[], Connection]) -> Connection:
    """A connection to the proxy; for TLS, a tunnel through it."""
    parts = urlsplit(origin.proxy if origin.proxy and "://" in origin.proxy else f"http://{origin.proxy}")
    loop = asyncio.get_running_loop()
    if parts.scheme != "http" or not parts.hostname:
        message = f"the proxy {without(str(origin.proxy))} is not an http:// one; fix: correct or unset HTTP(S)_PROXY"
        raise HttpFailure("connection", message, retryable=False)
    address = (parts.hostname, parts.port or 8080)
    if not origin.is_tls:
        _, connection = await loop.create_connection(make, *address, happy_eyeballs_delay=STRAGGLER_SECONDS)
        return connection
    plug = await loop.run_in_executor(None, socket.create_connection, address, 10.0)
    try:
        plug.setblocking(False)
        await _tunnel(plug, f"{origin.host}:{origin.port}", _proxy_login(parts.username, parts.password))
        _, connection = await loop.create_connection(
            make, sock=plug, ssl=_trust(os.environ.get("SSL_CERT_FILE")), server_hostname=origin.host
        )
    except BaseException:
        plug.close()
        raise
    return connection


def _proxy_login(username: str | None, password: str | None) -> str:
    if username is None:
        return ""
    token = base64.b64encode(f"{unquote(username)}:{unquote(password or '')}".encode()).decode("ascii")
    return f"Proxy-Authorization: Basic {token}\r\n"


async def _tunnel(plug: socket.socket, place: str, login: str) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(plug, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login}\r\n".encode("latin-1"))
    received = b""
    while b"\r\n\r\n" not in received and b"\n\n" not in received:
        piece = await loop.sock_recv(plug, 4096)
        received += piece
        if not piece or len(received) > MOST_TUNNEL_BYTES:
            raise ConnectionError("the proxy closed the connection")
    line = received.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    if not line[9:12].startswith("2"):
        raise HttpFailure("connection", f"the proxy refused the connection: {line[:80]}", retryable=False)
