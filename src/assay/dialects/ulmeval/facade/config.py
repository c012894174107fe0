"""`ulmeval.config`: models by name. Guest files add theirs; every model that assay knows is there too."""

import asyncio
import inspect
import io
from collections.abc import Callable
from functools import partial
from typing import Any

from ....core import DEFAULT_OPTIONS, Model, Request, UnknownName, UsageError
from ....models import build_model
from ...kits.judging import is_known
from ..messages import as_prompt
from .ulm.base import BaseModel

__all__ = ["api_models", "partial", "supported_ULM"]


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
            raise UsageError(
                f"model {name!r} makes {kinds}, not images",
                fix="`assay ls models` says what each makes",
            )

    def batch_generate_inner(
        self, message: Any, dataset: str | None, num_generations: int
    ) -> list[Any]:
        """All images from one request."""
        from PIL import Image as pillow

        request = Request(as_prompt(message), DEFAULT_OPTIONS.set(n=num_generations))
        outputs = self._model.generate([request])
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


async def _awaited(outputs: Any) -> Any:
    return await outputs


class Supported(dict[str, Callable[..., Any]]):
    """Names to factories; a name that was not added is looked for among assay's own models."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        if is_known(name):
            return partial(CoreUlm, name)
        raise KeyError(
            f"no model {name!r} is registered in supported_ULM (there are: {', '.join(self) or 'none'}); "
            "add supported_ULM[name] = partial(Class, …), or use a name that `assay ls models` prints"
        )

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and is_known(name))


supported_ULM: Supported = Supported()
api_models: dict[str, Callable[..., Any]] = {}
