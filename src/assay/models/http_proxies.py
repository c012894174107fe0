"""Choose the proxy for a request from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

Only plain HTTP proxies are supported, with a login if the URL has one; others are refused with an error.
"""

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from .http_failures import HttpFailure

FIX = "correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or list the host in NO_PROXY"
_ENTRY = re.compile(
    r"\[(?P<inner>[^]]+)\](?::(?P<inner_port>\d+))?"  # "[::1]:8080"
    r"|(?P<name>[^:]+)(?::(?P<port>\d+))?"  # "example.org:8080"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """The host to connect to instead of the server."""

    host: str
    port: int
    login: str = field(default="", repr=False)
    """The value of `Proxy-Authorization`; empty if the URL has no login."""

    @property
    def named(self) -> str:
        """`host:port`, for messages."""
        return f"{with_brackets(self.host)}:{self.port}"

    def login_failure(self) -> HttpFailure:
        """Return the failure for status 407."""
        problem = "refuses the login of its URL" if self.login else "asks for a login"
        fix = "name it in the proxy's variable: http://user:password@host:port, other signs than letters as %XX"
        return HttpFailure(
            "connection",
            f"the proxy {self.named} {problem}; fix: {fix}",
            retryable=False,
        )


def with_brackets(host: str) -> str:
    """Return a host as it is written before a port: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """Return the proxy for a server, or None; raise `HttpFailure` for an unsupported kind of proxy."""
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


def is_exempt(host: str, port: int, listed: str) -> bool:
    """Return True if NO_PROXY names a server: by host, domain, address or network, with or without a port."""
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
