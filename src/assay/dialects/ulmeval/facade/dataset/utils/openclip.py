"""`ulmeval.dataset.utils.openclip`: `OpenCLIPModel`."""

from .specialists import OpenCLIPModel

STANDS_IN = True
__all__ = ["OpenCLIPModel"]
