"""IFEval's checks of words: keywords, letters, letter case, commas, language.

`langdetect` detects the language of a text. The official checker does not seed it, so
its verdict on short or mixed texts changes from run to run. This module seeds a
separate detector, and leaves the library's shared one unchanged.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langdetect.detector_factory import DetectorFactory

_WORD = re.compile(r"\w+")
# Marks between two tokens. Hyphen, slash, period and asterisk are not: "UP-TO-DATE" and "**NOTE**" are one token.
_PARTING = re.compile(r"[\s;@#$%&?!()\[\]{}<>\"“”‘’«»…`|]+|--+|\.{2,}|[,:](?!\d)")
_CONTRACTION = re.compile(
    r"(?<=\w)(?='(?:s|m|d|ll|re|ve)$)|(?<=\w)(?=n't$)", re.IGNORECASE
)
_FUSED = re.compile(
    r"(?<=^can)(?=not$)"
    r"|(?<=^gon)(?=na$)"
    r"|(?<=^wan)(?=na$)"
    r"|(?<=^got)(?=ta$)",
    re.IGNORECASE,
)


def count_words(text: str) -> int:
    """Return the number of runs of letters, digits and underscores: `don't` is two words."""
    return sum(1 for _ in _WORD.finditer(text))


def count_capital_words(text: str) -> int:
    """Return the number of tokens in capital letters. A contraction is two tokens: "DON'T" is DO and N'T."""
    tokens = (token for token in _PARTING.split(text) if token)
    return sum(part.isupper() for token in tokens for part in _split_contraction(token))


def _split_contraction(token: str) -> list[str]:
    if "'" in token:
        return _CONTRACTION.split(token)
    return _FUSED.split(token)


RELATIONS = ("less than", "at least")


def holds(
    count: int,
    relation: str,
    threshold: int,
) -> bool:
    """Return True if `count` is "at least" or "less than" `threshold`, as `relation` requires.

    Raise `ValueError` for any other relation.
    """
    if relation == "less than":
        return count < threshold
    if relation == "at least":
        return count >= threshold
    raise ValueError(
        f"unknown relation {relation!r}: IFEval has only {' and '.join(map(repr, RELATIONS))}"
    )


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code that `langdetect` finds (`zh-cn`, `zh-tw` for Chinese);
    None if it finds no language.
    """
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except _langdetect("lang_detect_exception").LangDetectException:
        return None


def is_language(text: str, code: str) -> bool:
    """Return True if a text is in a language.

    If `langdetect` cannot detect the language, the result is True, as in the official
    checker.
    """
    detected = detect_language(text)
    return detected is None or detected == code


@cache
def _factory() -> "DetectorFactory":
    module = _langdetect("detector_factory")
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.seed = 0
    return factory


def _langdetect(module: str) -> ModuleType:
    """Return a module of `langdetect`. Raise `ImportError`, with the way to install it, if it is missing."""
    try:
        return import_module(f"langdetect.{module}")
    except ImportError as missing:
        raise ImportError(
            "IFEval's language and letter-case checks need the library `langdetect`\n"
            "  fix: pip install langdetect"
        ) from missing


def has_keywords(
    response: str,
    *,
    keywords: Sequence[str],
) -> bool:
    """Return True if the response contains every keyword. Case is ignored, and a
    keyword may be inside a longer word.
    """
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
    """Return True if the keyword occurs "at least" or "less than" `frequency` times, as `relation` requires.

    Case does not matter, and the keyword may be inside a longer word.
    """
    count = len(re.findall(re.escape(keyword.strip()), response, flags=re.IGNORECASE))
    return holds(count, relation, frequency)


def lacks_words(
    response: str,
    *,
    forbidden_words: Sequence[str],
) -> bool:
    """Return True if none of the words occurs in the response as a separate word: "sunny" does not contain `sun`."""
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
    """Return True if a letter occurs "at least" or "less than" `let_frequency` times, as `let_relation` requires.

    Case does not matter. The data also use other characters (`#`, `!`) as the letter.
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
    """Return True if "at least" or "less than" `capital_frequency` words are in
    capitals, as `capital_relation` requires.
    """
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
