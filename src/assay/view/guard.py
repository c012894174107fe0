"""Decide which requests the viewer answers: only those from a browser on this machine that opened the viewer's link.

Every request must pass three checks. `Host` must be this machine, which prevents DNS
rebinding. `Origin` must be the same host, so that no other page can read or write.
Everything except the empty page needs a cookie, which the browser gets in exchange for
the one-time token in the link. Response headers forbid everything that the app does not
use: foreign and inline scripts, frames, forms and other hosts.
"""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.types import Receive, Send

from ..core import UsageError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
MEDIA_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
OPEN_PATHS = ("/", "/app/", "/api/session")
"""Paths that can be requested without a cookie: the files of the app, and the exchange of the token for a cookie."""
HAS_SESSION = "assay.has_session"
"""The key in a request's ASGI scope that marks a request with a valid cookie."""
HEADER = "x-assay"
"""The header that is required in requests that change something. Forms and images of other pages cannot set it."""

LONGEST_BODY = 16_384
"""Maximum size of a request body in bytes. It applies even before the cookie is checked."""
TOO_LONG = 413, f"a request may have at most {LONGEST_BODY} bytes"

_LOOPBACK = re.compile(
    r"(?:localhost|127((?:\.[0-9]{1,3}){3})|\[::1\])(?::[0-9]{1,5})?", re.ASCII
)

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class Guard:
    """An ASGI layer that checks each request before the app."""

    def __init__(
        self,
        app: App,
        origin: str | None = None,
    ) -> None:
        self._app = app
        self._origin = _parse(origin) if origin else None
        self._token: str | None = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        # Browsers share cookies between ports, and two viewers on one machine must not overwrite each other's cookie.
        self._cookie = f"assay_{secrets.token_hex(4)}"

    def new_token(self) -> str:
        """Create the token for the next browser. Earlier tokens are no longer valid."""
        self._token = secrets.token_urlsafe(24)
        return self._token

    def exchange(self, token: str) -> str | None:
        """Return the `Set-Cookie` value for a token; None for a wrong token. A token can be used once."""
        if self._token is None or not hmac.compare_digest(
            token.encode(), self._token.encode()
        ):
            return None
        self._token = None
        if self._origin is not None and self._origin[0] == "https":
            secure = "; Secure"
        else:
            secure = ""
        return (
            f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict{secure}"
        )

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Pass a request to the app, or refuse it."""
        if scope["type"] != "http":
            return
        if self._has_session(_cookies(scope)):
            scope[HAS_SESSION] = True
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        if scope["method"] == "POST":
            body = await _read_body(receive)
            if body is None:
                await _answer(send, *TOO_LONG)
                return
            receive = _replay(body)

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(message["headers"])
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        names = [name for name, _ in scope["headers"]]
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        host = headers.get("host", "")
        if names.count(b"host") != 1 or not self._is_own(host):
            return (
                403,
                "this name is not one of this machine's: open the link that `assay view` printed",
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_same(origin, host):
            return 403, "requests of other pages are refused"
        # Links in chats and web terminals may open the empty page, which contains nothing. Other pages need the cookie.
        if (
            headers.get("sec-fetch-site") in ("cross-site", "same-site")
            and scope["path"] != "/"
        ):
            return 403, "requests of other pages are refused"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "this method is not known here"
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared[:20]) > LONGEST_BODY:
            return TOO_LONG
        if scope["method"] == "POST" and headers.get(HEADER) != "1":
            return 403, "a request that changes something must say so"
        path = scope["path"]
        if path in OPEN_PATHS or path.startswith("/app/"):
            return None
        if HAS_SESSION not in scope:
            return (
                401,
                "open the link that `assay view` printed: it contains the key to this page",
            )
        return None

    def _is_own(self, host: str) -> bool:
        if self._origin is not None and host == self._origin[1]:
            return True
        return is_loopback(host)

    def _is_same(self, origin: str, host: str) -> bool:
        parts = urlsplit(origin)
        if self._origin is not None and (parts.scheme, parts.netloc) == self._origin:
            return True
        return parts.scheme == "http" and parts.netloc == host and is_loopback(host)

    def _has_session(self, cookies: str) -> bool:
        try:
            cookie = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(
            cookie.value.encode(), self._session.encode()
        )


def _cookies(scope: Scope) -> str:
    """Return the last `Cookie` header of a request."""
    cookies = ""
    for name, value in scope["headers"]:
        if name == b"cookie":
            cookies = value.decode("latin-1")
    return cookies


def is_loopback(host: str) -> bool:
    """Return True if a `Host` header, with or without a port, is this machine."""
    match = _LOOPBACK.fullmatch(host)
    return match is not None and all(
        int(part) < 256 for part in (match[1] or "").split(".") if part
    )


def _parse(origin: str) -> tuple[str, str]:
    parts = urlsplit(origin)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or parts.path not in ("", "/")
        or "@" in parts.netloc
    ):
        raise UsageError(
            f"--origin {origin} is not an origin",
            fix="write scheme and host: https://runs.example.org",
        )
    return parts.scheme, parts.netloc


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add the security headers that are missing in a response."""
    own_names = {name.lower() for name, _ in headers}
    defaults = {"Content-Security-Policy": POLICY, **HEADERS}
    result = list(headers)
    for name, value in defaults.items():
        encoded_name = name.lower().encode()
        if encoded_name not in own_names:
            result.append((encoded_name, value.encode()))
    return result


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request. Return None if it is too long, or if the sender closed the connection."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _replay(body: bytes) -> Callable[[], Awaitable[MutableMapping[str, Any]]]:
    """Return an ASGI `receive` function that passes on a body that the guard has already read."""
    messages: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]

    async def receive() -> MutableMapping[str, Any]:
        if messages:
            return messages.pop()
        return {"type": "http.disconnect"}

    return receive


async def _answer(
    send: Send,
    status: int,
    text: str,
) -> None:
    body = text.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": _with_headers(headers),
        }
    )
    await send({"type": "http.response.body", "body": body})
