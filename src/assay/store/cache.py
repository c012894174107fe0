"""The response cache: answers shared by runs, keyed by the request's own key.

The key holds the model's identity, the rendered messages and every option, so an answer of another model can never be
found by mistake. Only answers are kept, never errors, and none that holds a secret: without it, it would be another.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..core import DiskFull, Output, StoreError
from ..core.record import output_from_plain, output_to_plain
from ..core.secrets import MARK
from .blobs import Blobs
from .secrets import Redactor

_TABLE = b"CREATE TABLE responses (key text primary key"
_LOOKED_INTO = 1 << 16
PATIENCE = 30.0
"""Seconds to wait for another run that writes."""


class ResponseCache:
    """A folder with one SQLite file and the media of the answers."""

    def __init__(self, folder: str | Path, redactor: Redactor | None = None) -> None:
        self._root = Path(folder).expanduser()
        self._redactor = redactor or Redactor()
        with self._said():
            self._refuse_foreign()
            self._root.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self._root / "responses.sqlite", timeout=PATIENCE, isolation_level=None
            )
            self._write_ahead()
            self._database.execute("pragma synchronous=normal")
            self._database.execute(
                "create table if not exists responses (key text primary key, output blob not null)"
            )
        self._blobs = Blobs(self._root / "media")

    def _write_ahead(self) -> None:
        """Chooses the log that readers and a writer share; SQLite does not wait where another run chooses it now."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._database.execute("pragma journal_mode=wal")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _refuse_foreign(self) -> None:
        """Raises where a file of the cache's name was not written by one."""
        path = self._root / "responses.sqlite"
        if not os.path.lexists(path) or path.stat().st_size == 0:
            return
        # By its bytes: a connection to look inside would get in the way of another run that opens it right now.
        with path.open("rb") as file:
            begins = file.read(_LOOKED_INTO)
        is_own = (
            _TABLE in begins or b"CREATE TABLE" not in begins
        )  # the table may still lie in the log beside it
        if not begins.startswith(b"SQLite format 3\0") or not is_own:
            raise StoreError(
                "responses.sqlite is there and is not a cache of assay's",
                where=str(self._root),
                fix="choose another --cache folder",
            )

    def get(self, key: str) -> Output | None:
        """The answer to a request, if it was ever given."""
        with self._said():
            row = self._database.execute(
                "select output from responses where key = ?", (key,)
            ).fetchone()
        if row is None or MARK.encode() in row[0]:
            return None  # one that may have lost a secret is no answer: asked again
        try:
            return output_from_plain(msgspec.json.decode(row[0]), self._blobs)
        except (
            msgspec.DecodeError,
            StoreError,
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ):
            return None  # a damaged entry, or one whose image was deleted: asked again, and replaced

    def put(self, key: str, output: Output) -> None:
        """Keeps an answer."""
        try:
            plain = msgspec.json.encode(output_to_plain(output))
        except (TypeError, UnicodeEncodeError, OverflowError):
            return  # an answer that JSON cannot hold exactly is kept by its own run only
        if self._redactor.holds_secret(plain, is_answer=True):
            return
        for candidate in output.candidates:
            for medium in candidate.media:
                self._blobs.put(medium)
        with self._said():
            self._database.execute(
                "insert or replace into responses values (?, ?)", (key, plain)
            )

    def close(self) -> None:
        """Lets go of the file."""
        self._database.close()

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Faults of the database as errors a user can act on."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            kind = DiskFull if "full" in str(error) else StoreError
            fix = (
                "free some space"
                if kind is DiskFull
                else "choose another --cache folder"
            )
            raise kind(
                f"cannot use the cache: {error}", where=str(self._root), fix=fix
            ) from error
