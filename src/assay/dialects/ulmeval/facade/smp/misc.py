"""`ulmeval.smp.misc`: small helpers on names, lists, time and the machine."""

from ....kits.smp.machine import *  # noqa: F403
from ....kits.smp.texts import *  # noqa: F403
