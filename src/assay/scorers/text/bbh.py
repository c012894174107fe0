"""BIG-Bench Hard: the text after "the answer is", compared as published and, beside it, with form set aside.

`exact` is the published comparison: the rest of the line after the first "the answer is", less its final point, must
equal the target. `lenient` also accepts another case, quotes or Markdown around it, and an option's letter followed by
its text.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, named, no_answer, no_target
from ..options import check_option
from ..spans import with_span

_ANSWER = re.compile(r"(?i:the answer is) ?(.*)")
_OPTION = re.compile(r"\(?([A-Za-z])\)(?:\s|$)|\(?([A-Za-z])\)?[.:]?$")
_OPTION_TARGET = re.compile(r"\(([A-Z])\)")
_WRAPPING = " \t*_`\"'"


@scorers.register("bbh")
@dataclass(frozen=True)
class Bbh:
    """`exact` and `lenient` match of the final answer."""

    answer: Literal["declared", "first_line"] = "declared"
    """Where it stands: after "the answer is", or alone on the first line, as without worked steps."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        check_option("bbh", "answer", self.answer, ("declared", "first_line"))

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        is_declared = self.answer == "declared"
        found = declared_answer(output.text) if is_declared else first_line(output.text)
        if not found:
            return named(no_answer(output) or Score.unparsed(), "exact", "lenient")
        return Score(
            {
                "exact": float(any(found == target.strip() for target in targets)),
                "lenient": float(any(same_answer(found, target) for target in targets)),
            },
            answer=found,
            details=with_span({}, _span(output.text, found, is_declared)),
        )


def _span(text: str, found: str, is_declared: bool) -> list[int] | None:
    declared = _ANSWER.search(text) if is_declared else None
    at = text.find(found, declared.start(1) if declared else 0)
    return None if at < 0 else [at, at + len(found)]


def declared_answer(text: str) -> str | None:
    """What follows the first "the answer is" on its line, less one final point; `None` where nothing does."""
    found = _ANSWER.search(text)
    return found[1].strip().removesuffix(".") or None if found else None


def first_line(text: str) -> str | None:
    """The first line with something on it, less one final point."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line.removesuffix(".") or None


def same_answer(found: str, target: str) -> bool:
    """Whether both say the same, form aside; an option `(B)` is known by its letter."""
    wanted, answer = (
        target.strip(),
        found.strip(_WRAPPING).removesuffix(".").strip(_WRAPPING),
    )
    option = _OPTION_TARGET.fullmatch(wanted)
    if option:
        letter = _OPTION.match(answer)
        return letter is not None and (letter[1] or letter[2]).upper() == option[1]
    return " ".join(answer.split()).casefold() == " ".join(wanted.split()).casefold()
