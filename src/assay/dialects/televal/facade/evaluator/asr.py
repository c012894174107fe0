"""`src.evaluator.asr`: the first era's name for `src.evaluator.asr_eval`."""

from ...eras import NEWEST, Era
from .asr_eval import ASR as Transcriber


class ASR(Transcriber):
    """Error rate by character of a transcript of the model's speech against its own text."""

    MODULE = "src.evaluator.asr"
    MISSING_IN: Era = NEWEST
