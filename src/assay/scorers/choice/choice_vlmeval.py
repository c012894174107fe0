"""Score multiple choice with VLMEvalKit's exact matching, to compare with published numbers.

This is never the default. VLMEvalKit calls a judge if nothing matches, and takes a
random letter if the judge fails. This scorer does neither: an answer without a match is
`unparsed`. Unlike in VLMEvalKit, the result does not depend on the environment variable
`VERBOSE`.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import ClassVar

from ...core import Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import gold_letters, no_answer, no_target

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_DECLARED = re.compile(r"answer\s+is\s+\**([ABCD])", re.IGNORECASE)
"""Matches a declared letter, "answer is X".

As in VLMEvalKit, the first match is used and letters after D are ignored.
"""
_REJECTIONS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_FAILED = "Failed to obtain answer via API"
NONE = "Z"
"""Stands for "none of the options"."""
LAST_TOKENS = 4
LONGEST_FOR_TEXT = 2
"""How much longer than all options together an answer may be. A longer answer is not searched for option texts."""


@scorers.register("choice_vlmeval")
@dataclass(frozen=True)
class ChoiceVlmeval:
    """1 if the letter found by VLMEvalKit's exact matching is right. The details name the rule that found it."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None or not sample.choices:
            return no_target(sample, "target" if sample.choices else "choices")
        silence = no_answer(output)
        if silence:
            return silence
        options = dict(zip(ascii_uppercase, sample.choices, strict=False))
        letter, rule = match_as_vlmeval(output.text, options)
        if letter is None:
            return Score.unparsed(rule=rule)
        if rule == "rejected":
            return Score(
                0.0,
                Outcome.UNPARSED,
                answer=letter,
                details={"rule": rule},
            )
        return Score(
            float(letter in gold_letters(sample)),
            answer=letter,
            details={"rule": rule},
        )


def match_as_vlmeval(
    answer: str,
    options: Mapping[str, str],
) -> tuple[str | None, str]:
    """Return the letter that VLMEvalKit's exact matching reads, and the rule that found it.

    A rule finds one option letter among the last tokens, "answer is X", or the text of
    one option. As in VLMEvalKit, a refusal gives `Z`, which means none of the options.
    No judge is called.
    """
    letter, rule = match_letter(answer, options)
    if letter is not None:
        return (letter, rule)
    return match_text(answer, options)


def match_letter(
    answer: str,
    options: Collection[str],
) -> tuple[str | None, str]:
    """Return the letter that an answer names and the rule that found it, without using the options' texts."""
    if _FAILED in answer:
        return None, "no match"
    if any(words in answer for words in _REJECTIONS):
        return NONE, "rejected"
    tokens = answer.translate(_BLANKED).split()
    letters = [letter for letter in options if letter in tokens]
    if len(letters) == 1:
        index = tokens.index(letters[0])
        if index >= len(tokens) - LAST_TOKENS:
            return letters[0], "one letter"
    if not letters and NONE in tokens:
        return NONE, "rejected"
    declared = _DECLARED.search(answer)
    if declared is None:
        return None, "no match"
    letter = declared[1].upper()
    if letter in options:
        return (letter, "answer is")
    return (None, "no match")


def match_text(
    answer: str,
    options: Mapping[str, str],
) -> tuple[str | None, str]:
    """Return the letter of the only option whose text occurs in an answer that is not much longer than the options."""
    lower = answer.lower()
    options_length = sum(map(len, options.values()))
    if len(lower) > LONGEST_FOR_TEXT * options_length:
        return None, "too long for text"
    letters = []
    for letter, text in options.items():
        if text and text.lower() in lower:
            letters.append(letter)
    if len(letters) != 1:
        return None, "no match"
    return letters[0], "option text"
