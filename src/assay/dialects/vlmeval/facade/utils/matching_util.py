"""`vlmeval.utils.matching_util`: which option an answer takes, read by assay's rules."""

from collections.abc import Mapping
from typing import Any, Literal

from .....scorers.choice.choice_rules import extract_choice

__all__ = ["can_infer", "can_infer_option", "can_infer_text"]


def can_infer(answer: Any, choices: Mapping[str, Any]) -> str | Literal[False]:
    """The letter of the option an answer takes, by letter or by words; `False` if none can be read off it."""
    found = extract_choice(str(answer), {letter: str(text) for letter, text in choices.items()})
    return found.answer if found.answer is not None else False


def can_infer_option(answer: Any, choices: Mapping[str, Any]) -> str | Literal[False]:
    """The same by letters alone."""
    found = extract_choice(str(answer), dict.fromkeys(choices, ""))
    return found.answer if found.answer is not None else False


def can_infer_text(answer: Any, choices: Mapping[str, Any]) -> str | Literal[False]:
    """The letter of the one option whose words occur in the answer; `False` if none or several do."""
    words = str(answer).lower()
    found = [letter for letter, text in choices.items() if str(text).lower() in words]
    return found[0] if len(found) == 1 else False
