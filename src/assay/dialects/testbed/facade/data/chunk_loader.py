"""Upstream's own loader: rows in their order, cut into contexts; torch's `DataLoader` over torch's samplers.

A rest that fills no context is dropped, so which rows are asked depends on the number of shots. What torch draws from
its seed is drawn here in the same order, so that a published script with `shuffle=True` sees the same contexts.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from .....core import MissingExtra
from .loader import MADE, Place
from .sampler import ConcatSampler, MultiBatchSampler


def chunk_loader(
    datasets: Any,
    batch_size: int,
    num_shots: int | None,
    num_per_dataset: Any,
    collate_fn: Callable[[list[list[Any]]], Any] | None,
    samplers: Any,
    *,
    sampler: Any = None,
    shuffle: bool = False,
    drop_last: bool = False,
    **options: Any,
) -> Any:
    """A torch `DataLoader` whose batches are lists of contexts, the query last."""
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    several = datasets if isinstance(datasets, list) else [datasets]
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
        _chunks(*one, shuffle) for one in zip(several, chosen, counts, strict=False)
    ]

    def contexts(rows: list[Any]) -> Any:
        batch = [rows[start : start + size] for start in range(0, len(rows), size)]
        return collate_fn(batch) if collate_fn is not None else batch

    return _loader_class()(
        several, counts, chosen, chunked, contexts, batch_size, drop_last, options
    )


def _context_size(num_shots: int | None, num_per_dataset: Any) -> int:
    if num_shots is not None:
        return num_shots + 1
    if num_per_dataset is None:
        raise ValueError("num_shots and num_per_dataset cannot both be None")
    return num_per_dataset if isinstance(num_per_dataset, int) else sum(num_per_dataset)


def _one_each(name: str, values: Any, datasets: Sequence[Any]) -> list[Any]:
    if not isinstance(values, list):
        return [values]
    if len(values) != len(datasets):
        raise ValueError(
            f"{name} should be a list of the same length as datasets, got {values!r}"
        )
    return values


def _chunks(dataset: Any, sampler: Any, size: int, shuffle: bool) -> Any:
    """A sampler of single rows cut into lists; one that yields lists of the right length stays."""
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    if sampler is None:
        sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
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
    """Made when it is first wanted: this module does not import torch."""
    try:
        from torch.utils.data import ConcatDataset, DataLoader
    except ImportError as error:
        raise MissingExtra(
            "torch", "'assay[hf]'", where="prepare_dataloader as upstream"
        ) from error

    class ChunkLoader(DataLoader):  # type: ignore[misc]
        """Batches of contexts in upstream's order; `places` says which rows stand in which context."""

        def __init__(
            self,
            datasets: Sequence[Any],
            counts: Sequence[int],
            samplers: Sequence[Any],
            chunked: Sequence[Any],
            collate: Callable[[list[Any]], Any],
            batch_size: int,
            drop_last: bool,
            options: dict[str, Any],
        ) -> None:
            joined = ConcatDataset(datasets)
            merged = ConcatSampler(chunked, joined.cumulative_sizes)
            batches = MultiBatchSampler(merged, batch_size, drop_last)
            super().__init__(
                joined, collate_fn=collate, batch_sampler=batches, **options
            )
            self.__dict__.update(
                datasets=list(datasets),
                counts=list(counts),
                seed="torch's",
                _places=None,
            )
            self.__dict__["samplers"] = [one for one in samplers if one is not None]
            MADE.append(self)  # type: ignore[arg-type]

        @property
        def places(self) -> list[tuple[Place, ...]]:
            """The rows of each context, by dataset and number; drawn when first asked for."""
            if self.__dict__["_places"] is None:
                self.__dict__["_places"] = [
                    tuple(map(self._place, rows)) for rows in self.batch_sampler.sampler
                ]
            places: list[tuple[Place, ...]] = self.__dict__["_places"]
            return places

        def _place(self, row: int) -> Place:
            starts = [0, *self.dataset.cumulative_sizes]
            at = next(at for at in range(len(starts) - 1) if row < starts[at + 1])
            return at, row - starts[at]

    return ChunkLoader
