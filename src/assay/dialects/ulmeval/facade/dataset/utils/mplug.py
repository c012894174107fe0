"""`ulmeval.dataset.utils.mplug`: `MPLUGModel`."""

from .specialists import MPLUGModel

STANDS_IN = True
__all__ = ["MPLUGModel"]
