"""`vlmeval.utils.data_util`: `TSVDataset`, the one dataset class of the documented revision."""

import os
from typing import Any

from .....datasets.faults import RowFault
from .....datasets.tsv_images import LONGEST_REFERENCE, inline, is_blank, pieces_of
from ....kits.row_images import image_file_path
from ....kits.suffix_files import objects
from ...era import note_documented, upstreams_rule
from ...kinds import CHOICE
from ...places import DATASET_URLS as dataset_URLs
from ...places import IMAGE_FOLDERS as img_root_map
from ...places import data_root
from ...prompts import documented_question, question_with_options
from ...rows import lender
from ..dataset.image_base import ImageBaseDataset

__all__ = ["DATASET_TYPE", "TSVDataset", "dataset_URLs", "img_root_map"]

CHOICES = ("MMBench", "CCBench", "SEEDBench")


def DATASET_TYPE(dataset: str) -> str:
    """`multi-choice`, `Y/N` or `QA`, by the dataset's name."""
    if CHOICE.search(dataset):
        return "multi-choice"
    return "Y/N" if "MME" in dataset else "QA"


class TSVDataset(ImageBaseDataset):
    """A benchmark in one TSV file."""

    def __init__(
        self, dataset: str = "MMBench", img_root: str | None = None, **kwargs: Any
    ) -> None:
        note_documented()
        self.dataset = dataset
        self.dataset_type = DATASET_TYPE(dataset)
        self.data_root = str(data_root())
        super().__init__(dataset, skip_noimg=False)
        if img_root is not None:
            self.img_root = img_root
        elif upstreams_rule():
            self.img_root = os.path.join("images", img_root_map[dataset])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """What the class itself declares."""
        return list(cls.DATASET_URL)

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """`dict(image=path or paths, text=prompt)` of a line, given as its number or as itself."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        name = self.dataset if dataset is None else dataset
        if any(part in name for part in CHOICES):
            text = documented_question(line)
        elif (
            dataset is None and name not in img_root_map and "A" in line and "B" in line
        ):
            text = question_with_options(line)
        else:
            text = line["question"]
        return {"image": self._assay_image(line), "text": text}

    def dump_image(self, line: Any) -> list[str]:
        """The images of a line as files."""
        found = self._assay_image(self._assay_line(line))
        return found if isinstance(found, list) else [found]

    def _assay_image(self, line: Any) -> str | list[str]:
        """The file of an image, `<index>.jpg`; of a list of images the files that `image_path` names."""
        cell = line.get("image")
        if not isinstance(cell, list):
            if is_blank(cell) or len(cell) <= LONGEST_REFERENCE:
                return super().dump_image(line)[0]
            return self._assay_image_file(cell, f"{line['index']}.jpg")
        named = line.get("image_path")
        names = (
            named
            if isinstance(named, list)
            else [f"{line['index']}_{place}.jpg" for place in range(len(cell))]
        )
        return [
            self._assay_image_file(piece, name)
            for piece, name in zip(cell, names, strict=False)
        ]

    def _assay_image_file(self, cell: str, name: str) -> str:
        return image_file_path(
            inline(cell), self.img_root, name, encodes=upstreams_rule()
        )

    def _assay_finished(self, frame: Any) -> Any:
        """Images that rows share filled in, lists taken apart: a list of one stays a list."""
        if frame is None or "image" not in getattr(frame, "columns", ()):
            return frame
        cells = {
            str(index): cell
            for index, cell in zip(frame["index"], frame["image"], strict=True)
        }
        frame = frame.copy()
        rows = frame.to_dict(orient="records")
        frame["image"] = objects([self._assay_cell(row, cells) for row in rows], frame)
        if "image_path" in frame:
            frame["image_path"] = objects(
                [_listed(row["image_path"], "image_path") for row in rows], frame
            )
        return frame

    def _assay_cell(self, row: Any, cells: Any) -> Any:
        """The image of a row: in rotations and in MME's second questions that of another, whatever the cell holds."""
        lent = lender(self.dataset, row)
        cell = cells.get(lent, row["image"]) if lent is not None else row["image"]
        text = cell if is_blank(cell) or isinstance(cell, (str, list)) else str(cell)
        if isinstance(text, str) and len(text) <= LONGEST_REFERENCE and text in cells:
            text = cells[text]
        return _listed(text, "image")


def _listed(cell: Any, column: str) -> Any:
    try:
        return (
            pieces_of(cell, column)
            if isinstance(cell, str) and cell.startswith("[")
            else cell
        )
    except RowFault:
        return cell  # the fault of its row, met when its image is asked for
