"""Evaluators of audio: transcripts of the model's own speech, its quality, emotions and dialects."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ...core import (
    Audio,
    Candidate,
    ModelError,
    Output,
    Sample,
    Score,
    UsageError,
)
from ...media import check_media
from ...scorers.answers import data_error, no_verdict
from ...scorers.asked import ask_specialist, structure_of
from ...scorers.given_models import GivenModels
from ...scorers.speech.dnsmos import Dnsmos
from ...scorers.speech.heard import SpeechConsistency, transcribe
from ...scorers.speech.speech_normalize import normalize_chinese
from ...scorers.speech.wer import Edits, count_edits, rate_details
from ..protocol import is_upstream
from ..shapes import Fields, Record
from ..source_names import module_exists
from .answer_evaluators import BuiltInEvaluator, TextProcessor
from .eras import SEED, era_here
from .facade.utils import parallel_batch as parallel_batch
from .televal_evaluation import counts_in


def recogniser(name: object, **options: object) -> Any:
    """Return the funasr model called `name`, which is loaded on first use.

    An object with `generate` is returned unchanged.
    """
    if hasattr(name, "generate"):
        return name
    return Recogniser(name, options)


class Recogniser:
    """A model of funasr, loaded on first use."""

    def __init__(
        self,
        name: object,
        options: Record,
    ) -> None:
        self.name, self._options = name, options
        # Keep the module: it may not be importable later.
        self._package: Any = sys.modules.get("funasr")
        self._model: Any = None

    @property
    def can_hear(self) -> bool:
        """True if funasr is installed."""
        return self._package is not None or module_exists("funasr")

    def generate(self, *inputs: object, **options: object) -> Any:
        """Call funasr's `AutoModel.generate`."""
        if self._model is None:
            if not self.can_hear:
                raise UsageError(
                    f"{self.name!r} is a model of funasr, which is not installed",
                    fix="pip install funasr, or give a model by role: --judge asr=MODEL, --judge emotion=MODEL",
                )
            package = self._package or importlib.import_module("funasr")
            self._model = package.AutoModel(model=self.name, **self._options)
        return self._model.generate(*inputs, **options)


@dataclass(frozen=True)
class Transcribed(SpeechConsistency):
    """Scores the character error rate between the model's speech and the text of its answer.

    The details contain the text and the transcript of the speech.
    """

    whole_case: bool = False
    """True to treat upper-case and lower-case letters as different, as TELEVAL does."""

    async def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        speech = audio_of(output)
        if speech is None or not output.text.strip():
            return await super().__call__(sample, output)
        try:
            heard = await transcribe(self.models, speech, self.instruction)
        except ModelError as error:
            return no_verdict(str(error))
        try:
            text, transcript, edits = compare(heard, output.text, self.whole_case)
        except ValueError as error:
            return Score.unparsed(reason=str(error))
        texts = {"clean_trans": transcript, "clean_text": text, "wer": edits.rate}
        if self.whole_case:
            return Score(edits.rate, details={**edits.details(), **texts})
        edits, answer = self._rate.compare((output.text,), heard)
        counts = rate_details(edits, self.metric)
        return Score(edits.rate, answer=answer, details={**counts, **texts})


def compare(
    heard: str,
    text: str,
    whole_case: bool,
) -> tuple[str, str, Edits]:
    """Return the text, the transcript in `heard`, and the edits between them.

    Both are normalized, with a space between characters. Raise `ValueError` if the text
    is empty after normalization.
    """
    clean = TextProcessor("zh").normalize_and_clean if whole_case else normalize_chinese
    reference, transcript = clean(text), clean(heard)
    if not reference:
        raise ValueError("the text has no characters to compare with")
    edits = count_edits(reference, transcript)
    return " ".join(reference), " ".join(transcript), edits


