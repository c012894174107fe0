"""The functions of `testbed.data`: make loaders of contexts, build conversations, post-process predictions."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ..protocol import is_upstream
from .context_loaders import (
    MADE,
    PASSED_ON,
    Collate,
    ConcatSampler,
    ContextLoader,
    MultiBatchSampler,
    chunk_loader,
)
from .conversation import cut_at
from .data_registry import (
    DATASET_RETRIEVER_MAPPING,
    POSTPROCESS_MAPPING,
    REGISTERED,
    register,
    register_dataset_retriever,
    register_postprocess,
)
from .testbed_loading import register_nearby

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

register()
REGISTERED.clear()  # Shipped functions were not registered by a user's file.


def prepare_dataloader(
    datasets: object,
    batch_size: int,
    num_shots: int | None = None,
    num_per_dataset: int | Sequence[int] | None = None,
    collate_fn: Collate | None = None,
    samplers: object = None,
    *,
    sampler: object = None,
    **options: Any,
) -> object:
    """Return a loader that yields batches of contexts. A context has `num_shots + 1` rows; the last is the query.

    Without samplers, each row of the last dataset is the query once, for any number of
    shots. Under upstream's rules, rows are cut into chunks in order.
    """
    # A list of rows is one dataset; any other list contains datasets.
    if isinstance(datasets, (list, tuple)) and not (
        datasets and isinstance(datasets[0], Mapping)
    ):
        several = list(datasets)
    else:
        several = [datasets]
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    chosen = samplers if sampler is None else [sampler]
    if chosen is not None and not isinstance(chosen, (list, tuple)):
        chosen = [chosen]
    if chosen is not None and len(chosen) != len(several):
        raise ValueError(
            f"samplers should be a list of the same length as datasets: {len(chosen)} for {len(several)}"
        )
    counts = _counts(len(several), num_shots, num_per_dataset)
    if not is_upstream("testbed"):
        for name in options.keys() - {"shuffle", "drop_last", "seed"}:
            if name not in PASSED_ON:
                raise TypeError(f"prepare_dataloader has no option {name!r}")
            del options[name]
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
    make = chunk_loader if is_upstream("testbed") else ContextLoader
    loader = make(
        several,
        counts,
        batch_size,
        samplers=chosen,
        collate_fn=collate_fn,
        **options,
    )
    MADE.append(loader)
    return loader


def _counts(
    size: int,
    num_shots: int | None,
    num_per_dataset: int | Sequence[int] | None,
) -> list[int]:
    """Return the number of rows in a context from each of `size` datasets. Raise for contradictory arguments."""
    if num_per_dataset is None:
        if num_shots is None:
            raise ValueError("num_shots and num_per_dataset cannot both be None")
        if size > 1:
            raise ValueError(
                f"{size} datasets need num_per_dataset, how many rows each gives to a context"
            )
        return [num_shots + 1]
    if isinstance(num_per_dataset, int):
        counts = [num_per_dataset]
    else:
        counts = list(num_per_dataset)
    if len(counts) != size:
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
    dataset_name: str,
    predictions: str | Sequence[str],
    stop_words: Sequence[str] | None = None,
) -> object:
    """Cut predictions at the first stop word, strip them, and apply the registered postprocessing function.

    Under upstream's rules, an empty list of stop words, or an empty stop word, makes
    every prediction empty.
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

    def read(prediction: str) -> object:
        return process("" if stops_at_once else cut_at(prediction, stop_words or ()))

    if isinstance(predictions, str):
        return read(predictions)
    return [read(prediction) for prediction in predictions]


Row = Any
"""A row of a user's dataset, in the type that the user's retriever expects."""


