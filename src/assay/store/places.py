"""Numbers for samples and epochs: each pair of sample id and epoch of a task × model gets the next number, from 0.

A journal may have a million pairs, so they are not stored as objects. All ids are in
one buffer. The number of a pair is found in a hash table that is an array (open
addressing). This takes some 40 bytes for each pair; a dict of tuples takes about 250.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import cast

Place = tuple[str, int]
"""A sample id and an epoch."""
NOWHERE = -1
SEARCHES = 64
"""How many linear searches are done before a hash table is built. From then on, it saves time."""


class HashTable:
    """Maps 64-bit hashes to the numbers 0, 1, 2, … in the order in which the hashes were added.

    A hash that was added several times maps to its last number.
    """

    __slots__ = ("_hashes", "_mask", "_table")

    def __init__(self) -> None:
        self._hashes = array("q")
        self._mask = 15
        self._table = array("i", [NOWHERE]) * (self._mask + 1)

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, hash: int) -> int:
        """Return the number with which a hash was last added, or -1."""
        table = self._table
        hashes = self._hashes
        mask = self._mask
        slot = hash & mask
        while (number := table[slot]) >= 0:
            if hashes[number] == hash:
                return number
            slot = (slot + 1) & mask
        return NOWHERE

    def add(self, hash: int) -> None:
        """Add a hash, which gets the next number."""
        hashes = self._hashes
        self._set(hash, len(hashes))
        hashes.append(hash)
        if (
            len(hashes) * 2 > self._mask
        ):  # At most half full, so that probes stay short.
            self._mask = self._mask * 2 + 1
            self._table = array("i", [NOWHERE]) * (self._mask + 1)
            for number, earlier in enumerate(hashes):
                self._set(earlier, number)

    def _set(self, hash: int, number: int) -> None:
        table = self._table
        hashes = self._hashes
        mask = self._mask
        slot = hash & mask
        while (other := table[slot]) >= 0 and hashes[other] != hash:
            slot = (slot + 1) & mask
        table[slot] = number


class Places:
    """The number of each sample and epoch. They are in a dict until `pack` is called."""

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
        """The number of each sample and epoch while a journal is read.

        Samples in epoch 0, usually the only one, are stored by id alone.
        """
        self._ids = b"\0"
        self._starts = array("Q", [1])
        self._epochs: array[int] | None = None
        """The epoch for each number of a sample and epoch; `None` if all epochs are 0."""
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
        """Replace the dict by compact arrays, after the journal was read."""
        numbers = self.numbers
        self.numbers = {}
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
        ids = bytearray(b"\0")
        epochs = array("q")
        for key in numbers:
            id, epoch = (key, 0) if isinstance(key, str) else key
            ids += id.encode("utf-8", "surrogatepass")
            ids.append(0)
            self._starts.append(len(ids))
            epochs.append(epoch)
        self._ids = bytes(ids)
        self._epochs = epochs if any(epochs) else None

    def find(self, id: str, epoch: int) -> int:
        """Return the number of a sample and epoch, or -1 if unknown. Call it only after `pack`."""
        last = self._last
        if id == last[0] and epoch == last[1]:
            return last[2]
        # Score lines are in the order of answers, and both usually in the order of the data, so try
        # the next number first.
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
            self._fill(self._table)
        number, _ = self._find_or_free_hash(self._table, id, epoch)
        return number

    def _fill(self, table: HashTable) -> None:
        """Add the hash of every sample and epoch to a hash table."""
        for id, epoch in self:
            _, hashed = self._find_or_free_hash(table, id, epoch)
            table.add(hashed)

    def _scan(self, id: str, epoch: int) -> int:
        """Search all ids one by one for a sample and epoch.

        Building a hash table is worthwhile only for many searches.
        """
        pattern = b"\0" + id.encode("utf-8", "surrogatepass") + b"\0"
        position = self._ids.find(pattern)
        while position >= 0:
            number = bisect_left(self._starts, position + 1)
            if self._starts[number] == position + 1 and self._is(number, id, epoch):
                return number
            position = self._ids.find(pattern, position + 1)
        return NOWHERE

    def _find_or_free_hash(
        self,
        table: HashTable,
        id: str,
        epoch: int,
    ) -> tuple[int, int]:
        """Return the number of a sample and epoch, and its hash; -1 and a free hash if it is not in the table.

        If another sample has the same hash, the next hash is tried.
        """
        hashed = hash((id, epoch))
        tries = 0
        while (number := table.find(hashed)) >= 0 and not self._is(number, id, epoch):
            tries += 1
            hashed = hash((id, epoch, tries))
        return number, hashed

    def _is(
        self,
        number: int,
        id: str,
        epoch: int,
    ) -> bool:
        if self._epochs is None:
            own_epoch = 0
        else:
            own_epoch = self._epochs[number]
        if epoch != own_epoch:
            return False
        starts = self._starts
        return self._ids[starts[number] : starts[number + 1] - 1] == id.encode(
            "utf-8", "surrogatepass"
        )
