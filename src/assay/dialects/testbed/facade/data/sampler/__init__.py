"""`testbed.data.sampler`: samplers that put indices of several datasets together, and contexts into batches.

They chunk what they are given and drop what does not fill a chunk, as upstream does; `prepare_dataloader` without
samplers asks every row instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class ConcatSampler:
    """One list of indices for each context: those of every sampler, shifted to the place of its dataset."""

    def __init__(
        self,
        samplers: Iterable[Any],
        cumulative_dataset_sizes: Sequence[int] | None = None,
    ) -> None:
        self.samplers = list(samplers)
        self.batch_size = sum(
            [len(_as_list(next(iter(sampler)))) for sampler in self.samplers]
        )
        sizes = cumulative_dataset_sizes
        if sizes is not None and len(sizes) != len(self.samplers):
            raise ValueError(f"{len(self.samplers)} samplers for {len(sizes)} datasets")
        self.cumulative_indices = (
            [0] * len(self.samplers) if sizes is None else [0, *sizes[:-1]]
        )

    def __iter__(self) -> Iterator[list[int]]:
        for indices in zip(*self.samplers, strict=False):
            shifted = zip(self.cumulative_indices, indices, strict=True)
            yield [
                start + index for start, entry in shifted for index in _as_list(entry)
            ]

    def __len__(self) -> int:
        return min((len(sampler) for sampler in self.samplers), default=0)


class MultiBatchSampler:
    """`multi_merge_size` contexts joined into one batch of indices."""

    def __init__(self, sampler: Any, multi_merge_size: int, drop_last: bool) -> None:
        if (
            not isinstance(multi_merge_size, int)
            or isinstance(multi_merge_size, bool)
            or multi_merge_size <= 0
        ):
            raise ValueError(
                f"multi_merge_size is {multi_merge_size!r}; it must be 1 or more"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last is {drop_last!r}; it must be True or False")
        if isinstance(next(iter(sampler)), int):
            raise ValueError(
                "the sampler yields single indices; it must yield lists of them"
            )
        self.sampler = sampler
        self.merge_size = multi_merge_size
        self.batch_size = multi_merge_size * getattr(sampler, "batch_size", 1)
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        merged: list[int] = []
        count = 0
        for indices in self.sampler:
            merged += indices
            count += 1
            if count == self.merge_size:
                yield merged
                merged, count = [], 0
        if count and not self.drop_last:
            yield merged

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.merge_size)
        return whole + (1 if rest and not self.drop_last else 0)


def _as_list(entry: Any) -> Sequence[int]:
    return entry if isinstance(entry, (list, tuple)) else [entry]