class ASR(BuiltInEvaluator):
    """Evaluator that computes the character error rate of the model's speech, against the model's own text."""

    def __init__(
        self,
        model: str | None = None,
        max_workers: int | None = None,
        normalize: str = "zh",
    ) -> None:
        super().__init__(max_workers)
        self.whole_case = is_upstream("televal")
        self.model = recogniser(model, disable_update=True)
        self.scorer = Transcribed(
            normalize=normalize,
            unit="characters",
            whole_case=self.whole_case,
        )

    def compute_wer(
        self,
        hypo: str,
        truth: str,
    ) -> tuple[str, str, float, int, int, int, int]:
        """Return the text, the transcript, the error rate, the edit counts and the length of the text.

        `hypo` is the transcript and `truth` the text. Both are returned with a space
        between characters. The counts are substitutions, deletions and insertions.
        """
        text, transcript, edits = compare(hypo, truth, self.whole_case)
        return text, transcript, edits.rate, *edits

    def judged(
        self,
        pred: Any,
        ref: object,
        pred_info: Record,
    ) -> Record:
        """Transcribe the model's speech with funasr, and return its character error rate against the text."""
        replies = self.model.generate(input=pred_info["pred_audio"], batch_size_s=300)
        text, transcript, edits = compare(replies[0]["text"], pred, self.whole_case)
        return {
            "key": pred_info["key"],
            "clean_trans": transcript,
            "clean_text": text,
            "score": {**(counts_in(edits.details()) or {}), "wer": edits.rate},
        }

    @staticmethod
    def result_of(
        line: Fields,
        score: object,
        details: Fields,
    ) -> Record:
        texts = {name: details.get(name) for name in ("clean_trans", "clean_text")}
        if isinstance(score, Mapping):
            score = {**score, "wer": details.get("wer")}
        return {"key": line["key"], **texts, "score": score}


SAMPLING_RATE = 16000


@dataclass(frozen=True)
class OverallMos:
    """A scorer that returns the overall DNSMOS rating of the speech, from 1 to 5."""

    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    blocking: ClassVar[bool] = True

    def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        score = Dnsmos()(sample, output)
        ratings = dict(score.value) if isinstance(score.value, Mapping) else {}
        details = {**score.details, "ratings": ratings}
        return replace(score, value=ratings.get("ovrl"), details=details)


