"""The response cache: answers shared by runs, keyed by the request's own key.

The key holds the model's identity, the rendered messages and every option, so an answer of another model can never be
found by mistake. Only answers are kept, never errors.
"""

import sqlite3
from pathlib import Path

import msgspec

from ..core import Output, StoreError
from ..core.record import output_from_plain, output_to_plain
from .blobs import Blobs


class ResponseCache:
    """A folder with one SQLite file and the media of the answers."""

    def __init__(self, folder: str | Path) -> None:
        root = Path(folder).expanduser()
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(root / "responses.sqlite", timeout=30, isolation_level=None)
            self._database.execute("pragma journal_mode=wal")
            self._database.execute("pragma synchronous=normal")
            self._database.execute("create table if not exists responses (key text primary key, output blob not null)")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"cannot use the cache: {error}", where=str(root), fix="choose another --cache folder"
            ) from error
        self._blobs = Blobs(root / "media")

    def get(self, key: str) -> Output | None:
        """The answer to a request, if it was ever given."""
        row = self._database.execute("select output from responses where key = ?", (key,)).fetchone()
        return None if row is None else output_from_plain(msgspec.json.decode(row[0]), self._blobs)

    def put(self, key: str, output: Output) -> None:
        """Keeps an answer."""
        for candidate in output.candidates:
            for medium in candidate.media:
                self._blobs.put(medium)
        plain = msgspec.json.encode(output_to_plain(output))
        self._database.execute("insert or replace into responses values (?, ?)", (key, plain))

    def close(self) -> None:
        """Lets go of the file."""
        self._database.close()
