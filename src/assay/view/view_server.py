"""The viewer's server: the files of the app, its data as JSON, and limits on connections.

A request cannot name a path: a run is requested by its id, a sample by its row, a
medium by its sample and digest. Only labels can be written.

The number of connections and their duration are limited. uvicorn closes connections
that are idle after an answer, but not those that never finish a request, nor those that
never read the answer. A browser with the cookie may read as slowly as it likes, because
it may be playing a video.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..core import AssayError, DataError, StoreError, UsageError
from .comparison_pages import comparison_page, leaderboard_page
from .guard import HAS_SESSION, MEDIA_POLICY, Guard
from .labelling import add_label, blind_sample, label_page
from .run_folders import RunFolders, listed, metric_domains, runs_document
from .run_page import damage_of, progress, run_page
from .run_view import RunView, json_bytes
from .saved_pages import ALL, APP, inline_script
from .selection import rows_where

ASSET_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
DEFAULT_PORT = 7557


class _LabelGiven(msgspec.Struct):
    run: str
    row: int
    value: float | None
    by: str = ""
    note: str = ""


_given_label = msgspec.json.Decoder(_LabelGiven).decode


def make_app(
    root: Path,
    origin: str | None = None,
) -> Guard:
    """Return the viewer of a folder as an ASGI app, protected by a `Guard`."""
    site = Site(RunFolders(root))
    routes = [
        Route("/", site.page),
        Route("/app/{name}", site.asset),
        Route("/api/session", site.session, methods=["POST"]),
        *(Route(f"/api/{name}", site.answer(read)) for name, read in ANSWERS.items()),
        Route("/api/columns", site.columns),
        Route("/api/label", site.label, methods=["POST"]),
        Route("/api/raw", site.raw),
        Route("/media/{run}/{row:int}/{digest}/{form}", site.medium),
    ]
    guard = Guard(Starlette(routes=routes), origin)
    site.guard = guard
    return guard


class Query:
    """The query of a request. Each value is checked when it is read."""

    def __init__(
        self,
        folders: RunFolders,
        values: Mapping[str, str],
    ) -> None:
        self.folders = folders
        self._values = values

    def text(self, name: str) -> str:
        """Return the text of a required parameter. Raise if it is missing."""
        value = self._values.get(name)
        if not value or len(value) > 20_000:
            raise UsageError(f"the address lacks {name!r}")
        return value

    def number(self, name: str) -> int:
        """Return the number in a required parameter. Raise if it is missing or not a number."""
        value = self.text(name)
        if not value.isdecimal() or len(value) > 11:
            raise UsageError(f"{name}={value[:20]!r} is not a number")
        return int(value)

    def rows(self) -> list[int]:
        """Return the row numbers in the parameter `rows`, which are those of the samples on the screen."""
        numbers = []
        for row in self.text("rows").split(","):
            if row.isdecimal() and len(row) < 12:
                numbers.append(int(row))
        return numbers

    def run(self, name: str = "run") -> RunView:
        """Return the run whose id is in the parameter `name`."""
        return self.folders.run(self.text(name))


ANSWERS: Mapping[str, Callable[[Query], Any]] = {
    "runs": lambda q: runs_document(q.folders.refresh(), q.folders.root.name),
    "run": lambda q: run_page(q.run(), metric_domains(q.folders.refresh())),
    "prepare": lambda q: {"samples": len(q.run().index)},
    "leaderboard": lambda q: leaderboard_page(q.folders.refresh()),
    "brief": lambda q: listed(q.run()),
    "damage": lambda q: damage_of(q.run()),
    "rows": lambda q: q.run().snippets(q.rows()),
    "sample": lambda q: q.run().record(q.number("row")).to_plain(),
    "search": lambda q: {"rows": q.run().search(q.text("words"))},
    "where": lambda q: rows_where(q.run(), q.text("expression")),
    "compare": lambda q: comparison_page(q.run("before"), q.run("after")),
    "labels": lambda q: label_page(q.run(), q.number("cell"), q.number("seed")),
    "blind": lambda q: blind_sample(q.run(), q.number("row")),
    "live": lambda q: progress(q.run()),
}
"""For each address `/api/NAME`, the function that returns its JSON data."""


class Site:
    """The handlers of all requests to the viewer."""

    guard: Guard

    def __init__(self, folders: RunFolders) -> None:
        self._folders = folders

    async def page(self, request: Request) -> Response:
        """Return the page. The part of the address after `#` selects its content, and is not sent to the server."""
        return FileResponse(APP / "index.html", media_type="text/html")

    async def asset(self, request: Request) -> Response:
        """Return a file of the app."""
        name = request.path_params["name"]
        if name == ALL:
            return Response(inline_script(), media_type=ASSET_TYPES[".js"])
        assets = {
            path.name: path for path in APP.iterdir() if path.suffix in ASSET_TYPES
        }
        if name not in assets:
            return Response("no such file", 404, media_type="text/plain")
        return FileResponse(assets[name], media_type=ASSET_TYPES[assets[name].suffix])

    async def session(self, request: Request) -> Response:
        """Return the cookie in exchange for the token of the link."""
        cookie = self.guard.exchange((await request.body())[:200].decode("latin-1"))
        if cookie is None:
            return _json(
                {"error": "this link was used already, or is not the last one"}, 403
            )
        return _json({"ok": True}, headers={"Set-Cookie": cookie})

    def answer(self, read: Callable[[Query], Any]) -> Callable[[Request], Any]:
        """Return an endpoint for a function that takes a query and returns JSON data.

        If the function raises, the response has an error message for the page.
        """

        async def endpoint(request: Request) -> Response:
            return await _respond(lambda: _json(read(self._query(request))))

        return endpoint

    def _query(self, request: Request) -> Query:
        return Query(self._folders, request.query_params)

    async def columns(self, request: Request) -> Response:
        """Return the samples of a run as columns."""

        def work() -> Response:
            return Response(
                self._query(request).run().encoded_columns(),
                media_type="application/json",
            )

        return await _respond(work)

    async def label(self, request: Request) -> Response:
        """Store a label. This is the only request that writes."""
        body = await request.body()

        def work() -> Response:
            try:
                label = _given_label(body)
            except msgspec.MsgspecError as error:
                raise UsageError(f"this is not a label: {error}") from error
            add_label(
                self._folders.run(label.run),
                label.row,
                label.value,
                label.by[:80],
                label.note,
            )
            return _json({"ok": True})

        return await _respond(work)

    async def raw(self, request: Request) -> Response:
        """Return the journal lines of a sample as plain text."""

        def work() -> Response:
            query = self._query(request)
            text = query.run().record(query.number("row")).raw()
            headers = {"Content-Disposition": 'attachment; filename="record.txt"'}
            return Response(
                text.encode("utf-8", "replace"),
                media_type="text/plain; charset=utf-8",
                headers=headers,
            )

        return await _respond(work)

    async def medium(self, request: Request) -> Response:
        """Return an image, audio clip or video of a sample: whole, small, or as a waveform."""

        def work() -> Response:
            names = request.path_params
            run = self._folders.run(names["run"])
            shelf = self._folders.media(run)
            content = shelf.find(run.record(names["row"]), names["digest"])
            headers = {
                "Content-Security-Policy": MEDIA_POLICY,
                "Cache-Control": "private, max-age=3600",
            }
            if names["form"] == "small":
                return Response(
                    shelf.thumbnail(content),
                    media_type="image/webp",
                    headers=headers,
                )
            if names["form"] == "wave":
                return Response(
                    shelf.waveform(content),
                    media_type="application/octet-stream",
                    headers=headers,
                )
            if isinstance(content.source, bytes):
                return Response(
                    content.source,
                    media_type=content.type,
                    headers=headers,
                )
            return FileResponse(
                content.source,
                media_type=content.type,
                headers=headers,
            )

        return await _respond(work)


async def _respond(work: Callable[[], Response]) -> Response:
    """Call `work` in a thread and return its response. If it raises, return an error message for the page."""
    try:
        return await run_in_threadpool(work)
    except UsageError as error:
        return _json({"error": error.what, "fix": error.fix}, 400)
    except (StoreError, DataError, FileNotFoundError) as error:
        if isinstance(error, AssayError):
            problem = error.what
        else:
            problem = "this is no longer there"
        return _json({"error": problem, "fix": getattr(error, "fix", None)}, 404)
    except (AssayError, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, AssayError):
            problem = error.what
        else:
            problem = f"{type(error).__name__}: {error}"
        return _json({"error": f"this part of the run cannot be read: {problem}"}, 500)


def _json(
    value: object,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return Response(json_bytes(value), status, headers, media_type="application/json")


def bind(port: int | None) -> socket.socket:
    """Return a socket on this machine's loopback address, at `port`. By default, use
    the usual port or, if taken, a free one.
    """
    for candidate in [port] if port is not None else [DEFAULT_PORT, 0]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            return listener
        except OverflowError as error:
            listener.close()
            raise UsageError(
                f"--port {port} is not a port", fix="a number from 1 to 65535"
            ) from error
        except OSError as error:
            listener.close()
            if port is not None:
                problem = f"port {port} cannot be used: {error.strerror or error}"
                raise UsageError(
                    problem, fix="leave --port out to take a free one"
                ) from error
    raise UsageError("no port of this machine is free")


MOST_CONNECTIONS = 256
REQUEST_SECONDS = 8.0
"""Seconds in which a client must send a whole request with its body."""
ANSWER_SECONDS = 8.0
"""Seconds within which a client without a valid cookie must have read the whole answer."""


class LimitedProtocol(H11Protocol):
    """A connection that is closed if there are too many connections, or if its request takes too long."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or close it at once if there are too many."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline of a connection that was closed."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data. Once the request is complete, replace its deadline by the one for the answer."""
        super().handle_events()
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and not cycle.response_complete:
            self._close_in(ANSWER_SECONDS, self._close_unknown)

    def on_response_complete(self) -> None:
        """Set the deadline for the next request."""
        self._await_request()
        super().on_response_complete()

    def _await_request(self) -> None:
        self._close_in(REQUEST_SECONDS, self._close_late)

    def _close_in(
        self,
        seconds: float,
        close: Callable[[], None],
    ) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_unknown(self) -> None:
        scope = self.scope
        if scope is None or HAS_SESSION not in scope:
            self._close_late()

    def _close_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


class ViewerServer(uvicorn.Server):
    """A uvicorn server that calls a function when it starts to listen."""

    def __init__(
        self,
        app: Guard,
        when_listening: Callable[[], None],
    ) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
        )
        super().__init__(config)
        self._when_listening = when_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then call the function that was passed to the server."""
        await super().startup(sockets)
        if self.started:
            self._when_listening()
