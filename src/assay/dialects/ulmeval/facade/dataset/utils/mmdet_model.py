"""`ulmeval.dataset.utils.mmdet_model`: `MMDetModel`."""

from .specialists import MMDetModel

STANDS_IN = True
__all__ = ["MMDetModel"]
