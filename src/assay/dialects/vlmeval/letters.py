"""Letters as the documented revision of VLMEvalKit reads them off answers: its exact matching, without options."""

import string
from collections.abc import Mapping
from typing import Literal

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_FAILED = "Failed to obtain answer via API"
_REJECTIONS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
)
REJECTED = "E"


def documented_letter(answer: str, count: int = 5) -> str | Literal[False]:
    """The one letter among the first `count` that stands by itself; a refusal is `E`."""
    if _FAILED in answer:
        return False
    if any(words in answer for words in _REJECTIONS):
        return REJECTED
    tokens = answer.translate(_BLANKED).split()
    named = [letter for letter in string.ascii_uppercase[:count] if letter in tokens]
    return named[0] if len(named) == 1 else False


def documented_text(answer: str, choices: Mapping[str, str]) -> str | Literal[False]:
    """The letter of the one option whose words occur in the answer."""
    lowered = answer.lower()
    letters = [letter for letter, text in choices.items() if text.lower() in lowered]
    return letters[0] if len(letters) == 1 else False
