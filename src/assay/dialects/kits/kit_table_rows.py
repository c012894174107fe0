"""Base of the dataset classes of both toolkits, with rows in a data frame, and their lookup by dataset name."""

from typing import TYPE_CHECKING, Any, ClassVar

from ..shapes import Record

if TYPE_CHECKING:
    from pandas import Series


class TableRows:
    """Base of dataset classes with a table `self.data`. Subclasses define its file and its questions."""

    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {}
    dataset_name: str
    data: Any

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """Return the names of the datasets that the class declares."""
        return list(cls.DATASET_URL)

    def post_build(self, dataset: str) -> None:
        """Do nothing. The constructor calls this method last, and subclasses may override it."""

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> Record:
        return dict(self.data.iloc[idx])

    def _assay_line(self, line: object) -> "Series":
        """Return a row of the table, given as its number or as the row itself."""
        if isinstance(line, int):
            return self.data.iloc[line]
        return line


class KnownClasses:
    """The dataset classes of one toolkit. The lookup tries classes added by user files first."""

    def __init__(
        self,
        defined: list[Any],
        *added: list[Any],
    ) -> None:
        self._defined, self._added = defined, added

    def all(self) -> list[Any]:
        """Return all classes: first those that user files added to lists, then all others from newest to oldest."""
        added = [kind for kinds in self._added for kind in kinds]
        return [*added, *reversed(self._defined)]

    def find(self, dataset: str | None) -> Any:
        """Return the first class that supports a dataset, or None."""
        return next((k for k in self.all() if dataset in k.supported_datasets()), None)

    def declared(self, dataset: str | None, attribute: str, default: str) -> str:
        """Return a string attribute of the class that supports a dataset; `default` if there is none."""
        return str(getattr(self.find(dataset), attribute, "") or default)

    def names(self) -> list[str]:
        """Return the names of all datasets that the classes support."""
        names = [name for kind in self.all() for name in kind.supported_datasets()]
        return list(dict.fromkeys(names))


def infer_dataset_basename(dataset_name: str) -> str:
    """Return a dataset's name without its last `_` and the text after it."""
    return dataset_name.rpartition("_")[0]
