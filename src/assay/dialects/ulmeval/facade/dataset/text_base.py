"""`ulmeval.dataset.text_base`: benchmarks whose prompts are text."""

from pathlib import Path
from typing import Any, ClassVar

from ...tables import fetched_table, read_table, with_index
from ..smp.file import LMUDataRoot
from ..smp.ulm import mmqa_display
from .defined import Defined


class TextBaseDataset(Defined):
    """A table of prompts; subclasses say what is asked and how the drawn images are judged."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "T2I"
    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {}

    def __init__(self, dataset: str = "", **kwargs: Any) -> None:
        self.dataset_name = dataset
        self.data: Any = with_index(self.load_data(dataset))
        self.post_build(dataset)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names under which this class is known."""
        return list(cls.DATASET_URL)

    def load_data(self, dataset: str) -> Any:
        """The table of a name as a data frame."""
        return self.prepare_tsv(self.DATASET_URL.get(dataset) or f"{dataset}.tsv", self.DATASET_MD5.get(dataset))

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table behind a URL, kept in `$LMUData` under the URL's last part; `<dataset>.tsv` is used too."""
        root = Path(LMUDataRoot())
        path = root / url.split("/")[-1]
        return read_table(fetched_table(url, path, file_md5, root / f"{self.dataset_name}.tsv"), self)

    def post_build(self, dataset: str) -> None:
        """Called when the data are there."""

    def dump_image(self, line: Any) -> list[str]:
        """No pictures."""
        return []

    def display(self, line: Any) -> None:
        """Prints a row."""
        mmqa_display(self.data.iloc[line] if isinstance(line, int) else line)

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The text of `question`, or of `prompt` where there is no such column."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [{"type": "text", "value": line["question" if "question" in line else "prompt"]}]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The numbers of a prediction file; every benchmark has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no `evaluate`")
