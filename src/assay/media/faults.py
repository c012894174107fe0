"""Faults of media: one line at the row and column that speak of the medium, or at its own file."""

from ..core import DataError, Media


def fault(medium: Media, what: str, *, got: object = None, fix: str | None = None) -> DataError:
    """A `DataError` placed at the row that speaks of the medium, else at its own file."""
    return medium.fault(what, got=got, fix=fix)
