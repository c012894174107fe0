"""`ulmeval.dataset.image_base`: benchmarks whose prompts show images."""

from pathlib import Path
from typing import Any, ClassVar

from .....datasets.faults import RowFault
from .....datasets.list_literals import as_text_list
from .....datasets.tsv_images import inline, is_blank, is_image_path
from ....kits.row_images import file_names, image_file_path
from ....kits.rules import as_upstream
from ...tables import fetched_table, read_table, with_images, with_index
from ..smp.file import LMUDataRoot
from .table_base import TableDataset


def img_root_map(dataset: str) -> str:
    """The folder of a benchmark's images."""
    return dataset


class ImageBaseDataset(TableDataset):
    """A table of prompts with images, given as base64, as another row's, in a list, or by path."""

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
        self.data: Any = with_index(with_images(data, self, f"{dataset}.tsv"))
        self.post_build(dataset)

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table behind a URL, kept as `$LMUData/<dataset>.tsv`; one under the URL's last part is used too."""
        root = Path(LMUDataRoot())
        self.data_path = str(root / f"{self.dataset_name}.tsv")
        return read_table(
            fetched_table(
                url, Path(self.data_path), file_md5, root / url.split("/")[-1]
            ),
            self,
        )

    def dump_image(self, line: Any) -> list[str]:
        """The images of a row as files: what `image_path` names, else `<index>.jpg`, `<index>_<place>.png`.

        A file of that name with other pixels is left alone; the image then has a name of its own.
        """
        named = line.get("image_path")
        names = [] if named is None or _is_empty(named) else as_text_list(named)
        if "image" not in line or _is_empty(line["image"]):
            return [self._assay_found(name) for name in names]
        cells = as_text_list(line["image"])
        files = file_names(line.get("index"), len(cells), names, ".jpg")
        return [
            self._assay_file(cell, name)
            for cell, name in zip(cells, files, strict=False)
        ]

    def _assay_file(self, cell: str, name: str) -> str:
        if is_image_path(cell):
            return self._assay_found(cell)
        try:
            return image_file_path(
                inline(cell), self.img_root, name, encodes=as_upstream()
            )
        except RowFault as fault:
            raise ValueError(
                f"column {fault.column!r}: {fault.what}: {fault.got}"
            ) from fault

    def _assay_found(self, name: str) -> str:
        path = Path(name)
        inside = Path(self.img_root) / name
        if path.is_file() or not inside.is_file():
            return name if path.is_file() or path.is_absolute() else str(inside)
        return str(inside)

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The images of the row, then the text of `question`, or of `prompt` where there is no such column."""
        line = self._assay_line(line)
        named = as_upstream() and self.meta_only
        paths = as_text_list(line["image_path"]) if named else self.dump_image(line)
        images = [{"type": "image", "value": path} for path in paths]
        return [
            *images,
            {
                "type": "text",
                "value": line["question" if "question" in line else "prompt"],
            },
        ]


def _is_empty(cell: Any) -> bool:
    return not isinstance(cell, list) and is_blank(cell)
