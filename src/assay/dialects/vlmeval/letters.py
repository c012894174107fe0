"""Find the option that an answer chooses, by the rules of assay or of VLMEvalKit's newest or documented revision."""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ...scorers.choice.choice_rules import extract_choice
from ...scorers.choice.choice_vlmeval import match_letter, match_text
from ..shapes import Fields
from .rules import RuleName, rules_of_caller

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_FAILED = "Failed to obtain answer via API"
_REJECTIONS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
)
REJECTED = "E"


def documented_letter(answer: str, count: int = 5) -> str | Literal[False]:
    """Return the option letter if exactly one is a separate word of the answer.

    Only the first `count` letters are options. Return `E` for a refusal and `False` for
    anything else. This is the rule of VLMEvalKit's documented revision.
    """
    if _FAILED in answer:
        return False
    if any(words in answer for words in _REJECTIONS):
        return REJECTED
    tokens = answer.translate(_BLANKED).split()
    named = [letter for letter in string.ascii_uppercase[:count] if letter in tokens]
    if len(named) == 1:
        return named[0]
    return False


def documented_text(
    answer: str,
    choices: Mapping[str, str],
) -> str | Literal[False]:
    """Return the letter of the only option whose text occurs in the answer; `False` if none or several do."""
    lowered = answer.lower()
    letters = [letter for letter, text in choices.items() if text.lower() in lowered]
    if len(letters) == 1:
        return letters[0]
    return False


Options = Mapping[str, str]
"""The texts of the options by letter."""
Letter = str | Literal[False]


@dataclass(frozen=True, slots=True)
class LetterRule:
    """The functions of one rule set that read the chosen option from an answer: by letter, and by option text."""

    by_letter: Callable[[str, Options], str | Literal[False] | None]
    by_words: Callable[[str, Options], str | Literal[False] | None]

    def either(self, answer: str, options: Options) -> Letter:
        """Return the letter of the chosen option, found as a letter or else by its text. `False` if there is none."""
        letter = self.by_letter(answer, options) or self.by_words(answer, options)
        return letter or False


class AssayRule(LetterRule):
    """assay's rules, which look for letters and option texts at the same time."""

    def either(self, answer: str, options: Options) -> Letter:
        """Return the letter of the chosen option, by assay's rules. `False` if none is found."""
        return extract_choice(answer, options).answer or False


LETTER_RULES: Mapping[RuleName, LetterRule] = {
    "assay": AssayRule(
        by_letter=lambda answer, options: (
            extract_choice(answer, dict.fromkeys(options, "")).answer
        ),
        by_words=documented_text,
    ),
    "newest": LetterRule(
        by_letter=lambda answer, options: match_letter(answer, options)[0],
        by_words=lambda answer, options: match_text(answer, options)[0],
    ),
    "documented": LetterRule(
        by_letter=lambda answer, options: documented_letter(answer),
        by_words=documented_text,
    ),
}


def can_infer(answer: object, choices: Fields) -> Letter:
    """Return the letter of the option that an answer chooses, by its letter or its text. `False` if none is found."""
    rule = LETTER_RULES[rules_of_caller().name]
    return rule.either(str(answer), _texts(choices))


def can_infer_option(
    answer: object,
    choices: Fields | int | None = None,
    num_choice: int = 5,
) -> Letter:
    """Return the option letter in an answer, without comparing option texts. `False` if there is none.

    The options are the letters of `choices`. In VLMEvalKit's documented revision, they
    are the first `num_choice` letters.
    """
    name = rules_of_caller().name
    if choices is None or isinstance(choices, int):
        count = num_choice if choices is None else choices
        if name != "assay":
            return documented_letter(str(answer), count)
        choices = dict.fromkeys(string.ascii_uppercase[:count], "")
    return LETTER_RULES[name].by_letter(str(answer), _texts(choices)) or False


def can_infer_text(answer: object, choices: Fields) -> Letter:
    """Return the letter of the one option whose text occurs in the answer; `False` if none or several do."""
    rule = LETTER_RULES[rules_of_caller().name]
    return rule.by_words(str(answer), _texts(choices)) or False


def _texts(choices: Fields) -> dict[str, str]:
    return {letter: str(text) for letter, text in choices.items()}
