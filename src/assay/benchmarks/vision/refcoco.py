"""RefCOCO, RefCOCO+ and RefCOCOg: where is the thing a phrase describes?

One row: `{"index": 9, "image": "iVBORw0…", "question": "the red square on the left", "bbox": "[4, 8, 20, 16]",
"width": 64, "height": 48, "split": "val"}`; the box is left, top, width and height in pixels, as COCO has it.

Citation: Kazemzadeh et al. 2014, ReferItGame, EMNLP; Yu et al. 2016, arXiv 1608.00272. Licence: Apache-2.0.

Protocol: the answer is a box of two corners in shares of the image (0 to 1), as lmms-eval asks for it; right if its
overlap with the box is 0.5 or more (`acc@0.5`), the mean overlap beside it. A model that answers in pixels or
thousandths is scored with `scale`: `--scorers "box_iou[scale=thousand,target_corners=xywh]"`.
"""

from collections.abc import Mapping
from typing import Any

from ...core import DataSource, GenerateOptions, Prompt, Sample, Task
from ...datasets.faults import RowFault
from ...scorers.vision.boxes import as_box
from ...templates.built import turn
from ...templates.plain import question_text
from .tables import Table, image_of

ASK = (
    "Give the box of the region this phrase describes as [left, top, right, bottom], each a number between 0 and 1, "
    "measured in shares of the width and the height of the picture: "
)


def where_is(sample: Sample) -> Prompt:
    """The image and the request for a box."""
    return Prompt((turn("user", sample, f"{ASK}{question_text(sample)}"),))


def box_of(row: Mapping[str, Any]) -> tuple[float, ...]:
    """The right box, as it stands in the row; both it and the image's size must be there."""
    box = as_box(row.get("bbox"))
    if box is None:
        fix = "write [left, top, width, height]"
        raise RowFault(
            "no box of four numbers", column="bbox", got=row.get("bbox"), fix=fix
        )
    return box


def _task(name: str, file: str, what: str) -> Task:
    return Task(
        name=name,
        dataset=DataSource(
            local=(f"{file}.tsv",),
            mini="benchmarks/data/vision/refcoco.tsv",
            read=Table(target=box_of, cluster=image_of),
        ),
        template=where_is,
        scorers=({"name": "box_iou", "scale": "unit", "target_corners": "xywh"},),
        options=GenerateOptions(temperature=0.0, max_tokens=64),
        protocol=f"{name}@iou0.5-unit",
        needs=frozenset({"image"}),
        description=f"{what}: box overlap of 0.5 (rule as published)",
        citation="arXiv 1608.00272",
        licence="Apache-2.0",
        data_hint=f"{file}.tsv with index, image, question (the phrase), bbox (x, y, w, h in pixels), width, height",
    )


refcoco = _task("refcoco", "RefCOCO_VAL", "RefCOCO val")
refcoco_plus = _task(
    "refcoco_plus", "RefCOCOplus_VAL", "RefCOCO+ val, no words of place"
)
refcocog = _task("refcocog", "RefCOCOg_VAL", "RefCOCOg val, longer phrases")
