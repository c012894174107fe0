"""`ulmeval.dataset.utils.geneval`: from boxes and colours to a verdict on one image, and accuracy by tag."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ......core import library
from ......scorers.image.geneval import directions
from ...smp.file import load

STANDS_IN = True
__all__ = [
    "CLASS_NAMES",
    "COLORS",
    "GenEval_acc",
    "GenEval_auxeval_score",
    "color_classification",
    "compute_iou",
    "evaluate",
    "inference_detector",
    "relative_position",
]

CLASS_NAMES = [
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "dining table",
    "toilet",
    "tv",
    "laptop",
    "computer mouse",
    "tv remote",
    "computer keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
]
"""The classes of COCO in the order of a detector's results."""
COLORS = [
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "pink",
    "brown",
    "black",
    "white",
]
THRESHOLD = 0.3
COUNTING_THRESHOLD = 0.9
MOST_OBJECTS = 16
POSITION_THRESHOLD = 0.1

Objects = Mapping[str, Sequence[tuple[Any, Any]]]
"""By class: boxes with their masks, the surest first."""


def compute_iou(box_a: Sequence[float], box_b: Sequence[float]) -> float:
    """The share that two boxes have in common of what they cover; both ends of a side belong to it."""
    inner = (
        max(box_a[0], box_b[0]),
        max(box_a[1], box_b[1]),
        min(box_a[2], box_b[2]),
        min(box_a[3], box_b[3]),
    )
    shared = _area(inner)
    either = _area(box_a) + _area(box_b) - shared
    return shared / either if either else 0


def _area(box: Sequence[float]) -> float:
    return max(box[2] - box[0] + 1, 0) * max(box[3] - box[1] + 1, 0)


def relative_position(
    obj_a: Any, obj_b: Any, POSITION_THRESHOLD: float = POSITION_THRESHOLD
) -> set[str]:
    """Where the first object lies from the second: `left of`, `right of`, `above`, `below`."""
    return set(directions(_edges(obj_a[0]), _edges(obj_b[0]), POSITION_THRESHOLD))


def _edges(box: Sequence[float]) -> tuple[float, float, float, float]:
    return box[0], box[1], box[2], box[3]


def inference_detector(model: Any, image: Any) -> Any:
    """What mmdet's detector finds in an image."""
    mmdet = library(
        "mmdet.apis", "mmdet 2.x, which GenEval's detector runs in,", "mmdet"
    )
    return mmdet.inference_detector(model, image)


def color_classification(
    clip_model: Any,
    image: Any,
    bboxes: Sequence[Any],
    classname: str,
    bgcolor: str = "#999",
    crop: bool = True,
    DEVICE: str = "cuda",
) -> list[str]:
    """The colour of each object, by the CLIP model that judges them."""
    return list(
        clip_model.colours(
            image, bboxes, classname, bgcolor=bgcolor, crop=crop, device=DEVICE
        )
    )


def evaluate(
    clip_model: Any,
    image: Any,
    objects: Objects,
    metadata: Mapping[str, Any],
    POSITION_THRESHOLD: float = 0.1,
) -> tuple[bool, str]:
    """Whether all expected objects are there as they should be, and none that should not; and why not."""
    reasons: list[str] = []
    matched: list[Sequence[Any] | None] = []
    for place, (name, count) in enumerate(_clauses(metadata, "include")):
        found = list(objects.get(name, ()))[:count]
        wanted = (place, name, count)
        fault = _fault(
            clip_model, image, metadata, matched, wanted, found, POSITION_THRESHOLD
        )
        reasons += fault
        matched.append(None if fault else found)
    for name, count in _clauses(metadata, "exclude"):
        if len(objects.get(name, ())) >= count:
            reasons.append(f"expected {name}<{count}, found {len(objects[name])}")
    return not reasons, "\n".join(reasons)


