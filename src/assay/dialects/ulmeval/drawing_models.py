"""Base classes of users' models that generate images, text models behind an endpoint, and the registry of models."""

import asyncio
import inspect
import io
import warnings
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from ...core import DEFAULT_OPTIONS, Model, Output, Request, UnknownName, UsageError
from ...models import build_model
from ..kits.api_calls import ApiCalls
from ..kits.judging import Judge, assay_name, is_known
from ..kits.message_content import Entries, MessageModel, joined_text, values_of
from ..kits.state import as_upstream
from ..shapes import Function, Record
from .ulmeval_drawing import (
    as_entries,
    as_prompt,
    base_seed,
    draw,
    seed_alike,
    seed_call,
)


class BaseModel(MessageModel):
    """Base of models that generate images.

    Subclasses define `generate_inner(message, dataset=None) -> PIL.Image`, and
    optionally a batch method for n images.
    """

    INTERLEAVE: ClassVar[bool] = False
    allowed_types: ClassVar[list[str]] = ["text", "image"]

    def generate(
        self,
        message: object,
        dataset: str | None = None,
        num_generations: int = 1,
    ) -> list[Any]:
        """Return a list of `num_generations` images for a message: text, a dict, or a list of strings or dicts.

        Data URLs, existing paths and http(s) URLs with a media suffix are read as images.
        Random generators are seeded from `$SEED` (default 42), the message, and the
        number of earlier calls with the same message.
        """
        entries = self._assay_entries(message)
        if as_upstream():
            seed_alike(base_seed())
        else:
            seed_call(entries, dataset, num_generations)
        return draw(self, entries, dataset, num_generations)

    def _assay_read(self, message: object) -> Entries:
        return as_entries(message)

    def message_to_promptimg(
        self,
        message: list[dict[str, str]],
        dataset: str | None = None,
    ) -> tuple[str, str | None]:
        """Return a message's texts as one string, and its first image, for models that accept only these."""
        images = values_of(message, "image")
        if len(images) > 1:
            warnings.warn(
                f"{type(self).__name__} takes the first of {len(images)} images",
                stacklevel=2,
            )
        return joined_text(message), images[0] if images else None


class BaseAPI(ApiCalls):
    """Base of models behind an API. Answers may be images.

    Subclasses define `generate_inner(inputs, **kwargs) -> (ret_code, answer, log)`.
    """

    def _assay_read(self, message: object) -> Entries:
        return as_entries(message)


class OpenAIWrapper(BaseAPI):
    """A text model by name: `openai/…`, `file.py:fn` and so on. Any other name is a model at `$OPENAI_BASE_URL`.

    In a run, the journal stores its answers: a question is not sent twice, and an
    interrupted evaluation resumes.
    """

    def __init__(
        self,
        model: str = "gpt-4o",
        retry: int = 5,
        **kwargs: Any,
    ) -> None:
        options: Record = {
            name: kwargs.pop(name)
            for name in ("temperature", "max_tokens")
            if name in kwargs
        }
        super().__init__(
            retry=retry,
            **kwargs,
        )
        self.model = model
        self._assay_judge = Judge(assay_name(model), options)

    def generate_inner(  # type: ignore[override]  # one question, without a dataset, as upstream has it
        self,
        inputs: object,
        **kwargs: object,
    ) -> tuple[int, Any, Any]:
        """Return code, answer and log for one question. assay has already retried errors that may be temporary."""
        output = self._assay_judge.ask(
            as_prompt(inputs).messages,
            self.system_prompt,
            kwargs,
        )
        if output.error is not None:
            return -1, None, f"{output.error.kind}: {output.error.message}"
        return 0, output.text, "answered"


class CoreUlm(BaseModel):
    """One of assay's own models that generate images, with the interface that users' ULMEvalKit scripts expect."""

    INTERLEAVE = True

    def __init__(self, name: str, **args: object) -> None:
        super().__init__()
        self.name = name
        try:
            self._assay_model: Model = build_model(name, args)
        except UnknownName as error:
            raise KeyError(str(error)) from error
        if "image" not in self._assay_model.abilities.produces:
            kinds = ", ".join(sorted(self._assay_model.abilities.produces))
            raise UsageError(
                f"model {name!r} makes {kinds}, not images",
                fix="`assay ls models` says what each makes",
            )

    def batch_generate_inner(
        self,
        message: object,
        dataset: str | None,
        num_generations: int,
    ) -> list[Any]:
        """Return `num_generations` images from one request."""
        from PIL import Image as pillow

        request = Request(as_prompt(message), DEFAULT_OPTIONS.set(n=num_generations))
        outputs = self._assay_model.generate([request])
        output = (
            asyncio.run(_awaited(outputs)) if inspect.isawaitable(outputs) else outputs
        )[0]
        if output.error is not None:
            raise RuntimeError(
                f"{self.name}: {output.error.kind}: {output.error.message}"
            )
        media = [
            medium for candidate in output.candidates for medium in candidate.media
        ]
        return [pillow.open(io.BytesIO(medium.data())) for medium in media]


async def _awaited(outputs: Awaitable[Sequence[Output]]) -> Sequence[Output]:
    return await outputs


class Supported(dict[str, Callable[..., Any]]):
    """Functions that create a model, by name; an unknown name is looked up among assay's own models."""

    def __missing__(self, name: str) -> Function:
        if is_known(name):
            return partial(CoreUlm, name)
        raise KeyError(
            f"no model {name!r} is registered in supported_ULM (there are: {', '.join(self) or 'none'}); "
            "add supported_ULM[name] = partial(Class, …), or use a name that `assay ls models` prints"
        )

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and is_known(name))


supported_ULM: Supported = Supported()
api_models: dict[str, Function] = {}
