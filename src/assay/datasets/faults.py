"""Faults of rows: what is wrong with one row, without the file and the row number.

Readers and the column mapping raise `RowFault`. The caller, which has the file and the
row number, converts it to a `DataError`.
"""

from ..core import DataError

MEBIBYTE = 1024 * 1024
CELL_LIMIT = 64 * MEBIBYTE
"""Maximum bytes of one cell of a table, or of one text in a JSON row."""
ROW_LIMIT = 256 * MEBIBYTE
"""Maximum bytes of one row. No reader keeps more than this in memory."""


class RowFault(Exception):
    """Raised if a row cannot be used. Other rows of the file may be usable."""

    def __init__(
        self,
        what: str,
        *,
        column: str | int | None = None,
        got: object = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.column = column
        self.got = got
        self.fix = fix

    def at(
        self,
        file: str | None,
        row: int,
    ) -> DataError:
        """Return the fault as an error with its file and row number."""
        return DataError(
            self.what,
            file=file,
            row=row,
            column=self.column,
            got=self.got,
            fix=self.fix,
        )


class NamedFault(DataError):
    """An error about one row whose sample id is known. Readers yield it in place of the row."""

    sample_id: str | None = None


def too_long(
    size: int,
    limit: int,
    what: str,
    column: str | int | None = None,
) -> RowFault:
    """Return the fault of a cell or a row that is larger than its limit."""
    if size >= MEBIBYTE:
        measure = f"{size / MEBIBYTE:.0f} MiB"
    else:
        measure = f"{size} bytes"
    if limit >= MEBIBYTE:
        bound = f"{limit // MEBIBYTE} MiB"
    else:
        bound = f"{limit} bytes"
    return RowFault(
        f"the {what} is larger than the limit of {bound} (at least {measure})",
        column=column,
        fix="keep large media in files and name them in an image_path or audio_path column",
    )
