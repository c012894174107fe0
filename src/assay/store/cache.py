"""The response cache: answers that several runs share, stored under the request key.

The key contains the model's identity, the rendered messages and every option, so one
model never gets another model's answer. Errors are not stored. Neither are answers that
contain a secret, because redacting would change them.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..core import DiskFull, Output, StoreError, UnusablePath
from ..core.record import output_from_plain, output_to_plain
from ..core.secrets import MARK
from .blobs import Blobs
from .stored_secrets import Redactor

_TABLE = b"CREATE TABLE responses (key text primary key"
_LOOKED_INTO = 1 << 16
PATIENCE = 30.0
"""Seconds to wait while another run is writing to the cache."""


class ResponseCache:
    """A folder with one SQLite file and the media of the answers."""

    def __init__(
        self,
        folder: str | Path,
        redactor: Redactor | None = None,
    ) -> None:
        self._root = Path(folder).expanduser()
        self._redactor = redactor or Redactor()
        with self._explaining_errors():
            self._refuse_foreign()
            try:
                self._root.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                raise UnusablePath(
                    "a cache needs a folder, and this is a file",
                    where=str(self._root),
                    fix="choose another --cache folder",
                ) from error
            self._database = sqlite3.connect(
                self._root / "responses.sqlite",
                timeout=PATIENCE,
                isolation_level=None,
            )
            self._write_ahead()
            self._database.execute("pragma synchronous=normal")
            self._database.execute(
                "create table if not exists responses (key text primary key, output blob not null)"
            )
        self._blobs = Blobs(self._root / "media")

    def _write_ahead(self) -> None:
        """Switch the database to write-ahead logging, so that other processes can read while one writes.

        SQLite does not wait if another run switches at the same moment, so retry.
        """
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
        """Raise if there is a file with the cache's name that assay did not write."""
        path = self._root / "responses.sqlite"
        if not os.path.lexists(path) or path.stat().st_size == 0:
            return
        # Read the bytes, because a connection would disturb another run that is opening the file.
        with path.open("rb") as file:
            begins = file.read(_LOOKED_INTO)
        is_own = (
            _TABLE in begins or b"CREATE TABLE" not in begins
        )  # The table may still be in the log file only.
        if not begins.startswith(b"SQLite format 3\0") or not is_own:
            raise UnusablePath(
                "responses.sqlite exists and is not an assay cache",
                where=str(self._root),
                fix="choose another --cache folder",
            )

    def get(self, key: str) -> Output | None:
        """Return the cached answer to a request, or None."""
        with self._explaining_errors():
            row = self._database.execute(
                "select output from responses where key = ?", (key,)
            ).fetchone()
        if row is None or MARK.encode() in row[0]:
            return None  # The answer may have lost a secret, so it is not exact: ask again.
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
            return None  # A damaged entry, or one whose image was deleted: ask again and replace it.

    def put(self, key: str, output: Output) -> None:
        """Store an answer."""
        try:
            plain = msgspec.json.encode(output_to_plain(output))
        except (TypeError, UnicodeEncodeError, OverflowError):
            return  # JSON cannot represent this answer exactly, so only its own run keeps it.
        if self._redactor.holds_secret(plain, is_answer=True):
            return
        for candidate in output.candidates:
            for medium in candidate.media:
                self._blobs.put(medium)
        with self._explaining_errors():
            self._database.execute(
                "insert or replace into responses values (?, ?)", (key, plain)
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        """Convert errors of the database or the disk into assay's errors, with a fix."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            kind = DiskFull if "full" in str(error) else StoreError
            if kind is DiskFull:
                fix = "free some space"
            else:
                fix = "choose another --cache folder"
            raise kind(
                f"cannot use the cache: {error}",
                where=str(self._root),
                fix=fix,
            ) from error
