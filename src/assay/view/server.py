"""The viewer's server: the app's files, and what it asks for as JSON. Paths never come from a request.

A run is asked for by its number in the list, a sample by its row, a medium by the sample that names it and its digest.
All that can be written is a label.
"""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ..core import AssayError, DataError, StoreError, UsageError
from .comparison import comparison_page
from .folders import RunFolders, listed
from .guard import MEDIA_POLICY, Guard
from .labelling import add_label, blind_sample, label_page
from .live import progress
from .pages import ALL, APP, inline_script
from .plain_json import json_bytes
from .run_page import damage_of, run_page

ASSET_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
DEFAULT_PORT = 7557
LONGEST_BODY = 16_384


class _LabelGiven(msgspec.Struct):
    run: str
    row: int
    value: float | None
    by: str = ""
    note: str = ""


_given_label = msgspec.json.Decoder(_LabelGiven).decode


def make_app(root: Path, origin: str | None = None) -> Guard:
    """The viewer of a folder as an ASGI app, with its guard in front."""
    site = Site(RunFolders(root))
    routes = [
        Route("/", site.page),
        Route("/app/{name}", site.asset),
        Route("/api/session", site.session, methods=["POST"]),
        Route("/api/runs", site.answer(site.runs)),
        Route("/api/run", site.answer(site.run)),
        Route("/api/brief", site.answer(site.brief)),
        Route("/api/damage", site.answer(site.damage)),
        Route("/api/columns", site.columns),
        Route("/api/rows", site.answer(site.rows)),
        Route("/api/sample", site.answer(site.sample)),
        Route("/api/search", site.answer(site.search)),
        Route("/api/compare", site.answer(site.comparison)),
        Route("/api/labels", site.answer(site.labels)),
        Route("/api/blind", site.answer(site.blind)),
        Route("/api/label", site.label, methods=["POST"]),
        Route("/api/live", site.answer(site.live)),
        Route("/api/raw", site.raw),
        Route("/media/{run}/{row:int}/{digest}/{form}", site.medium),
    ]
    guard = Guard(Starlette(routes=routes), origin)
    site.guard = guard
    return guard


