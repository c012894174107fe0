"""What benchmarks of text and of images have in common: one table, known by name, with a row for each prompt."""

from abc import abstractmethod
from typing import Any

from ....kits.table_rows import TableRows
from ..smp.ulm import mmqa_display

CLASSES: list[Any] = []
"""In the order they were defined: the newest that knows a name is the one that is meant."""


class TableDataset(TableRows):
    """A benchmark in a table, `self.data`; subclasses say where it is kept and what is asked."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        CLASSES.append(cls)

    def load_data(self, dataset: str) -> Any:
        """The table of a name as a data frame."""
        return self.prepare_tsv(
            self.DATASET_URL.get(dataset) or f"{dataset}.tsv",
            self.DATASET_MD5.get(dataset),
        )

    @abstractmethod
    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table behind a URL as a data frame."""

    def display(self, line: Any) -> None:
        """Prints a row, and shows its images where it has any."""
        mmqa_display(self._assay_line(line))

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The numbers of a prediction file; every benchmark has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no `evaluate`")
