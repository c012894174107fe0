"""`vlmeval.utils.dataset_config`: URLs and image folders by dataset."""

from ...places import DATASET_URLS as dataset_URLs
from ...places import IMAGE_FOLDERS as img_root_map
from .data_util import DATASET_TYPE

__all__ = ["DATASET_TYPE", "dataset_URLs", "img_root_map"]
