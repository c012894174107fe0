"""`vlmeval.utils.matching_util`: which option an answer takes, read by assay's rules, or by upstream's where chosen."""

import re
import string
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

from .....scorers.choice.choice_rules import extract_choice
from .....scorers.choice.choice_vlmeval import match_letter, match_text
from ...era import of_documented, upstreams_rule
from ...letters import documented_letter, documented_text

__all__ = [
    "can_infer",
    "can_infer_lego",
    "can_infer_option",
    "can_infer_sequence",
    "can_infer_text",
    "detect_repetition",
]

Letter = str | Literal[False]
_FOUR = re.compile(r"\b([A-D]{4})\b")
_ORDER = (
    r"first|1st|首先|第一步",
    r"second|2nd|其次|第二步",
    r"third|3rd|再次|第三步",
    r"fourth|4th|最后|第四步",
)
_STEP = re.compile(
    r"(?:step\s*[\d一二三四]+|步骤\s*[\d一二三四]+|第\s*[\d一二三四]\s*步).*?([A-D])",
    re.IGNORECASE,
)


def can_infer(answer: Any, choices: Mapping[str, Any]) -> Letter:
    """The letter of the option an answer takes, by letter or by words; `False` if none can be read off it."""
    if upstreams_rule():
        return _option(str(answer), choices) or can_infer_text(str(answer), choices)
    found = extract_choice(
        str(answer), {letter: str(text) for letter, text in choices.items()}
    )
    return found.answer if found.answer is not None else False


def can_infer_option(
    answer: Any, choices: Mapping[str, Any] | int | None = None, num_choice: int = 5
) -> Letter:
    """The same by letters alone: those of `choices`, or, as the documented revision asks, the first `num_choice`."""
    if choices is None or isinstance(choices, int):
        count = num_choice if choices is None else choices
        if upstreams_rule():
            return documented_letter(str(answer), count)
        choices = dict.fromkeys(string.ascii_uppercase[:count], "")
    if upstreams_rule():
        return _option(str(answer), choices)
    found = extract_choice(str(answer), dict.fromkeys(choices, ""))
    return found.answer if found.answer is not None else False


def can_infer_text(answer: Any, choices: Mapping[str, Any]) -> Letter:
    """The letter of the one option whose words occur in the answer; `False` if none or several do."""
    texts = {letter: str(text) for letter, text in choices.items()}
    if of_documented() or not upstreams_rule():
        return documented_text(str(answer), texts)
    return match_text(str(answer), texts)[0] or False


def can_infer_sequence(answer: str, choices: Mapping[str, Any] | None = None) -> Letter:
    """An order of A, B, C and D: four letters together, or one after each of four words of order, or of four steps."""
    upper = answer.upper()
    together = _FOUR.search(upper)
    if together and len(set(together[1])) == len(together[1]):
        return together[1]
    ordered = [
        re.search(rf"(?:{words}).*?([A-D])", upper, re.IGNORECASE) for words in _ORDER
    ]
    for letters in ([found[1] for found in ordered if found], _STEP.findall(upper)[:4]):
        each = "".join(dict.fromkeys(letter.upper() for letter in letters))
        if len(each) == len(_ORDER):
            return each
    return False


def can_infer_lego(
    answer: Any, question_type: str, choices: Mapping[str, Any]
) -> Letter:
    """An order where the question asks to sort, else an option."""
    text = str(answer)
    found = (
        can_infer_sequence(text, choices)
        if question_type == "sort"
        else can_infer_option(text, choices)
    )
    return found or can_infer_text(text, choices)


def detect_repetition(
    text: str,
    seg_len: int = 100,
    min_matches: int = 20,
    interval_kinds: int = 3,
    interval_threshold: float = 0.8,
) -> tuple[bool, list[re.Match[str]] | None]:
    """Whether a text ends in one passage over and over, and where that passage stands in its second half."""
    text = text.strip()
    if len(text) < seg_len * min_matches:
        return False, None
    found = list(re.finditer(re.escape(text[-seg_len:]), text[len(text) // 2 :]))
    if len(found) < min_matches:
        return False, found
    gaps = [after.start() - before.start() for before, after in pairwise(found)]
    common = sorted((gaps.count(gap) for gap in set(gaps)), reverse=True)[
        :interval_kinds
    ]
    return sum(common) / len(gaps) > interval_threshold, found


def _option(answer: str, choices: Mapping[str, Any]) -> Letter:
    if of_documented():
        return documented_letter(answer)
    return match_letter(answer, choices)[0] or False
