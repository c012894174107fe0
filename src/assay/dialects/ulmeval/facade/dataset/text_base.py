"""`ulmeval.dataset.text_base`: benchmarks whose prompts are text."""

from pathlib import Path
from typing import Any, ClassVar

from ...tables import fetched_table, read_table, with_index
from ..smp.file import LMUDataRoot
from .table_base import TableDataset


class TextBaseDataset(TableDataset):
    """A table of prompts; subclasses say what is asked and how the drawn images are judged."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "T2I"
    _assay_prompts: ClassVar[tuple[str, ...]] = ("question", "prompt")
    """Columns that may hold the prompt."""

    def __init__(self, dataset: str = "", **kwargs: Any) -> None:
        self.dataset_name = dataset
        self.data: Any = with_index(self.load_data(dataset))
        self.post_build(dataset)

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table behind a URL, kept in `$LMUData` under the URL's last part; `<dataset>.tsv` is used too."""
        root = Path(LMUDataRoot())
        path = root / url.split("/")[-1]
        return read_table(
            fetched_table(url, path, file_md5, root / f"{self.dataset_name}.tsv"), self
        )

    def dump_image(self, line: Any) -> list[str]:
        """No images."""
        return []

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The text of the first column of `question` and `prompt` that is there."""
        line = self._assay_line(line)
        column = next(
            (name for name in self._assay_prompts if name in line),
            self._assay_prompts[-1],
        )
        return [{"type": "text", "value": line[column]}]
