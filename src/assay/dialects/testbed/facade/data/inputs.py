"""From contexts to conversations: `prepare_input`, by our rule and by upstream's.

Ours: `is_last` by place, so that a shot equal to the query keeps its answer; a list of names that could mean contexts
or rows is refused. Upstream's: by equality, and a list as long as a context names contexts.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from ....protocol import is_upstream
from ...nearby import register_nearby
from .common import DATASET_RETRIEVER_MAPPING

Extras = list[tuple[Any, ...] | None]


def prepare_input(
    dataset_name: Any, batch: Sequence[Sequence[Any]], instruction: str | None = None
) -> Any:
    """The conversations of a batch of contexts; with extra outputs of the retrievers, a tuple of both.

    `dataset_name` is one name, a list with one for each context, a list with one for each row of a context, or, where
    the two numbers are equal, a list of lists.
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
        for at, (item, name) in enumerate(zip(context, names, strict=True)):
            is_last = (
                item == context[-1]
                if is_upstream("testbed")
                else at == len(context) - 1
            )
            retrieved = DATASET_RETRIEVER_MAPPING[name](item, is_last)
            messages += retrieved[0] if isinstance(retrieved, tuple) else retrieved
            rest.append(tuple(retrieved[1:]) if isinstance(retrieved, tuple) else None)
        conversations.append(messages)
        extras.append(rest)
    return _with_extras(conversations, extras)


def _named_contexts(
    dataset_names: Any, batch: Sequence[Sequence[Any]]
) -> Iterator[tuple[Sequence[Any], list[str]]]:
    if not is_upstream("testbed"):
        return zip(batch, _names_by_row(dataset_names, batch), strict=True)
    names = (
        [dataset_names] * len(batch)
        if isinstance(dataset_names, str)
        else list(dataset_names)
    )
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


def _with_extras(conversations: list[list[Any]], extras: list[Extras]) -> Any:
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
        [[rest[at] for rest in context if rest is not None] for context in extras]
        for at in range(int(number or 0))
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
    dataset_names: Any, batch: Sequence[Sequence[Any]]
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


def _spread(names: list[str], batch: Sequence[Sequence[Any]]) -> list[list[str]]:
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
