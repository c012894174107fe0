"""Faults of media: one line that names the file, or the row and column the bytes came from."""

import os

from ..core import DataError, Media


def place_of(medium: Media) -> str | None:
    """The file of a medium, or the name it was given; `None` for bytes that came from a cell."""
    if isinstance(medium.source, os.PathLike):
        return str(medium.source)
    if medium.name:
        return medium.name
    source = medium.source
    return source if isinstance(source, str) and len(source) <= 255 and not source.startswith("data:") else None


def fault(medium: Media, what: str, *, got: object = None, fix: str | None = None) -> DataError:
    """A `DataError` placed at the medium's own file."""
    return DataError(what, file=place_of(medium), got=got, fix=fix)


def relocated(error: DataError, *, file: str, row: int, column: str | int | None = None) -> DataError:
    """The same fault at the row that names the medium; the medium's own file stays in the message."""
    what = error.what if error.file is None or error.file == file else f"{error.what} ({error.file})"
    return DataError(what, file=file, row=row, column=column, fix=error.fix)
