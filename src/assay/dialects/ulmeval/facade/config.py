"""`ulmeval.config`: models by name. Guest files add theirs; every model that assay knows is there too."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...kits.judging import is_known
from ..core_models import CoreUlm

__all__ = ["api_models", "partial", "supported_ULM"]


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
