"""What every text scorer asks first: the accepted answers of a sample, and whether there is an answer to score."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from ..core import AllOf, Outcome, Output, Sample, Score, shorten

T = TypeVar("T")
_NO_TEXT = (Mapping, bytes, bytearray, list, tuple)


def accepted(sample: Sample) -> tuple[str, ...]:
    """The accepted answers as texts; a number in a target column is compared as it is printed.

    The parts of an `AllOf` are wanted together, so as one answer they are their texts joined. None where a target is
    no text at all: a structure, bytes or a null alone has no spelling that a model could hit.
    """
    target = sample.target
    if type(target) is str:
        return (target,)
    targets = without_nulls(sample)
    if not is_text(targets):
        return ()
    texts = [_text(one) for one in targets]
    # A table makes 3.0 of a whole number as soon as one cell of its column is empty: `3` is right too.
    whole = (
        str(int(one))
        for one in targets
        if isinstance(one, float) and one.is_integer() and abs(one) < 1e15
    )
    return (*texts, *whole)


def without_nulls(sample: Sample) -> tuple[Any, ...]:
    """The accepted answers but for nulls beside others, with which columns of lists are filled up; nulls alone stay."""
    return tuple(one for one in sample.targets if one is not None) or sample.targets


def is_text(targets: Iterable[object]) -> bool:
    """Whether a scorer of texts can compare with each of these."""
    return not any(one is None or isinstance(one, _NO_TEXT) for one in targets)


def shown(sample: Sample) -> tuple[str, ...]:
    """The accepted answers as a judge is shown them: a structure as JSON."""
    return tuple(
        json.dumps(one, ensure_ascii=False, default=str)
        if isinstance(one, Mapping)
        else _text(one)
        for one in without_nulls(sample)
    )


def _text(target: object) -> str:
    if isinstance(target, AllOf):
        return " ".join(
            part if isinstance(part, str) else part[0] for part in target.parts
        )
    return target if isinstance(target, str) else str(target)


def no_answer(output: Output) -> Score | None:
    """The score of an output that says nothing although it was cut or filtered; `None` where there is an answer.

    Silence that the model chose is an answer (an empty one) and is left to the scorer.
    """
    reason = output.stop_reason
    if reason == "length" and not output.text.strip():
        return Score(0.0, Outcome.TRUNCATED)
    return Score.refused(reason="content_filter") if was_filtered(output) else None


def was_filtered(output: Output) -> bool:
    """Whether a content filter left nothing of the answer. What it left, text, medium or structure, is an answer."""
    return bool(output.candidates) and all(
        candidate.stop_reason == "content_filter"
        and not (
            candidate.text.strip() or candidate.media or candidate.json is not None
        )
        for candidate in output.candidates
    )


def data_error(reason: str) -> Score:
    """The score of a sample that cannot be judged as it is: a fault of the data, not of the model."""
    return Score(None, Outcome.DATA_ERROR, details={"reason": reason})


def no_verdict(reason: str, **details: Any) -> Score:
    """The score where a judge's or specialist's verdict is missing or cannot be used: nobody's wrong answer."""
    return Score(None, Outcome.JUDGE_ERROR, details={**details, "reason": reason})


def no_target(sample: Sample, what: str = "target") -> Score:
    """The score of a sample that has nothing to compare with."""
    reason = f"sample {sample.id!r} has no {what}"
    if what == "target" and not is_text(sample.targets):
        reason = (
            f"the target of sample {sample.id!r} is not text: {shorten(sample.target)}"
        )
    return data_error(reason)


def in_every_answer(target: str) -> Score:
    """The score of a sample whose target is empty: it would be found in whatever the model says."""
    return data_error(f"target {target!r} is empty, so it would stand in every answer")


class AgainstTargets:
    """A scorer of an answer's text against the accepted ones: it is not asked without a target, nor about silence."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        return no_answer(output) or self.compare(output, targets)

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """The score of an answer, given every text that would be right."""
        raise NotImplementedError


def with_counts(value: float, output: Output, details: Mapping[str, Any]) -> Score:
    """A value whose counts are pooled over the corpus: silence too, since what is missing lowers the score of all."""
    silence = no_answer(output)
    return Score(value, silence.outcome if silence else Outcome.SCORED, details=details)


def named(score: Score, *names: str) -> Score:
    """A score of silence, with its value under each of the names a scorer of several values uses."""
    return Score(dict.fromkeys(names, 0.0), score.outcome, details=score.details)


def last_of(things: Iterable[T]) -> T | None:
    """The last one, or `None`; answers mostly stand at the end."""
    latest = deque(things, maxlen=1)
    return latest[0] if latest else None
