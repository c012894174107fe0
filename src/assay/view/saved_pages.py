"""Save runs as pages: the app and its data as a folder for any file host, or as one file.

The data of a run is split into documents: `columns`, and chunks of `rows` and
`samples`. `places` names the chunk of each row. Media are named by their digest. The
caller decides where they are stored: in a folder, or in the page itself.

In a single file, the modules of the app become functions of one inline script. The page
allows only this script and its style, by digest. No build tool is needed, because the
app's imports are single lines in one form.

A folder contains the app, indexes and chunks of samples, media and thumbnails. It needs
no server code and no range requests: a page reads small JSON files from the same
folder.
"""

import base64
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import permutations
from pathlib import Path
from typing import Any

from ..core import AssayError, DataError, UsageError
from ..store.layout import disk_error
from .comparison_pages import comparison_page, leaderboard_page
from .records import LONGEST_TEXT
from .run_folders import RunFolders, metric_domains, runs_document
from .run_media import TYPES, Found, MediaShelf
from .run_page import damage_of, run_page
from .run_view import RunView, json_bytes, rows_of

APP = Path(__file__).parent / "app"
ALL = "all.js"
"""The name of the file that contains all modules of the app as one script."""
TRUSTED = "require-trusted-types-for 'script'; trusted-types 'none'"
FOLDER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    f"connect-src 'self'; base-uri 'none'; form-action 'none'; {TRUSTED}"
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE
)


def assets() -> dict[str, bytes]:
    """Return the files of the app. Its modules are joined, because browsers fetch only a few files at once."""
    return {
        ALL: inline_script().encode(),
        **{
            path.name: path.read_bytes()
            for path in sorted(APP.iterdir())
            if path.suffix in (".css", ".svg")
        },
    }


def folder_page() -> str:
    """Return the HTML page of a saved folder. It reads files instead of calling a server.

    If it is opened directly from disk, it shows instructions.
    """
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{FOLDER_POLICY}">\n'
        '<meta name="assay-bundle" content="1">'
    )
    return _page().replace("<title>", f"{head}\n<title>")


def single_page(
    documents: Mapping[str, Any],
    title: str,
) -> str:
    """Return an HTML page that contains everything: the documents as data, and the modules as one script."""
    style = (APP / "style.css").read_text("utf-8")
    script = inline_script()
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; "
        f"media-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'; {TRUSTED}"
    )
    drawing = base64.b64encode((APP / "icon.svg").read_bytes()).decode("ascii")
    icon = f'<link rel="icon" href="data:image/svg+xml;base64,{drawing}">'
    # Escape every `<`, so that no text of a model can close the element that contains the data.
    data = (
        json_bytes(documents)
        .decode("utf-8")
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
    )
    page = _page()
    page = page.replace(
        '<link rel="icon" href="app/icon.svg" type="image/svg+xml">', icon
    )
    page = page.replace(
        '<link rel="stylesheet" href="app/style.css">', f"<style>{style}</style>"
    )
    page = page.replace(f'<script type="module" src="app/{ALL}"></script>\n', "")
    page = page.replace("<title>assay</title>", f"<title>{escape(title)}</title>")
    meta = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = page.replace('<meta charset="utf-8">', meta)
    inner = f'<script type="application/json" id="assay-data">{data}</script>\n<script type="module">{script}</script>'
    return page.replace("</body>", f"{inner}\n</body>")


@cache
def inline_script() -> str:
    """Return the modules of the app as one script.

    Each module becomes a function. A module comes after those that it imports.
    """
    texts = {path.stem: path.read_text("utf-8") for path in APP.glob("*.js")}
    done: list[str] = []
    pieces: list[str] = []

    def add(name: str) -> None:
        if name in done:
            return
        for _, other in _IMPORT.findall(texts[name]):
            add(other)
        done.append(name)
        text = texts[name]
        exports = ", ".join(export for _, export in _EXPORT.findall(text))
        body = _IMPORT.sub(lambda m: f"const {{{m[1]}}} = module_{m[2]};", text)
        body = _EXPORT.sub(r"\1", body)
        pieces.append(
            f"const module_{name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"
        )

    add("main")
    return "\n".join(pieces).replace("</script", "<\\/script")


