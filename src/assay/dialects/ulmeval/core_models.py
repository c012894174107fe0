"""Assay's own models under ULMEvalKit's interface: `supported_ULM["openai/…"]()`, drawn with `generate`."""

import asyncio
import inspect
import io
from typing import Any

from ...core import DEFAULT_OPTIONS, Model, Request, UnknownName, UsageError
from ...models import build_model
from .facade.ulm.base import BaseModel
from .messages import as_prompt


class CoreUlm(BaseModel):
    """A model of assay that makes images, as a guest's script uses it."""

    INTERLEAVE = True

    def __init__(self, name: str, **args: Any) -> None:
        super().__init__()
        self.name = name
        try:
            self._model: Model = build_model(name, args)
        except UnknownName as error:
            raise KeyError(str(error)) from error
        if "image" not in self._model.abilities.produces:
            kinds = ", ".join(sorted(self._model.abilities.produces))
            raise UsageError(f"model {name!r} makes {kinds}, not images", fix="`assay ls models` says what each makes")

    def batch_generate_inner(self, message: Any, dataset: str | None, num_generations: int) -> list[Any]:
        """All images from one request."""
        from PIL import Image as pillow

        request = Request(as_prompt(message), DEFAULT_OPTIONS.set(n=num_generations))
        outputs = self._model.generate([request])
        output = (asyncio.run(_awaited(outputs)) if inspect.isawaitable(outputs) else outputs)[0]
        if output.error is not None:
            raise RuntimeError(f"{self.name}: {output.error.kind}: {output.error.message}")
        media = [medium for candidate in output.candidates for medium in candidate.media]
        return [pillow.open(io.BytesIO(medium.data())) for medium in media]


async def _awaited(outputs: Any) -> Any:
    return await outputs
