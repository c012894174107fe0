"""`testbed.data.sampler`: samplers that put indices of several datasets together, and contexts into batches.

They chunk what they are given and drop what does not fill a chunk, as upstream does; `prepare_dataloader` without
samplers asks every row instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any


class ConcatSampler:
    """One list of indices for each context: those of every sampler, shifted to the place of its dataset."""

    def __init__(self, samplers: Sequence[Any], cumulative_dataset_sizes: Sequence[int] | None = None) -> None:
        self.samplers = list(samplers)
        sizes = cumulative_dataset_sizes
        if sizes is None:
            sizes = list(accumulate(_size(sampler) for sampler in samplers))
        if len(sizes) != len(self.samplers):
            raise ValueError(f"{len(self.samplers)} samplers for {len(sizes)} datasets")
        self.offsets = [0, *sizes[:-1]]

    def __iter__(self) -> Iterator[list[int]]:
        for indices in zip(*self.samplers, strict=False):
            yield [
                offset + index
                for offset, given in zip(self.offsets, indices, strict=True)
                for index in (given if isinstance(given, (list, tuple)) else [given])
            ]

    def __len__(self) -> int:
        return min((len(sampler) for sampler in self.samplers), default=0)


class MultiBatchSampler:
    """`multi_merge_size` contexts joined into one batch of indices."""

    def __init__(self, sampler: Iterable[Any], multi_merge_size: int, drop_last: bool = False) -> None:
        if multi_merge_size < 1:
            raise ValueError(f"multi_merge_size is {multi_merge_size}; it must be 1 or more")
        self.sampler = sampler
        self.multi_merge_size = multi_merge_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        merged: list[int] = []
        count = 0
        for indices in self.sampler:
            merged += indices if isinstance(indices, (list, tuple)) else [indices]
            count += 1
            if count == self.multi_merge_size:
                yield merged
                merged, count = [], 0
        if count and not self.drop_last:
            yield merged

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.multi_merge_size)  # type: ignore[arg-type]
        return whole + (1 if rest and not self.drop_last else 0)


def _size(sampler: Any) -> int:
    """How many rows a sampler draws from: of its dataset where it names one."""
    source = next((s for s in (getattr(sampler, n, None) for n in ("data_source", "dataset")) if s is not None), None)
    if source is None and hasattr(sampler, "sampler"):
        return _size(sampler.sampler)
    return len(sampler if source is None else source)
