"""`src.evaluator.asr`: does a model say what it writes? A model given as `--judge asr=…` transcribes its speech."""

from .....scorers.speech.consistency import SpeechConsistency
from .base import BuiltInEvaluator


class ASR(BuiltInEvaluator):
    """Error rate by character of a transcript of the model's speech against its own text, both normalized."""

    def __init__(self, model: str | None = None, max_workers: int | None = None, normalize: str = "zh") -> None:
        self.model = model
        self.max_workers = max_workers
        self.scorer = SpeechConsistency(normalize=normalize, unit="characters")
