"""Retrievers and postprocessing functions by name: those that user files register, and the shipped ones."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..shapes import Fields, Function, Record
from .testbed_words import stemmed, words_of

DATASET_RETRIEVER_MAPPING: dict[str, Function] = {}
POSTPROCESS_MAPPING: dict[str, Function] = {}

REGISTERED: list[tuple[str, str, Function]] = []
"""All registrations in order: kind, name and function. Entries added while a file runs are the file's own."""

SPLIT_NAMES = {"val": "validation", "valid": "validation"}


def register_dataset_retriever(
    dataset_name: str,
    retriever: Function | None = None,
) -> Function:
    """Register `retriever(item, is_last)`, which turns a row into a conversation.

    Use it as a decorator. As in the testbed's first revisions, the function may also be
    the second argument.
    """
    takes = ("item", "is_last")
    register = partial(_register, "retriever", dataset_name, takes)
    return register if retriever is None else register(retriever)


def register_postprocess(
    dataset_name: str,
    postprocess: Function | None = None,
) -> Function:
    """Register `postprocess(text)`, which prepares a prediction for the comparison with the target.

    Use it as a decorator, or pass the function as the second argument.
    """
    register = partial(_register, "postprocess", dataset_name, ("text",))
    return register if postprocess is None else register(postprocess)


def _register(
    kind: str,
    name: str,
    takes: tuple[str, ...],
    function: Function,
) -> Function:
    """Register a function for a dataset. Raise if the number of its parameters is wrong."""
    count = len(inspect.signature(function).parameters)
    if count != len(takes):
        required = f"{len(takes)}: ({', '.join(takes)})"
        raise TypeError(
            f"the {kind} of {name!r} takes {count} parameters; it must take {required}"
        )
    is_retriever = kind == "retriever"
    mapping = DATASET_RETRIEVER_MAPPING if is_retriever else POSTPROCESS_MAPPING
    mapping[name] = function
    REGISTERED.append((kind, name, function))
    return function


def most_common_from_dict(dct: Iterable[Fields]) -> object:
    """Return the most frequent `answer` in a list of annotations. In a tie, return the first one."""
    answers = [entry["answer"] for entry in dct]
    return max(dict.fromkeys(answers), key=answers.count)


def split_generators(
    expand_path_fn: Callable[[str, str], Path | list[Path]],
    type_split_file_dict: Mapping[str, Fields],
    verbose: bool = True,
) -> list[Any]:
    """Return the split generators of a loading script. If a file is missing, skip its split with a warning.

    Each generator passes `split` to `_generate_examples`, and a path `<type>_path` for
    each type of file. The path is `None` if the split has no such file.
    """
    import datasets

    names = list(
        dict.fromkeys(
            split for files in type_split_file_dict.values() for split in files
        )
    )
    generators, missing_files = [], []
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
            missing_files += missing
            if verbose:
                warnings.warn(
                    f"{missing[0]} does not exist: the split {split!r} is left out",
                    stacklevel=2,
                )
            continue
        arguments = {f"{kind}_path": paths.get(kind) for kind in type_split_file_dict}
        name = SPLIT_NAMES.get(split, split)
        generators.append(
            datasets.SplitGenerator(
                name=name,
                gen_kwargs={"split": split, **arguments},
            )
        )
    if not generators:
        raise FileNotFoundError(
            f"no split can be loaded, for these files are missing: {', '.join(map(str, missing_files))}"
        )
    return generators


def _as_list(value: object) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    return [value]


Row = Fields
_HATEFUL = frozenset({"yes", "y", "hateful", "hate"})
_BENIGN = frozenset({"no", "n", "non-hateful", "benign"})


def visual_question(item: Row, is_last: bool) -> tuple[list[Record], Any]:
    """Build the conversation and image of a row with a question about the image and a short answer."""
    turns = [
        _images(1),
        _text("question", item["question"]),
        _answer("answer", is_last, item, "answer"),
    ]
    return turns, item["image"]


def caption(item: Row, is_last: bool) -> tuple[list[Record], Any]:
    """Build the conversation and image of a row with an image and its caption."""
    return [_images(1), _answer("caption", is_last, item, "caption")], item["image"]


def hateful_meme(item: Row, is_last: bool) -> tuple[list[Record], Any]:
    """Build the conversation and image of a row with a meme, with the answer to whether it is hateful."""
    question = f'is an image with written "{item["text"]}" on it. Is it hateful?'
    if is_last:
        row = {}
    else:
        row = {"verdict": "yes" if item["label"] == 1 else "no"}
    return [
        _images(1),
        _text("question", question),
        _answer("answer", is_last, row, "verdict"),
    ], item["img"]


def lettered_question(item: Row, is_last: bool) -> tuple[list[Record], Any]:
    """Build the conversation and images of a row with a question, four choices, and a letter as answer."""
    images = item["image"]
    choices = " ".join(
        f"{letter.upper()}. {item[f'choice_{letter}']}" for letter in "abcd"
    )
    turns = [
        _images(len(images) if isinstance(images, (list, tuple)) else 1),
        _text("question", item["question"]),
        _text("choices", choices, "Answer with the letter."),
        _answer("answer", is_last, item, "answer"),
    ]
    return turns, images


def unchanged(text: str) -> str:
    """Postprocessing function that returns the prediction unchanged."""
    return text


def is_hateful(text: str) -> int:
    """Postprocessing function that returns 1 if "yes" comes before "no" in a prediction, otherwise 0."""
    for word in words_of(text.lower()):
        if word in _HATEFUL:
            return 1
        if word in _BENIGN:
            return 0
    return 0


def _images(count: int) -> Record:
    return {"role": "image", "content": [{"type": "image"} for _ in range(count)]}


def _text(role: str, *texts: str) -> Record:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def _answer(
    role: str,
    is_last: bool,
    item: Row,
    column: str,
) -> Record:
    if is_last:
        return {"role": role}
    return _text(role, item[column])


SHIPPED: Mapping[str, tuple[Function, Function]] = {
    **dict.fromkeys(("vqav2", "ocr_vqa"), (visual_question, unchanged)),
    "ok_vqa": (visual_question, stemmed),
    **dict.fromkeys(("coco", "flickr"), (caption, unchanged)),
    "hateful_memes": (hateful_meme, is_hateful),
    "seed_bench": (lettered_question, unchanged),
}
"""Retriever and postprocessing function of each dataset, by the name of its folder."""


def register() -> None:
    """Register the retriever and the postprocessing function of each shipped dataset."""
    for name, (retriever, postprocess) in SHIPPED.items():
        register_dataset_retriever(name, retriever)
        register_postprocess(name, postprocess)
