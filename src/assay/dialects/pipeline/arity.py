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
        caller = sys._getframe(1)
        code, offset = caller.f_code.co_code, caller.f_lasti
        # The argument of the instruction is the number of names on the left.
        if code[offset : offset + 2] == bytes([_UNPACK, 2]):
            return iter(self[:2])
        return super().__iter__()
