"""`vlmeval.smp.misc`: small helpers on names, lists, time and the machine."""

from ....kits.smp.misc import *  # noqa: F403 - the same names in both kits
from ....kits.smp.misc import __all__ as __all__
