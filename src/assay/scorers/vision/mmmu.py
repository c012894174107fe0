"""MMMU: questions with options are scored by letter, open questions by the official rule.

The official rule for open questions splits a response into sentences, and uses only the
text after words such as "is", "so" and "answer". An answer is right if one of these
texts contains the reference, or a number that equals the reference to two decimals. In
the official script, a random letter is drawn if none can be read; here it is not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..choice.choice import Choice

_CUES = (
    "could be ",
    "so ",
    "is ",
    "thus ",
    "therefore ",
    "final ",
    "answer ",
    "result ",
)
_SENTENCE = re.compile(r"\.\s(?=[A-Z])|\n")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])"),
)
_MARKS = frozenset(":,.!?;'")
_NOISE = re.compile(r"\d{400,}")
"""Long runs of digits, which are removed. They are not answers, and the patterns would take quadratic time on them."""


@scorers.register("mmmu")
@dataclass(frozen=True)
class Mmmu:
    """1 if the letter is right, or the answer to an open question contains the reference."""

    choice: Choice = field(default_factory=Choice)
    reads: ClassVar[tuple[str, ...]] = ("text",)
    name: ClassVar[str] = "mmmu"

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.choices:
            return self.choice(sample, output)
        silence = no_answer(output)
        if silence:
            return silence
        golds = accepted(sample)
        if not golds:
            return no_target(sample)
        pieces = list(open_pieces(_NOISE.sub("", output.text)))
        return Score(
            float(is_hit(golds, pieces)),
            answer=" | ".join(pieces),
            details={"rule": "open"},
        )


def open_pieces(response: str) -> Iterator[str]:
    """Yield the parts of a response that may contain its answer.

    In each sentence this is the text after a cue such as "is" or "so", the shortest if
    there are several. Without any cue it is the whole response.
    """
    text = response.strip().strip(".").lower()
    # In lower-case text no capital follows a full stop. As in the official script, only line ends divide it.
    sentences = _SENTENCE.split(text)
    has_piece = False
    for number, sentence in enumerate(sentences, 1):
        cues: tuple[str, ...] = _CUES
        if number == len(sentences):
            cues = (*_CUES, "=")
        shortest = ""
        for cue in cues:
            if cue in sentence:
                tail = sentence.rpartition(cue)[2].strip()
                # As published: an empty tail replaces a longer one, and any tail replaces an empty one.
                if not shortest or len(tail) < len(shortest):
                    shortest = tail
        if shortest and shortest not in _MARKS:
            has_piece = True
            yield shortest
    if not has_piece:
        yield text


def is_hit(
    golds: tuple[str, ...],
    pieces: list[str],
) -> bool:
    """Return True if a piece contains a reference as text, or has a number that equals a reference to two decimals."""
    expected = [form for gold in golds for form in _forms(gold)]
    numbers = []
    for piece in pieces:
        for pattern in _NUMBERS:
            for number in pattern.findall(piece):
                numbers.append(number)
    for candidate in (form for text in (*pieces, *numbers) for form in _forms(text)):
        if isinstance(candidate, float):
            if candidate in expected:
                return True
        elif any(isinstance(form, str) and form in candidate for form in expected):
            return True
    return False


def _forms(text: str) -> list[float | str]:
    """Return a text in the forms in which it is compared.

    A number is rounded to two decimals, and other text is converted to lower case. A
    single character has two forms, with a space before it or after it: `A` -> `" a"`, `"a "`.
    """
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        pass
    text = text.lower()
    if len(text) == 1:
        return [f" {text}", f"{text} "]
    return [text]
