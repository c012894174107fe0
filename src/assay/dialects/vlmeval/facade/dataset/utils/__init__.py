"""`vlmeval.dataset.utils`: judges, progress, accuracy tables."""

from ...utils.mp_util import track_progress_rich
from .judge_util import DEBUG_MESSAGE, build_judge
from .multiple_choice import extract_answer_from_item, prefetch_answer, report_acc

__all__ = [
    "DEBUG_MESSAGE",
    "build_judge",
    "extract_answer_from_item",
    "prefetch_answer",
    "report_acc",
    "track_progress_rich",
]
