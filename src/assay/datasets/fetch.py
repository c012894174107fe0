"""Download a file from a public URL, within a deadline, and check its sha256.

Only https is accepted. Private, loopback and link-local addresses are refused in the
URL and in every redirect, unless `allow_private` is set. The connection is made to the
address that was checked.

URLs in rows may lead only to public addresses, unless the user allows more. An IPv6
address may contain an IPv4 address to which some networks translate it; then the IPv4
address decides. Addresses in obsolete forms of this (6to4, Teredo, IPv4-compatible)
are treated as not public.

The deadline covers everything that is read from a connection. A socket's own timeout
restarts with every byte, so a server that sends one byte per second never times out.
Here every read gets only the time left until the deadline.
"""

import hashlib
import http.client
import io
import ipaddress
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ..code.userfiles import file_digest
from ..core import DataError, UsageError
from ..core.certificates import trust_context

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TRANSLATED = IPv6Network("64:ff9b::/96")
"""NAT64 address ranges. With them, hosts that only have IPv6 reach hosts that only have IPv4."""
NOT_PUBLIC = tuple(
    ip_network(name)
    for name in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
        "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "::ffff:0:0:0/96",
    )
)  # fmt: skip
"""Non-public address ranges to check explicitly, because Python's `ipaddress` differs between versions."""


def is_public(address: str) -> bool:
    """Return True if an address, as `getaddrinfo` returns it, belongs to the public Internet."""
    return _is_public(ipaddress.ip_address(address.partition("%")[0]))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    inner = _inner_address(address)
    if inner is not None:
        return _is_public(inner)
    if any(
        address.version == network.version and address in network
        for network in NOT_PUBLIC
    ):
        return False
    return address.is_global and not address.is_multicast


