"""Read a judge's verdict: one JSON object, or the last match of a pattern.

The object is the whole reply, or it is on its own lines at the end of the reply (after the judge's reasons) or at
its beginning. An object inside a sentence does not count, because the judge may be quoting the answer.

The verdict is read from the judge's reply alone. It is never compared with the judged text: otherwise an answer
that contains every low grade would have its own low grades ignored. Canaries (`judge_canaries`) measure how easily
a judge repeats what an answer demands.
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
_MOST_OBJECTS_TRIED = 100
_FENCE_AT_START = re.compile(r"```(?:json)?\s*", re.IGNORECASE)
_FENCE_AT_END = re.compile(r"\s*```$")
_END_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|$)")
_LINE_OF_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_OTHER_FIELDS = frozenset({"score", "verdict", "winner", "grade"})
"""The fields of all scales. A reply that has two of them does not say which one is its verdict."""


class NoVerdict(ValueError):
    """Raised if a reply has no valid verdict, with the reason."""


def read_verdict(reply: str, scale: Scale) -> int | str:
    """Return the value of the scale's field. Raise `NoVerdict` if the reply is not such an object."""
    fields = read_object(reply)
    if scale.field not in fields:
        raise NoVerdict(f"the reply is not an object with `{scale.field}`")
    others = sorted(_OTHER_FIELDS & fields.keys() - {scale.field})
    if others:
        raise NoVerdict(f"the reply has `{scale.field}` and also `{others[0]}`")
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
    """Return the JSON object of a reply. Raise `NoVerdict` if it has none, or two that differ."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    answer = reply.strip()
    block = _CODE_BLOCK.fullmatch(answer)
    try:
        return _parse(block[1] if block else answer)
    except NoVerdict:
        first = _object_at_start(answer)
        last = _object_at_end(answer)
        if first is None and last is None:
            raise
    if first is not None and last is not None and first != last:
        raise NoVerdict("the reply begins with one verdict and ends with another")
    if last is not None:
        return last
    assert first is not None
    return first


def _parse(text: str) -> dict[str, Any]:
    try:
        parsed = _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NoVerdict("the reply is not JSON") from error
    if not isinstance(parsed, dict):
        raise NoVerdict("the reply is not a JSON object")
    return parsed


def _object_at_start(answer: str) -> dict[str, Any] | None:
    """Return the object on the first lines of a reply, `None` if words follow it on its last line."""
    fence = _FENCE_AT_START.match(answer)
    start = fence.end() if fence else 0
    parsed, end = _object_at(answer, start)
    if parsed is None or not _END_OF_LINE.match(answer, end):
        return None
    return parsed


def _object_at_end(answer: str) -> dict[str, Any] | None:
    """Return the object on the last lines of a reply, `None` if words precede it on its first line."""
    text = _FENCE_AT_END.sub("", answer)
    if not text.endswith("}"):
        return None
    starts = [line.end() for line in _LINE_OF_OBJECT.finditer(text)]
    for start in starts[-_MOST_OBJECTS_TRIED:]:
        parsed, end = _object_at(text, start)
        if parsed is not None and end == len(text):
            return parsed
    return None


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return the JSON object that begins at a position, and where it ends; `None` if it is not valid."""
    try:
        parsed, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):  # a field given twice is a ValueError as well
        return None, start
    if not isinstance(parsed, dict):
        return None, start
    return parsed, end


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise NoVerdict("a field is given twice")
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_without_doubles)
