"""Adapt users' ULMEvalKit model classes to models of assay. A request has one prompt; its candidates are n images.

The class is inspected without creating an instance; the instance is built on first use.
Seeds are derived from the request key, so the images of a prompt do not depend on those
generated before.
"""

from functools import partial
from pathlib import Path
from typing import Any

from ...core import Abilities, Candidate, Output, Prompt, Request, Sample
from ..kits.message_content import check_types
from ..kits.toolkit import KitModel
from ..request_models import ThreadedRequestModel
from ..shapes import Fields
from .drawing_models import BaseAPI, BaseModel
from .ulmeval_drawing import (
    HOOKS,
    as_medium,
    as_prompt,
    base_seed,
    checked,
    draw,
    is_image,
    prompt_entries,
    seed_alike,
    seed_generators,
)
from .ulmeval_rows import Line

API_CALLS_AT_ONCE = 4
KNOWN_TYPES = frozenset({"text", "image", "video"})


def is_model_class(thing: object) -> bool:
    """Return True if a class generates images: it has `generate_inner` or a batch method."""
    return isinstance(thing, type) and any(
        hasattr(thing, name) for name in ("generate_inner", *HOOKS)
    )


class GuestModel(KitModel):
    """A user's model class that generates images, as a model of assay."""

    def __init__(
        self,
        target: object,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> None:
        super().__init__(target, name, args, file)
        kind = self.kind
        allowed = (
            frozenset(getattr(kind, "allowed_types", None) or ("text", "image"))
            & KNOWN_TYPES
        )
        self.abilities = Abilities(
            accepts=allowed,
            produces=frozenset({"image"}),
        )
        if isinstance(target, partial):
            bound = dict(target.keywords)
        else:
            bound = {}
        self.identity = {
            **self.source,
            "class": kind.__qualname__,
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

    def answer(self, model: object, request: Request) -> Output:
        """Return the images that the user's object `model` generates for one request."""
        images = self._draw(model, request)
        return Output(tuple(Candidate((as_medium(image),)) for image in images))

    def _draw(self, model: Any, request: Request) -> list[Any]:
        entries = prompt_entries(request.prompt.messages)
        check_types(entries, model)
        dataset = request.hints.get("dataset")
        n = request.options.n
        seed = request.options.seed
        if seed is None:
            seed = base_seed()

        if request.hints.get("seeding") == "upstream":
            seed_alike(seed + request.repeat)
        else:
            seed_generators(f"{seed}:{request.draw or request.key}")
        if self._draws_itself:
            images = model.generate(
                entries,
                dataset=dataset,
                num_generations=n,
            )
            return checked(images, n, f"{type(model).__name__}.generate")
        return draw(model, entries, dataset, n)

    def _own_prompt(self, sample: Sample, prompt: Prompt) -> Prompt | None:
        """Return the prompt from the user's model, or None if the model uses the benchmark's prompt."""
        line = sample.fields
        if not isinstance(line, Line):
            return None
        data = line.data
        model = self.built_for_prompt()
        if model is None or not model.use_custom_prompt(data.name):
            return None

        if hasattr(model, "set_dump_image"):
            model.set_dump_image(data.dataset.dump_image)
        own_prompt = model.build_prompt(data.line(sample), dataset=data.name)
        return as_prompt(own_prompt)


class GuestApi(ThreadedRequestModel, GuestModel):
    """A user's API class, whose `generate_inner` returns `(ret_code, image, log)`, as a model of assay.

    A request makes one attempt per image; the scheduler retries.
    """

    concurrency = API_CALLS_AT_ONCE

    def __init__(
        self,
        target: object,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> None:
        super().__init__(target, name, args, file)
        self._drawn: dict[str, list[Any]] = {}
        """Images of requests that are not complete yet, so that a retry asks only for the rest."""

    def answer(self, model: Any, request: Request) -> Output:
        """Return the images of one request.

        If one cannot be generated, return the failed output. A retry generates only the
        missing images.
        """
        entries = prompt_entries(request.prompt.messages)
        check_types(entries, model)
        images = self._drawn.setdefault(request.key, [])
        settings = dict(getattr(model, "default_kwargs", {}))
        settings["dataset"] = request.hints.get("dataset")
        class_name = type(model).__name__
        while len(images) < request.options.n:
            message = [dict(entry) for entry in entries]
            code, image, log = model.generate_inner(message, **settings)
            if code != 0:
                return Output.failed("api", f"{class_name}: code {code}: {log}")
            if not is_image(image):
                checked([image], 1, f"{class_name}.generate_inner")
            images.append(image)

        candidates = []
        for image in self._drawn.pop(request.key):
            medium = as_medium(image)
            candidates.append(Candidate((medium,)))
        return Output(tuple(candidates))
