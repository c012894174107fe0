"""`vlmeval.dataset.image_yorn`: yes or no about pictures."""

from typing import ClassVar

from .image_base import ImageBaseDataset

__all__ = ["ImageYORNDataset"]


class ImageYORNDataset(ImageBaseDataset):
    """Questions answered by yes or no."""

    TYPE: ClassVar[str] = "Y/N"
