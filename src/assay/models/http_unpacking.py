"""Unpacking answers: bounded in members, output and CPU time, and off the event loop where it may take long.

A server chooses what it packs: ten megabytes may hold ten gigabytes, or a million members that hold nothing.
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
"""Files that one gzip body may consist of; almost all have one."""
MOST_SECONDS = 5.0
"""CPU time for one answer: blocks that hold nothing cost time and no memory."""
SLICE_BYTES = 64 * 1024
PIECE_BYTES = 1024 * 1024
INLINE_BYTES = 8 * 1024
"""A body so small takes less time to unpack than to hand to a thread and back, or a few milliseconds at worst."""
THREADS = 2
"""Large answers unpacked at once: each may take as much memory as an answer may have."""


async def unpack(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its `Content-Encoding`; raises `TooLarge` where it has more than `most` bytes."""
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
            _threads(), inflate, body, most, is_wanted.is_set
        )
    finally:
        is_wanted.clear()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "unpacking")


def inflate(
    body: bytes, most: int, is_wanted: Callable[[], bool] = lambda: True
) -> bytes:
    """The bytes that were packed; gzip may come in several members, deflate with or without its frame."""
    unpacking = _Unpacking(memoryview(body), most, is_wanted)
    try:
        unpacking.run()
        return bytes(unpacking.plain)
    finally:
        unpacking.plain.clear()  # an error holds on to its frames, and these to what they read


class _Unpacking:
    def __init__(
        self, packed: memoryview, most: int, is_wanted: Callable[[], bool]
    ) -> None:
        self.packed, self.most, self.is_wanted = packed, most, is_wanted
        self.plain = bytearray()
        self.start = 0
        """Where the next member starts."""
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
                    )  # deflate without its frame, as some servers send it
            except zlib.error as error:
                raise BrokenOff(f"the answer cannot be unpacked: {error}") from error
            if self.start == len(self.packed):
                return
        raise Unreadable(
            "bad_response", f"the answer is packed in more than {MOST_MEMBERS} members"
        )

    def _take_member(self, bits: int) -> None:
        """Adds what one member holds to `plain`."""
        unpacker, start = zlib.decompressobj(bits), self.start
        while not unpacker.eof:
            piece = self.packed[start : start + SLICE_BYTES]
            found = unpacker.decompress(
                piece, min(self.most + 1 - len(self.plain), PIECE_BYTES)
            )
            self.plain += found
            if len(self.plain) > self.most:
                raise TooLarge
            # At the end of a member zlib may name what follows it twice.
            consumed = len(piece) - len(
                unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            )
            if not consumed and not found and not unpacker.eof:
                raise zlib.error("it breaks off")
            start += consumed
            if time.thread_time() > self.until:
                raise Unreadable(
                    "bad_response",
                    f"the answer takes longer than {MOST_SECONDS:g} s to unpack",
                )
            if not self.is_wanted():
                raise BrokenOff("nobody waits for the answer any more")
        self.start = start
