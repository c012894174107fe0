"""A result that unpacks into two values or three, as whoever unpacks it expects.

`generate_batch` gave `(tokens, seconds)` in one revision and `(tokens, seconds, speed)` in the next; evaluators written
for either run in one process. The number of names on the left is read off the instruction that unpacks.
"""

import dis
import sys
from collections.abc import Iterator
from typing import Any

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


class Generated(tuple[Any, ...]):
    """Tokens, seconds and speed; a triple, except to `a, b = …`."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        wanted = _names_on_the_left(sys._getframe(1))
        return iter(self[:2]) if wanted == 2 else super().__iter__()


def _names_on_the_left(frame: Any) -> int | None:
    """How many names the current instruction of a frame unpacks into; `None` if it does something else."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if 0 <= at < len(code) - 1 and code[at] == _UNPACK else None
