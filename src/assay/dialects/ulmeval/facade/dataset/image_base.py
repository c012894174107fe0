"""`ulmeval.dataset.image_base`: benchmarks whose prompts show pictures."""

from pathlib import Path
from typing import Any, ClassVar

from .....datasets.list_literals import as_text_list
from .....datasets.tsv_images import inline, is_blank, is_picture_path
from .....media.picture_files import media_file
from ...tables import fetched_table, read_table, with_index, with_pictures
from ..smp.file import LMUDataRoot
from .table_base import TableDataset


def img_root_map(dataset: str) -> str:
    """The folder of a benchmark's pictures."""
    return dataset


class ImageBaseDataset(TableDataset):
    """A table of prompts with pictures, given as base64, as another row's, in a list, or by path."""

    MODALITY: ClassVar[str] = "IMAGE"
    TYPE: ClassVar[str] = "IT2I"

    def __init__(self, dataset: str = "", skip_noimg: bool = True) -> None:
        self.dataset_name = dataset
        self.img_root = str(Path(LMUDataRoot()) / "images" / img_root_map(dataset))
        self.skip_noimg = skip_noimg
        data = self.load_data(dataset)
        if skip_noimg and "image" in data:
            data = data[~data["image"].map(is_blank).astype(bool)]
        self.meta_only = "image" not in data
        self.data: Any = with_index(with_pictures(data, self, f"{dataset}.tsv"))
        self.post_build(dataset)

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table behind a URL, kept as `$LMUData/<dataset>.tsv`; one under the URL's last part is used too."""
        root = Path(LMUDataRoot())
        self.data_path = str(root / f"{self.dataset_name}.tsv")
        return read_table(fetched_table(url, Path(self.data_path), file_md5, root / url.split("/")[-1]), self)

    def dump_image(self, line: Any) -> list[str]:
        """The pictures of a row as files, named by their content, so that a changed table never shows old pixels."""
        if "image" in line and not _is_empty(line["image"]):
            return [self._file(cell) for cell in as_text_list(line["image"])]
        return [self._found(name) for name in as_text_list(line["image_path"])]

    def _file(self, cell: str) -> str:
        if is_picture_path(cell):
            return self._found(cell)
        return str(media_file(inline(cell), Path(self.img_root)))

    def _found(self, name: str) -> str:
        path = Path(name)
        inside = Path(self.img_root) / name
        if path.is_file() or not inside.is_file():
            return name if path.is_file() or path.is_absolute() else str(inside)
        return str(inside)

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The pictures of the row, then the text of `question`, or of `prompt` where there is no such column."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        pictures = [{"type": "image", "value": path} for path in self.dump_image(line)]
        return [*pictures, {"type": "text", "value": line["question" if "question" in line else "prompt"]}]


def _is_empty(cell: Any) -> bool:
    return not isinstance(cell, list) and is_blank(cell)
