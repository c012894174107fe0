"""`vlmeval.utils.mp_util`: many calls at once, results by key in a file."""

from ....kits.many_calls import *  # noqa: F403
