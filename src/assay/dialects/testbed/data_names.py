"""The functions of `testbed.data`: from rows to contexts, to conversations, and from predictions to answers."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..protocol import is_upstream
from .context_loaders import (
    PASSED_ON,
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
from .nearby import register_nearby

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
REGISTERED.clear()  # What ships does not count as registered by a user's file.


def prepare_dataloader(
    datasets: Any,
    batch_size: int,
    num_shots: int | None = None,
    num_per_dataset: int | Sequence[int] | None = None,
    collate_fn: Callable[[list[list[Any]]], Any] | None = None,
    samplers: object = None,
    **kwargs: Any,
) -> Any:
    """Return a loader of batches of contexts, each of `num_shots + 1` rows with the query last.

    Without samplers every row of the last dataset is the query once, for any number of shots. With upstream's rule,
    rows are cut into chunks in their order.
    """
    if is_upstream("testbed"):
        return chunk_loader(
            datasets,
            batch_size,
            num_shots,
            num_per_dataset,
            collate_fn,
            samplers,
            **kwargs,
        )
    # A list holds datasets, unless it holds rows: then it is one dataset.
    holds_datasets = isinstance(datasets, (list, tuple)) and not (
        datasets and isinstance(datasets[0], Mapping)
    )
    if holds_datasets:
        several = list(datasets)
    else:
        several = [datasets]
    sampler = kwargs.pop("sampler", None)
    if sampler is not None and samplers is not None:
        raise ValueError("sampler and samplers cannot be given together")
    if isinstance(samplers, (list, tuple)) or samplers is None:
        chosen = samplers
    else:
        chosen = [samplers]
    if sampler is not None:
        chosen = [sampler]
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
        several,
        counts,
        batch_size,
        samplers=chosen,
        collate_fn=collate_fn,
        **settings,
    )


def _counts(
    datasets: Sequence[Any],
    num_shots: int | None,
    num_per_dataset: Any,
) -> list[int]:
    if num_shots is None and num_per_dataset is None:
        raise ValueError("num_shots and num_per_dataset cannot both be None")
    if num_per_dataset is None:
        if len(datasets) > 1:
            raise ValueError(
                f"{len(datasets)} datasets need num_per_dataset, how many rows each gives to a context"
            )
        return [int(num_shots or 0) + 1]
    if isinstance(num_per_dataset, int):
        counts = [num_per_dataset]
    else:
        counts = list(num_per_dataset)
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
    dataset_name: str,
    predictions: Any,
    stop_words: Sequence[str] | None = None,
) -> Any:
    """Cut predictions at the first stop word, strip them, and apply the registered post-process.

    With upstream's rule, a list of stop words that is empty, or contains an empty one, empties every prediction.
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

    if isinstance(predictions, str):
        return read(predictions)
    return [read(prediction) for prediction in predictions]


Extras = list[tuple[Any, ...] | None]


def prepare_input(
    dataset_name: object,
    batch: Sequence[Sequence[Any]],
    instruction: str | None = None,
) -> Any:
    """Return the conversations of a batch of contexts, as a tuple with the retrievers' extra outputs if there are any.

    `dataset_name` is one name; a list with a name for each context; a list with a name for each row of a context;
    or a list of lists, which is needed if there are as many contexts as rows in a context.
    """
    conversations: list[list[Any]] = []
    extras: list[Extras] = []
    for context, names in _named_contexts(dataset_name, batch):
        messages: list[Any] = (
            []
            if instruction is None
            else [{"role": "instruction", "content": instruction}]
        )
        rest: Extras = []
        for index, (item, name) in enumerate(zip(context, names, strict=True)):
            if is_upstream("testbed"):
                is_last = item == context[-1]
            else:
                is_last = index == len(context) - 1
            retrieved = DATASET_RETRIEVER_MAPPING[name](item, is_last)
            messages += retrieved[0] if isinstance(retrieved, tuple) else retrieved
            rest.append(tuple(retrieved[1:]) if isinstance(retrieved, tuple) else None)
        conversations.append(messages)
        extras.append(rest)
    return _with_extras(conversations, extras)


def _named_contexts(
    dataset_names: Any,
    batch: Sequence[Sequence[Any]],
) -> Iterator[tuple[Sequence[Any], list[str]]]:
    if not is_upstream("testbed"):
        return zip(batch, _names_by_row(dataset_names, batch), strict=True)
    if isinstance(dataset_names, str):
        names = [dataset_names] * len(batch)
    else:
        names = list(dataset_names)
    if not isinstance(dataset_names, str) and len(names) != len(batch[0]):
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
    return (
        (context, [name] * len(context))
        for name, context in zip(names, batch, strict=False)
    )


def _with_extras(
    conversations: list[list[Any]],
    extras: list[Extras],
) -> Any:
    numbers = {
        None if rest is None else len(rest) for context in extras for rest in context
    }
    if is_upstream("testbed"):
        if not extras or not any(rest is not None for rest in extras[0]):
            return conversations
        numbers -= {None}
    if numbers <= {None}:
        return conversations
    if len(numbers) != 1:
        raise RuntimeError(
            "the retrievers gave different numbers of extra outputs for the rows of this batch"
        )
    (number,) = numbers
    columns = [
        [[rest[index] for rest in context if rest is not None] for context in extras]
        for index in range(int(number or 0))
    ]
    return (conversations, *columns)


def _check_known(names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        register_nearby(name, name in DATASET_RETRIEVER_MAPPING)
        if name not in DATASET_RETRIEVER_MAPPING:
            raise ValueError(
                f"the retriever of {name!r} is not registered, use `register_dataset_retriever` first"
            )


def _names_by_row(
    dataset_names: Any,
    batch: Sequence[Sequence[Any]],
) -> list[list[str]]:
    if isinstance(dataset_names, str):
        names = [[dataset_names] * len(context) for context in batch]
    elif dataset_names and not isinstance(dataset_names[0], str):
        names = [list(row_names) for row_names in dataset_names]
        if [len(row_names) for row_names in names] != [
            len(context) for context in batch
        ]:
            raise ValueError(
                "the lists of names must have one list for each context, and in it a name for each row"
            )
    else:
        names = _spread(list(dataset_names), batch)
    _check_known([name for row_names in names for name in row_names])
    return names


def _spread(
    names: list[str],
    batch: Sequence[Sequence[Any]],
) -> list[list[str]]:
    per_context = len(names) == len(batch)
    per_row = all(len(names) == len(context) for context in batch)
    if per_context and per_row and len(set(names)) > 1:
        raise ValueError(
            f"{len(names)} names could be one for each context or one for each row of a context;"
            " write a list of lists, a name for each row of each context"
        )
    if per_context:
        return [
            [name] * len(context) for name, context in zip(names, batch, strict=True)
        ]
    if per_row:
        return [list(names) for _ in batch]
    raise ValueError(
        f"{len(names)} dataset names for {len(batch)} contexts of {len(batch[0]) if batch else 0} rows;"
        " give one for each context or one for each row"
    )
