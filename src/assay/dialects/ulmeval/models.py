"""A guest's model class as a model of assay: one request is one prompt, its n candidates are the n images.

The class is looked at as it is written and built when it is first asked. Seeds come from the request's key: the images
of a prompt do not depend on what was drawn before it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...code.sources import digest_behind
from ...core import Abilities, Candidate, ModelError, Output, Prompt, Request, Sample
from ...models.answers import failure
from ...models.building import Builder
from .drawing import (
    HOOKS,
    as_medium,
    base_seed,
    checked,
    draw,
    is_image,
    seed_alike,
    seed_generators,
    seed_text,
)
from .facade.api.base import BaseAPI
from .facade.ulm.base import BaseModel
from .messages import as_prompt, check_types, prompt_entries
from .rows import Line

API_CALLS_AT_ONCE = 4
KNOWN_TYPES = frozenset({"text", "image", "video"})


def adapt(
    target: Any, name: str, args: Mapping[str, Any], file: Path | None
) -> "GuestModel":
    """The model of a class, a `partial` of one, or an object; API classes are asked many times at once."""
    kind = class_of(target)
    adapter = (
        GuestApi
        if getattr(kind, "is_api", False) or issubclass(kind, BaseAPI)
        else GuestModel
    )
    return adapter(target, name, args, file)


def class_of(target: Any) -> type:
    """The class behind a factory."""
    while isinstance(target, partial):
        target = target.func
    return target if isinstance(target, type) else type(target)


def is_model_class(thing: Any) -> bool:
    """Whether a class draws: it has `generate_inner`, a batch hook, or comes from the guest's base classes."""
    return isinstance(thing, type) and any(
        hasattr(thing, name) for name in ("generate_inner", *HOOKS)
    )


class GuestModel:
    """A model class with `generate_inner`, in a thread of its own."""

    prompt: Callable[[Sample, Prompt], Prompt | None]

    def __init__(
        self, target: Any, name: str, args: Mapping[str, Any], file: Path | None
    ) -> None:
        kind = class_of(target)
        self.name = name
        self._builder = Builder(target, args, name)
        if not callable(target):
            self._builder.built = target
        allowed = (
            frozenset(getattr(kind, "allowed_types", None) or ("text", "image"))
            & KNOWN_TYPES
        )
        self.abilities = Abilities(
            accepts=allowed,
            produces=frozenset({"image"}),
            interleaved=bool(getattr(kind, "INTERLEAVE", False)),
        )
        bound = dict(target.keywords) if isinstance(target, partial) else {}
        self.identity: Mapping[str, Any] = {
            "class": kind.__qualname__,
            "file": file.name if file else kind.__module__,
            "sha256": digest_behind(file, libraries=False) if file else "",
            "args": {**bound, **args},
        }
        if getattr(kind, "use_custom_prompt", None) not in (
            None,
            BaseModel.use_custom_prompt,
        ):
            self.prompt = self._own_prompt
        self._draws_itself = getattr(kind, "generate", None) not in (
            None,
            BaseModel.generate,
            BaseAPI.generate,
        )

    def load(self) -> None:
        """Builds the guest's class."""
        self._builder.build()

    def generate(self, requests: Sequence[Request]) -> Any:
        """The images of each request; what the guest raises is the failure of that request alone."""
        found = (
            seed_text()
        )  # once: `os.environ` is slow to say that it has no such name
        return [self._output(request, found) for request in requests]

    def _output(self, request: Request, found: str) -> Output:
        try:
            images = self._draw(request, found)
            return Output(tuple(Candidate((as_medium(image),)) for image in images))
        except Exception as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
            return failure(error, self.name)

    def _draw(self, request: Request, found: str) -> list[Any]:
        model = self._builder.build()
        entries = prompt_entries(request.prompt.messages)
        check_types(entries, model)
        dataset, n = request.hints.get("dataset"), request.options.n
        seed = (
            base_seed(found) if request.options.seed is None else request.options.seed
        )
        if request.hints.get("seeding") == "upstream":
            seed_alike(seed + request.repeat)
        else:
            seed_generators(f"{seed}:{request.draw or request.key}")
        if self._draws_itself:
            images = model.generate(entries, dataset=dataset, num_generations=n)
            return checked(images, n, f"{type(model).__name__}.generate")
        return draw(model, entries, dataset, n)

    def _own_prompt(self, sample: Sample, prompt: Prompt) -> Prompt | None:
        """The prompt by the model's own `build_prompt`, where it wants that for this benchmark."""
        line = sample.fields
        if not isinstance(line, Line):
            return None
        try:
            model, dataset = self._builder.build(), line.data.name
        except ModelError:
            return (
                None  # no row's fault: `load` says it once, before the first question
            )
        if not model.use_custom_prompt(dataset):
            return None
        if hasattr(model, "set_dump_image"):
            model.set_dump_image(line.data.dataset.dump_image)
        return as_prompt(model.build_prompt(line.data.line(sample), dataset=dataset))

    def close(self) -> Any:
        """Closes what the guest opened, if it can be closed."""
        built = self._builder.built
        return built.close() if hasattr(built, "close") else None


class GuestApi(GuestModel):
    """An API class whose `generate_inner` returns `(ret_code, image, log)`; one attempt, the scheduler tries again."""

    concurrency = API_CALLS_AT_ONCE

    def __init__(
        self, target: Any, name: str, args: Mapping[str, Any], file: Path | None
    ) -> None:
        super().__init__(target, name, args, file)
        self._drawn: dict[str, list[Any]] = {}
        """Images of requests that are not complete yet, so that another try asks only for the rest."""

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """The images of each request."""
        return [await asyncio.to_thread(self._attempt, request) for request in requests]

    def _attempt(self, request: Request) -> Output:
        try:
            model = self._builder.build()
            entries = prompt_entries(request.prompt.messages)
            check_types(entries, model)
            images = self._drawn.setdefault(request.key, [])
            settings = {
                **getattr(model, "default_kwargs", {}),
                "dataset": request.hints.get("dataset"),
            }
            while len(images) < request.options.n:
                code, image, log = model.generate_inner(
                    [dict(entry) for entry in entries], **settings
                )
                if code != 0:
                    return Output.failed(
                        "api", f"{type(model).__name__}: code {code}: {log}"
                    )
                if not is_image(image):
                    checked([image], 1, f"{type(model).__name__}.generate_inner")
                images.append(image)
        except Exception as error:  # noqa: BLE001 - a user's code: becomes the failure of one sample
            return failure(error, self.name)
        return Output(
            tuple(
                Candidate((as_medium(image),)) for image in self._drawn.pop(request.key)
            )
        )
