"""`src.evaluator.emo2vec`: the feeling in a model's speech, heard by `--judge emotion=…`, or by funasr where installed.

The helper answers a clip with JSON: probabilities by label, as `{"happy": 0.7, "neutral": 0.2}`. The feelings that are
wanted stand in the column `answer_emo`; `ref` names the user's own, and counts only where that column is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....core import (
    EMPTY,
    Audio,
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
)
from .....media import check_media
from .....scorers.asked import structure_of
from .....scorers.given_models import ask_model
from ...eras import SEED, era_here
from .base import BuiltInEvaluator, set_workers
from .hearing import recogniser

NEUTRAL = "neutral"
WANTED = "answer_emo"
LONGEST_SECONDS = 300.0


async def listen(
    models: Mapping[str, Any], role: str, output: Output
) -> Mapping[str, Any] | Score:
    """What a helper says of the audio of an output; a score that says why, where there is nothing to listen to."""
    audio = next((medium for medium in output.media if isinstance(medium, Audio)), None)
    if audio is None:
        return Score.unparsed(reason="no audio in the output")
    try:
        heard = structure_of(
            await ask_model(models, role, Prompt((Message("user", (audio,)),)))
        )
    except ModelError as error:
        return Score(None, Outcome.JUDGE_ERROR, details={"error": str(error)})
    if not isinstance(heard, Mapping):
        return Score(
            None, Outcome.JUDGE_ERROR, details={"error": "the helper gave no JSON"}
        )
    return heard


def counted(labels: Sequence[Any], *, strict: bool = True) -> list[str]:
    """The feelings that count: with `strict`, `neutral` only where most labels say so."""
    wanted = [str(label).lower() for label in labels]
    if strict and 2 * wanted.count(NEUTRAL) <= len(wanted):
        return [label for label in wanted if label != NEUTRAL]
    return wanted


def chance(heard: Mapping[str, Any], wanted: Sequence[str]) -> Any:
    """The highest probability of a wanted feeling; labels may come in two languages, as `开心/happy`."""
    chances = {
        str(label).split("/")[-1].lower(): probability
        for label, probability in heard.items()
    }
    return max((chances.get(label, 0) for label in wanted), default=0)


@dataclass(frozen=True)
class HeardFeeling:
    """The highest probability of a feeling that was wanted."""

    strict: bool = True
    longest_seconds: float | None = LONGEST_SECONDS
    models: Mapping[str, Any] = field(
        default_factory=lambda: EMPTY, compare=False, repr=False
    )
    needs: ClassVar[tuple[str, ...]] = ("emotion",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        cell = sample.fields.get(WANTED)
        labels = (
            cell
            if isinstance(cell, (list, tuple))
            else sample.targets
            if cell is None
            else (cell,)
        )
        if not labels:
            reason = f"no feelings to listen for: neither `{WANTED}` nor a reference"
            return Score(None, Outcome.DATA_ERROR, details={"reason": reason})
        wanted = counted(labels, strict=self.strict)
        audio = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        longest = self.longest_seconds
        if (
            audio is not None
            and longest is not None
            and (check_media(audio).seconds or 0.0) > longest
        ):
            return Score(0.0, details={"reason": f"longer than {longest:g} s"})
        heard = await listen(self.models, "emotion", output)
        if isinstance(heard, Score):
            return heard
        chances = {
            str(label): float(probability) for label, probability in heard.items()
        }
        return Score(float(chance(chances, wanted)), details={"heard": chances})


class Emo2vec(BuiltInEvaluator):
    """The feeling in the audio a model made."""

    def __init__(
        self,
        model: str | None = None,
        strict: bool = True,
        max_workers: int | None = None,
    ) -> None:
        set_workers(self, max_workers)
        self.strict = strict
        self.MAX_DURATION = None if era_here() == SEED else LONGEST_SECONDS
        self.model = recogniser(model, hub="ms", disable_update=True)
        self.scorer = HeardFeeling(strict, self.MAX_DURATION)

    def evaluate(
        self, preds: Any, refs: Any, pred_info_list: Any, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """All audio clips at once by funasr; those that are too long come first, with 0."""
        too_long = [
            info for info in pred_info_list if self._is_too_long(info["pred_audio"])
        ]
        heard_infos = [info for info in pred_info_list if info not in too_long]
        results = [{"key": info["key"], "score": 0} for info in too_long]
        clips = [info["pred_audio"] for info in heard_infos]
        options = {
            "output_dir": None,
            "granularity": "utterance",
            "extract_embedding": False,
        }
        for heard, info in zip(
            self.model.generate(clips, **options) if clips else (),
            heard_infos,
            strict=False,
        ):
            chances = dict(zip(heard["labels"], heard["scores"], strict=False))
            results.append(
                {
                    "key": info["key"],
                    "score": chance(chances, counted(info[WANTED], strict=self.strict)),
                }
            )
        return results

    def _is_too_long(self, path: str) -> bool:
        if self.MAX_DURATION is None:
            return False
        import soundfile

        return float(soundfile.info(path).duration) > self.MAX_DURATION
