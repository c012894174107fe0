"""The formats of files, as VLMEvalKit's environment variables choose them."""

import os

from ...core import UsageError

FORMATS = ("xlsx", "tsv", "json")
EVALUATION_FORMATS = ("csv", "json")


def prediction_format() -> str:
    """The suffix of prediction files: `$PRED_FORMAT`, by default xlsx."""
    chosen = os.environ.get("PRED_FORMAT", "xlsx").lower()
    if chosen not in FORMATS:
        raise UsageError(f"PRED_FORMAT is {chosen!r}", fix=f"one of {', '.join(FORMATS)}")
    return chosen


def evaluation_format() -> str:
    """The suffix of accuracy and score tables: `$EVAL_FORMAT`, by default csv."""
    chosen = os.environ.get("EVAL_FORMAT", "").lower() or "csv"
    if chosen not in EVALUATION_FORMATS:
        raise UsageError(f"EVAL_FORMAT is {chosen!r}", fix=f"one of {', '.join(EVALUATION_FORMATS)}")
    return chosen
