"""Tables for `str.translate` by Unicode category: a character is looked up when it is met, not all of a million."""

import unicodedata
from collections.abc import Callable


class CategoryTable(dict[int, str | None]):
    """What becomes of each character, `None` for nothing, by a rule that is told the character and its category."""

    def __init__(self, rule: Callable[[str, str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        found = self[code] = self._rule(character, unicodedata.category(character))
        return found
