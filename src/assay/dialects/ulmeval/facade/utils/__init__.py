"""`ulmeval.utils`: work spread over threads."""

from .mp_util import track_progress_rich

__all__ = ["track_progress_rich"]
