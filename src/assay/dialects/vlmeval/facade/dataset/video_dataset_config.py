"""`vlmeval.dataset.video_dataset_config`: factories of video datasets by name, as user files add them."""

from . import supported_video_datasets

__all__ = ["supported_video_datasets"]
