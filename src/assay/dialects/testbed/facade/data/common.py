"""`testbed.data.common`: registering retrievers and post-processes, and helpers of loading scripts."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DATASET_RETRIEVER_MAPPING: dict[str, Callable[..., Any]] = {}
POSTPROCESS_MAPPING: dict[str, Callable[..., Any]] = {}

REGISTERED: list[tuple[str, str, Callable[..., Any]]] = []
"""Every registration in order, as kind, name and function: whoever loads a file learns what that file registered."""

_SPLIT_NAMES = {"val": "validation", "valid": "validation"}


def register_dataset_retriever(
    dataset_name: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for `retriever(item, is_last)`, which turns a row into a conversation."""
    return _registers(
        "retriever", dataset_name, DATASET_RETRIEVER_MAPPING, ("item", "is_last")
    )


def register_postprocess(
    dataset_name: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for `postprocess(text)`, which turns a prediction into what is evaluated."""
    return _registers("postprocess", dataset_name, POSTPROCESS_MAPPING, ("text",))


def _registers(
    kind: str, name: str, mapping: dict[str, Callable[..., Any]], takes: tuple[str, ...]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        count = len(inspect.signature(function).parameters)
        if count != len(takes):
            raise TypeError(
                f"the {kind} of {name!r} takes {count} parameters; it must take {len(takes)}: ({', '.join(takes)})"
            )
        mapping[name] = function
        REGISTERED.append((kind, name, function))
        return function

    return register


def most_common_from_dict(dct: Iterable[Mapping[str, Any]]) -> Any:
    """The most frequent `answer` of a list of annotations; of equally frequent ones the first."""
    answers = [entry["answer"] for entry in dct]
    return max(dict.fromkeys(answers), key=answers.count)


def split_generators(
    expand_path_fn: Callable[[str, str], Path | list[Path]],
    type_split_file_dict: Mapping[str, Mapping[str, Any]],
    verbose: bool = True,
) -> list[Any]:
    """The split generators of a loading script; a split one of whose files is missing is left out with a warning.

    `_generate_examples` gets `split` and, for each type of file, `<type>_path`: `None` where the split has none.
    """
    import datasets

    names = list(
        dict.fromkeys(
            split for files in type_split_file_dict.values() for split in files
        )
    )
    found, lacking = [], []
    for split in names:
        paths = {
            kind: expand_path_fn(kind, split)
            for kind, files in type_split_file_dict.items()
            if split in files
        }
        missing = [
            path
            for files in paths.values()
            for path in _as_list(files)
            if not Path(path).exists()
        ]
        if missing:
            lacking += missing
            if verbose:
                warnings.warn(
                    f"{missing[0]} does not exist: the split {split!r} is left out",
                    stacklevel=2,
                )
            continue
        arguments = {f"{kind}_path": paths.get(kind) for kind in type_split_file_dict}
        name = _SPLIT_NAMES.get(split, split)
        found.append(
            datasets.SplitGenerator(name=name, gen_kwargs={"split": split, **arguments})
        )
    if not found:
        raise FileNotFoundError(
            f"no split can be loaded, for these files are missing: {', '.join(map(str, lacking))}"
        )
    return found


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]
