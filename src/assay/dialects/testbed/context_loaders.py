"""Loaders of contexts. A context is a list of rows: the last one is the query, and the others are its shots.

By default there is one context for each query. Under upstream's rules, rows are cut into chunks.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from ...core import library
from ...templates.pick import shuffled


class ConcatSampler:
    """Joins the samplers of several datasets. Yields a list of row numbers for each context.

    With `cumulative_dataset_sizes`, rows are numbered across all datasets, one dataset
    after the other.
    """

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
    """Yields batches of row numbers. Each batch is one flat list with the rows of `multi_merge_size` contexts."""

    def __init__(
        self,
        sampler: Any,
        multi_merge_size: int,
        drop_last: bool,
    ) -> None:
        if type(multi_merge_size) is not int or multi_merge_size <= 0:
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
        contexts = iter(self.sampler)
        while batch := list(islice(contexts, self.merge_size)):
            if len(batch) == self.merge_size or not self.drop_last:
                yield [index for context in batch for index in context]

    def __len__(self) -> int:
        return _batch_count(len(self.sampler), self.merge_size, self.drop_last)


def _batch_count(total: int, batch_size: int, drop_last: bool) -> int:
    whole, rest = divmod(total, batch_size)
    return whole + (rest > 0 and not drop_last)


def _as_list(entry: Any) -> Sequence[int]:
    if isinstance(entry, (list, tuple)):
        return entry
    return [entry]


Place = tuple[int, int]
"""The location of a row: the index of its dataset, and its index in that dataset."""

PASSED_ON = frozenset(
    {
        "num_workers", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
        "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order",
    }
)  # fmt: skip
"""Options of torch's loader that affect only how rows are fetched. They are accepted but have no effect."""

MADE: list[Any] = []
"""All context loaders in order of creation. assay uses it to find those that a user's file created."""

Collate = Callable[[list[list[Any]]], Any]
"""A user's function that receives a batch of contexts."""


def places_of(loader: Any) -> list[tuple[Place, ...]]:
    """Return the location of each row in each context of a loader: the index of its dataset, and its index there.

    Call it once for each loader: torch's loader may sample again at each call.
    """
    if isinstance(loader, ContextLoader):
        return loader.places
    starts = [0, *loader.dataset.cumulative_sizes]
    contexts = []
    for rows in loader.batch_sampler.sampler:
        places = []
        for row in rows:
            dataset = bisect_right(starts, row) - 1
            places.append((dataset, row - starts[dataset]))
        contexts.append(tuple(places))
    return contexts


