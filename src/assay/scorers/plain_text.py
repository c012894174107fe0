"""Convert texts that look the same to the same characters, and make tables for `str.translate` by Unicode category.

The scorers that compare texts apply `plain_text` to the answer and the target, so that
all agree on what is equal: `exact_match`, `quasi_exact`, `includes`, `regex`, `f1`, and
WER, CER and MER without a normalizer.
"""

import re
import unicodedata
from collections.abc import Callable

MOST_KEPT = 8192
"""Maximum number of cached characters in a table. No language uses more, and a full table would take 100 MB."""


class CategoryTable(dict[int, str | None]):
    """A table for `str.translate` that computes entries on demand.

    `rule` takes a character and its Unicode category, and returns the replacement, or
    None to delete the character.
    """

    def __init__(self, rule: Callable[[str, str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        replacement = self._rule(character, unicodedata.category(character))
        if len(self) < MOST_KEPT:
            self[code] = replacement
        return replacement


# Byte order mark, soft hyphen, zero-width characters, direction marks, variation selectors
_INVISIBLE = re.compile(
    "[\ufeff\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0e\ufe0f]"
)
# No-break, thin, ideographic and other spaces
_BLANK = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def plain_text(text: str) -> str:
    """Return a text in NFC, with ordinary spaces and without invisible characters.

    Nothing visible changes: neither case nor width, punctuation or the spelling of
    numbers.
    """
    if text.isascii():
        return text
    visible = _INVISIBLE.sub("", text)
    return _BLANK.sub(" ", unicodedata.normalize("NFC", visible))
