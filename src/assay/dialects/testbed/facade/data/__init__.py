"""`testbed.data`: from rows to contexts, from contexts to conversations, from predictions to answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....protocol import is_upstream
from ...conversation import cut_at
from ...nearby import register_nearby
from . import builtin as _builtin
from .common import (
    DATASET_RETRIEVER_MAPPING,
    POSTPROCESS_MAPPING,
    REGISTERED,
    register_dataset_retriever,
    register_postprocess,
)
from .inputs import prepare_input
from .loader import PASSED_ON, ContextLoader
from .sampler import ConcatSampler, MultiBatchSampler

__all__ = [
    "DATASET_RETRIEVER_MAPPING",
    "POSTPROCESS_MAPPING",
    "ConcatSampler",
    "MultiBatchSampler",
    "postprocess_generation",
    "prepare_dataloader",
    "prepare_input",
    "register_dataset_retriever",
    "register_postprocess",
]

_builtin.register()
REGISTERED.clear()  # what ships is not what a user's file registered


def prepare_dataloader(
    datasets: Any,
    batch_size: int,
    num_shots: int | None = None,
    num_per_dataset: int | Sequence[int] | None = None,
    collate_fn: Callable[[list[list[Any]]], Any] | None = None,
    samplers: Any = None,
    **kwargs: Any,
) -> Any:
    """A loader of batches of contexts, each `num_shots + 1` rows with the query last.

    Without samplers every row of the last dataset is the query once, whatever the number of shots; as upstream, rows
    are cut into chunks in their order.
    """
    if is_upstream("testbed"):
        from .chunk_loader import chunk_loader

        return chunk_loader(
            datasets,
            batch_size,
            num_shots,
            num_per_dataset,
            collate_fn,
            samplers,
            **kwargs,
        )
    # A list holds datasets, unless it holds rows: then it is one.
    holds_datasets = isinstance(datasets, (list, tuple)) and not (
        datasets and isinstance(datasets[0], Mapping)
    )
    several = list(datasets) if holds_datasets else [datasets]
    sampler = kwargs.pop("sampler", None)
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    chosen = (
        samplers
        if isinstance(samplers, (list, tuple)) or samplers is None
        else [samplers]
    )
    chosen = [sampler] if sampler is not None else chosen
    counts = _counts(several, num_shots, num_per_dataset)
    if chosen is not None and len(chosen) != len(several):
        raise ValueError(
            f"samplers should be a list of the same length as datasets: {len(chosen)} for {len(several)}"
        )
    settings = {
        name: kwargs.pop(name)
        for name in ("shuffle", "drop_last", "seed")
        if name in kwargs
    }
    unknown = [name for name in kwargs if name not in PASSED_ON]
    if unknown:
        raise TypeError(f"prepare_dataloader has no option {unknown[0]!r}")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
    return ContextLoader(
        several, counts, batch_size, samplers=chosen, collate_fn=collate_fn, **settings
    )


def _counts(
    datasets: Sequence[Any], num_shots: int | None, num_per_dataset: Any
) -> list[int]:
    if num_shots is None and num_per_dataset is None:
        raise ValueError("num_shots and num_per_dataset cannot both be None")
    if num_per_dataset is None:
        if len(datasets) > 1:
            raise ValueError(
                f"{len(datasets)} datasets need num_per_dataset, how many rows each gives to a context"
            )
        return [int(num_shots or 0) + 1]
    counts = (
        [num_per_dataset] if isinstance(num_per_dataset, int) else list(num_per_dataset)
    )
    if len(counts) != len(datasets):
        raise ValueError(
            f"num_per_dataset should be a list of the same length as datasets, got {num_per_dataset!r}"
        )
    if min(counts) < 0 or sum(counts) < 1:
        raise ValueError(
            f"num_per_dataset is {num_per_dataset!r}; a context has at least the query"
        )
    if num_shots is not None and sum(counts) != num_shots + 1:
        raise ValueError(
            f"num_per_dataset sums to {sum(counts)}, and num_shots + 1 is {num_shots + 1}"
        )
    return counts


def postprocess_generation(
    dataset_name: str, predictions: Any, stop_words: Sequence[str] | None = None
) -> Any:
    """Predictions cut at the first stop word, stripped, and given to the registered post-process.

    As upstream, a list of stop words that is empty, or holds an empty one, stops at the very start.
    """
    register_nearby(dataset_name, dataset_name in POSTPROCESS_MAPPING)
    if dataset_name not in POSTPROCESS_MAPPING:
        raise ValueError(
            f"the post-process of {dataset_name!r} is not registered, use `register_postprocess` first"
        )
    process = POSTPROCESS_MAPPING[dataset_name]
    stops_at_once = (
        is_upstream("testbed")
        and stop_words is not None
        and (not stop_words or "" in stop_words)
    )

    def read(prediction: str) -> Any:
        return process("" if stops_at_once else cut_at(prediction, stop_words or ()))

    return (
        read(predictions)
        if isinstance(predictions, str)
        else [read(prediction) for prediction in predictions]
    )
