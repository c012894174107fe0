"""`src.evaluator.emo2vec`: the feeling in a model's speech, heard by a model given as `--judge emotion=…`.

That model answers a sound with JSON: probabilities by label, as `{"happy": 0.7, "neutral": 0.2}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....core import EMPTY, Audio, Message, ModelError, Outcome, Output, Prompt, Sample, Score
from .....media import check_media
from .....scorers.asked import structure_of
from .....scorers.given_models import ask_model
from .base import BuiltInEvaluator

NEUTRAL = "neutral"
LONGEST_SECONDS = 300.0


async def listen(models: Mapping[str, Any], role: str, output: Output) -> Mapping[str, Any] | Score:
    """What a helper says of the sound of an output; a score that says why, where there is nothing to listen to."""
    sound = next((medium for medium in output.media if isinstance(medium, Audio)), None)
    if sound is None:
        return Score.unparsed(reason="no audio in the output")
    try:
        heard = structure_of(await ask_model(models, role, Prompt((Message("user", (sound,)),))))
    except ModelError as error:
        return Score(None, Outcome.JUDGE_ERROR, details={"error": str(error)})
    if not isinstance(heard, Mapping):
        return Score(None, Outcome.JUDGE_ERROR, details={"error": "the helper gave no JSON"})
    return heard


@dataclass(frozen=True)
class HeardFeeling:
    """The highest probability of a labelled feeling; `neutral` counts only where most labels say so."""

    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("emotion",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        labels = [str(label).lower() for label in sample.targets]
        if 2 * labels.count(NEUTRAL) <= len(labels) and any(label != NEUTRAL for label in labels):
            labels = [label for label in labels if label != NEUTRAL]
        sound = next((medium for medium in output.media if isinstance(medium, Audio)), None)
        if sound is not None and (check_media(sound).seconds or 0.0) > LONGEST_SECONDS:
            return Score(0.0, details={"reason": f"longer than {LONGEST_SECONDS:g} s"})
        heard = await listen(self.models, "emotion", output)
        if isinstance(heard, Score):
            return heard
        chances = {str(label).lower(): float(chance) for label, chance in heard.items()}
        return Score(max((chances.get(label, 0.0) for label in labels), default=0.0), details={"heard": chances})


class Emo2vec(BuiltInEvaluator):
    """The feeling in the sound a model made."""

    def __init__(self, model: str | None = None, strict: bool = True, max_workers: int | None = None) -> None:
        self.model = model
        self.strict = strict
        self.max_workers = max_workers
        self.scorer = HeardFeeling()
