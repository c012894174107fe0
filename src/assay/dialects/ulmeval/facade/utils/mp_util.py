"""`ulmeval.utils.mp_util`: a function over many tasks, in threads, results in order."""

from ....kits.progress import track_progress_rich

__all__ = ["track_progress_rich"]
