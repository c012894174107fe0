"""A text that a regular expression matches, for made-up rows of tasks that read their columns with one."""

import re
from functools import cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

REPEATS = 2
"""How often a part is repeated that may be repeated without limit."""
CATEGORIES = {
    _constants.CATEGORY_DIGIT: "7",
    _constants.CATEGORY_SPACE: " ",
    _constants.CATEGORY_WORD: "w",
    _constants.CATEGORY_NOT_DIGIT: "d",
    _constants.CATEGORY_NOT_SPACE: "s",
    _constants.CATEGORY_NOT_WORD: "-",
}
SAMPLES = "aA1 -."


@cache
def text_matching(pattern: str) -> str:
    """Return a text that a pattern matches; an empty one if the pattern is not valid."""
    try:
        return _text_of(_parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return ""


def _text_of(parts: Any) -> str:
    return "".join(_part(kind, value) for kind, value in parts)


def _part(kind: Any, value: Any) -> str:
    if kind is _constants.LITERAL:
        return chr(value)
    if kind is _constants.NOT_LITERAL:
        return "b" if chr(value) == "a" else "a"
    if kind is _constants.ANY:
        return "a"
    if kind is _constants.IN:
        return _member(value)
    if kind is _constants.BRANCH:
        return _text_of(value[1][0])
    if kind is _constants.SUBPATTERN:
        return _text_of(value[-1])
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        least, most, inner = value
        count = least if least else min(most, REPEATS)
        return _text_of(inner) * count
    return ""


def _member(alternatives: Any) -> str:
    """Return a character of a set such as `[A-D]` or `[^,]`."""
    kind, value = alternatives[0]
    if kind is _constants.NEGATE:
        excluded = re.compile("[" + "".join(map(_as_written, alternatives[1:])) + "]")
        return next((c for c in SAMPLES if not excluded.match(c)), "a")
    if kind is _constants.RANGE:
        return chr(value[0])
    if kind is _constants.CATEGORY:
        return CATEGORIES.get(value, "a")
    return chr(value)


def _as_written(alternative: Any) -> str:
    kind, value = alternative
    if kind is _constants.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if kind is _constants.CATEGORY:
        names = {
            _constants.CATEGORY_DIGIT: r"\d",
            _constants.CATEGORY_SPACE: r"\s",
            _constants.CATEGORY_WORD: r"\w",
        }
        return names.get(value, "")
    return re.escape(chr(value))
