"""Compare the box that the model gives for an object with the object's true box.

Coordinates are pixels, shares of the image (0 to 1) or thousandths of it (0 to 1000).
The task specifies the scale; it is never guessed. If answer and target have different
scales, the image's size comes from the columns `width` and `height`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ...core import Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import data_error, named, no_answer, no_target
from ..scorer_options import check_option

Scale = Literal["pixels", "unit", "thousand"]
Corners = Literal["xyxy", "xywh"]
Box = tuple[float, float, float, float]

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_GAP = r"(?:\s*[,;]\s*|\s+)"
_FOUR = re.compile(
    rf"[\[(<{{]\s*({_NUMBER}){_GAP}({_NUMBER}){_GAP}({_NUMBER}){_GAP}({_NUMBER})\s*[\])>}}]"
)
_TWO_POINTS = re.compile(
    rf"[\[(]\s*({_NUMBER}){_GAP}({_NUMBER})\s*[\])](?:{_GAP})?[\[(]\s*({_NUMBER}){_GAP}({_NUMBER})\s*[\])]"
)
_BARE = re.compile(
    rf"\s*({_NUMBER}){_GAP}({_NUMBER}){_GAP}({_NUMBER}){_GAP}({_NUMBER})\s*\.?\s*"
)


@scorers.register("box_iou")
@dataclass(frozen=True)
class BoxIou:
    """Two metrics, as in RefCOCO: the overlap of the answer's box with the target's,
    and 1 if it reaches the threshold.
    """

    scale: Scale = "pixels"
    """The unit of the answer: `pixels`, `unit` (0 to 1) or `thousand` (0 to 1000)."""
    corners: Corners = "xyxy"
    """The form of a box: two corners, or one corner with width and height (`xywh`)."""
    target_scale: Scale = "pixels"
    target_corners: Corners = "xyxy"
    threshold: float = 0.5
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        for option, words in {"scale": Scale, "corners": Corners}.items():
            for name in (option, f"target_{option}"):
                check_option("box_iou", name, getattr(self, name), get_args(words))

    @property
    def accuracy(self) -> str:
        """The name of the metric for the share of boxes that reach the threshold: `acc@0.5`."""
        return f"acc@{self.threshold:g}"

    def __call__(self, sample: Sample, output: Output) -> Score:
        target_box = as_box(sample.target)
        if target_box is None:
            return no_target(sample, "target box of four numbers")
        if self.scale != self.target_scale:
            size = _size(sample)
        else:
            size = (1.0, 1.0)
        if size is None:
            return data_error(
                "columns width and height are needed to compare boxes of different scales"
            )
        silence = no_answer(output)
        if silence:
            return named(silence, self.accuracy, "iou")
        box = as_box(output.json) or find_box(output.text)
        if box is None:
            return Score(
                {self.accuracy: 0.0, "iou": 0.0},
                Outcome.UNPARSED,
                details={"reason": "no box in the answer"},
            )
        overlap = iou(
            _in_shares(corners_of(box, self.corners), self.scale, size),
            _in_shares(
                corners_of(target_box, self.target_corners),
                self.target_scale,
                size,
            ),
        )
        value = {self.accuracy: float(overlap >= self.threshold), "iou": overlap}
        return Score(value, answer=", ".join(f"{edge:g}" for edge in box))


def find_box(text: str) -> Box | None:
    """Return the first box in a text: `[x1, y1, x2, y2]`, `(x1,y1),(x2,y2)`, or a text that is only four numbers."""
    matches = [
        match for pattern in (_FOUR, _TWO_POINTS) if (match := pattern.search(text))
    ]
    first = min(
        matches,
        key=lambda match: match.start(),
        default=None,
    ) or _BARE.fullmatch(text)
    if first is None:
        return None
    return as_box(list(first.groups()))


def as_box(value: object) -> Box | None:
    """Return a box from four finite numbers, or from a text that contains one; None for anything else."""
    if isinstance(value, str):
        return find_box(value)
    if not isinstance(value, Sequence) or len(value) != 4:
        return None
    try:
        left, top, right, bottom = (float(edge) for edge in value)
    except (TypeError, ValueError):
        return None
    box = left, top, right, bottom
    if all(map(math.isfinite, box)):
        return box
    return None


def corners_of(box: Box, corners: Corners) -> Box:
    """Return the box as two corners, the upper left one first."""
    x, y, second_x, second_y = box
    if corners == "xywh":
        second_x = x + second_x
        second_y = y + second_y
    return min(x, second_x), min(y, second_y), max(x, second_x), max(y, second_y)


def iou(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes, 0 to 1; 0 for boxes without area, even if they are equal."""
    left = max(one[0], other[0])
    top = max(one[1], other[1])
    right = min(one[2], other[2])
    bottom = min(one[3], other[3])
    width = max(right - left, 0.0)
    height = max(bottom - top, 0.0)

    shared = width * height
    union = _area(one) + _area(other) - shared
    if union > 0:
        return min(shared / union, 1.0)
    return 0.0


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _in_shares(
    box: Box,
    scale: Scale,
    size: tuple[float, float],
) -> Box:
    """Return the box as fractions of the image's width and height.

    For a box in pixels, a `size` of 1 x 1 changes nothing.
    """
    units = {"pixels": size, "unit": (1.0, 1.0), "thousand": (1000.0, 1000.0)}
    width, height = units[scale]
    return box[0] / width, box[1] / height, box[2] / width, box[3] / height


def _size(sample: Sample) -> tuple[float, float] | None:
    """Return width and height of the image from its columns, or None."""
    try:
        width = float(sample.fields["width"])
        height = float(sample.fields["height"])
    except (KeyError, TypeError, ValueError):
        return None
    if width > 0 and height > 0:
        return (width, height)
    return None
