"""Measure how much of the expected text a text recogniser (OCR) reads in an image.

`ocr_text` scores text that was recognised earlier and saved under the key `recognised`,
or the output's own text. `rendered_text` calls a recogniser. The values depend on the
recogniser, so report its name with them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ...core import (
    Image,
    Message,
    ModelError,
    Outcome,
    Output,
    Part,
    Prompt,
    Sample,
    Score,
    Text,
    shorten,
)
from ...registry import scorers
from ..answers import accepted, named, no_answer, no_target, no_verdict
from ..given_models import GivenModels, ask_model
from ..saved_media import saved

_NAMES = ("word_accuracy", "ned", "line_match")


@scorers.register("ocr_text")
@dataclass(frozen=True)
class OcrText:
    """Word accuracy, edit similarity and line accuracy of the recognised text, compared with the nearest target."""

    ignore_case: bool = True
    reads: ClassVar[tuple[str, ...]] = ()

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        recognised = saved(sample, output, "recognised")
        if recognised is None:
            silence = no_answer(output)
            if silence:
                return named(silence, *_NAMES)
            recognised = output.text
        if not isinstance(recognised, str):
            if not isinstance(recognised, Iterable):
                raise TypeError(
                    f"recognised text must be a text or lines, got {shorten(recognised)}"
                )
            recognised = "\n".join(map(str, recognised))
        lines = _lines(recognised, self.ignore_case)
        scores = [
            _against(_lines(target, self.ignore_case), lines) for target in targets
        ]
        best = max(scores, key=lambda score: score["ned"])
        return Score(best, answer="\n".join(lines))


def _against(
    wanted: list[str],
    answer: list[str],
) -> dict[str, float]:
    """Compare the lines of an answer with those of one target: word accuracy, edit
    similarity (`ned`) and line match.
    """
    words = Counter(" ".join(wanted).split())
    answer_words = Counter(" ".join(answer).split())
    lines = Counter(wanted)
    return {
        "word_accuracy": (words & answer_words).total() / words.total()
        if words
        else float(not answer_words),
        "ned": edit_similarity("\n".join(wanted), "\n".join(answer)),
        "line_match": (lines & Counter(answer)).total() / lines.total()
        if lines
        else float(not answer),
    }


def edit_similarity(wanted: str, answer: str) -> float:
    """Return 1 - edits / length of the longer text: 1 for equal texts, also for two empty ones."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(wanted, answer))


def _lines(text: str, ignore_case: bool) -> list[str]:
    """Return the non-empty lines of a text, with each run of whitespace replaced by one space."""
    folded = text.casefold() if ignore_case else text
    kept_lines = []
    for line in (" ".join(line.split()) for line in folded.splitlines()):
        if line:
            kept_lines.append(line)
    return kept_lines


@scorers.register("rendered_text")
@dataclass(frozen=True)
class RenderedText(GivenModels):
    """`exact`: 1 if the text in the image is the target, except for case and spaces;
    `ned`: their edit similarity, 0 to 1.
    """

    instruction: str = ""
    """An instruction to the recogniser, sent with the image, if it needs one."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("ocr",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        image = next(
            (medium for medium in output.media if isinstance(medium, Image)), None
        )
        if image is None:
            nothing = {"exact": 0.0, "ned": 0.0}
            return Score(
                nothing,
                Outcome.UNPARSED,
                details={"reason": "no image in the output"},
            )
        parts: tuple[Part, ...] = (image,)
        if self.instruction:
            parts = (image, Text(self.instruction))
        try:
            reply = await ask_model(
                self.models,
                "ocr",
                Prompt((Message("user", parts),)),
            )
        except ModelError as error:
            return no_verdict(str(error))
        return read_score(targets, reply.text)


@scorers.register("read_text")
@dataclass(frozen=True)
class ReadText:
    """Score a model that reads the text in an image: its answer is compared with the target as in `rendered_text`."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if targets:
            return read_score(targets, output.text)
        return no_target(sample)


def read_score(
    targets: tuple[str, ...],
    text: str,
) -> Score:
    """Return the score of a recognised text against the nearest target.

    Spaces and line ends are ignored, because recognisers place them differently.
    """
    letters = _letters(text)
    expected = [_letters(target) for target in targets]
    similar = max(edit_similarity(target, letters) for target in expected)
    return Score(
        {"exact": float(letters in expected), "ned": similar},
        answer=" ".join(text.split()),
    )


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()
