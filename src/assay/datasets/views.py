"""Views: part of a dataset, or all of it in another order.

A view applies its settings in this order: ids, shuffle, limit, shard. So four shards
with `limit=100` have a hundred samples together. Without a shuffle, rows after the last
requested sample are not read.
"""

import math
import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..core import BadSample, Sample, UsageError, nearest
from .samples import Samples

Limit = int | float | str | None


@dataclass
class View:
    """A selection of samples, possibly in another order. It can be iterated repeatedly."""

    samples: Samples
    limit: Limit = None
    shuffle: int | None = None
    ids: Sequence[str] | None = None
    shard: tuple[int, int] | None = None
    _order: "_Index | None" = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _length: int | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _wanted: frozenset[str] | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        if self.shard is not None and not 0 <= self.shard[0] < self.shard[1]:
            raise UsageError(
                f"shard {self.shard[0]} of {self.shard[1]}",
                fix="count shards from 0: (0, 4) … (3, 4)",
            )

    def __iter__(self) -> Iterator[Sample | BadSample]:
        if self.shuffle is None:
            stream = iter(self.samples)
        else:
            stream = self._shuffled()
        if self.ids is not None:
            stream = self._select_ids(stream)
        start, stop = self._range()
        stream = islice(
            self._from(start, stream) if start else stream,
            None if stop is None else stop - start,
        )
        if self.shard is None:
            return stream
        return islice(stream, self.shard[0], None, self.shard[1])

    @property
    def known_length(self) -> int | None:
        """The number of samples, if it is known without reading them."""
        total = len(self._ids()) if self.ids is not None else self.samples.known_length
        if total is None:
            return None
        count = count_within(self.limit, total)
        if self.shard is None:
            return count
        return len(range(self.shard[0], count, self.shard[1]))

    def __getattr__(self, name: str) -> Any:
        """Forward attributes that are the same for the view and its samples: kind, files, fingerprint, digest."""
        if name.startswith("_") or name == "samples":
            raise AttributeError(name)
        return getattr(self.samples, name)

    def _range(self) -> tuple[int, int | None]:
        total = 0
        if isinstance(self.limit, float):
            total = self._count()
        return range_within(self.limit, total)

    def _count(self) -> int:
        if self.ids is not None:
            return len(self._ids())
        if self._length is None:
            length = self.samples.known_length
            if length is not None:
                self._length = length
            else:
                self._length = sum(1 for _ in self.samples)
        return self._length

    def _ids(self) -> frozenset[str]:
        """Return the requested ids. A text with commas is split, unless it is itself an id."""
        if self._wanted is None:
            requested = set(self.ids or ())
            joined = {text for text in requested if "," in text}
            if joined:
                joined -= {sample.id for sample in self.samples}
            parts = {part.strip() for text in joined for part in text.split(",")} - {""}
            self._wanted = frozenset((requested - joined) | parts)
        return self._wanted

    def _from(
        self,
        start: int,
        stream: Iterator[Sample | BadSample],
    ) -> Iterator[Sample | BadSample]:
        """Yield the samples of `stream` from index `start` on. Raise if the stream ends before that index."""
        skipped = sum(1 for _ in islice(stream, start))
        first = next(stream, None)
        if first is None:
            raise UsageError(
                f"limit {self.limit!r} begins after the last of {skipped} samples",
                fix=f"a range within 1-{skipped}",
            )
        yield first
        yield from stream

    def _select_ids(
        self, stream: Iterator[Sample | BadSample]
    ) -> Iterator[Sample | BadSample]:
        missing = set(self._ids())
        other_ids: list[str] = []
        for sample in stream:
            if sample.id in missing:
                missing.discard(sample.id)
                yield sample
                if not missing:
                    return
            elif len(other_ids) < 1000:
                other_ids.append(sample.id)
        if missing:
            missing_id = sorted(missing)[0]
            close = nearest(missing_id, other_ids)
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"ids look like {', '.join(map(repr, other_ids[:3]))}"
            raise UsageError(f"no sample has the id {missing_id!r}", fix=fix)

    def _shuffled(self) -> Iterator[Sample | BadSample]:
        if self._order is None:
            self._order = _Index.of(self.samples)
        index = self._order
        order = list(range(len(index)))
        random.Random(self.shuffle).shuffle(order)
        return index.read(self.samples, order)


