"""Which option an answer chooses: by assay's rules, or by upstream's of either revision if they were chosen."""

import string
from collections.abc import Mapping
from typing import Any, Literal

from ...scorers.choice.choice_rules import extract_choice
from ...scorers.choice.choice_vlmeval import match_letter, match_text
from .era import called_by_documented, upstreams_rule

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_FAILED = "Failed to obtain answer via API"
_REJECTIONS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
)
REJECTED = "E"


def documented_letter(answer: str, count: int = 5) -> str | Literal[False]:
    """Return the only letter among the first `count` that is a separate word; a refusal is `E`."""
    if _FAILED in answer:
        return False
    if any(words in answer for words in _REJECTIONS):
        return REJECTED
    tokens = answer.translate(_BLANKED).split()
    named = [letter for letter in string.ascii_uppercase[:count] if letter in tokens]
    return named[0] if len(named) == 1 else False


def documented_text(answer: str, choices: Mapping[str, str]) -> str | Literal[False]:
    """Return the letter of the only option whose text occurs in the answer."""
    lowered = answer.lower()
    letters = [letter for letter, text in choices.items() if text.lower() in lowered]
    return letters[0] if len(letters) == 1 else False


Letter = str | Literal[False]


def can_infer(
    answer: Any, choices: Mapping[str, Any], *, documented: bool | None = None
) -> Letter:
    """Return the letter of the option an answer takes, by letter or by words; `False` if none can be read off it.

    `documented` says whose revision's rule it is; left out, that of the file that calls.
    """
    if upstreams_rule():
        of_documented = called_by_documented() if documented is None else documented
        letter = _option(str(answer), choices, of_documented)
        return letter or can_infer_text(answer, choices, documented=of_documented)
    extracted = extract_choice(
        str(answer), {letter: str(text) for letter, text in choices.items()}
    )
    return extracted.answer if extracted.answer is not None else False


def can_infer_option(
    answer: Any,
    choices: Mapping[str, Any] | int | None = None,
    num_choice: int = 5,
    *,
    documented: bool | None = None,
) -> Letter:
    """Return the same by letters alone.

    The letters are those of `choices` or, as the documented revision asks, the first `num_choice`.
    """
    if choices is None or isinstance(choices, int):
        count = num_choice if choices is None else choices
        if upstreams_rule():
            return documented_letter(str(answer), count)
        choices = dict.fromkeys(string.ascii_uppercase[:count], "")
    if upstreams_rule():
        of_documented = called_by_documented() if documented is None else documented
        return _option(str(answer), choices, of_documented)
    extracted = extract_choice(str(answer), dict.fromkeys(choices, ""))
    return extracted.answer if extracted.answer is not None else False


def can_infer_text(
    answer: Any, choices: Mapping[str, Any], *, documented: bool | None = None
) -> Letter:
    """Return the letter of the one option whose words occur in the answer; `False` if none or several do."""
    texts = {letter: str(text) for letter, text in choices.items()}
    is_old = called_by_documented() if documented is None else documented
    if is_old or not upstreams_rule():
        return documented_text(str(answer), texts)
    return match_text(str(answer), texts)[0] or False


def _option(answer: str, choices: Mapping[str, Any], documented: bool) -> Letter:
    if documented:
        return documented_letter(answer)
    return match_letter(answer, choices)[0] or False
