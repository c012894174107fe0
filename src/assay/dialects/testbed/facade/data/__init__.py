"""`testbed.data`: from rows to contexts, from contexts to conversations, from predictions to answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...conversation import cut_at
from . import builtin as _builtin
from .common import (
    DATASET_RETRIEVER_MAPPING,
    POSTPROCESS_MAPPING,
    REGISTERED,
    register_dataset_retriever,
    register_postprocess,
)
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
) -> ContextLoader:
    """A loader of batches of contexts, each `num_shots + 1` rows with the query last.

    Without samplers every row of the last dataset is the query once, whatever the number of shots.
    """
    # A list holds datasets, unless it holds rows: then it is one.
    holds_datasets = isinstance(datasets, (list, tuple)) and not (datasets and isinstance(datasets[0], Mapping))
    given = list(datasets) if holds_datasets else [datasets]
    sampler = kwargs.pop("sampler", None)
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    chosen = samplers if isinstance(samplers, (list, tuple)) or samplers is None else [samplers]
    chosen = [sampler] if sampler is not None else chosen
    counts = _counts(given, num_shots, num_per_dataset)
    if chosen is not None and len(chosen) != len(given):
        raise ValueError(f"samplers should be a list of the same length as datasets: {len(chosen)} for {len(given)}")
    settings = {name: kwargs.pop(name) for name in ("shuffle", "drop_last", "seed") if name in kwargs}
    unknown = [name for name in kwargs if name not in PASSED_ON]
    if unknown:
        raise TypeError(f"prepare_dataloader has no option {unknown[0]!r}")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
    return ContextLoader(given, counts, batch_size, samplers=chosen, collate_fn=collate_fn, **settings)


def _counts(datasets: Sequence[Any], num_shots: int | None, num_per_dataset: Any) -> list[int]:
    if num_shots is None and num_per_dataset is None:
        raise ValueError("num_shots and num_per_dataset cannot both be None")
    if num_per_dataset is None:
        if len(datasets) > 1:
            raise ValueError(f"{len(datasets)} datasets need num_per_dataset, how many rows each gives to a context")
        return [int(num_shots or 0) + 1]
    counts = [num_per_dataset] if isinstance(num_per_dataset, int) else list(num_per_dataset)
    if len(counts) != len(datasets):
        raise ValueError(f"num_per_dataset should be a list of the same length as datasets, got {num_per_dataset!r}")
    if min(counts) < 0 or sum(counts) < 1:
        raise ValueError(f"num_per_dataset is {num_per_dataset!r}; a context has at least the query")
    if num_shots is not None and sum(counts) != num_shots + 1:
        raise ValueError(f"num_per_dataset sums to {sum(counts)}, and num_shots + 1 is {num_shots + 1}")
    return counts


def prepare_input(dataset_name: Any, batch: Sequence[Sequence[Any]], instruction: str | None = None) -> Any:
    """The conversations of a batch of contexts; with extra outputs of the retrievers, a tuple of both.

    `dataset_name` is one name, a list with one for each context, a list with one for each row of a context, or, where
    the two numbers are equal, a list of lists.
    """
    names = _names_by_row(dataset_name, batch)
    conversations: list[list[Any]] = []
    extras: list[list[tuple[Any, ...] | None]] = []
    for context, row_names in zip(batch, names, strict=True):
        messages: list[Any] = [] if instruction is None else [{"role": "instruction", "content": instruction}]
        rest: list[tuple[Any, ...] | None] = []
        for at, (item, name) in enumerate(zip(context, row_names, strict=True)):
            made = DATASET_RETRIEVER_MAPPING[name](item, at == len(context) - 1)
            if isinstance(made, tuple):
                messages += made[0]
                rest.append(tuple(made[1:]))
            else:
                messages += made
                rest.append(None)
        conversations.append(messages)
        extras.append(rest)
    return _with_extras(conversations, extras)


def _with_extras(conversations: list[list[Any]], extras: list[list[tuple[Any, ...] | None]]) -> Any:
    numbers = {None if rest is None else len(rest) for context in extras for rest in context}
    if numbers <= {None}:
        return conversations
    if len(numbers) != 1:
        raise RuntimeError("the retrievers gave different numbers of extra outputs for the rows of this batch")
    (number,) = numbers
    columns = [
        [[rest[at] for rest in context if rest is not None] for context in extras] for at in range(int(number or 0))
    ]
    return (conversations, *columns)


def _names_by_row(given: Any, batch: Sequence[Sequence[Any]]) -> list[list[str]]:
    if isinstance(given, str):
        names = [[given] * len(context) for context in batch]
    elif given and not isinstance(given[0], str):
        names = [list(row_names) for row_names in given]
        if [len(row_names) for row_names in names] != [len(context) for context in batch]:
            raise ValueError("the lists of names must have one list for each context, and in it a name for each row")
    else:
        names = _spread(list(given), batch)
    for name in dict.fromkeys(name for row_names in names for name in row_names):
        if name not in DATASET_RETRIEVER_MAPPING:
            raise ValueError(f"the retriever of {name!r} is not registered, use `register_dataset_retriever` first")
    return names


def _spread(names: list[str], batch: Sequence[Sequence[Any]]) -> list[list[str]]:
    per_context = len(names) == len(batch)
    per_row = all(len(names) == len(context) for context in batch)
    if per_context and per_row and len(set(names)) > 1:
        raise ValueError(
            f"{len(names)} names could be one for each context or one for each row of a context;"
            " write a list of lists, a name for each row of each context"
        )
    if per_context:
        return [[name] * len(context) for name, context in zip(names, batch, strict=True)]
    if per_row:
        return [list(names) for _ in batch]
    raise ValueError(
        f"{len(names)} dataset names for {len(batch)} contexts of {len(batch[0]) if batch else 0} rows;"
        " give one for each context or one for each row"
    )


def postprocess_generation(dataset: str, predictions: Any, stop_words: Sequence[str] | None = None) -> Any:
    """Predictions cut at the first stop word, stripped, and given to the registered post-process."""
    if dataset not in POSTPROCESS_MAPPING:
        raise ValueError(f"the post-process of {dataset!r} is not registered, use `register_postprocess` first")
    process = POSTPROCESS_MAPPING[dataset]
    if isinstance(predictions, str):
        return process(cut_at(predictions, stop_words or ()))
    return [process(cut_at(prediction, stop_words or ())) for prediction in predictions]
