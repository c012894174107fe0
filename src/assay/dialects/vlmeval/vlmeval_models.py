"""Adapt users' VLMEvalKit model classes, with the early or the newer interface, to models of assay.

Early: `generate(image_path, prompt, dataset=None)`, `multi_generate(image_paths, prompt, dataset=None)`, and a
`build_prompt` that is always used. Newer: `generate_inner(message, dataset=None)`, and a `build_prompt` that is
used if `use_custom_prompt(dataset)` returns True. A class with `generate_inner` is a newer one.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import (
    Abilities,
    Image,
    Json,
    Media,
    Output,
    Prompt,
    Request,
    Sample,
    shorten,
)
from ..kits.message_lists import chat_list, flat_list, message_turns
from ..kits.row_images import (
    file_names,
    file_path,
    image_file_path,
    is_written,
    media_file,
)
from ..kits.toolkit import KitModel
from ..parameters import parameters_of
from ..request_models import ThreadedRequestModel
from ..shapes import Fields, Function
from .dataset_facts import IMAGE_FOLDERS, data_root
from .rules import chosen_rules
from .vlmeval_prompts import (
    IMAGE_LIST,
    list_details,
    with_names_for_unreadable,
)
from .vlmeval_rows import LineRow


def is_early_class(kind: type) -> bool:
    """Return True if a model class has only the early interface, `generate(image_path, prompt)`."""
    generate = getattr(kind, "generate", None)
    if callable(getattr(kind, "generate_inner", None)) or not callable(generate):
        return False
    return parameters_of(generate)[1:3] == ("image_path", "prompt")


class GuestModel(KitModel):
    """A user's model class as a model of assay, with the early or the newer interface."""

    batch_size = 1

    def __init__(
        self,
        target: object,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> None:
        super().__init__(target, name, args, file)
        kind = self.kind
        self.is_newer = callable(getattr(kind, "generate_inner", None))
        attribute = split_reference(name)[1] or kind.__name__
        self.identity = {**self.source, "attribute": attribute, "args": dict(args)}
        takes = set(getattr(kind, "allowed_types", ())) | (
            {"video"} if getattr(kind, "VIDEO_LLM", False) else set()
        )
        accepts = {"text", "image"} | ({"video"} & takes)
        self.abilities = Abilities(accepts=frozenset(accepts))
        self._takes_videos = bool(getattr(kind, "VIDEO_LLM", False))
        self._prompts_itself = self._builds_prompts()
        if self._prompts_itself or self._takes_videos:
            self.prompt = self._own_prompt

    def answer(self, model: object, request: Request) -> Output:
        """Return the answer of the user's object `model` to one request."""
        if self.is_newer:
            ask = self._ask_newer
        else:
            ask = self._ask_early
        return _read_answer(ask(model, request), self.name)

    def _ask_early(self, built: Any, request: Request) -> object:
        dataset = request.hints.get("dataset")
        if request.hints.get("type") == "MT":
            raise TypeError(
                f"the prompt is a dialogue and {type(built).__name__} has no chat_inner"
            )
        images = self._early_files(request)
        text = "\n".join(
            message.text for message in request.messages if message.parts is not None
        )
        ask = getattr(built, "multi_generate", None)
        if len(images) > 1 or (
            ask is not None and request.prompt.details.get(IMAGE_LIST)
        ):
            if ask is None:
                name = type(built).__name__
                raise TypeError(
                    f"the prompt has {len(images)} images and {name} has no multi_generate"
                )
            return _called(
                ask,
                ("image_paths", images),
                ("prompt", text),
                ("dataset", dataset),
            )
        path = images[0] if images else None
        return _called(
            built.generate,
            ("image_path", path),
            ("prompt", text),
            ("dataset", dataset),
        )

    def _early_files(self, request: Request) -> list[str]:
        """Return the paths of a prompt's images: `<index>.jpg` for a single image, the names in the row for several."""
        parts = []
        for message in request.messages:
            for part in message.parts or ():
                if isinstance(part, (Json, Media)):
                    parts.append(part)
        is_only = len(parts) == 1 and not request.prompt.details.get(IMAGE_LIST)
        files = []
        for number, part in enumerate(parts):
            if isinstance(part, Json):
                # A name that stands for an image; see `with_names_for_unreadable`.
                files.append(str(part.value["value"]))
            elif is_only:
                files.append(self._file(part, f"{request.id}.jpg", request))
            else:
                name = part.name or f"{request.id}_{number}.jpg"
                files.append(self._file(part, name, request))
        return files

    def _newer_file(self, request: Request) -> Callable[[Any], str]:
        """Return a function that writes one of a request's images or videos to a file and returns its path.

        A file name in the row is kept. Otherwise the name is `<index>.png`, or
        `<index>_<number>.png` if there are several images.
        """
        media = request.prompt.media
        names = file_names(request.id, len(media), (), ".png")
        name_of = {id(medium): name for medium, name in zip(media, names, strict=True)}

        def write(medium: Media) -> str:
            name = medium.name or name_of.get(id(medium), "")
            return self._file(medium, name, request)

        return write

    def _ask_newer(self, built: Any, request: Request) -> object:
        dataset = request.hints.get("dataset")
        spoken = [message for message in request.messages if message.parts is not None]
        is_dialogue = len(spoken) > 1 and any(
            message.role == "assistant" for message in spoken
        )
        if is_dialogue or request.hints.get("type") == "MT":
            if not callable(getattr(built, "chat_inner", None)):
                raise TypeError(
                    f"the prompt is a dialogue and {type(built).__name__} has no chat_inner"
                )
            return built.chat_inner(
                chat_list(spoken, self._newer_file(request)), dataset=dataset
            )
        message = flat_list(spoken, self._newer_file(request))
        if self._names_dataset:
            return built.generate_inner(message, dataset=dataset)
        return built.generate_inner(message)

    @cached_property
    def _names_dataset(self) -> bool:
        accepted = parameters_of(self.build().generate_inner)
        return "dataset" in accepted or "**" in accepted

    def _file(
        self,
        medium: Media,
        name: str,
        request: Request,
    ) -> str:
        """Return the path of the file of an image or video.

        A missing file is written first, under the name that VLMEvalKit would use.
        """
        if medium.name is not None and is_written(medium.name, medium):
            return str(medium.name)
        path = file_path(medium)
        if path is not None:
            return path
        dataset = request.hints.get("dataset")
        folder = data_root()
        has_name = isinstance(dataset, str) and name and not os.path.isabs(name)
        if not has_name or not isinstance(medium, Image):
            return media_file(medium, str(folder / "files"))
        rules = chosen_rules()
        if rules.writes_images_here and not self.is_newer:
            folder = Path()
        return image_file_path(
            medium,
            str(folder / "images" / IMAGE_FOLDERS[str(dataset)]),
            name,
            encodes=rules.encodes_images,
        )

    def _builds_prompts(self) -> bool:
        if not callable(getattr(self.kind, "build_prompt", None)):
            return False
        decides = getattr(self.kind, "use_custom_prompt", None)
        is_ours = decides is None or str(getattr(decides, "__module__", "")).startswith(
            "assay.dialects"
        )
        return not self.is_newer or not is_ours

    def _own_prompt(self, sample: Sample, prompt: Prompt) -> Prompt | None:
        """Return the prompt from the user's model, or None if the model uses the dataset's prompt."""
        row = sample.fields
        if not isinstance(row, LineRow):
            return None  # another kind of task: its rows are not lines of a TSV
        source = row.source
        if self._takes_videos and source.whole_video is not None:
            return replace(source.whole_video(sample), details={"prompt_by": "model"})
        if not self._prompts_itself or source.is_dialogue:
            return None
        built = self.built_for_prompt()
        if built is None:
            return None
        if self.is_newer:
            if getattr(
                source.dataset,
                "force_use_dataset_prompt",
                False,
            ) or not built.use_custom_prompt(source.name):
                return None
            if callable(getattr(built, "set_dump_image", None)):
                built.set_dump_image(
                    getattr(source.dataset, "dump_image", None) or source.dump_image
                )
        value = _called(
            built.build_prompt,
            ("line", row.line),
            ("dataset", source.name),
        )
        turns = message_turns(value, source.dumped)
        details = {"prompt_by": "model", **list_details(value)}
        return Prompt(with_names_for_unreadable(turns), details=details)

    def __repr__(self) -> str:
        return f"GuestModel({self.name!r})"


class GuestApiModel(ThreadedRequestModel, GuestModel):
    """A user's model class that calls an API. Several requests run at once, each in a thread."""


def _read_answer(value: object, reference: str) -> Output:
    """Convert the return value of a user's model to an output.

    Empty strings and 0 are answers. `(code, answer, log)` with a code other than 0 is a
    failure. Raise a `TypeError` with the model's name for any other type.
    """
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], int):
        code, answer, log = value
        if code != 0:
            return Output.failed(
                "api", f"{reference} returned code {code}: {shorten(log, 200)}"
            )
        value = answer
    if isinstance(value, str):
        return Output.of(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Output.of(str(value))
    raise TypeError(
        f"{reference} returned {shorten(value)}; it must return the answer as text"
    )


def _called(
    function: Function,
    *arguments: tuple[str, Any],
) -> object:
    """Call a user's method with (name, value) pairs. Pass them by keyword if it has all these parameters.

    Otherwise pass the values by position, as many as the method accepts.
    """
    accepted = parameters_of(function)
    keywords = dict(arguments)
    if "**" in accepted or keywords.keys() <= set(accepted):
        return function(**keywords)
    values = [value for _, value in arguments]
    if "*" not in accepted:
        values = values[: len(accepted)]
    return function(*values)


def is_model_class(kind: object) -> bool:
    """Return True if a class is a model: it has `generate` or `generate_inner`."""
    methods = (getattr(kind, name, None) for name in ("generate", "generate_inner"))
    return any(callable(method) for method in methods)