class DNSMOS(BuiltInEvaluator):
    """Evaluator that rates the model's speech with the neural networks of DNSMOS.

    The networks come from the extra assay[speech], so the path in the YAML file is ignored.
    """

    def __init__(
        self,
        model: str | None = None,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(max_workers)
        self.model = model
        self.compute_score: Callable[[str, int], Fields] = _rated
        self.scorer = OverallMos()

    def judged(
        self,
        pred: object,
        ref: object,
        pred_info: Record,
    ) -> Record:
        """Return the overall DNSMOS rating of the model's audio clip."""
        rating = self.compute_score(pred_info["pred_audio"], SAMPLING_RATE)
        return {"key": pred_info["key"], "score": rating["OVRL"]}


def _rated(
    path: str,
    sampling_rate: int,
) -> Fields:
    """Return the DNSMOS ratings of an audio file under TELEVAL's names, such as `OVRL`."""
    score = OverallMos()(Sample(path, ""), Output((Candidate((Audio(Path(path)),)),)))
    ratings = score.details.get("ratings", {})
    return {str(name).upper(): value for name, value in ratings.items()} | {
        "OVRL": score.value
    }


NEUTRAL = "neutral"
EMOTIONS = "answer_emo"
"""The column with the emotions that an answer should have."""
LONGEST_SECONDS = 300.0


async def labels_heard(
    models: Fields,
    role: str,
    output: Output,
) -> Fields | Score:
    """Ask a helper model for labels of the audio in an output, and return the probability of each.

    Without audio or an answer, return a score with the reason.
    """
    audio = audio_of(output)
    if audio is None:
        return Score.unparsed(reason="no audio in the output")
    try:
        heard = structure_of(await ask_specialist(models, role, (audio,)))
    except ModelError as error:
        return no_verdict(str(error))
    if isinstance(heard, Mapping):
        return heard
    return no_verdict("the helper gave no JSON")


def audio_of(output: Output) -> Audio | None:
    """Return the first audio of an output."""
    return next((medium for medium in output.media if isinstance(medium, Audio)), None)


def expected_emotions(
    labels: Sequence[object],
    *,
    strict: bool = True,
) -> list[str]:
    """Return the expected emotions in lower case.

    With `strict`, drop `neutral` unless more than half of the labels are neutral.
    """
    emotions = [str(label).lower() for label in labels]
    if strict and 2 * emotions.count(NEUTRAL) <= len(emotions):
        return [label for label in emotions if label != NEUTRAL]
    return emotions


def highest_probability(
    heard: Fields,
    wanted: Sequence[str],
) -> float:
    """Return the highest probability of an expected emotion. Labels may be bilingual, such as `开心/happy`."""
    chances = {
        str(label).split("/")[-1].lower(): probability
        for label, probability in heard.items()
    }
    return max((chances.get(label, 0) for label in wanted), default=0)


@dataclass(frozen=True)
class HeardFeeling(GivenModels):
    """Scores how likely the audio has an expected emotion: the highest probability of any expected one."""

    strict: bool = True
    longest_seconds: float | None = LONGEST_SECONDS
    needs: ClassVar[tuple[str, ...]] = ("emotion",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        labels = sample.fields.get(EMOTIONS)
        if labels is None:
            labels = sample.targets
        elif not isinstance(labels, (list, tuple)):
            labels = (labels,)
        if not labels:
            reason = f"no feelings to listen for: neither `{EMOTIONS}` nor a reference"
            return data_error(reason)
        expected = expected_emotions(labels, strict=self.strict)
        audio, longest = audio_of(output), self.longest_seconds
        if audio is not None and longest is not None:
            seconds = check_media(audio).seconds or 0.0
            if seconds > longest:
                return Score(0.0, details={"reason": f"longer than {longest:g} s"})
        heard = await labels_heard(self.models, "emotion", output)
        if isinstance(heard, Score):
            return heard
        chances = {
            str(label): float(probability) for label, probability in heard.items()
        }
        return Score(
            float(highest_probability(chances, expected)), details={"heard": chances}
        )


class Emo2vec(BuiltInEvaluator):
    """Evaluator that judges the emotion in the audio that the model generated."""

    def __init__(
        self,
        model: str | None = None,
        strict: bool = True,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(max_workers)
        self.strict = strict
        self.MAX_DURATION = None if era_here() == SEED else LONGEST_SECONDS
        self.model = recogniser(model, hub="ms", disable_update=True)
        self.scorer = HeardFeeling(strict, self.MAX_DURATION)

    def evaluate(
        self,
        preds: object,
        refs: object,
        pred_info_list: Any,
        **kwargs: object,
    ) -> list[Record]:
        """Judge all audio clips at once with funasr. Clips that are too long score 0, and come first in the result."""
        results: list[Record] = []
        infos: list[Record] = []
        for info in pred_info_list:
            if self._is_too_long(info["pred_audio"]):
                results.append({"key": info["key"], "score": 0})
            else:
                infos.append(info)
        if not infos:
            return results
        replies = self.model.generate(
            [info["pred_audio"] for info in infos],
            output_dir=None,
            granularity="utterance",
            extract_embedding=False,
        )
        for heard, info in zip(replies, infos, strict=False):
            chances = dict(zip(heard["labels"], heard["scores"], strict=False))
            expected = expected_emotions(info[EMOTIONS], strict=self.strict)
            results.append(
                {"key": info["key"], "score": highest_probability(chances, expected)}
            )
        return results

    def _is_too_long(self, path: str) -> bool:
        if self.MAX_DURATION is None:
            return False
        import soundfile

        return float(soundfile.info(path).duration) > self.MAX_DURATION


NAMES = {
    "ct": "粤语",
    "zhs": "河南话",
    "zhc": "四川话",
    "zhd": "东北话",
    "wuy": "上海话",
    "mand": "普通话",
}
"""For each code that TELEVAL's dialect classifier returns, the Chinese name that references use."""


@dataclass(frozen=True)
class HeardDialect(GivenModels):
    """Scorer: 1 if the recognised dialect is the expected one, otherwise 0."""

    needs: ClassVar[tuple[str, ...]] = ("dialect",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        heard = await labels_heard(self.models, "dialect", output)
        if isinstance(heard, Score):
            return heard
        label = ""
        if heard:
            label = str(max(heard, key=lambda name: float(heard[name])))
        names = {label.lower(), NAMES.get(label, label).lower()}
        expected = {str(target).lower() for target in sample.targets}
        is_expected = not names.isdisjoint(expected)
        return Score(float(is_expected), answer=label)


class DialectClassify(BuiltInEvaluator):
    """Evaluator that judges the dialect in the audio that the model generated."""

    def __init__(
        self,
        model: str | None = None,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(max_workers)
        self.model = model
        self.dialect_mapping = dict(NAMES)
        self.onnx_sess: Any = None
        """None, or an object with `classify(path)` that recognises dialects on this machine."""
        self.scorer = HeardDialect()

    def judged(
        self,
        pred: object,
        ref: object,
        pred_info: Record,
    ) -> Record:
        """Return the verdict on the dialect that `onnx_sess` recognises in the audio."""
        audio = pred_info["pred_audio"]
        if self.onnx_sess is None:
            raise UsageError(
                "nothing listens to dialects here", fix="--judge dialect=MODEL"
            )
        name = self.dialect_mapping.get(self.onnx_sess.classify(audio))
        return {"key": pred_info["key"], "score": int(name == ref) if name else 0}