def _fault(
    clip_model: Any,
    image: Any,
    metadata: Mapping[str, Any],
    matched: Sequence[Sequence[Any] | None],
    wanted: tuple[int, str, int],
    found: Sequence[Any],
    threshold: float,
) -> list[str]:
    """What is wrong with the objects of one clause (its place, name and count); the first fault of each kind."""
    place, name, count = wanted
    if len(found) < count:
        return [f"expected {name}>={count}, found {len(found)}"]
    wrong: list[str] = []
    colour = _part(metadata, "include_color", place)
    if colour:
        colours = color_classification(clip_model, image, found, name)
        if colours.count(colour) < count:
            listed = ", ".join(
                f"{colours.count(other)} {other}"
                for other in COLORS
                if other in colours
            )
            wrong.append(
                f"expected {colour} {name}>={count}, found {colours.count(colour)} {colour}; and {listed}"
            )
    position = _part(metadata, "include_position", place)
    if position and not wrong:
        relation, target = position.split("; ")
        others = matched[int(target)]
        if others is None:
            return [f"no target for {name} to be {relation}"]
        for thing in found:
            for other in others:
                relations = relative_position(thing, other, threshold)
                if relation not in relations:
                    return [
                        f"expected {name} {relation} target, found {' and '.join(relations)} target"
                    ]
    return wrong


def _clauses(metadata: Mapping[str, Any], kind: str) -> list[tuple[str, int]]:
    names, counts = metadata[f"{kind}_class"], metadata[f"{kind}_count"]
    if _is_empty(names):
        return []
    each = counts.split(", ") if isinstance(counts, str) else [counts]
    return [(name, int(each[place])) for place, name in enumerate(names.split(", "))]


def _part(metadata: Mapping[str, Any], name: str, place: int) -> str:
    cell = metadata[name]
    return "" if _is_empty(cell) else str(cell.split(", ")[place])


def _is_empty(cell: Any) -> bool:
    return cell is None or cell != cell


def GenEval_auxeval_score(
    det_model: Any, clip_model: Any, line: Mapping[str, Any]
) -> dict[str, Any]:
    """The verdict on one image, why, and the boxes that were kept."""
    import numpy
    from PIL import ImageOps

    found = inference_detector(det_model.model, numpy.array(line["prediction"]))
    boxes = found[0] if isinstance(found, tuple) else found
    masks = found[1] if isinstance(found, tuple) and len(found) > 1 else None
    image = ImageOps.exif_transpose(line["prediction"])
    least = COUNTING_THRESHOLD if line["tag"] == "counting" else THRESHOLD
    objects: dict[str, list[tuple[Any, Any]]] = {}
    for place, name in enumerate(CLASS_NAMES):
        order = [
            at
            for at in numpy.argsort(boxes[place][:, 4])[::-1]
            if boxes[place][at, 4] > least
        ][:MOST_OBJECTS]
        if order:
            objects[name] = [
                (boxes[place][at], None if masks is None else masks[place][at])
                for at in order
            ]
    correct, reason = evaluate(clip_model, image, objects, line, POSITION_THRESHOLD)
    details = json.dumps(
        {name: [box.tolist() for box, _ in things] for name, things in objects.items()}
    )
    return {
        "index": line["index"],
        "tag": line["tag"],
        "prompt": line["question"],
        "correct": correct,
        "reason": reason,
        "details": details,
    }


def GenEval_acc(result_file: str) -> Any:
    """Accuracy by tag, in words, and the mean of the tags."""
    import pandas

    data = load(result_file)
    rows, means = [], []
    for tag in dict.fromkeys(data["tag"]):
        verdicts = [bool(correct) for correct in data[data["tag"] == tag]["correct"]]
        mean = sum(verdicts) / len(verdicts)
        means.append(mean)
        rows.append(
            [tag, f"{tag:<16} = {mean:.2%} ({sum(verdicts)} / {len(verdicts)})"]
        )
    rows.append(["all", f"{sum(means) / len(means):.5f}"])
    return pandas.DataFrame(rows, columns=["split", "Overall"])
