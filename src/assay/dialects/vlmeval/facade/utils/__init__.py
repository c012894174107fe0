"""`vlmeval.utils`: the dataset class of the documented revision, and the matching and progress helpers."""

from ...places import DATASET_URLS as dataset_URLs
from ...places import IMAGE_FOLDERS as img_root_map
from .data_util import DATASET_TYPE, TSVDataset
from .matching_util import (
    can_infer,
    can_infer_lego,
    can_infer_option,
    can_infer_sequence,
    can_infer_text,
    detect_repetition,
)
from .mp_util import track_progress_rich

__all__ = [
    "DATASET_TYPE",
    "TSVDataset",
    "can_infer",
    "can_infer_lego",
    "can_infer_option",
    "can_infer_sequence",
    "can_infer_text",
    "dataset_URLs",
    "detect_repetition",
    "img_root_map",
    "track_progress_rich",
]
