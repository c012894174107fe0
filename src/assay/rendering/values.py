"""The values of a sample that a template can use: JSON values only.

These are text, numbers, booleans, None, and lists and dictionaries of them. A medium
becomes a mark in the text. After rendering, the medium takes the place of the mark. Any
other object becomes its text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from ..core import AllOf, Media, Message, Part, Sample, Text, as_part

LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
MAX_DEPTH = 64
_MARK = re.compile("\ufdd0([0-9]+)\ufdd1")
"""The mark of a medium: its index between two code points that Unicode reserves for
programs, so no text contains them.
"""
_ESCAPED = re.compile(r"\\ufdd0([0-9]+)\\ufdd1")
"""The marks in escaped form, as they appear in JSON or in the text of a list."""
_EXACT = frozenset({str, int, float, bool, type(None)})


class Shown:
    """The media used in one rendering. In the rendered text, a short mark stands for each medium."""

    __slots__ = ("media",)

    def __init__(self, media: Iterable[Media] = ()) -> None:
        self.media = list(media)

    def mark(self, medium: Media) -> str:
        """Return the mark that represents a medium in the text. A new medium gets a new mark."""
        for number, other in enumerate(self.media):
            if other is medium:
                return f"\ufdd0{number}\ufdd1"
        self.media.append(medium)
        return f"\ufdd0{len(self.media) - 1}\ufdd1"

    def parts(self, text: str) -> tuple[Part, ...]:
        """Return a rendered text as parts, in which media replace their marks."""
        text = self._unescaped(text)
        if "\ufdd0" not in text:
            return (Text(text),)
        parts: list[Part] = []
        end = 0
        for match in _MARK.finditer(text):
            if int(match[1]) < len(self.media):
                parts += (
                    [Text(text[end : match.start()])] if match.start() > end else []
                )
                parts.append(as_part(self.media[int(match[1])]))
                end = match.end()
        if end < len(text) or not parts:
            return (*parts, Text(text[end:]))
        return tuple(parts)

    def words(self, text: str) -> str:
        """Replace each mark by a word such as `[image]`, for a text that cannot contain media."""
        text = self._unescaped(text)
        if "\ufdd0" not in text:
            return text
        return _MARK.sub(self._word, text)

    def _unescaped(self, text: str) -> str:
        """Replace marks inside a list or JSON by words, because a medium cannot be there."""
        if self.media and "\\ufdd0" in text:
            return _ESCAPED.sub(self._word, text)
        return text

    def _word(self, found: re.Match[str]) -> str:
        number = int(found[1])
        if number < len(self.media):
            return f"[{self.media[number].kind}]"
        return found[0]

    def only(self, text: str) -> Media | None:
        """Return the medium if the text consists only of its mark; otherwise None."""
        match = _MARK.fullmatch(text.strip())
        if match and int(match[1]) < len(self.media):
            return self.media[int(match[1])]
        return None


def variables_of(
    sample: Sample,
    names: Iterable[str],
    media: Shown,
) -> dict[str, Any]:
    """Return the values of the variables in a template. A column takes precedence over a name that assay defines."""
    columns = sample.fields
    variables: dict[str, Any] = {}
    for name in names:
        if name in columns:
            value = columns[name]
            variables[name] = (
                value if type(value) in _EXACT else plain_value(value, media)
            )
        elif name == "sample":
            variables[name] = _plain_sample(sample, media)
        elif name == "letters":
            variables[name] = LETTERS[: len(sample.choices)]
        elif name in ("id", "input", "target", "choices"):
            variables[name] = plain_value(getattr(sample, name), media)
    return variables


def _plain_sample(sample: Sample, media: Shown) -> dict[str, Any]:
    """Return the sample's columns and attributes as one dictionary. If a column has an
    attribute's name, the attribute wins.
    """
    columns = _plain_mapping(sample.fields, media)
    names = (
        "id",
        "input",
        "target",
        "targets",
        "choices",
        "media",
        "tags",
        "group",
        "cluster",
        "turns",
        "weight",
    )
    return {
        **columns,
        **{name: plain_value(getattr(sample, name), media) for name in names},
        "fields": columns,
    }


def _plain_mapping(
    mapping: Mapping[Any, object],
    media: Shown,
    depth: int = 0,
) -> dict[Any, object]:
    plain = {}
    for key, value in mapping.items():
        plain[plain_key(key)] = plain_value(value, media, depth + 1)
    return plain


def plain_value(
    value: object,
    media: Shown,
    depth: int = 0,
) -> object:
    """Return a value, and the values nested in it, converted to JSON types for templates."""
    if type(value) in _EXACT:
        return value
    if isinstance(value, Media):
        return media.mark(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _plain_mapping(value, media, depth)
    if isinstance(value, Message):
        parts = [plain_value(part, media, depth + 1) for part in value.parts or ()]
        return {
            "role": str(value.role),
            "content": value.text if not value.media else parts,
            "text": value.text,
        }
    if isinstance(value, Text):
        return str(value.text)
    if isinstance(value, AllOf):
        return plain_value(value.parts, media, depth + 1)
    if isinstance(value, (list, tuple, set, frozenset)) and not hasattr(
        value, "_fields"
    ):
        items = [plain_value(inner, media, depth + 1) for inner in value]
        if isinstance(value, tuple):
            return tuple(items)
        return items
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"[{len(value)} bytes]"
    return _plain_object(value, media, depth)


def _plain_object(
    value: object,
    media: Shown,
    depth: int,
) -> object:
    """Convert an object in a user's row: a NumPy number to a Python number, a dataclass
    or named tuple to a dictionary.
    """
    if isinstance(value, (str, bool, int, float)):
        kind = next(kind for kind in (str, bool, int, float) if isinstance(value, kind))
        if isinstance(value, str):
            return str.__str__(value)
        return kind(value)
    if hasattr(value, "_fields"):
        return {
            str(name): plain_value(getattr(value, name), media, depth + 1)
            for name in value._fields
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: plain_value(getattr(value, f.name), media, depth + 1)
            for f in fields(value)
        }
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and hasattr(value, "dtype"):
        return plain_value(to_list(), media, depth + 1)
    text = str(value)
    # An address would change the prompt in every run.
    if " at 0x" in text:
        return f"[{type(value).__name__}]"
    return text


def plain_key(key: object) -> object:
    """Return a dictionary key converted to a JSON type for templates."""
    if type(key) in _EXACT:
        return key
    return str(key)


def plain_values(
    values: Mapping[str, Any] | Sequence[Any],
    media: Shown | None = None,
) -> object:
    """Return rows or messages of another toolkit converted to JSON types for templates."""
    return plain_value(values, media or Shown())