def prepare_input(
    dataset_name: object,
    batch: Sequence[Sequence[Row]],
    instruction: str | None = None,
) -> object:
    """Return the conversations of a batch of contexts. If retrievers also return images, return a tuple with them.

    `dataset_name` may be one name for all rows, a list with a name for each context, or
    a list with a name for each row of a context. If both numbers are equal, a list of
    lists is required.
    """
    follows_upstream = is_upstream("testbed")
    names_of = _names_as_upstream if follows_upstream else _names_by_row
    conversations: list[list[Any]] = []
    extras: list[list[tuple[Any, ...] | None]] = []
    for context, names in zip(batch, names_of(dataset_name, batch), strict=False):
        messages: list[Any] = []
        if instruction is not None:
            messages.append({"role": "instruction", "content": instruction})
        rest: list[tuple[Any, ...] | None] = []
        for index, (item, name) in enumerate(zip(context, names, strict=True)):
            is_last = index == len(context) - 1
            if follows_upstream:
                is_last = item == context[-1]
            retrieved = DATASET_RETRIEVER_MAPPING[name](item, is_last)
            if isinstance(retrieved, tuple):
                messages += retrieved[0]
                rest.append(retrieved[1:])
            else:
                messages += retrieved
                rest.append(None)
        conversations.append(messages)
        extras.append(rest)
    return _with_extras(conversations, extras)


def _with_extras(
    conversations: list[list[Any]],
    extras: list[list[tuple[Any, ...] | None]],
) -> object:
    """Return the conversations. If retrievers return further values such as images, add a list of them for each."""
    sizes = {None if rest is None else len(rest) for row in extras for rest in row}
    if is_upstream("testbed"):
        # Upstream checks only the first context, and allows a mix of rows with and without extras.
        if not extras or all(rest is None for rest in extras[0]):
            return conversations
        sizes.discard(None)
    if sizes <= {None}:
        return conversations
    if len(sizes) != 1:
        raise RuntimeError(
            "the retrievers gave different numbers of extra outputs for the rows of this batch"
        )
    columns = [
        [[rest[index] for rest in row if rest is not None] for row in extras]
        for index in range(sizes.pop() or 0)
    ]
    return (conversations, *columns)


def _names_as_upstream(
    dataset_names: Any,
    batch: Sequence[Sequence[Row]],
) -> list[list[str]]:
    """Return the dataset name of each row by upstream's rule.

    A list has one name for each context. However, upstream requires the length of the
    list to be the number of rows in a context.
    """
    if isinstance(dataset_names, str):
        names = [dataset_names] * len(batch)
    else:
        names = list(dataset_names)
        if len(names) != len(batch[0]):
            raise ValueError(
                f"{len(names)} dataset names for contexts of {len(batch[0])} rows"
            )
    _check_known(names)
    annotations = {
        repr(inspect.signature(DATASET_RETRIEVER_MAPPING[name]).return_annotation)
        for name in names
    }
    if len(annotations) > 1:
        raise ValueError(
            f"the retrievers of {', '.join(names)} are annotated to return different types"
        )
    return [[name] * len(context) for name, context in zip(names, batch, strict=False)]


def _names_by_row(
    dataset_names: Any,
    batch: Sequence[Sequence[Row]],
) -> list[list[str]]:
    """Return the dataset of each row. Raise if a list of names is ambiguous."""
    sizes = [len(context) for context in batch]
    if isinstance(dataset_names, str):
        dataset_names = [dataset_names] * len(batch)
        is_for_rows = False
    else:
        is_for_rows = all(len(dataset_names) == size for size in sizes)
    is_for_contexts = len(dataset_names) == len(batch)
    if dataset_names and not isinstance(dataset_names[0], str):
        names = [list(names_of_context) for names_of_context in dataset_names]
        if [len(names_of_context) for names_of_context in names] != sizes:
            raise ValueError(
                "the lists of names must have one list for each context, and in it a name for each row"
            )
    elif is_for_contexts and is_for_rows and len(set(dataset_names)) > 1:
        raise ValueError(
            f"{len(dataset_names)} names could be one for each context or one for each row of a context;"
            " write a list of lists, a name for each row of each context"
        )
    elif is_for_contexts:
        names = [[name] * size for name, size in zip(dataset_names, sizes, strict=True)]
    elif is_for_rows:
        names = [list(dataset_names) for _ in batch]
    else:
        raise ValueError(
            f"{len(dataset_names)} dataset names for {len(batch)} contexts of {max(sizes, default=0)} rows;"
            " give one for each context or one for each row"
        )
    _check_known([name for names_of_context in names for name in names_of_context])
    return names


def _check_known(names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        register_nearby(name, name in DATASET_RETRIEVER_MAPPING)
        if name not in DATASET_RETRIEVER_MAPPING:
            raise ValueError(
                f"the retriever of {name!r} is not registered, use `register_dataset_retriever` first"
            )
