"""Decompress responses with limits on members, size and CPU time, outside the event loop if it may take long.

The server chooses what it compresses: ten megabytes may hold ten gigabytes, or a million empty members.
"""

import asyncio
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from .http_answer import BrokenOff, TooLarge, Unreadable

PACKED = frozenset({"gzip", "x-gzip", "deflate"})
MOST_MEMBERS = 100
"""Most members in one gzip body. Almost all bodies have one."""
MOST_SECONDS = 5.0
"""CPU seconds for one answer. Empty blocks cost time but no memory."""
SLICE_BYTES = 64 * 1024
PIECE_BYTES = 1024 * 1024
INLINE_BYTES = 8 * 1024
"""Bodies up to this size are unpacked in the event loop: handing them to a thread would take longer, or would save
only a few milliseconds.
"""
THREADS = 2
"""Large answers unpacked at once: each may take as much memory as an answer may have."""


async def unpack(body: bytes, encoding: str, most: int) -> bytes:
    """Undo a body's `Content-Encoding`; raise `TooLarge` if it has more than `most` bytes."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not body:
        return body
    if encoding not in PACKED:
        raise Unreadable(
            "bad_response",
            f"the answer is packed as {encoding[:40]!r}, which was not asked for",
        )
    if len(body) <= INLINE_BYTES:
        return inflate(body, most)
    is_wanted = threading.Event()
    is_wanted.set()
    try:
        return await asyncio.get_running_loop().run_in_executor(
            _threads(),
            inflate,
            body,
            most,
            is_wanted.is_set,
        )
    finally:
        is_wanted.clear()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "unpacking")


def inflate(
    body: bytes,
    most: int,
    is_wanted: Callable[[], bool] = lambda: True,
) -> bytes:
    """Return the decompressed bytes; gzip may have several members, deflate may lack its header."""
    unpacking = _Unpacking(memoryview(body), most, is_wanted)
    try:
        unpacking.run()
        return bytes(unpacking.plain)
    finally:
        unpacking.plain.clear()  # an error keeps its frames alive, and these keep what they read


class _Unpacking:
    def __init__(
        self,
        packed: memoryview,
        most: int,
        is_wanted: Callable[[], bool],
    ) -> None:
        self.packed, self.most, self.is_wanted = packed, most, is_wanted
        self.plain = bytearray()
        self.start = 0
        """The start of the next member."""
        self.until = time.thread_time() + MOST_SECONDS

    def run(self) -> None:
        for _ in range(MOST_MEMBERS):
            try:
                try:
                    self._take_member(zlib.MAX_WBITS | 32)
                except zlib.error:
                    if self.plain or self.start:
                        raise
                    self._take_member(
                        -zlib.MAX_WBITS
                    )  # raw deflate without a header, as some servers send it
            except zlib.error as error:
                raise BrokenOff(f"the answer cannot be unpacked: {error}") from error
            if self.start == len(self.packed):
                return
        raise Unreadable(
            "bad_response", f"the answer is packed in more than {MOST_MEMBERS} members"
        )

    def _take_member(self, bits: int) -> None:
        """Decompress one member and add it to `plain`."""
        unpacker, start = zlib.decompressobj(bits), self.start
        while not unpacker.eof:
            piece = self.packed[start : start + SLICE_BYTES]
            chunk = unpacker.decompress(
                piece, min(self.most + 1 - len(self.plain), PIECE_BYTES)
            )
            self.plain += chunk
            if len(self.plain) > self.most:
                raise TooLarge
            # At the end of a member, zlib may report the bytes after it twice.
            consumed = len(piece) - len(
                unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            )
            if not consumed and not chunk and not unpacker.eof:
                raise zlib.error("it breaks off")
            start += consumed
            if time.thread_time() > self.until:
                raise Unreadable(
                    "bad_response",
                    f"the answer takes longer than {MOST_SECONDS:g} s to unpack",
                )
            if not self.is_wanted():
                raise BrokenOff("the answer is no longer needed")
        self.start = start
