"""`vlmeval.utils`: the dataset class of the documented revision, and the matching and progress helpers."""

from . import data_util, matching_util
from .data_util import *  # noqa: F403
from .matching_util import *  # noqa: F403
from .mp_util import track_progress_rich

__all__ = [*data_util.__all__, *matching_util.__all__, "track_progress_rich"]