def _page() -> str:
    """Return the HTML of the page that loads the viewer's scripts."""
    return (APP / "index.html").read_text("utf-8")


def _digest(text: str) -> str:
    """Return the entry for this script in a content security policy: its SHA-256 digest."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


ROWS_A_CHUNK = 500
SAMPLES_A_CHUNK = 100
CHARACTERS_A_CHUNK = 600_000

Keep = Callable[[Found, str], str | None]
"""A function that stores a medium, in the form `full` or `small`, and returns the address for the page.

It returns None if it does not store the medium.
"""


@dataclass(slots=True)
class SavedRun:
    """One run as named JSON documents. Each is made when it is read, to save memory."""

    run: RunView
    shelf: MediaShelf
    keep: Keep
    chosen: Sequence[int] | None = None
    """The rows whose samples are saved, in their display order; None saves all."""
    domains: Mapping[str, Sequence[float]] | None = None
    """The axes of the metrics over all saved runs."""
    listed: Sequence[int] = ()
    """Further rows, of which only the beginnings of question and answer are saved."""

    def documents(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and content of each document."""
        run = self.run
        columns = run.columns()
        rows: list[int] = rows_of(columns)
        if self.chosen is None:
            saved = rows
        else:
            saved = list(self.chosen)
        page = run_page(run, self.domains)
        yield f"run-{run.id}", {**page, "live": False, "damage": damage_of(run)}
        yield f"columns-{run.id}", columns
        size = max(rows, default=-1) + 1
        snippets = [-1] * size
        samples = [-1] * size
        rows_with_text = list(dict.fromkeys([*saved, *self.listed]))
        for count, start in enumerate(range(0, len(rows_with_text), ROWS_A_CHUNK)):
            part = rows_with_text[start : start + ROWS_A_CHUNK]
            yield (
                f"rows-{run.id}-{count}",
                [self._snippet(snippet) for snippet in run.snippets(part)],
            )
            for row in part:
                snippets[row] = count
        chunks = 0
        for chunk in self._chunks(saved):
            yield f"samples-{run.id}-{chunks}", chunk
            for row in chunk:
                samples[row] = chunks
            chunks += 1
        whole = self.chosen is None
        yield (
            f"places-{run.id}",
            {
                "snippets": snippets,
                "samples": samples,
                "chunks": chunks,
                "whole": whole,
                "order": None if whole else saved,
            },
        )

    def _chunks(self, rows: Sequence[int]) -> Iterator[dict[int, Any]]:
        chunk: dict[int, Any] = {}
        characters = 0
        for row in rows:
            record = self.run.record(row)
            plain = record.to_plain()
            media = {}
            for part in record.media():
                media[str(part["sha256"])] = self._addresses(row, str(part["sha256"]))
            chunk[row] = _with_addresses(plain, media) if media else plain
            characters += _length(plain)
            if len(chunk) >= SAMPLES_A_CHUNK or characters > CHARACTERS_A_CHUNK:
                yield chunk
                chunk = {}
                characters = 0
        if chunk:
            yield chunk

    def _snippet(self, snippet: dict[str, Any]) -> dict[str, Any]:
        for name in ("media", "made"):
            for part in snippet.get(name) or ():
                part |= self._addresses(snippet["row"], part["sha256"])
        return snippet

    def _addresses(self, row: int, digest: str) -> dict[str, Any]:
        """Return the addresses of a medium and its thumbnail, or its waveform; empty if the medium cannot be shown."""
        try:
            content = self.shelf.find(self.run.record(row), digest)
            address = self.keep(content, "full")
            if address is None:
                return {}
            if content.kind == "image":
                return {"url": address, "small_url": self.keep(content, "small")}
            if content.kind == "audio":
                return {"url": address, "wave": list(self.shelf.waveform(content))}
            return {"url": address}
        except DataError:
            return {}


def saved_runs(
    runs: Sequence[RunView],
    folder: str,
) -> dict[str, Any]:
    """Return the list of runs for a saved page. No run in it is marked as running, because the page never changes."""
    document = runs_document(runs, folder)
    document["runs"] = [{**run, "live": False} for run in document["runs"]]
    return document


