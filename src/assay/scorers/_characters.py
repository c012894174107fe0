"""Tables for `str.translate` by Unicode category. A character is looked up when it first occurs."""

import unicodedata
from collections.abc import Callable

MOST_KEPT = 8192
"""Most entries in a table: more than any language needs. A table of all characters would take 100 MB."""


class CategoryTable(dict[int, str | None]):
    """A table that maps each character by a rule, a function of the character and its category. `None` deletes it."""

    def __init__(self, rule: Callable[[str, str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        replacement = self._rule(character, unicodedata.category(character))
        if len(self) < MOST_KEPT:
            self[code] = replacement
        return replacement
