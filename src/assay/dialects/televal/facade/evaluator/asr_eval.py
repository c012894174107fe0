"""`src.evaluator.asr_eval`: does a model say what it writes? Heard by `--judge asr=…`, or by funasr where installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import Levenshtein

from .....core import Audio, ModelError, Outcome, Output, Sample, Score
from .....scorers.speech.chinese_text import normalize_chinese
from .....scorers.speech.consistency import SpeechConsistency
from .....scorers.speech.heard import transcribe
from .....scorers.speech.wer import rate_details
from ....protocol import is_upstream
from ...eras import SEED, Era, era_here
from ..utils import parallel_batch
from .base import BuiltInEvaluator, set_workers
from .hearing import recogniser
from .text_utils import TextProcessor

EDITS = {"replace": "subs", "delete": "dele", "insert": "inse"}


def check_era(module: str, missing_in: Era) -> None:
    """Raises for a module that TELEVAL does not have in one era, where upstream was chosen to the letter."""
    if is_upstream("televal") and era_here() == missing_in:
        raise ModuleNotFoundError(
            f"TELEVAL has no module {module!r} in this era", name=module
        )


@dataclass(frozen=True)
class Transcribed(SpeechConsistency):
    """Consistency by character, with the two texts that were compared."""

    whole_case: bool = False
    """As TELEVAL compares: capitals count."""

    async def __call__(self, sample: Sample, output: Output) -> Score:
        speech = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if speech is None or not output.text.strip():
            return await super().__call__(sample, output)
        try:
            heard = await transcribe(self.models, speech, self.instruction)
        except ModelError as error:
            return Score(None, Outcome.JUDGE_ERROR, details={"reason": str(error)})
        try:
            counts = compared(heard, output.text, self.whole_case)
        except ValueError as error:
            return Score.unparsed(reason=str(error))
        texts = {
            "clean_trans": counts.heard,
            "clean_text": counts.text,
            "wer": counts.rate,
        }
        if self.whole_case:
            edits = {
                "S": counts.subs,
                "D": counts.dele,
                "I": counts.inse,
                "N": counts.ref_len,
            }
            return Score(counts.rate, details={**edits, **texts})
        found, answer = self._rate.compare((output.text,), heard)
        return Score(
            found.rate,
            answer=answer,
            details={**rate_details(found, self.metric), **texts},
        )


@dataclass(frozen=True)
class Compared:
    """Two texts, character by character."""

    text: str
    heard: str
    subs: int
    dele: int
    inse: int
    ref_len: int

    @property
    def rate(self) -> float:
        """Errors for each character of the text."""
        return (self.subs + self.dele + self.inse) / self.ref_len

    def as_score(self) -> dict[str, Any]:
        """The counts under TELEVAL's names."""
        return {
            "ref_len": self.ref_len,
            "subs": self.subs,
            "dele": self.dele,
            "inse": self.inse,
            "wer": self.rate,
        }


def compared(heard: str, text: str, whole_case: bool) -> Compared:
    """A transcript against the text; a text of which nothing is left cannot be compared with."""
    clean = TextProcessor("zh").normalize_and_clean if whole_case else normalize_chinese
    wanted, transcript = clean(text), clean(heard)
    if not wanted:
        raise ValueError("the text has no characters to compare with")
    counts = dict.fromkeys(EDITS, 0)
    for edit in Levenshtein.editops(wanted, transcript):
        counts[edit.tag] += 1
    edits = {EDITS[tag]: count for tag, count in counts.items()}
    return Compared(
        " ".join(wanted), " ".join(transcript), ref_len=len(wanted), **edits
    )


class ASR(BuiltInEvaluator):
    """Error rate by character of a transcript of the model's speech against its own text, both normalized."""

    MODULE = "src.evaluator.asr_eval"
    MISSING_IN: Era = SEED

    def __init__(
        self,
        model: str | None = None,
        max_workers: int | None = None,
        normalize: str = "zh",
    ) -> None:
        check_era(self.MODULE, self.MISSING_IN)
        set_workers(self, max_workers)
        self.whole_case = is_upstream("televal")
        self.model = recogniser(model, disable_update=True)
        self.scorer = Transcribed(
            normalize=normalize, unit="characters", whole_case=self.whole_case
        )

    def compute_wer(
        self, hypo: str, truth: str
    ) -> tuple[str, str, float, int, int, int, int]:
        """The two texts with blanks between the characters, the rate, its three counts and the text's length."""
        c = compared(hypo, truth, self.whole_case)
        return c.text, c.heard, c.rate, c.subs, c.dele, c.inse, c.ref_len

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The model's speech, heard by funasr."""
        heard = self.model.generate(input=pred_info["pred_audio"], batch_size_s=300)[0][
            "text"
        ]
        c = compared(heard, pred, self.whole_case)
        return {
            "key": pred_info["key"],
            "clean_trans": c.heard,
            "clean_text": c.text,
            "score": c.as_score(),
        }

    @staticmethod
    def result_of(
        line: Mapping[str, Any], score: Any, details: Mapping[str, Any]
    ) -> dict[str, Any]:
        texts = {name: details.get(name) for name in ("clean_trans", "clean_text")}
        counts = (
            {**score, "wer": details.get("wer")}
            if isinstance(score, Mapping)
            else score
        )
        return {"key": line["key"], **texts, "score": counts}
