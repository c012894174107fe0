"""The allowlist for rows: which files and URLs the rows of a dataset may name.

Rows are untrusted. A path in a cell is opened only if it is, with links resolved,
inside the folder of the data or the folder that the user named. A URL is fetched only
if the task or the run allows it.
"""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core import Media
from . import faults
from .faults import RowFault

URL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The allowlist for one dataset: which files and URLs its rows may use."""

    folder: Path | None = None
    """Relative names are resolved against this folder. None for rows of the user's own
    code, which may name any file.
    """
    root: Path | None = None
    """The folder that must contain all files. None allows only `folder`."""
    allow_urls: bool = False
    allow_private: bool = False
    _real: str = field(
        default="",
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        bound = self.root if self.root is not None else store_of(self.folder)
        object.__setattr__(
            self,
            "_real",
            "" if bound is None else os.path.realpath(bound),
        )

    def beside(self, folder: Path | None) -> "Reach":
        """Return a copy of the allowlist that resolves relative names against another folder."""
        return replace(self, folder=folder)

    def file(
        self,
        name: str,
        kind: str,
        column: str,
    ) -> Path:
        """Return the path of the file that a cell names. Raise `RowFault` if the file is outside the folder."""
        path = self._find(name, column, kind)
        if self._real and not is_inside(path, self._real):
            raise RowFault(
                f"the {kind} file is outside the data folder",
                column=column,
                got=name,
                fix="put it there, or name the folder that holds it: --media_root DIR",
            )
        return path

    def medium(
        self,
        url: str,
        medium_type: type[Media],
        column: str,
    ) -> Media:
        """Return a medium that is fetched from a URL when it is first read."""
        if not self.allow_urls:
            raise RowFault(
                f"the {medium_type.kind} is a URL, which is not fetched",
                column=column,
                got=url,
                fix="download the files and name them, or fetch them: --allow_urls (in a task: allow_urls)",
            )
        return medium_type(
            url,
            name=url,
            read=self._fetch,
        )

    def _fetch(self, url: str) -> bytes:
        from .fetch import fetch_bytes

        return fetch_bytes(
            url,
            allow_private=self.allow_private,
            max_bytes=faults.CELL_LIMIT,
            seconds=URL_SECONDS,
        )

    def _find(
        self,
        name: str,
        column: str,
        kind: str,
    ) -> Path:
        if "\0" in name:
            raise RowFault(
                f"the name of the {kind} file holds a zero character",
                column=column,
                got=name,
            )
        if self.folder is None:
            path = Path(name)
        else:
            path = self.folder / name
        if self.root is not None and not (
            is_inside(path, self._real) and path.exists()
        ):
            return self.root / name
        return path


def is_inside(path: Path, root: str) -> bool:
    """Return True if a path is inside the folder `root`. Links in the path are resolved first; `root` has none."""
    real = os.path.realpath(path)
    return real == root or real.startswith(
        root if root.endswith(os.sep) else root + os.sep
    )


def store_of(folder: Path | None) -> Path | None:
    """Return the folder in which files may be, including the targets of links in
    `folder`.

    Usually this is `folder` itself. In the hub's cache it is the folder of the whole
    dataset, because the files of a snapshot link to `blobs`, which is outside of the
    snapshot.
    """
    if folder is None:
        return None
    for inner in (folder, *folder.parents):
        if (
            inner.parent.name == "snapshots"
            and (inner.parent.parent / "blobs").is_dir()
        ):
            return inner.parent.parent
    return folder
