"""A user's `ModelBase` subclass as a model: requests as conversations with images, generated in batches."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...code.userfiles import file_digest, split_reference
from ...core import (
    Image,
    Message,
    Model,
    Output,
    Request,
    Text,
    UnknownName,
    UsageError,
    as_output,
)
from ...media import decode_image
from ...models.function import FunctionModel
from ...registry import check_options
from ..shapes import Fields, Record
from .conversation import before_stop
from .testbed_loading import guest_for, own_classes

OPTIONS = {
    "max_tokens": "max_new_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repetition_penalty",
    "n": "num_return_sequences",
}
"""assay's generation options under the names that `generate` of `transformers` uses."""


def model(reference: str, args: Fields) -> Model | None:
    """Return the model of a testbed file; `None` if the file defines none and none was named."""
    from .testbed_model_bases import ModelBase

    file, attribute = split_reference(reference)
    path = Path(file).expanduser()
    module = guest_for(path).load(path)
    classes = own_classes(module, ModelBase)
    if attribute is None:
        if not classes:
            return None
        first = next(iter(classes))
        if len(classes) > 1:
            raise UsageError(
                f"it defines {', '.join(classes)}",
                where=file,
                fix=f"write {file}:{first}",
            )
        attribute = first
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UnknownName(
            "name",
            attribute,
            names,
            where=file,
            hint=f"it defines {', '.join(names)}",
        )
    thing = getattr(module, attribute)
    if isinstance(thing, ModelBase) or (
        inspect.isclass(thing) and issubclass(thing, ModelBase)
    ):
        return adapt(thing, reference, args, file_digest(path))
    return FunctionModel(thing, reference, args)


def adapt(
    thing: Any,
    reference: str,
    args: Fields,
    sha256: str = "",
) -> Model:
    """Return a `ModelBase` class or object as a model. A class is instantiated at the first request."""
    is_class = inspect.isclass(thing)
    kind = thing if is_class else type(thing)
    if is_class:
        check_options(kind, args, f"model {reference!r}")
    elif args:
        raise UsageError(
            f"model {reference!r} is built already and takes no options",
            fix="name its class",
        )
    declared = getattr(kind, "accepts", None)
    body = {
        "kind": staticmethod(
            (lambda **options: kind(**options)) if is_class else (lambda: thing)
        ),
        "accepts": frozenset(declared)
        if declared is not None
        else frozenset({"text", "image"}),
        "produces": frozenset({"text"}),
        "batch_size": getattr(thing, "batch_size", None) or 1,
        "identity": {
            "testbed": kind.__name__,
            "file": Path(split_reference(reference)[0]).name,
            "sha256": sha256,
        }
        | {"args": dict(args)},
    }
    adapter = type(kind.__name__, (_Adapter,), body)
    return FunctionModel(adapter, reference, args)


class _Adapter:
    """The object that `FunctionModel` builds and calls with batches of requests."""

    kind: Any

    def __init__(self, **args: object) -> None:
        self.model = self.kind(**args)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the answers of a batch. Requests with different options are asked one after another."""
        first = requests[0].options
        if any(request.options != first for request in requests):
            separate = []
            for request in requests:
                separate += self.generate([request])
            return separate

        conversations = [conversation(request) for request in requests]
        images = [_images_of(request) for request in requests]
        rendered = self.model._assay_rendered(conversations)
        inputs = (images, conversations) if any(images) else (conversations,)
        answers = list(self.model.generate(*inputs, **generate_options(requests[0])))
        if len(answers) != len(requests) * first.n:
            raise TypeError(
                f"generate was given {len(requests)} prompts and returned {len(answers)} texts"
            )
        outputs = []
        for index, text in enumerate(rendered):
            start = index * first.n
            candidates = []
            for answer in answers[start : start + first.n]:
                candidates.append(before_stop(answer, first.stop))
            output = as_output(candidates)
            outputs.append(replace(output, details={"rendered": text}))
        return outputs


def conversation(request: Request) -> list[Record]:
    """Return messages in the testbed's form: placeholders for images, and no content in the turn to write."""
    return [_turn(message) for message in request.prompt.messages]


def _images_of(request: Request) -> list[Any]:
    """Return the images of a prompt, decoded."""
    images = []
    for medium in request.prompt.media:
        if isinstance(medium, Image):
            images.append(decode_image(medium))
    return images


def _turn(message: Message) -> Record:
    if message.parts is None:
        return {"role": message.role}
    if all(isinstance(part, Text) for part in message.parts):
        return {"role": message.role, "content": message.text}
    pieces = []
    for part in message.parts:
        if isinstance(part, Text):
            pieces.append({"type": "text", "text": part.text})
        else:
            pieces.append({"type": part.kind})
    return {"role": message.role, "content": pieces}


def generate_options(request: Request) -> Record:
    """Return the options that were set, as `generate` of `transformers` takes them. Temperature 0 is greedy."""
    options = {}
    for name, value in request.options.given().items():
        if name in OPTIONS:
            options[OPTIONS[name]] = value
    if options.get("temperature") == 0:
        del options["temperature"]
        options["do_sample"] = False
    elif "temperature" in options or "top_p" in options or "top_k" in options:
        options["do_sample"] = True
    return options