def data_address(
    found: Found,
    data: bytes | None = None,
    type: str | None = None,
) -> str:
    """Return a medium as a data URL."""
    body = found.data() if data is None else data
    return f"data:{type or found.type};base64,{base64.b64encode(body).decode('ascii')}"


def _with_addresses(
    value: object,
    media: Mapping[str, Mapping[str, Any]],
) -> object:
    """Return a copy of JSON data with the addresses of its files added to each medium."""
    if isinstance(value, Mapping):
        plain = {}
        for name, inner in value.items():
            plain[name] = _with_addresses(inner, media)
        if "sha256" in value and "type" in value:
            digest = str(value.get("sha256"))
            plain.update(media.get(digest, {}))
        return plain
    if isinstance(value, list):
        return [_with_addresses(inner, media) for inner in value]
    return value


def _length(value: object) -> int:
    if isinstance(value, str):
        return min(len(value), LONGEST_TEXT)
    if isinstance(value, Mapping):
        return sum(_length(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(_length(inner) for inner in value)
    return 8


MOST_COMPARED = 8
"""How many runs of a saved folder are compared with each other at most."""
ROBOTS = "User-agent: *\nDisallow: /\n"
_SUFFIX = {type: f".{kind}" for kind, type in TYPES.items()}


def write_bundle(folder: Path, target: Path) -> tuple[int, int]:
    """Write the runs of a folder as static pages to `target`. Return the number of runs, and the size in bytes."""
    folders = RunFolders(folder)
    runs = folders.refresh()
    if not runs:
        raise UsageError(
            "there are no runs here",
            where=str(folder),
            fix="name a run folder",
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            "a bundle needs a new or an empty folder",
            where=str(target),
            fix="name another one",
        )
    was_there = target.exists()
    try:
        for name in ("app", "data", "media"):
            (target / name).mkdir(
                parents=True,
                exist_ok=True,
            )
        for name, data in assets().items():
            (target / "app" / name).write_bytes(data)
        (target / "index.html").write_text(folder_page(), "utf-8")
        (target / "robots.txt").write_text(ROBOTS, "utf-8")
        for name, document in _documents(runs, folders, target):
            (target / "data" / f"{name}.json").write_bytes(json_bytes(document))
    except BaseException as error:
        # An incomplete bundle would prevent the next attempt.
        for part in list(target.iterdir()) if was_there else [target]:
            _remove(part)
        if isinstance(error, OSError):
            raise disk_error(error, target) from error
        raise
    return len(runs), sum(
        path.stat().st_size for path in target.rglob("*") if path.is_file()
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _documents(
    runs: Sequence[RunView],
    folders: RunFolders,
    target: Path,
) -> Iterator[tuple[str, Any]]:
    yield "runs", saved_runs(runs, folders.root.name)
    domains = metric_domains(runs)
    for run in runs:
        shelf = folders.media(run)
        saved = SavedRun(run, shelf, _Copies(target, shelf), domains=domains)
        yield from saved.documents()
    yield from comparisons(runs)
    with suppress(
        AssayError
    ):  # no run has numbers; the app says that there is no leaderboard
        yield "leaderboard", leaderboard_page(runs)


def comparisons(runs: Sequence[RunView]) -> Iterator[tuple[str, Any]]:
    """Yield the name and content of the comparison page for every pair of runs that can be compared."""
    for before, after in permutations(runs, 2) if len(runs) <= MOST_COMPARED else ():
        try:
            page = comparison_page(before, after)
        except AssayError:
            continue  # a run has no numbers; the app says that the pair was not saved
        if any("refused" not in row for row in page["rows"]):
            yield f"compare-{before.id}-{after.id}", page


class _Copies:
    """Copies the media of samples into the bundle, each of them once."""

    def __init__(self, target: Path, shelf: MediaShelf) -> None:
        self._target = target
        self._shelf = shelf

    def __call__(self, found: Found, form: str) -> str:
        small = form == "small"
        name = f"{found.digest}{'.small.webp' if small else _SUFFIX[found.type]}"
        path = self._target / "media" / name
        if not path.exists():
            path.write_bytes(self._shelf.thumbnail(found) if small else found.data())
        return f"media/{name}"
