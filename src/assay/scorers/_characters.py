"""Tables for `str.translate` by Unicode category: a character is looked up when it is met, not all of a million."""

import unicodedata
from collections.abc import Callable

MOST_KEPT = 8192
"""More than any text in a language has; one with every character there is would fill a hundred megabytes."""


class CategoryTable(dict[int, str | None]):
    """What becomes of each character, `None` for nothing, by a rule that is told the character and its category."""

    def __init__(self, rule: Callable[[str, str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        found = self._rule(character, unicodedata.category(character))
        if len(self) < MOST_KEPT:
            self[code] = found
        return found
