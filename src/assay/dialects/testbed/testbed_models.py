"""Use a `ModelBase` subclass in a user's file as a model, which gets batches of conversations and images.

For `mine.py:MyModel`, `model` loads the file, and `adapt` declares a class of its own for `FunctionModel`:

    class MyModel(_Adapter): build = MyModel of the file; accepts, batch_size, identity = …

At the first request, `FunctionModel` makes an object of it, which builds the user's model. Then it calls
`_Adapter.generate` for each batch.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...code.userfiles import file_digest, split_reference
from ...core import (
    GenerateOptions,
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
"""assay's generation options, each with its name in `generate` of `transformers`."""


def model(reference: str, args: Fields) -> Model | None:
    """Return the model of a testbed file; `None` if the file defines none and the model reference selects none."""
    from .testbed_model_bases import ModelBase

    file, attribute = split_reference(reference)
    path = Path(file).expanduser()
    module = guest_for(path).load(path)
    if attribute is None:
        classes = list(own_classes(module, ModelBase))
        if not classes:
            return None
        attribute = classes[0]
        if len(classes) > 1:
            raise UsageError(
                f"it defines {', '.join(classes)}",
                where=file,
                fix=f"write {file}:{attribute}",
            )
    target = getattr(module, attribute, None)
    if target is None:
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UnknownName(
            "name",
            attribute,
            names,
            where=file,
            hint=f"it defines {', '.join(names)}",
        )
    if issubclass(_class_of(target), ModelBase):
        return adapt(target, reference, args, file_digest(path))
    return FunctionModel(target, reference, args)


def _class_of(target: object) -> type:
    """Return `target` if it is a class, otherwise the class of this object."""
    return target if isinstance(target, type) else type(target)


def adapt(
    target: Any,
    reference: str,
    args: Fields,
    sha256: str = "",
) -> Model:
    """Wrap a `ModelBase` class or object as a model of assay. A class is instantiated at the first request."""
    kind = _class_of(target)
    if kind is target:
        check_options(kind, args, f"model {reference!r}")
        build: Any = kind
    elif args:
        raise UsageError(
            f"model {reference!r} is built already and takes no options",
            fix="name its class",
        )
    else:
        build = staticmethod(lambda: target)
    accepts = getattr(kind, "accepts", None)
    if accepts is None:
        accepts = {"text", "image"}
    # `FunctionModel` reads these before it makes an object, so they are attributes of the class.
    attributes = {
        "build": build,
        "accepts": frozenset(accepts),
        "batch_size": getattr(target, "batch_size", None) or 1,
        "identity": {
            "testbed": kind.__name__,
            "file": Path(split_reference(reference)[0]).name,
            "sha256": sha256,
            "args": dict(args),
        },
    }
    adapter = type(kind.__name__, (_Adapter,), attributes)
    return FunctionModel(adapter, reference, args)


class _Adapter:
    """Wraps a user's model class for `FunctionModel`, which passes it batches of requests."""

    build: Any
    """The user's class, or a function that creates the user's object."""
    produces = frozenset({"text"})

    def __init__(self, **args: object) -> None:
        self.model = self.build(**args)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the answers of a batch.

        If options differ between requests, the model is called for one request at a
        time.
        """
        options = requests[0].options
        if any(request.options != options for request in requests):
            return [self.generate([request])[0] for request in requests]

        conversations = [conversation(request) for request in requests]
        images = [_images(request) for request in requests]
        rendered_prompts = self.model._assay_rendered(conversations)
        inputs = (images, conversations) if any(images) else (conversations,)
        answers = list(self.model.generate(*inputs, **generate_options(options)))
        if len(answers) != len(requests) * options.n:
            raise TypeError(
                f"generate was given {len(requests)} prompts and returned {len(answers)} texts"
            )
        outputs = []
        for index, rendered in enumerate(rendered_prompts):
            start = index * options.n
            answers_of_prompt = answers[start : start + options.n]
            candidates = [before_stop(text, options.stop) for text in answers_of_prompt]
            output = as_output(candidates)
            outputs.append(replace(output, details={"rendered": rendered}))
        return outputs


def _images(request: Request) -> list[Any]:
    """Return the decoded images of a request."""
    media = request.prompt.media
    return [decode_image(medium) for medium in media if isinstance(medium, Image)]


def conversation(request: Request) -> list[Record]:
    """Convert messages to the testbed's form: images become placeholders, and the model's turn has no content."""
    return [_turn(message) for message in request.prompt.messages]


def _turn(message: Message) -> Record:
    """Convert one message. The content is a string, or a list of parts if it has images."""
    if message.parts is None:
        return {"role": message.role}
    if all(isinstance(part, Text) for part in message.parts):
        return {"role": message.role, "content": message.text}
    pieces = []
    for part in message.parts:
        piece = {"type": part.kind}
        if isinstance(part, Text):
            piece["text"] = part.text
        pieces.append(piece)
    return {"role": message.role, "content": pieces}


def generate_options(options: GenerateOptions) -> Record:
    """Return arguments for `generate` of `transformers` from the options that were set. Temperature 0 means greedy."""
    named: Record = {}
    for name, value in options.given().items():
        if name in OPTIONS:
            named[OPTIONS[name]] = value
    if named.get("temperature") == 0:
        del named["temperature"]
        named["do_sample"] = False
    elif named.keys() & {"temperature", "top_p", "top_k"}:
        named["do_sample"] = True
    return named
