"""The searchable words of a journal: lower case, line by line, in compressed blocks.

A search decompresses one block after another, so it needs little memory. Names and digests of the journal
itself are not included. Compressed words take about a sixth of the journal.
"""

from array import array
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import zstandard

BLOCK_CHARACTERS = 1 << 20
LEVEL = 1


class TextLog:
    """Texts numbered from 0 in the order in which they were added."""

    def __init__(self) -> None:
        self._blocks: list[bytes | Future[bytes]] = []
        self.firsts = array("q")
        """The number of the first text of each block."""
        self._open: list[str] = []
        self._size = 0
        self._count = 0
        self._compressor = ThreadPoolExecutor(1, "words")
        """Compression releases the interpreter lock, so that a thread does it while lines are read."""

    def append(self, text: str) -> None:
        """Add the next text. A NUL separates texts, so one inside a text becomes a blank."""
        self._open.append(text.replace("\0", " ") if "\0" in text else text)
        self._size += len(text)
        self._count += 1
        if self._size > BLOCK_CHARACTERS:
            self.seal()

    def seal(self) -> None:
        """Finish the current block."""
        if self._open:
            self.firsts.append(self._count - len(self._open))
            compress = zstandard.ZstdCompressor(level=LEVEL).compress
            self._blocks.append(self._compressor.submit(compress, _folded(self._open)))
            self._open = []
            self._size = 0

    def restore(self, blocks: list[bytes], firsts: "array[int]", count: int) -> None:
        """Fill an empty log with stored blocks."""
        self._blocks = [*blocks]
        self.firsts = firsts
        self._count = count

    @property
    def blocks(self) -> list[bytes]:
        """Return the finished blocks."""
        for number, block in enumerate(self._blocks):
            if isinstance(block, Future):
                self._blocks[number] = block.result()
        return [block for block in self._blocks if isinstance(block, bytes)]

    def __len__(self) -> int:
        return self._count

    def search(self, words: str) -> Iterator[int]:
        """Return the numbers of the texts that contain some words, in upper or lower case."""
        pattern = words.replace("\0", "").lower().encode("utf-8", "surrogatepass")
        if not pattern:
            return
        expand = zstandard.ZstdDecompressor().decompress
        for first, block in zip(self.firsts, self.blocks, strict=True):
            yield from _hits(expand(block), pattern, first)
        if self._open:
            yield from _hits(
                _folded(self._open),
                pattern,
                self._count - len(self._open),
            )


def _folded(texts: list[str]) -> bytes:
    return "\0".join(texts).lower().encode("utf-8", "surrogatepass")


def _hits(text: bytes, wanted: bytes, first: int) -> Iterator[int]:
    hit = text.find(wanted)
    number = first
    counted = 0
    while hit >= 0:
        number += text.count(b"\0", counted, hit)
        yield number
        end = text.find(b"\0", hit)
        if end < 0:
            return
        counted = end
        hit = text.find(wanted, end + 1)