@dataclass(eq=False, repr=False)
class ContextLoader:
    """Batches of contexts; a context is a list of rows whose last one is the query."""

    datasets: Sequence[Any]
    counts: Sequence[int]
    """Number of rows in a context from each dataset."""
    batch_size: int
    samplers: Sequence[Any] | None = None
    collate_fn: Collate | None = None
    shuffle: bool = False
    drop_last: bool = False
    seed: int = 0

    @cached_property
    def places(self) -> list[tuple[Place, ...]]:
        """The location of each row in each context, sampled on first use."""
        return list(self._assay_sampled() if self.samplers else self._assay_drawn())

    def __iter__(self) -> Iterator[Any]:
        contexts = iter(self.places)
        while batch := list(islice(contexts, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            rows = [
                [self.datasets[dataset][index] for dataset, index in places]
                for places in batch
            ]
            yield rows if self.collate_fn is None else self.collate_fn(rows)

    def __len__(self) -> int:
        return _batch_count(len(self.places), self.batch_size, self.drop_last)

    def _assay_drawn(self) -> Iterator[tuple[Place, ...]]:
        """Yield one context for each row of the last dataset.

        Its shots are sampled at random, seeded with the loader's seed and the row.
        """
        last = max(number for number, count in enumerate(self.counts) if count)
        queries = self.datasets[last]
        for number, dataset in enumerate(self.datasets):
            needed = self.counts[number]
            if dataset is queries and number != last:
                needed += 1  # The query is not one of the shots.
            if len(dataset) < needed:
                raise ValueError(
                    f"dataset {number} has {len(dataset)} rows, and each context needs {needed} different ones"
                )
        order_of_queries = list(range(len(queries)))
        if self.shuffle:
            random.Random(self.seed).shuffle(order_of_queries)
        for query in order_of_queries:
            context: list[Place] = []
            for number, dataset in enumerate(self.datasets):
                order = shuffled(len(dataset), self.seed, f"{number}:{query}")
                if dataset is queries:
                    order = filter(query.__ne__, order)
                count = self.counts[number]
                if number == last:
                    count -= 1
                context += [(number, row) for row in islice(order, count)]
            yield (*context, (last, query))

    def _assay_sampled(self) -> Iterator[tuple[Place, ...]]:
        """Yield the contexts that the user's samplers select."""
        assert self.samplers is not None
        chunks = []
        for sampler, dataset, count in zip(
            self.samplers, self.datasets, self.counts, strict=True
        ):
            indices = range(len(dataset)) if sampler is None else sampler
            chunks.append(_chunks(indices, count))
        for rows in zip(*chunks, strict=False):
            yield tuple(
                (number, row) for number, chunk in enumerate(rows) for row in chunk
            )


def _chunks(sampler: Iterable[Any], size: int) -> Iterator[list[int]]:
    """Yield the sampler's indices in lists of `size`. If the last list is incomplete, drop it."""
    chunk: list[int] = []
    for entry in sampler:
        is_list = isinstance(entry, (list, tuple))
        indices = entry if is_list else [entry]
        if (is_list and len(entry) != size) or not all(map(_is_index, indices)):
            expected = f"lists of {size} indices"
            if not is_list:
                expected = f"an index or {size} of them"
            raise ValueError(
                f"the sampler {sampler!r} yielded {entry!r}; it must yield {expected}"
            )
        if is_list:
            yield [int(index) for index in indices]
            continue
        chunk.append(int(entry))
        if len(chunk) == size:
            yield chunk
            chunk = []


def _is_index(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def chunk_loader(
    datasets: Sequence[Any],
    counts: Sequence[int],
    batch_size: int,
    *,
    samplers: Sequence[Any] | None,
    collate_fn: Collate | None,
    shuffle: bool = False,
    drop_last: bool = False,
    **options: object,
) -> object:
    """Return a torch `DataLoader` whose batches are lists of contexts, each with the query last."""
    where = "prepare_dataloader as upstream"
    torch_data = library("torch.utils.data", "torch", "'assay[hf]'", where=where)
    size = sum(counts)
    chosen = samplers or [None] * len(datasets)
    chunked = [
        _chunks_of_dataset(*entry, shuffle)
        for entry in zip(datasets, chosen, counts, strict=True)
    ]

    def contexts(rows: list[Any]) -> object:
        starts = range(0, len(rows), size)
        batch = [rows[start : start + size] for start in starts]
        if collate_fn is None:
            return batch
        return collate_fn(batch)

    joined = torch_data.ConcatDataset(datasets)
    merged = ConcatSampler(chunked, joined.cumulative_sizes)
    loader = torch_data.DataLoader(
        joined,
        collate_fn=contexts,
        batch_sampler=MultiBatchSampler(merged, batch_size, drop_last),
        **options,
    )
    loader.datasets = datasets
    loader.samplers = [sampler for sampler in chosen if sampler is not None]
    loader.seed = "torch's"
    return loader


def _chunks_of_dataset(
    dataset: object,
    sampler: Any,
    size: int,
    shuffle: bool,
) -> object:
    """Return a sampler of one dataset that yields lists of `size` row numbers.

    If the given sampler already yields such lists, return it unchanged.
    """
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    if sampler is None:
        sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
    first = next(iter(sampler))
    if isinstance(first, int):
        return BatchSampler(sampler, size, True)
    if isinstance(first, list) and len(first) == size and all(map(_is_index, first)):
        return sampler
    raise ValueError(
        f"the sampler {sampler!r} yields {first!r}; it must yield an index or lists of {size} indices"
    )
