"""Places: the sample ids and epochs of one cell, numbered as they come.

A journal may hold a million of them, so none is an object of its own: ids lie in one buffer, and a place is found by
open addressing in an array of numbers. That takes some 40 bytes a place, where a dict of tuples takes about 250.
"""

from array import array
from collections.abc import Iterator

Place = tuple[str, int]
"""A sample's id and the epoch in which it was asked."""
NOWHERE = -1


class HashTable:
    """Numbers from 0 on, found by a 64-bit hash; of several added under one hash, the last."""

    __slots__ = ("_hashes", "_mask", "_table")

    def __init__(self) -> None:
        self._hashes = array("q")
        self._mask = 15
        self._table = array("i", [NOWHERE]) * (self._mask + 1)

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, hash: int) -> int:
        """The number that was added under a hash; -1 where there is none."""
        table, hashes, mask = self._table, self._hashes, self._mask
        at = hash & mask
        while (number := table[at]) >= 0:
            if hashes[number] == hash:
                return number
            at = (at + 1) & mask
        return NOWHERE

    def add(self, hash: int) -> None:
        """Gives the next number to a hash."""
        hashes = self._hashes
        self._set(hash, len(hashes))
        hashes.append(hash)
        if len(hashes) * 2 > self._mask:  # at most half full, so that probes stay short
            self._mask = self._mask * 2 + 1
            self._table = array("i", [NOWHERE]) * (self._mask + 1)
            for number, earlier in enumerate(hashes):
                self._set(earlier, number)

    def _set(self, hash: int, number: int) -> None:
        table, hashes, mask = self._table, self._hashes, self._mask
        at = hash & mask
        while (there := table[at]) >= 0 and hashes[there] != hash:
            at = (at + 1) & mask
        table[at] = number


class Places:
    """Numbers for places, from 0 on, in the order in which they were first met."""

    __slots__ = ("_ends", "_epochs", "_ids", "_last", "_table")

    def __init__(self) -> None:
        self._ids = bytearray()
        self._ends = array("Q", [0])
        self._epochs = array("q")
        self._table = HashTable()
        self._last: tuple[str, int, int] = ("", NOWHERE, NOWHERE)

    def __len__(self) -> int:
        return len(self._epochs)

    def __getitem__(self, number: int) -> Place:
        text = self._ids[self._ends[number] : self._ends[number + 1]]
        return text.decode("utf-8", "surrogatepass"), self._epochs[number]

    def __iter__(self) -> Iterator[Place]:
        return (self[number] for number in range(len(self)))

    def find(self, id: str, epoch: int) -> int:
        """The number of a place; -1 where it was never met."""
        return self._look(id, epoch)[0]

    def number(self, id: str, epoch: int) -> int:
        """The number of a place, a new one where it was never met."""
        found, hashed = self._look(id, epoch)
        if found < 0:
            found = len(self._epochs)
            self._table.add(hashed)
            self._ids += id.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._ids))
            self._epochs.append(epoch)
            self._last = id, epoch, found
        return found

    def _look(self, id: str, epoch: int) -> tuple[int, int]:
        """The number of a place, or else the hash under which it can be added."""
        last = self._last
        if id == last[0] and epoch == last[1]:
            return last[2], 0
        # Verdicts come in the order of answers, and both mostly in the order of the data: the next one is tried first.
        number, hashed = last[2] + 1, 0
        if number == len(self._epochs) or not self._is(number, id, epoch):
            number, hashed = self._search(id, epoch)
        if number >= 0:
            self._last = id, epoch, number
        return number, hashed

    def _search(self, id: str, epoch: int) -> tuple[int, int]:
        """The number of a place and its hash; a place whose hash another has taken gets the next in turn."""
        hashed, tries = hash((id, epoch)), 0
        while (found := self._table.find(hashed)) >= 0 and not self._is(found, id, epoch):
            tries += 1
            hashed = hash((id, epoch, tries))
        return found, hashed

    def _is(self, number: int, id: str, epoch: int) -> bool:
        if self._epochs[number] != epoch:
            return False
        return self._ids[self._ends[number] : self._ends[number + 1]] == id.encode("utf-8", "surrogatepass")
