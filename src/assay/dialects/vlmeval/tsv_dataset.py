"""`TSVDataset`, the only dataset class of VLMEvalKit's documented revision, and its tables of URLs and folders."""

import os
from typing import TYPE_CHECKING

from ...datasets.faults import RowFault
from ...datasets.tsv_images import LONGEST_REFERENCE, inline, is_blank, pieces_of
from ..kits.many_calls import track_progress_rich as track_progress_rich
from ..kits.row_images import image_file_path
from ..kits.suffix_files import objects
from ..shapes import Fields, Record
from .dataset_bases import ImageBaseDataset
from .dataset_facts import CHOICE, DATASET_URLS, IMAGE_FOLDERS, data_root
from .letters import can_infer as can_infer
from .letters import can_infer_option as can_infer_option
from .letters import can_infer_text as can_infer_text
from .rules import chosen_rules
from .vlmeval_prompts import documented_question, question_with_options
from .vlmeval_rows import index_of_image

if TYPE_CHECKING:
    from pandas import DataFrame, Series

dataset_URLs = DATASET_URLS
img_root_map = IMAGE_FOLDERS
CHOICES = ("MMBench", "CCBench", "SEEDBench")


def DATASET_TYPE(dataset: str) -> str:
    """Return the type of a dataset's questions, judged by its name: `multi-choice`, `Y/N` or `QA`."""
    if CHOICE.search(dataset):
        return "multi-choice"
    return "Y/N" if "MME" in dataset else "QA"


class TSVDataset(ImageBaseDataset):
    """A benchmark in one TSV file, with the interface of VLMEvalKit's documented revision."""

    def __init__(
        self,
        dataset: str = "MMBench",
        img_root: str | None = None,
        **kwargs: object,
    ) -> None:
        self.dataset = dataset
        self.dataset_type = DATASET_TYPE(dataset)
        self.data_root = str(data_root())
        super().__init__(dataset, skip_noimg=False)
        if img_root is not None:
            self.img_root = img_root
        elif chosen_rules().writes_images_here:
            self.img_root = os.path.join("images", img_root_map[dataset])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """Return the dataset names that a user's subclass declares."""
        return list(cls.DATASET_URL)

    def build_prompt(  # type: ignore[override]  # a dictionary, as in the documented revision
        self,
        line: "int | Series",
        dataset: str | None = None,
    ) -> Record:
        """Return the prompt of a line, `dict(image=path or paths, text=prompt)`. `line` is a row or its number."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        if dataset is None:
            name = self.dataset
        else:
            name = dataset
        if any(part in name for part in CHOICES):
            text = documented_question(line)
        elif dataset is None and name not in img_root_map and _has_options(line):
            text = question_with_options(line)
        else:
            text = line["question"]
        return {"image": self._assay_image(line), "text": text}

    def dump_image(self, line: object) -> list[str]:
        """Write the images of a line as files, and return their paths."""
        files = self._assay_image(self._assay_line(line))
        if isinstance(files, list):
            return files
        return [files]

    def _assay_image(self, line: "Series") -> str | list[str]:
        """Write the images of a line to files, and return the path or a list of paths.

        One image becomes `<index>.jpg`. Several get the names in `image_path`, or else `<index>_<number>.jpg`.
        """
        cell = line.get("image")
        if not isinstance(cell, list):
            if is_blank(cell) or len(cell) <= LONGEST_REFERENCE:
                return super().dump_image(line)[0]
            return self._assay_image_file(cell, f"{line['index']}.jpg")
        names = line.get("image_path")
        if not isinstance(names, list):
            names = [f"{line['index']}_{number}.jpg" for number in range(len(cell))]
        files = []
        for piece, name in zip(cell, names, strict=False):
            files.append(self._assay_image_file(piece, name))
        return files

    def _assay_image_file(self, cell: str, name: str) -> str:
        return image_file_path(
            inline(cell),
            self.img_root,
            name,
            encodes=chosen_rules().encodes_images,
        )

    def _assay_finished(self, frame: "DataFrame") -> "DataFrame":
        """Prepare the data frame: references to other rows become their images, and list literals become lists.

        A list with one entry remains a list.
        """
        if frame is None or "image" not in getattr(frame, "columns", ()):
            return frame
        cells = {}
        for index, cell in zip(frame["index"], frame["image"], strict=True):
            cells[str(index)] = cell
        frame = frame.copy()
        rows = frame.to_dict(orient="records")
        images = [self._assay_cell(row, cells) for row in rows]
        frame["image"] = objects(images, frame)
        if "image_path" in frame:
            paths = [_listed(row["image_path"], "image_path") for row in rows]
            frame["image_path"] = objects(paths, frame)
        return frame

    def _assay_cell(self, row: Fields, cells: Fields) -> object:
        """Return the image data of a row, or a list for several images. `cells` has all image cells by index.

        A rotated copy gets the image of the original question, and MME's second
        question that of the first, even if the row has its own image.
        """
        cell = row["image"]
        lent = index_of_image(self.dataset, row)
        if lent is not None:
            cell = cells.get(lent, cell)
        is_plain = is_blank(cell) or isinstance(cell, (str, list))
        text = cell if is_plain else str(cell)
        if isinstance(text, str) and len(text) <= LONGEST_REFERENCE and text in cells:
            text = cells[text]
        return _listed(text, "image")


def _has_options(line: "Series") -> bool:
    return "A" in line and "B" in line


def _listed(cell: object, column: str) -> object:
    try:
        if isinstance(cell, str) and cell.startswith("["):
            return pieces_of(cell, column)
        return cell
    except RowFault:
        return cell  # fails its row when its image is used
