"""MathVista: each answer is read as its question requires: as an option, an integer, a float or a list.

Answers are normalized as in the official script: integers are truncated, floats are
rounded to the question's `precision`, lists are compared item by item. In the official
script a model extracts the answer. Here rules do it, and an answer that they cannot
read is `unparsed`.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import last_of, no_answer, no_target
from ..choice.choice import Choice
from ..math.final_number import final_number

_LIST = re.compile(r"\[([^\[\]]{0,2000})\]")
_ITEM = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


@scorers.register("mathvista")
@dataclass(frozen=True)
class MathVista:
    """1 if the answer is right, compared as its question requires: as an option, a number or a list."""

    choice: Choice = field(default_factory=Choice)
    reads: ClassVar[tuple[str, ...]] = ("text",)
    name: ClassVar[str] = "mathvista"

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.choices:
            return self.choice(sample, output)
        silence = no_answer(output)
        if silence:
            return silence
        gold = sample.fields.get("answer")
        if gold in (None, ""):
            return no_target(sample)
        kind = str(sample.fields.get("answer_type") or "text")
        text = output.text
        if kind == "list":
            return _compared(_items(str(gold)), _items(text), kind)
        if kind == "text":
            return Score(
                float(_plain(text) == _plain(str(gold))),
                answer=text.strip(),
                details={"rule": kind},
            )
        number = final_number(text)
        if number is None:
            read = None
        else:
            read = _rounded(number.value, kind, sample)
        return _compared(
            _rounded(Fraction(str(gold).replace(",", "")), kind, sample),
            read,
            kind,
        )


def _compared(
    gold: object,
    read: object,
    kind: str,
) -> Score:
    if read is None:
        return Score.unparsed(rule=kind)
    return Score(
        float(read == gold),
        answer=str(read),
        details={"rule": kind},
    )


def _rounded(
    value: Fraction,
    kind: str,
    sample: Sample,
) -> float:
    if kind == "integer":
        return float(int(value))
    precision = sample.fields.get("precision") or 2
    return round(float(value), int(float(str(precision))))


def _items(text: str) -> tuple[float, ...] | None:
    """Return the numbers of the last list in a text, `[1, 2]`. A short text may be a list without brackets."""
    match = last_of(_LIST.finditer(text))
    if match:
        inside = match[1]
    elif len(text) < 200:
        inside = text
    else:
        inside = ""
    numbers = tuple(float(item) for item in _ITEM.findall(inside))
    return numbers or None


def _plain(text: str) -> str:
    return " ".join(text.strip().strip(".").lower().split())
