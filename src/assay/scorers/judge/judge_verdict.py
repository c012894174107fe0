"""Reads a judge's verdict: one JSON object that is the whole reply, with the one field that was asked for.

What stands in the judged text is no verdict, even when the judge repeats it: a field and value that the candidate
itself wrote is refused. So is anything out of range, doubled, or wrapped in other words.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from ..answers import last_of
from ..reasoning import strip_reasoning
from .judge_prompts import Scale

_CODE_BLOCK = re.compile(
    r"```(?:json)?[ \t]*\n?(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE
)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_MAX_REPLY_CHARS = 100_000


class NoVerdict(ValueError):
    """The reply holds no verdict that counts; says why."""


def read_verdict(reply: str, scale: Scale, judged: Iterable[str]) -> int | str:
    """The value of the scale's field, or `NoVerdict`."""
    fields = read_object(reply)
    answer = strip_reasoning(reply).strip()
    extra = fields.keys() - {scale.field, "reason"}
    if extra or scale.field not in fields:
        raise NoVerdict(
            f"the reply is not an object with `{scale.field}` and perhaps `reason`"
        )
    value = fields[scale.field]
    # Types first: True equals 1 in Python, and 4.0 equals 4.
    if type(value) not in (int, str) or value not in scale.values:
        raise NoVerdict(f"`{scale.field}` is out of range: {str(value)[:40]!r}")
    bare = _without_blanks(answer)
    if any(
        claims_verdict(text, scale.field, value) or bare in _without_blanks(text)
        for text in judged
    ):
        raise NoVerdict("the same verdict stands in the judged text")
    return value  # type: ignore[no-any-return]


def read_match(
    reply: str, scale: Scale, judged: Iterable[str], pattern: str
) -> float | str:
    """What the pattern's group holds where it matches last, if it lies on the scale; else `NoVerdict`."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    found = last_of(re.finditer(pattern, strip_reasoning(reply)))
    if found is None or found[1] is None:
        raise NoVerdict(f"the reply has nothing that matches {pattern}")
    if any(_without_blanks(found[0]) in _without_blanks(text) for text in judged):
        raise NoVerdict("the same verdict stands in the judged text")
    return _on_scale(found[1].strip(), scale)


def _on_scale(text: str, scale: Scale) -> float | str:
    numbers = [value for value in scale.values if isinstance(value, int)]
    if numbers:
        try:
            value = float(text)
        except ValueError:
            raise NoVerdict(f"the verdict {text[:40]!r} is not a number") from None
        if not numbers[0] <= value <= numbers[-1]:
            raise NoVerdict(f"the verdict {text[:40]!r} is out of range")
        return value
    words = {str(value).casefold(): str(value) for value in scale.values}
    if "tie" in words:
        words["c"] = "tie"  # the common word for it among judges of pairs
    if text.casefold() not in words:
        raise NoVerdict(
            f"the verdict {text[:40]!r} is none of {', '.join(map(str, scale.values))}"
        )
    return words[text.casefold()]


def read_object(reply: str) -> dict[str, Any]:
    """The one JSON object that a reply is, thinking aloud and a code block around it aside; else `NoVerdict`."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    answer = strip_reasoning(reply).strip()
    block = _CODE_BLOCK.fullmatch(answer)
    return _parse(block[1] if block else answer)


def claims_verdict(text: str, field: str, value: int | str) -> bool:
    """Whether a text writes this field with this value as JSON does, however it is spelled or escaped."""
    plain = unicodedata.normalize(
        "NFKC", _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    )
    quote = r"[\\\"'`“”„«»]{1,6}"
    claim = rf"{quote}{field}{quote}[:=](?:{quote})?{re.escape(str(value))}\b"
    return re.search(claim, _without_blanks(plain), re.IGNORECASE) is not None


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _parse(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text, object_pairs_hook=_without_doubles)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NoVerdict("the reply is not JSON") from error
    if not isinstance(parsed, dict):
        raise NoVerdict("the reply is not a JSON object")
    return parsed


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise NoVerdict("a field is given twice")
    return dict(pairs)
