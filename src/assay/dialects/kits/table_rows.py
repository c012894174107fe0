"""What dataset classes of both kits have in common: rows in a data frame, known by the names that a class declares."""

from typing import Any, ClassVar


class TableRows:
    """A benchmark in a table, `self.data`; subclasses say where it is kept and what is asked."""

    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {}
    data: Any

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names the class declares."""
        return list(cls.DATASET_URL)

    def post_build(self, dataset: str) -> None:
        """Called at the end of the constructor."""

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    def _assay_line(self, line: Any) -> Any:
        """A row, given as its number or as itself."""
        return self.data.iloc[line] if isinstance(line, int) else line
