"""BIG-Bench Hard: compare the text after "the answer is" with the target, exactly and leniently.

`exact` is the published comparison: the rest of the line after the first "the answer
is", excluding a trailing period, must equal the target. `lenient` also accepts another
case, quotes or Markdown around the answer, and an option's letter followed by its text.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, named, no_answer, no_target
from ..scorer_options import check_option
from ..spans import with_span

_ANSWER = re.compile(r"(?i:the answer is) ?(.*)")
_OPTION = re.compile(r"\(?([A-Za-z])\)(?:\s|$)|\(?([A-Za-z])\)?[.:]?$")
_OPTION_TARGET = re.compile(r"\(([A-Z])\)")
_WRAPPING = " \t*_`\"'"


@scorers.register("bbh")
@dataclass(frozen=True)
class Bbh:
    """Two metrics. `exact`: the final answer equals the target. `lenient`: they may
    differ in case, quotes, Markdown and spaces.
    """

    answer: Literal["declared", "first_line"] = "declared"
    """Where the answer is: after "the answer is", or on the first line for prompts without worked steps."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        check_option("bbh", "answer", self.answer, ("declared", "first_line"))

    def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        is_declared = self.answer == "declared"
        if is_declared:
            answer = declared_answer(output.text)
        else:
            answer = first_line(output.text)
        if not answer:
            return named(no_answer(output) or Score.unparsed(), "exact", "lenient")
        details = with_span({}, _span(output.text, answer, is_declared))
        return Score(
            {
                "exact": float(any(answer == target.strip() for target in targets)),
                "lenient": float(
                    any(same_answer(answer, target) for target in targets)
                ),
            },
            answer=answer,
            details=details,
        )


def _span(
    text: str,
    found: str,
    is_declared: bool,
) -> list[int] | None:
    """Return the span of an answer in the text, or None."""
    if is_declared:
        declared = _ANSWER.search(text)
    else:
        declared = None
    start = text.find(found, declared.start(1) if declared else 0)
    if start < 0:
        return None
    return [start, start + len(found)]


def declared_answer(text: str) -> str | None:
    """Return the text after the first "the answer is" on its line, excluding a trailing
    period; None if it is empty.
    """
    match = _ANSWER.search(text)
    if match:
        return match[1].strip().removesuffix(".") or None
    return None


def first_line(text: str) -> str | None:
    """Return the first line that is not empty, excluding a trailing period; None if there is none."""
    lines = [line.strip() for line in text.splitlines()]
    line = next(filter(None, lines), "")
    return line.removesuffix(".") or None


def same_answer(
    found: str,
    target: str,
) -> bool:
    """Return True if answer and target are equal except for case, spaces and punctuation marks.

    An option `(B)` is compared by letter.
    """
    expected = target.strip()
    unwrapped = found.strip(_WRAPPING)
    answer = unwrapped.removesuffix(".").strip(_WRAPPING)

    option = _OPTION_TARGET.fullmatch(expected)
    if option is None:
        return _folded(answer) == _folded(expected)
    match = _OPTION.match(answer)
    if match is None:
        return False
    letter = match[1] or match[2]
    return letter.upper() == option[1]


def _folded(text: str) -> str:
    """Return the text for a comparison that ignores case and the amount of whitespace."""
    return " ".join(text.split()).casefold()
