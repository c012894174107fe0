"""Ratings in a judge's reply that has an explanation and a score: `{"Explanation": "…", "Score": 4.5}`.

Decimals are kept: a judge asked for one decimal is not rounded. A reply without a score, or with one outside the scale,
is a fault of the judge and never a number.
"""

import json
import re
from typing import Any, NamedTuple

from ...core import shorten

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n?(.*?)\n?\s*```\s*\Z", re.DOTALL | re.IGNORECASE)
_SCORE = re.compile(r"""["']?score["']?\s*[:：]\s*["']?\s*(-?\d+(?:\.\d+)?)\s*["']?\s*(?=[,}\n]|\Z)""", re.IGNORECASE)


class Rating(NamedTuple):
    """What the judge gave, and why."""

    score: float
    explanation: str


def read_rating(reply: str, low: float = 0.0, high: float = 5.0) -> Rating:
    """The one score of a reply; a `ValueError` that says why there is none.

    Example: `read_rating('{"Explanation": "fluent", "Score": "4.5"}').score == 4.5`
    """
    fenced = _FENCE.match(reply)
    body = fenced[1] if fenced else reply
    fields = _fields(body)
    if fields is not None:
        return Rating(_within(fields.get("score"), low, high, reply), str(fields.get("explanation", "")))
    found = {float(number) for number in _SCORE.findall(body)}
    if len(found) != 1:
        raise ValueError(f"the judge's reply has {len(found) or 'no'} scores: {shorten(reply)}")
    return Rating(_within(found.pop(), low, high, reply), body)


def _fields(body: str) -> dict[str, Any] | None:
    try:
        value = json.loads(body, parse_constant=_refuse)
    except ValueError:
        return None
    return {str(key).lower(): one for key, one in value.items()} if isinstance(value, dict) else None


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _within(value: Any, low: float, high: float, reply: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"the judge's reply has no score: {shorten(reply)}")
    try:
        score = float(value)
    except ValueError as error:
        raise ValueError(f"the judge's score {shorten(value)} is not a number") from error
    if not low <= score <= high:
        raise ValueError(f"the judge's score {score:g} lies outside {low:g} to {high:g}")
    return score
