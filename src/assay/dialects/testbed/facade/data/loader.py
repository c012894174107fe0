"""The loader behind `prepare_dataloader`: contexts of rows, the query last.

Every row of the query's dataset is asked once, whatever the number of shots, and a query is never among its own shots;
the shots of a query depend on the seed and its place alone. Samplers of the user are followed to the letter.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .....templates.pick import shuffled

Place = tuple[int, int]
"""Which dataset, and which row of it."""

PASSED_ON = frozenset(
    {
        "num_workers",
        "pin_memory",
        "timeout",
        "worker_init_fn",
        "multiprocessing_context",
        "generator",
        "prefetch_factor",
        "persistent_workers",
        "pin_memory_device",
        "in_order",
    }
)
"""Options of torch's loader that say how rows are fetched, never which: accepted, without effect."""

MADE: list["ContextLoader"] = []
"""Every loader in the order in which they were made: whoever runs a file learns which ones it made."""


@dataclass(eq=False, repr=False)
class ContextLoader:
    """Batches of contexts; a context is a list of rows of which the last is the query."""

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
        """The rows of each context, by dataset and number; settled when first asked for."""
        if self._assay_places is None:
            self._assay_places = list(
                self._assay_sampled() if self.samplers else self._assay_drawn()
            )
        return self._assay_places

    def rows(self, places: Sequence[Place]) -> list[Any]:
        """The rows of a context."""
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
        query_dataset = max(at for at, count in enumerate(self.counts) if count)
        self._assay_check_sizes(query_dataset)
        queries = list(range(len(self.datasets[query_dataset])))
        if self.shuffle:
            random.Random(self.seed).shuffle(queries)
        for query in queries:
            shots: list[Place] = []
            for at, dataset in enumerate(self.datasets):
                wanted = self.counts[at] - (at == query_dataset)
                order = shuffled(len(dataset), self.seed, f"{at}:{query}")
                allowed = (
                    index
                    for index in order
                    if not (dataset is self.datasets[query_dataset] and index == query)
                )
                shots += [(at, index) for index in islice(allowed, wanted)]
            yield (*shots, (query_dataset, query))

    def _assay_check_sizes(self, query_dataset: int) -> None:
        for at, dataset in enumerate(self.datasets):
            has_query = dataset is self.datasets[query_dataset]
            needed = self.counts[at] + (has_query and at != query_dataset)
            if len(dataset) < needed:
                raise ValueError(
                    f"dataset {at} has {len(dataset)} rows, and each context needs {needed} different ones"
                )

    def _assay_sampled(self) -> Iterator[tuple[Place, ...]]:
        assert self.samplers is not None
        chunks = [
            _chunks(sampler if sampler is not None else range(len(dataset)), count)
            for sampler, dataset, count in zip(
                self.samplers, self.datasets, self.counts, strict=True
            )
        ]
        for indices in zip(*chunks, strict=False):
            yield tuple(
                (at, index) for at, chunk in enumerate(indices) for index in chunk
            )


def _chunks(sampler: Any, size: int) -> Iterator[list[int]]:
    """What a sampler yields, as lists of `size` indices; a rest that does not fill one is dropped."""
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


def _is_index(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
