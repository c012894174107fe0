"""Shared part of both toolkits' dataset classes: rows in a data frame, under the names that a class declares."""

from typing import Any, ClassVar

from ..shapes import Record


class TableRows:
    """A benchmark in a table, `self.data`. Subclasses define its file and its questions."""

    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {}
    data: Any

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """Return the dataset names that the class declares."""
        return list(cls.DATASET_URL)

    def post_build(self, dataset: str) -> None:
        """Do nothing. Called at the end of the constructor; subclasses may override it."""

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> Record:
        return dict(self.data.iloc[idx])

    def _assay_line(self, line: object) -> Any:
        """Return a row, given as its number or as the row itself."""
        return self.data.iloc[line] if isinstance(line, int) else line
