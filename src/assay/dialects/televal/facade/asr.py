"""`src.evaluator.asr`: the transcriber of the newest revision."""

from ..eras import NEWEST, Era
from ..speech_evaluators import ASR as Transcriber


class ASR(Transcriber):
    """Character error rate of a transcript of the model's speech against its own text."""

    MODULE = "src.evaluator.asr"
    MISSING_IN: Era = NEWEST