def _inner_address(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


@dataclass(slots=True)
class Deadline:
    """The time until which a connection may be read, on the monotonic clock. None means no limit."""

    until: float | None


class _Reader(socket.SocketIO):
    """Reads a response until a deadline. Before each read, it sets the socket's timeout to the time that is left."""

    def __init__(
        self,
        plug: socket.socket,
        deadline: Deadline,
    ) -> None:
        super().__init__(plug, "rb")
        self._plug = plug
        self._deadline = deadline
        self._timeout = plug.gettimeout()

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        """Read the next bytes. Raise `TimeoutError` at the deadline."""
        timeout = self._timeout
        if self._deadline.until is not None:
            timeout = self._deadline.until - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("timed out")
        self._plug.settimeout(timeout)
        return super().readinto(buffer)


class _Plug:
    """Wraps a socket for `http.client`, so that reads stop at a deadline."""

    def __init__(self, plug: socket.socket, deadline: Deadline) -> None:
        self._plug = plug
        self._deadline = deadline

    def makefile(self, mode: str, *_: object) -> io.BufferedReader:
        """Return a reader for the response.

        The socket stays open until the reader is closed, as with a real socket.
        """
        self._plug._io_refs += 1  # type: ignore[attr-defined]
        return io.BufferedReader(_Reader(self._plug, self._deadline))

    def sendall(self, data: bytes) -> None:
        """Send the request."""
        self._plug.sendall(data)

    def close(self) -> None:
        """Close the connection when the last reader is closed."""
        self._plug.close()


def limit_reads(
    connection: http.client.HTTPConnection,
    until: float,
) -> Deadline:
    """Set a deadline for all reads from an open connection. The caller may change it later."""
    deadline = Deadline(until)
    connection.sock = _Plug(connection.sock, deadline)  # type: ignore[assignment]
    return deadline


CHUNK_BYTES = 1024 * 1024
MAX_BYTES = 32 * 1024**3
MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 60.0
HEADERS = {"User-Agent": "assay", "Accept-Encoding": "identity"}
REDIRECTS = (301, 302, 303, 307, 308)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(
    url: str,
    *,
    sha256: str,
    folder: Path,
    allow_private: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Download the file unless it is in the folder already, and return its path.

    With `allow_private`, plain http is accepted too, because a test server on this machine has no certificate.
    """
    expected = sha256.lower()
    if not _SHA256.fullmatch(expected):
        raise UsageError(
            f"not a sha256: {sha256!r}",
            where=url,
            fix="give the 64 hexadecimal digits of the file's sha256",
        )
    name = (
        re.sub(r"[^A-Za-z0-9._-]", "_", urlsplit(url).path.rpartition("/")[2])[
            -40:
        ].lstrip(".")
        or "data"
    )
    path = folder / f"{expected[:12]}-{name}"
    if path.is_file() and file_digest(path) == expected:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=folder,
        prefix=".part-",
        delete=False,
    ) as part:
        try:
            actual = _download(url, part, allow_private, max_bytes)
            if actual != expected:
                raise DataError(
                    f"the download has sha256 {actual}, expected {expected}",
                    file=url,
                    fix="the file changed or was cut; nothing was kept",
                )
            part.flush()
            os.fsync(part.fileno())
            os.replace(part.name, path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    return path


def _download(
    url: str,
    target: IO[bytes],
    allow_private: bool,
    max_bytes: int,
) -> str:
    try:
        with open_url(url, allow_private) as (response, address):
            if response.status != 200:
                raise DataError(
                    f"the server answered {response.status} {response.reason}",
                    file=address,
                )
            digest = hashlib.sha256()
            for chunk in _chunks(response, max_bytes, address):
                digest.update(chunk)
                target.write(chunk)
            return digest.hexdigest()
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"the download failed: {type(error).__name__}: {error}", file=url
        ) from error


@contextmanager
def open_url(
    url: str,
    allow_private: bool,
    *,
    headers: Mapping[str, str] = HEADERS,
    seconds: float | None = None,
) -> Iterator[tuple[http.client.HTTPResponse, str]]:
    """Send a GET request and yield the response and its final URL. Follow redirects and check the address of each.

    `seconds` limits the whole exchange, including the body. Without it, only the headers of each response have a limit.
    """
    if seconds is None:
        until = None
    else:
        until = time.monotonic() + seconds
    for _ in range(MAX_REDIRECTS + 1):
        if until is None:
            left = TIMEOUT_SECONDS
        else:
            left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        connection, resource = connect(url, allow_private, min(left, TIMEOUT_SECONDS))
        try:
            connection.connect()
            deadline = limit_reads(connection, time.monotonic() + left)
            connection.request("GET", resource, headers=dict(headers))
            response = connection.getresponse()
            if response.status not in REDIRECTS:
                deadline.until = until
                yield response, url
                return
            url = urljoin(url, response.headers.get("Location", ""))
        finally:
            connection.close()
    raise DataError(f"more than {MAX_REDIRECTS} redirects", file=url)


def _chunks(
    response: http.client.HTTPResponse,
    max_bytes: int,
    url: str | None = None,
) -> Iterator[bytes]:
    """Yield the body of a response in pieces. Raise `DataError` if it is too large or incomplete."""
    declared = response.headers.get("Content-Length", "")
    if declared.isdigit():
        size = int(declared)
    else:
        size = None
    if size is not None and size > max_bytes:
        raise DataError(
            f"the file has {size} bytes, more than the limit of {max_bytes}", file=url
        )
    count = 0
    while chunk := response.read1(CHUNK_BYTES):
        count += len(chunk)
        if count > max_bytes:
            raise DataError(
                f"the file is larger than the limit of {max_bytes} bytes", file=url
            )
        yield chunk
    if size is not None and count != size:
        raise DataError(
            f"the download was cut after {count} of {size} bytes",
            file=url,
            fix="try again",
        )


def fetch_bytes(
    url: str,
    *,
    allow_private: bool = False,
    max_bytes: int,
    seconds: float,
) -> bytes:
    """Download a URL into memory, limited in size and time. Raise `DataError` for every fault."""
    try:
        with open_url(url, allow_private, seconds=seconds) as (response, _):
            if response.status != 200:
                raise DataError(
                    f"the server answered {response.status} {response.reason}"
                )
            return b"".join(_chunks(response, max_bytes))
    except UsageError as error:
        raise DataError(error.what, fix=error.fix) from error
    except TimeoutError as error:
        raise DataError(f"the download took longer than {seconds:g} s") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DataError(
            f"the download failed: {type(error).__name__}: {error}"
        ) from error


def connect(
    url: str,
    allow_private: bool,
    timeout: float = TIMEOUT_SECONDS,
) -> tuple[http.client.HTTPConnection, str]:
    """Return a connection to the checked address of a URL's host, and the path to request."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise UsageError(
            f"only https is fetched, not {parts.scheme or 'a bare name'}: {url}",
            fix="use an https URL",
        )
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _find_address(host, port, url, allow_private)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host,
            port,
            timeout=timeout,
            context=trust_context(),
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)

    # The name was resolved and checked once, above. Resolving it again could return an unchecked address.
    def connect(
        _: object,
        timeout: float | None,
        source_address: tuple[str, int] | None,
    ) -> socket.socket:
        return socket.create_connection(address, timeout, source_address)

    connection._create_connection = connect  # type: ignore[attr-defined]
    return connection, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _find_address(
    host: str,
    port: int,
    url: str,
    allow_private: bool,
) -> tuple[str, int]:
    try:
        entries: list[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise DataError(
            f"cannot find the host {host!r}",
            file=url,
            fix="check the name and the network",
        ) from error
    addresses = [str(entry[4][0]) for entry in entries]
    private = [address for address in addresses if not is_public(address)]
    if private and not allow_private:
        raise UsageError(
            f"{host} is the private address {private[0]}: not fetched",
            where=url,
            fix="--allow-private-urls permits it",
        )
    return addresses[0], port
