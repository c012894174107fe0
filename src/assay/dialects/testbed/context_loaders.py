"""Loaders of contexts, that is, shots and a query: one context for each query, or chunks of rows as upstream makes."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from ...core import library
from ...templates.pick import shuffled


class ConcatSampler:
    """One list of indices per context: the indices of every sampler, shifted by the offset of its dataset."""

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

    def __init__(
        self,
        sampler: Any,
        multi_merge_size: int,
        drop_last: bool,
    ) -> None:
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
    if isinstance(entry, (list, tuple)):
        return entry
    return [entry]


Place = tuple[int, int]
"""Index of a dataset, and index of a row in it."""

PASSED_ON = frozenset(
    {
        "num_workers", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
        "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order",
    }
)  # fmt: skip
"""Options of torch's loader that affect how rows are fetched, but not which ones: accepted without effect."""

MADE: list["ContextLoader"] = []
"""Every loader in order of creation, so that the code that runs a file knows which loaders the file created."""


@dataclass(eq=False, repr=False)
class ContextLoader:
    """Batches of contexts; a context is a list of rows whose last one is the query."""

    datasets: Sequence[Any]
    counts: Sequence[int]
    batch_size: int
    samplers: Sequence[Any] | None = None
    collate_fn: Callable[[list[list[Any]]], Any] | None = None
    shuffle: bool = False
    drop_last: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        self.datasets, self.counts = list(self.datasets), list(self.counts)
        self._assay_places: list[tuple[Place, ...]] | None = None
        MADE.append(self)

    @property
    def places(self) -> list[tuple[Place, ...]]:
        """The rows of each context, by dataset and index; chosen on first use."""
        if self._assay_places is None:
            self._assay_places = list(
                self._assay_sampled() if self.samplers else self._assay_drawn()
            )
        return self._assay_places

    def rows(self, places: Sequence[Place]) -> list[Any]:
        """Return the rows of a context."""
        return [self.datasets[dataset][index] for dataset, index in places]

    def __iter__(self) -> Iterator[Any]:
        contexts = iter(self.places)
        while batch := list(islice(contexts, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            rows = [self.rows(places) for places in batch]
            yield self.collate_fn(rows) if self.collate_fn is not None else rows

    def __len__(self) -> int:
        whole, rest = divmod(len(self.places), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def _assay_drawn(self) -> Iterator[tuple[Place, ...]]:
        query_dataset = max(
            dataset_index for dataset_index, count in enumerate(self.counts) if count
        )
        self._assay_check_sizes(query_dataset)
        queries = list(range(len(self.datasets[query_dataset])))
        if self.shuffle:
            random.Random(self.seed).shuffle(queries)
        for query in queries:
            shots: list[Place] = []
            for dataset_index, dataset in enumerate(self.datasets):
                count = self.counts[dataset_index] - (dataset_index == query_dataset)
                order = shuffled(len(dataset), self.seed, f"{dataset_index}:{query}")
                allowed = (
                    index
                    for index in order
                    if not (dataset is self.datasets[query_dataset] and index == query)
                )
                shots += [(dataset_index, index) for index in islice(allowed, count)]
            yield (*shots, (query_dataset, query))

    def _assay_check_sizes(self, query_dataset: int) -> None:
        for dataset_index, dataset in enumerate(self.datasets):
            has_query = dataset is self.datasets[query_dataset]
            needed = self.counts[dataset_index] + (
                has_query and dataset_index != query_dataset
            )
            if len(dataset) < needed:
                raise ValueError(
                    f"dataset {dataset_index} has {len(dataset)} rows, and each context needs {needed} different ones"
                )

    def _assay_sampled(self) -> Iterator[tuple[Place, ...]]:
        assert self.samplers is not None
        chunks = [
            _chunks(sampler if sampler is not None else range(len(dataset)), count)
            for sampler, dataset, count in zip(
                self.samplers,
                self.datasets,
                self.counts,
                strict=True,
            )
        ]
        for indices in zip(*chunks, strict=False):
            yield tuple(
                (dataset_index, index)
                for dataset_index, chunk in enumerate(indices)
                for index in chunk
            )


def _chunks(sampler: Any, size: int) -> Iterator[list[int]]:
    """Yield the sampler's indices in lists of `size`, dropping an incomplete last list."""
    chunk: list[int] = []
    for entry in sampler:
        if isinstance(entry, (list, tuple)):
            if len(entry) != size or not all(_is_index(index) for index in entry):
                raise ValueError(
                    f"the sampler {sampler!r} yielded {entry!r}; it must yield lists of {size} indices"
                )
            yield [int(index) for index in entry]
            continue
        if not _is_index(entry):
            raise ValueError(
                f"the sampler {sampler!r} yielded {entry!r}; it must yield an index or {size} of them"
            )
        chunk.append(int(entry))
        if len(chunk) == size:
            yield chunk
            chunk = []


def _is_index(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def chunk_loader(
    datasets: object,
    batch_size: int,
    num_shots: int | None,
    num_per_dataset: object,
    collate_fn: Callable[[list[list[Any]]], Any] | None,
    samplers: object,
    *,
    sampler: object = None,
    shuffle: bool = False,
    drop_last: bool = False,
    **options: object,
) -> Any:
    """Return a torch `DataLoader` whose batches are lists of contexts, the query last."""
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    where = "prepare_dataloader as upstream"
    torch_data = library("torch.utils.data", "torch", "'assay[hf]'", where=where)
    if isinstance(datasets, list):
        several = datasets
    else:
        several = [datasets]
    size = _context_size(num_shots, num_per_dataset)
    counts = _one_each(
        "num_per_dataset",
        [size] if num_per_dataset is None else num_per_dataset,
        several,
    )
    chosen = _one_each(
        "samplers",
        [sampler] if sampler is not None else samplers or [None] * len(several),
        several,
    )
    if sum(counts) != size:
        raise ValueError(
            f"num_per_dataset sums to {sum(counts)}, and num_shots + 1 is {size}"
        )
    chunked = [
        _chunks_of_dataset(*entry, shuffle)
        for entry in zip(several, chosen, counts, strict=False)
    ]

    def contexts(rows: list[Any]) -> Any:
        batch = [rows[start : start + size] for start in range(0, len(rows), size)]
        if collate_fn is not None:
            return collate_fn(batch)
        return batch

    joined = torch_data.ConcatDataset(several)
    merged = ConcatSampler(chunked, joined.cumulative_sizes)
    loader = _loader_class()(
        joined,
        collate_fn=contexts,
        batch_sampler=MultiBatchSampler(merged, batch_size, drop_last),
        **options,
    )
    # Attributes that torch's loader does not know are set past its own check.
    own_samplers = [sampler for sampler in chosen if sampler is not None]
    vars(loader).update(
        datasets=several,
        counts=counts,
        samplers=own_samplers,
        seed="torch's",
    )
    MADE.append(loader)
    return loader


def _context_size(
    num_shots: int | None,
    num_per_dataset: Any,
) -> int:
    if num_shots is not None:
        return num_shots + 1
    if num_per_dataset is None:
        raise ValueError("num_shots and num_per_dataset cannot both be None")
    if isinstance(num_per_dataset, int):
        return num_per_dataset
    return sum(num_per_dataset)


def _one_each(
    name: str,
    values: object,
    datasets: Sequence[Any],
) -> list[Any]:
    if not isinstance(values, list):
        return [values]
    if len(values) != len(datasets):
        raise ValueError(
            f"{name} should be a list of the same length as datasets, got {values!r}"
        )
    return values


def _chunks_of_dataset(
    dataset: object,
    sampler: Any,
    size: int,
    shuffle: bool,
) -> Any:
    """Return a sampler that yields the indices of a sampler of single rows in lists.

    A sampler that yields lists of the right length is returned unchanged.
    """
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    if sampler is None:
        if shuffle:
            sampler = RandomSampler(dataset)
        else:
            sampler = SequentialSampler(dataset)
    first = next(iter(sampler))
    if isinstance(first, int):
        return BatchSampler(sampler, size, True)
    if (
        isinstance(first, list)
        and len(first) == size
        and all(isinstance(index, int) for index in first)
    ):
        return sampler
    raise ValueError(
        f"the sampler {sampler!r} yields {first!r}; it must yield an index or lists of {size} indices"
    )


@lru_cache(maxsize=1)
def _loader_class() -> Any:
    """Return the class, built on first use because this module does not import torch."""
    from torch.utils.data import DataLoader

    class ChunkLoader(DataLoader):  # type: ignore[misc]
        """Batches of contexts in upstream's order; `places` says which rows are in which context."""

        @cached_property
        def places(self) -> list[tuple[Place, ...]]:
            """The rows of each context, by dataset and index; drawn on first use."""
            starts = [0, *self.dataset.cumulative_sizes]
            contexts = []
            for rows in self.batch_sampler.sampler:
                places = []
                for row in rows:
                    dataset = bisect_right(starts, row) - 1
                    places.append((dataset, row - starts[dataset]))
                contexts.append(tuple(places))
            return contexts

    return ChunkLoader
