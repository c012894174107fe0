"""Checks on words: keywords, letters, letter case, commas, language."""

import re
from collections.abc import Sequence

from .language import is_language
from .relations import holds
from .tokens import count_capital_words


def has_keywords(response: str, *, keywords: Sequence[str]) -> bool:
    """Return True if every keyword is in the response, in any case, also inside a longer word."""
    return all(
        re.search(re.escape(word), response, flags=re.IGNORECASE) for word in keywords
    )


def has_keyword_often(
    response: str,
    *,
    keyword: str,
    frequency: int,
    relation: str,
) -> bool:
    """Return True if the keyword occurs at least, or less than, `frequency` times.

    Case does not matter, and the keyword may be inside a longer word.
    """
    count = len(re.findall(re.escape(keyword.strip()), response, flags=re.IGNORECASE))
    return holds(count, relation, frequency)


def lacks_words(response: str, *, forbidden_words: Sequence[str]) -> bool:
    """Return True if none of the words is in the response as a separate word: `sun` is not in "sunny"."""
    return not any(
        re.search(rf"\b{re.escape(word)}\b", response, flags=re.IGNORECASE)
        for word in forbidden_words
    )


def has_letter_often(
    response: str,
    *,
    letter: str,
    let_frequency: int,
    let_relation: str,
) -> bool:
    """Return True if a letter occurs at least, or less than, `let_frequency` times, in any case.

    It may be any character (`#`, `!`).
    """
    if len(letter) != 1:
        raise ValueError(f"`letter` must be one character, not {letter!r}")
    return holds(response.lower().count(letter.lower()), let_relation, let_frequency)


def has_capital_words(
    response: str,
    *,
    capital_frequency: int,
    capital_relation: str,
) -> bool:
    """Return True if there are at least, or less than, `capital_frequency` words in capitals."""
    return holds(count_capital_words(response), capital_relation, capital_frequency)


def is_english_capital(response: str) -> bool:
    """Return True if the response is English and has no lower-case letter."""
    return response.isupper() and is_language(response, "en")


def is_english_lowercase(response: str) -> bool:
    """Return True if the response is English and has no capital."""
    return response.islower() and is_language(response, "en")


def is_in_language(response: str, *, language: str) -> bool:
    """Return True if the response is in the language with this ISO 639-1 code."""
    return is_language(response, language)


def has_no_comma(response: str) -> bool:
    """Return True if the response has no ASCII comma. `，` and `、` are allowed."""
    return "," not in response
