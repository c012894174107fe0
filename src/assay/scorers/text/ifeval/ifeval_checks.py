"""The 25 IFEval instructions and the check of each.

A check takes the response and the instruction's own arguments by name, spelled as in the data. It returns True if the
response follows the instruction. Checks accept what the official checker accepts, even where that is surprising.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from . import ifeval_layout as layout
from . import lengths, wording

Check = Callable[..., bool]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "change_case:capital_word_frequency": wording.has_capital_words,
        "change_case:english_capital": wording.is_english_capital,
        "change_case:english_lowercase": wording.is_english_lowercase,
        "combination:repeat_prompt": layout.repeats_prompt,
        "combination:two_responses": layout.has_two_responses,
        "detectable_content:number_placeholders": layout.has_placeholders,
        "detectable_content:postscript": layout.has_postscript,
        "detectable_format:constrained_response": layout.is_constrained_response,
        "detectable_format:json_format": layout.is_json,
        "detectable_format:multiple_sections": layout.has_sections,
        "detectable_format:number_bullet_lists": layout.has_bullets,
        "detectable_format:number_highlighted_sections": layout.has_highlights,
        "detectable_format:title": layout.has_title,
        "keywords:existence": wording.has_keywords,
        "keywords:forbidden_words": wording.lacks_words,
        "keywords:frequency": wording.has_keyword_often,
        "keywords:letter_frequency": wording.has_letter_often,
        "language:response_language": wording.is_in_language,
        "length_constraints:nth_paragraph_first_word": lengths.nth_paragraph_starts_with,
        "length_constraints:number_paragraphs": lengths.has_number_of_paragraphs,
        "length_constraints:number_sentences": lengths.has_number_of_sentences,
        "length_constraints:number_words": lengths.has_number_of_words,
        "punctuation:no_comma": wording.has_no_comma,
        "startend:end_checker": layout.ends_with,
        "startend:quotation": layout.is_quoted,
    }
)


def check_for(instruction_id: str) -> Check:
    """Return the check of an instruction. Raise `ValueError` with the nearest known name if it is unknown."""
    try:
        return CHECKS[instruction_id]
    except KeyError:
        close = get_close_matches(instruction_id, CHECKS, n=1)
        if close:
            hint = f"did you mean {close[0]!r}?"
        else:
            hint = f"IFEval has {len(CHECKS)}: {', '.join(CHECKS)}"
        raise ValueError(
            f"unknown IFEval instruction {instruction_id!r}\n  fix: {hint}"
        ) from None
