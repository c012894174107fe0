"""A result that can be unpacked into two or three values, depending on the calling code.

`generate_batch` returned `(tokens, seconds)` in one revision and `(tokens, seconds, speed)` in the next; evaluators
written for either run in one process. The unpacking instruction shows the number of names on the left.
"""

import dis
import sys
from collections.abc import Iterator
from typing import Any

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


class Generated(tuple[Any, ...]):
    """A tuple of tokens, seconds and speed. Unpacked into two names, it yields only tokens and seconds."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        name_count = _names_on_the_left(sys._getframe(1))
        if name_count == 2:
            return iter(self[:2])
        return super().__iter__()


def _names_on_the_left(frame: Any) -> int | None:
    """Return how many names the current instruction of a frame unpacks into; None for another instruction."""
    code, offset = frame.f_code.co_code, frame.f_lasti
    return (
        code[offset + 1]
        if 0 <= offset < len(code) - 1 and code[offset] == _UNPACK
        else None
    )
