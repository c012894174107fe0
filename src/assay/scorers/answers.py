"""Helpers of text scorers: read the accepted answers of a sample, and score outputs without an answer."""

import json
import re
import string
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from ..core import AllOf, Outcome, Output, Sample, Score, shorten
from ..core.reasoning import separate_text

T = TypeVar("T")
_MARKED_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
_NO_TEXT = (Mapping, bytes, bytearray, list, tuple)


def accepted(sample: Sample) -> tuple[str, ...]:
    """Return the accepted answers of a sample as texts; a number in a target column becomes its printed form.

    The parts of an `AllOf` are joined to one text. Reasoning in a target is left out, as in answers. Return an empty
    tuple if a target is not text, such as a structure, bytes or a null.
    """
    target = sample.target
    if type(target) is str:
        return (without_reasoning(target),)
    targets = without_nulls(sample)
    if not is_text(targets):
        return ()
    return (*map(_text, targets), *whole_spellings(targets))


def without_reasoning(target: str) -> str:
    """Return a target without reasoning such as `<think>…</think>`, which distilled data contain.

    If nothing but reasoning is in the target, return it unchanged.
    """
    separated = separate_text(target)
    if separated is None or not separated.answer.strip():
        return target
    return separated.answer


def whole_spellings(targets: Iterable[object]) -> tuple[str, ...]:
    """Return each target that is a whole float as text without a decimal point: `3` for
    3.0. Other targets are left out.

    Tables store a whole number as 3.0 if another row of the column is empty.
    """
    return tuple(
        str(int(target))
        for target in targets
        if isinstance(target, float) and target.is_integer() and abs(target) < 1e15
    )


def gold_letters(sample: Sample) -> set[str]:
    """Return the letters of the right options of a sample.

    A target may be a letter (`b`), a letter in brackets (`(B)`), or the text of an
    option. Any other target is returned in capitals, so that the caller can report it.
    """
    target = sample.target
    if type(target) is str and len(target) == 1 and target.isalpha():
        return {target.upper()}
    return {_gold_letter(text, sample.choices) for text in accepted(sample)}


def _gold_letter(
    target: str,
    choices: tuple[str, ...],
) -> str:
    """Return the letter of one target: `B` for `b`, `(B)` or the text of option B.

    Any other target is returned in capitals.
    """
    text = target.strip()
    if len(text) == 1 and text.isalpha():
        return text.upper()
    texts = [choice.strip() for choice in choices]
    letters = string.ascii_uppercase
    if text in texts and len(texts) <= len(letters):
        index = texts.index(text)
        return letters[index]
    marked = _MARKED_LETTER.fullmatch(text)
    if marked is None:
        return text.upper()
    return marked[1].upper()


def without_nulls(sample: Sample) -> tuple[Any, ...]:
    """Return the accepted answers of a sample without nulls. If all are null, return them unchanged.

    Tables pad lists of different lengths with nulls.
    """
    targets = sample.targets
    if len(targets) == 1:
        return targets
    return tuple(target for target in targets if target is not None) or targets


def is_text(targets: Iterable[object]) -> bool:
    """Return True if every target is a text or a number, so that scorers of text can compare with it."""
    return not any(target is None or isinstance(target, _NO_TEXT) for target in targets)


def shown(sample: Sample) -> tuple[str, ...]:
    """Return the accepted answers as texts for the prompt of a judge. A structured target is written as JSON."""
    return tuple(map(_shown_text, without_nulls(sample)))


def _shown_text(target: object) -> str:
    if isinstance(target, Mapping):
        return json.dumps(
            target,
            ensure_ascii=False,
            default=str,
        )
    return _text(target)


def _text(target: object) -> str:
    if isinstance(target, AllOf):
        parts = (part if isinstance(part, str) else part[0] for part in target.parts)
        return " ".join(parts)
    if isinstance(target, str):
        return without_reasoning(target)
    return str(target)


def no_answer(output: Output) -> Score | None:
    """Return the score of an output without an answer; None if there is an answer.

    An answer is missing if the output is empty because of the token limit, was removed
    by a content filter, or has only reasoning. Otherwise an empty text is an answer,
    which the scorer grades.
    """
    reason = output.stop_reason
    if reason == "length" and not output.text.strip():
        return Score(0.0, Outcome.TRUNCATED)
    if was_filtered(output):
        return Score.refused(reason="content_filter")
    if reasoned_only(output):
        return Score.unparsed(reason="reasoning without an answer")
    return None


def was_filtered(output: Output) -> bool:
    """Return True if a content filter stopped every candidate and left nothing of its answer."""
    for candidate in output.candidates:
        if candidate.stop_reason != "content_filter" or candidate.has_answer:
            return False
    return bool(output.candidates)


def reasoned_only(output: Output) -> bool:
    """Return True if the output has reasoning and no answer."""
    for candidate in output.candidates:
        if not candidate.has_reasoning or candidate.has_answer:
            return False
    return bool(output.candidates)


def data_error(reason: str) -> Score:
    """Return the `data_error` score of a sample that cannot be scored because its data are faulty."""
    return Score(None, Outcome.DATA_ERROR, details={"reason": reason})


def no_verdict(reason: str, **details: object) -> Score:
    """Return the `judge_error` score for a sample whose judge or specialist gave no usable verdict."""
    return Score(None, Outcome.JUDGE_ERROR, details={**details, "reason": reason})


def no_target(sample: Sample, what: str = "target") -> Score:
    """Return the `data_error` score of a sample without a target, or without the part that `what` names."""
    reason = f"sample {sample.id!r} has no {what}"
    if what == "target" and not is_text(sample.targets):
        reason = (
            f"the target of sample {sample.id!r} is not text: {shorten(sample.target)}"
        )
    return data_error(reason)


def in_every_answer(target: str) -> Score:
    """Return the `data_error` score for an empty target. Without this error, every answer would contain the target."""
    return data_error(f"target {target!r} is empty, so every answer would contain it")


class AgainstTargets:
    """Base of scorers that compare the text of an answer with the accepted answers.

    It handles samples without a target and outputs without an answer.
    """

    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    compares_text: ClassVar[bool] = False
    """True if the scorer compares every character. The run's notes then count answers that differ only in spelling."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        return no_answer(output) or self.compare(output, targets)

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an output compared with `targets`, all accepted texts."""
        raise NotImplementedError


def with_counts(
    value: float,
    output: Output,
    details: Mapping[str, Any],
) -> Score:
    """Return a score with counts in `details`. A summarizer adds up these counts over the corpus.

    A missing answer is counted too, and lowers the score of the corpus.
    """
    silence = no_answer(output)
    return Score(value, silence.outcome if silence else Outcome.SCORED, details=details)


def named(score: Score, *names: str) -> Score:
    """Return a copy of a missing answer's score, with the value 0 for each metric in `names`."""
    return Score(dict.fromkeys(names, 0.0), score.outcome, details=score.details)


def last_of(things: Iterable[T]) -> T | None:
    """Return the last item of an iterable, such as the last match in a text; `None` if it is empty."""
    latest = deque(things, maxlen=1)
    return latest[0] if latest else None
