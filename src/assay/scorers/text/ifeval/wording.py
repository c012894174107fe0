"""Checks on the words themselves: keywords, letters, letter case, commas, language."""

import re
from collections.abc import Sequence

from .language import is_language
from .relations import holds
from .tokens import count_capital_words


def has_keywords(response: str, *, keywords: Sequence[str]) -> bool:
    """Every keyword somewhere, whatever its case, also inside a longer word."""
    return all(
        re.search(re.escape(word), response, flags=re.IGNORECASE) for word in keywords
    )


def has_keyword_often(
    response: str, *, keyword: str, frequency: int, relation: str
) -> bool:
    """At least, or less than, so often, whatever its case, also inside a longer word."""
    count = len(re.findall(re.escape(keyword.strip()), response, flags=re.IGNORECASE))
    return holds(count, relation, frequency)


def lacks_words(response: str, *, forbidden_words: Sequence[str]) -> bool:
    """None of the words as a word of its own: `sun` is not in "sunny"."""
    return not any(
        re.search(rf"\b{re.escape(word)}\b", response, flags=re.IGNORECASE)
        for word in forbidden_words
    )


def has_letter_often(
    response: str, *, letter: str, let_frequency: int, let_relation: str
) -> bool:
    """Letters are counted without regard to case; any single character will do (`#`, `!`)."""
    if len(letter) != 1:
        raise ValueError(f"`letter` must be one character, not {letter!r}")
    return holds(response.lower().count(letter.lower()), let_relation, let_frequency)


def has_capital_words(
    response: str, *, capital_frequency: int, capital_relation: str
) -> bool:
    """At least, or less than, so many words in capitals."""
    return holds(count_capital_words(response), capital_relation, capital_frequency)


def is_english_capital(response: str) -> bool:
    """English, and no small letter in it."""
    return response.isupper() and is_language(response, "en")


def is_english_lowercase(response: str) -> bool:
    """English, and no capital in it."""
    return response.islower() and is_language(response, "en")


def is_in_language(response: str, *, language: str) -> bool:
    """Written in a language given by its ISO 639-1 code."""
    return is_language(response, language)


def has_no_comma(response: str) -> bool:
    """Only the ASCII comma counts: `，` and `、` are allowed."""
    return "," not in response
