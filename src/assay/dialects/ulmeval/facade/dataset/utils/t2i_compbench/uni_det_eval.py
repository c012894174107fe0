"""`ulmeval.dataset.utils.t2i_compbench.uni_det_eval`: how well one box lies where it should from another."""

from collections.abc import Mapping

from .......scorers.image.t2i_compbench import place_score

STANDS_IN = True
__all__ = ["determine_position"]


def determine_position(
    locality: str | None,
    box1: Mapping[str, float],
    box2: Mapping[str, float],
    iou_threshold: float = 0.1,
    distance_threshold: float = 150,
) -> float:
    """From 0 to 1; boxes are dictionaries of `x_min`, `y_min`, `x_max`, `y_max`."""
    return place_score(
        locality or "", _box(box1), _box(box2), iou_threshold, distance_threshold
    )


def _box(sides: Mapping[str, float]) -> tuple[float, float, float, float]:
    return sides["x_min"], sides["y_min"], sides["x_max"], sides["y_max"]
