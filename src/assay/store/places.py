"""Places: the sample ids and epochs of one cell, numbered as they come.

A journal may hold a million of them, so none is an object of its own: ids lie in one buffer, and a place is found by
open addressing in an array of numbers. That takes some 40 bytes a place, where a dict of tuples takes about 250.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import cast

Place = tuple[str, int]
"""A sample's id and the epoch in which it was asked."""
NOWHERE = -1
SEARCHES = 64
"""Searches through everything that cost less than making a table of it."""


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
    """Numbers for places, from 0 on, in the order in which they were first met; a dict until `pack` is called."""

    __slots__ = (
        "_count",
        "_epochs",
        "_ids",
        "_last",
        "_searches",
        "_starts",
        "_table",
        "numbers",
    )

    def __init__(self) -> None:
        self.numbers: dict[str | Place, int] = {}
        """While a journal is read. An epoch of 0 is left out: mostly there is no other."""
        self._ids = b"\0"
        self._starts = array("Q", [1])
        self._epochs: array[int] | None = None
        """`None` where all are 0."""
        self._table: HashTable | None = None
        self._searches = 0
        self._count = 0
        self._last: tuple[str, int, int] = ("", NOWHERE, NOWHERE)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Place:
        text = self._ids[self._starts[number] : self._starts[number + 1] - 1]
        return text.decode("utf-8", "surrogatepass"), self._epochs[
            number
        ] if self._epochs is not None else 0

    def __iter__(self) -> Iterator[Place]:
        return (self[number] for number in range(self._count))

    def pack(self) -> None:
        """Ends the reading: from now on a place takes a few bytes."""
        numbers, self.numbers = self.numbers, {}
        self._count = len(numbers)
        if (
            set(map(type, numbers)) == {str}
            and (joined := "\0".join(cast("dict[str, int]", numbers))).isascii()
        ):
            self._ids = b"\0%b\0" % joined.encode()
            self._starts = array(
                "Q", accumulate(map((1).__add__, map(len, numbers)), initial=1)
            )
            return
        ids, epochs = bytearray(b"\0"), array("q")
        for place in numbers:
            id, epoch = (place, 0) if isinstance(place, str) else place
            ids += id.encode("utf-8", "surrogatepass")
            ids.append(0)
            self._starts.append(len(ids))
            epochs.append(epoch)
        self._ids = bytes(ids)
        self._epochs = epochs if any(epochs) else None

    def find(self, id: str, epoch: int) -> int:
        """The number of a place; -1 where it was never met. Only after `pack`."""
        last = self._last
        if id == last[0] and epoch == last[1]:
            return last[2]
        # Verdicts come in the order of answers, and both mostly in the order of the data: the next one is tried first.
        number = last[2] + 1
        if number == self._count or not self._is(number, id, epoch):
            number = self._search(id, epoch)
        if number >= 0:
            self._last = id, epoch, number
        return number

    def _search(self, id: str, epoch: int) -> int:
        self._searches += 1
        if self._table is None and self._searches <= SEARCHES:
            return self._scan(id, epoch)
        if self._table is None:
            self._table = HashTable()
            for place_id, its in self:
                self._table.add(self._hashed(self._table, place_id, its)[1])
        return self._hashed(self._table, id, epoch)[0]

    def _scan(self, id: str, epoch: int) -> int:
        """A search through all ids, which is as fast as memory: a table pays only for many."""
        wanted = b"\0" + id.encode("utf-8", "surrogatepass") + b"\0"
        at = self._ids.find(wanted)
        while at >= 0:
            number = bisect_left(self._starts, at + 1)
            if self._starts[number] == at + 1 and self._is(number, id, epoch):
                return number
            at = self._ids.find(wanted, at + 1)
        return NOWHERE

    def _hashed(self, table: HashTable, id: str, epoch: int) -> tuple[int, int]:
        """The number of a place and its hash; a place whose hash another has taken gets the next in turn."""
        hashed, tries = hash((id, epoch)), 0
        while (found := table.find(hashed)) >= 0 and not self._is(found, id, epoch):
            tries += 1
            hashed = hash((id, epoch, tries))
        return found, hashed

    def _is(self, number: int, id: str, epoch: int) -> bool:
        if epoch != (self._epochs[number] if self._epochs is not None else 0):
            return False
        starts = self._starts
        return self._ids[starts[number] : starts[number + 1] - 1] == id.encode(
            "utf-8", "surrogatepass"
        )