class Site:
    """What each address answers."""

    guard: Guard

    def __init__(self, folders: RunFolders) -> None:
        self._folders = folders

    async def page(self, request: Request) -> Response:
        """The one page; what it shows is said behind `#`, which no server sees."""
        return FileResponse(APP / "index.html", media_type="text/html")

    async def asset(self, request: Request) -> Response:
        """A file of the app."""
        name = request.path_params["name"]
        if name == ALL:
            return Response(inline_script(), media_type=ASSET_TYPES[".js"])
        known = {path.name: path for path in APP.iterdir() if path.suffix in ASSET_TYPES}
        if name not in known:
            return Response("no such file", 404, media_type="text/plain")
        return FileResponse(known[name], media_type=ASSET_TYPES[known[name].suffix])

    async def session(self, request: Request) -> Response:
        """The cookie for the token of the link."""
        cookie = self.guard.exchange((await request.body())[:200].decode("latin-1"))
        if cookie is None:
            return _json({"error": "this link was used already, or is not the last one"}, 403)
        return _json({"ok": True}, headers={"Set-Cookie": cookie})

    def answer(self, read: Callable[[Mapping[str, str]], Any]) -> Callable[[Request], Any]:
        """An endpoint of a function from the query to plain data; its errors become sentences."""

        async def endpoint(request: Request) -> Response:
            def work() -> Response:
                return _json(read(request.query_params))

            return await _told(work)

        return endpoint

    def runs(self, query: Mapping[str, str]) -> Any:
        """The list of runs."""
        return {"folder": self._folders.root.name, "runs": [listed(run) for run in self._folders.refresh()]}

    def run(self, query: Mapping[str, str]) -> Any:
        """One run: its numbers, how it was made, and what is wrong with it."""
        return run_page(self._folders.run(_text(query, "run")))

    def brief(self, query: Mapping[str, str]) -> Any:
        """A run as the list has it."""
        return listed(self._folders.run(_text(query, "run")))

    def damage(self, query: Mapping[str, str]) -> Any:
        """What is not as the run left it."""
        return damage_of(self._folders.run(_text(query, "run")))

    async def columns(self, request: Request) -> Response:
        """The samples of a run as columns."""

        def work() -> Response:
            encoded = self._folders.run(_text(request.query_params, "run")).encoded_columns()
            return Response(encoded, media_type="application/json")

        return await _told(work)

    def rows(self, query: Mapping[str, str]) -> Any:
        """The beginnings of question and answer of the rows on the screen."""
        rows = [int(row) for row in _text(query, "rows").split(",") if row.isdecimal() and len(row) < 12]
        return self._folders.run(_text(query, "run")).snippets(rows)

    def sample(self, query: Mapping[str, str]) -> Any:
        """One sample."""
        return self._folders.run(_text(query, "run")).record(_number(query, "row")).to_plain()

    def search(self, query: Mapping[str, str]) -> Any:
        """The rows that hold some words."""
        return {"rows": self._folders.run(_text(query, "run")).search(_text(query, "words"))}

    def comparison(self, query: Mapping[str, str]) -> Any:
        """Two runs, the first as the baseline."""
        before, after = (self._folders.run(_text(query, name)) for name in ("before", "after"))
        return comparison_page(before, after)

    def live(self, query: Mapping[str, str]) -> Any:
        """How far a run is."""
        return progress(self._folders.run(_text(query, "run")))

    def labels(self, query: Mapping[str, str]) -> Any:
        """What is to be labelled, what was, and what follows from it."""
        return label_page(self._folders.run(_text(query, "run")), _number(query, "cell"), _number(query, "seed"))

    def blind(self, query: Mapping[str, str]) -> Any:
        """A sample as a person who labels it may see it."""
        return blind_sample(self._folders.run(_text(query, "run")), _number(query, "row"))

    async def label(self, request: Request) -> Response:
        """Keeps a label: the only thing that can be written."""
        body = await request.body()

        def work() -> Response:
            try:
                given = _given_label(body[:LONGEST_BODY])
            except msgspec.MsgspecError as error:
                raise UsageError(f"this is not a label: {error}") from error
            add_label(self._folders.run(given.run), given.row, given.value, given.by[:80] or "me", given.note)
            return _json({"ok": True})

        return await _told(work)

    async def raw(self, request: Request) -> Response:
        """The journal lines of a sample, as text and never as a page."""

        def work() -> Response:
            query = request.query_params
            text = self._folders.run(_text(query, "run")).record(_number(query, "row")).raw()
            headers = {"Content-Disposition": 'attachment; filename="record.txt"'}
            return Response(text.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8", headers=headers)

        return await _told(work)

    async def medium(self, request: Request) -> Response:
        """An image, audio or video of a sample: whole, small, or as a waveform."""

        def work() -> Response:
            names = request.path_params
            run = self._folders.run(names["run"])
            shelf = self._folders.media(run)
            found = shelf.find(run.record(names["row"]), names["digest"])
            headers = {"Content-Security-Policy": MEDIA_POLICY, "Cache-Control": "private, max-age=3600"}
            if names["form"] == "small":
                return Response(shelf.thumbnail(found), media_type="image/webp", headers=headers)
            if names["form"] == "wave":
                return Response(shelf.waveform(found), media_type="application/octet-stream", headers=headers)
            if isinstance(found.source, bytes):
                return Response(found.source, media_type=found.type, headers=headers)
            return FileResponse(found.source, media_type=found.type, headers=headers)

        return await _told(work)


async def _told(work: Callable[[], Response]) -> Response:
    """The answer; what goes wrong becomes a sentence for the page."""
    try:
        return await run_in_threadpool(work)
    except UsageError as error:
        return _json({"error": error.what, "fix": error.fix}, 400)
    except (StoreError, DataError, FileNotFoundError) as error:
        what = error.what if isinstance(error, AssayError) else "this is no longer there"
        return _json({"error": what, "fix": getattr(error, "fix", None)}, 404)
    except (AssayError, OSError, ValueError, KeyError, TypeError) as error:
        what = error.what if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        return _json({"error": f"this part of the run cannot be read: {what}"}, 500)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(value), status, headers, media_type="application/json")


def _text(query: Mapping[str, str], name: str) -> str:
    value = query.get(name)
    if not value or len(value) > 20_000:
        raise UsageError(f"the address lacks {name!r}")
    return value


def _number(query: Mapping[str, str], name: str) -> int:
    value = _text(query, name)
    if not value.isdecimal() or len(value) > 11:
        raise UsageError(f"{name}={value[:20]!r} is not a number")
    return int(value)


def bind(port: int | None) -> socket.socket:
    """A listening socket on this machine alone: the port that was asked for, else the usual one or any that is free."""
    for wanted in [port] if port is not None else [DEFAULT_PORT, 0]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
            return listener
        except OverflowError as error:
            listener.close()
            raise UsageError(f"--port {port} is not a port", fix="a number from 1 to 65535") from error
        except OSError as error:
            listener.close()
            if port is not None:
                what = f"port {port} cannot be used: {error.strerror or error}"
                raise UsageError(what, fix="leave --port out to take a free one") from error
    raise UsageError("no port of this machine is free")
