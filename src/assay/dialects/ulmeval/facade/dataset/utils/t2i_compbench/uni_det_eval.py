"""`ulmeval.dataset.utils.t2i_compbench.uni_det_eval`: how well one box lies where it should from another."""

from collections.abc import Mapping

from .......scorers.image.t2i_compbench import place_score

STANDS_IN = True
__all__ = ["determine_position"]

SIDES = ("x_min", "y_min", "x_max", "y_max")


def determine_position(
    locality: str | None,
    box1: Mapping[str, float],
    box2: Mapping[str, float],
    iou_threshold: float = 0.1,
    distance_threshold: float = 150,
) -> float:
    """From 0 to 1; boxes are dictionaries of `x_min`, `y_min`, `x_max`, `y_max`."""
    first, second = ([box[side] for side in SIDES] for box in (box1, box2))
    return place_score(locality or "", first, second, iou_threshold, distance_threshold)
