"""Read a judge's verdict: one JSON object that is the whole reply, or the last match of a pattern.

The verdict is read from the judge's reply alone. It is never compared with the judged text: an answer that contains
every low mark would otherwise have its own low marks thrown out. Canaries (`judge_canaries`)
measure how easily a judge
repeats what an answer demands.
"""

import json
import re
from typing import Any

from ..answers import last_of
from .judge_prompts import Scale

_CODE_BLOCK = re.compile(
    r"```(?:json)?[ \t]*\n?(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE
)
_MAX_REPLY_CHARS = 100_000


class NoVerdict(ValueError):
    """Raised if a reply has no verdict that counts, with the reason."""


def read_verdict(reply: str, scale: Scale) -> int | str:
    """Return the value of the scale's field; raise `NoVerdict` if the reply is anything but such an object."""
    fields = read_object(reply)
    extra = fields.keys() - {scale.field, "reason"}
    if extra or scale.field not in fields:
        raise NoVerdict(
            f"the reply is not an object with `{scale.field}` and perhaps `reason`"
        )
    value = fields[scale.field]
    # Types first: True equals 1 in Python, and 4.0 equals 4.
    if type(value) not in (int, str) or value not in scale.values:
        raise NoVerdict(f"`{scale.field}` is out of range: {str(value)[:40]!r}")
    return value  # type: ignore[no-any-return]


def read_match(reply: str, scale: Scale, pattern: str) -> float | str:
    """Return the group of the pattern's last match. Raise `NoVerdict` if it is not on the scale."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    match = last_of(re.finditer(pattern, reply))
    if match is None or match[1] is None:
        raise NoVerdict(f"the reply has nothing that matches {pattern}")
    return _on_scale(match[1].strip(), scale)


def _on_scale(text: str, scale: Scale) -> float | str:
    """Return a verdict as a number or a word of the scale. Raise `NoVerdict` if it is neither."""
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
    if "tie" in words and scale.field == "winner":
        words["c"] = "tie"  # the usual letter for a tie among judges of pairs
    if text.casefold() not in words:
        raise NoVerdict(
            f"the verdict {text[:40]!r} is none of {', '.join(map(str, scale.values))}"
        )
    return words[text.casefold()]


def read_object(reply: str) -> dict[str, Any]:
    """Return the JSON object of a reply, perhaps in a code block. Raise `NoVerdict` for any other reply."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    answer = reply.strip()
    block = _CODE_BLOCK.fullmatch(answer)
    return _parse(block[1] if block else answer)


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