class _Index:
    """The locations of all samples, for reading them again.

    Samples that cannot be read again cheaply are stored in full.
    """

    def __init__(self) -> None:
        self._places = {
            name: array("Q") for name in ("shard", "position", "number", "offset")
        }
        self._ids: list[str] = []
        self._kept: dict[int, Sample | BadSample] = {}

    @classmethod
    def of(cls, samples: Samples) -> "_Index":
        """Read all rows once, and return the locations of the samples.

        Faulty rows are stored in full, because their faults depend on the order of
        the rows in the file.
        """
        index = cls()
        for shard, position, number, offset, sample in samples.located():
            if isinstance(sample, BadSample) or not samples.seekable:
                index._kept[len(index._ids)] = sample
            for name, value in zip(
                index._places,
                (shard, position, number, offset),
                strict=True,
            ):
                index._places[name].append(value)
            index._ids.append(sample.id)
        return index

    def __len__(self) -> int:
        return len(self._ids)

    def read(
        self,
        samples: Samples,
        order: Sequence[int],
    ) -> Iterator[Sample | BadSample]:
        """Yield the samples in the given order."""
        pick = samples.picker()
        columns = tuple(self._places.values())
        for index in order:
            sample = self._kept.get(index)
            if sample is not None:
                yield sample
            else:
                shard, position, number, offset = (column[index] for column in columns)
                yield pick(shard, position, number, offset, self._ids[index])


def view(
    samples: Samples,
    *,
    limit: Limit = None,
    shuffle: int | None = None,
    ids: Sequence[str] | None = None,
    shard: tuple[int, int] | str | None = None,
) -> View:
    """Return a part of a dataset.

    `limit` is a number, a fraction, or a range `"11-20"` counted from 1. `ids` selects samples. `shard` is one of
    several parts: `(0, 4)`, or `"1/4"` counted from 1. `shuffle` is the seed of a random order; None keeps the
    file's order.

    Example: `view(samples, limit=100, shuffle=0, shard=(1, 4))`
    """
    return View(
        samples,
        parse_limit(limit),
        shuffle,
        ids,
        parse_shard(shard) if isinstance(shard, str) else shard,
    )


def parse_limit(limit: Limit) -> Limit:
    """Return a limit as a number, a fraction or a range. It may be given as text."""
    if limit is None:
        return None
    fix = 'give a number of samples (100), a fraction (0.1), or a range counted from 1 ("11-20")'
    wrong = UsageError(f"limit {limit!r} is not a part of a dataset", fix=fix)
    if isinstance(limit, str):
        first, dash, last = limit.partition("-")
        if (
            dash
            and first.isdecimal()
            and last.isdecimal()
            and 1 <= int(first) <= int(last)
        ):
            return limit
        try:
            if limit.isdecimal():
                limit = int(limit)
            else:
                limit = float(limit)
        except ValueError:
            raise wrong from None
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise wrong
    if isinstance(limit, float):
        is_valid = 0 < limit <= 1
    else:
        is_valid = limit >= 1
    if not is_valid:
        raise wrong
    return limit


def range_within(limit: Limit, total: int) -> tuple[int, int | None]:
    """Return the first index and the end index of a parsed limit. Only a fraction uses the `total`."""
    if limit is None:
        return 0, None
    if isinstance(limit, str):
        first, _, last = limit.partition("-")
        return int(first) - 1, int(last)
    if isinstance(limit, float):
        return 0, max(1, math.ceil(limit * total))
    return 0, limit


def count_within(limit: Limit, total: int) -> int:
    """Return how many of `total` samples a parsed limit selects."""
    start, stop = range_within(limit, total)
    if stop is None:
        stop = total
    return max(0, min(stop, total) - start)


def parse_shard(text: str) -> tuple[int, int]:
    """Parse `"1/4"`, counted from 1, as `(0, 4)`."""
    first, _, count = text.partition("/")
    if first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count):
        return int(first) - 1, int(count)
    raise UsageError(f"shard {text!r} is not a part of a whole", fix="write 1/4 … 4/4")
