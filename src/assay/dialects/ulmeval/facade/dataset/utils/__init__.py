"""`ulmeval.dataset.utils`: judges by name."""

from .judge_util import DEBUG_MESSAGE, build_judge

__all__ = ["DEBUG_MESSAGE", "build_judge"]
