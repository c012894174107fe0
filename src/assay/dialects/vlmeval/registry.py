"""The registry in which user files put their models by name, as in `vlmeval.config`."""

from collections.abc import Callable
from functools import partial
from typing import Any


class SupportedModels(dict[str, Callable[[], Any]]):
    """Models by name; an unregistered name is looked up in the checkout around the working folder."""

    def __missing__(self, name: str) -> Callable[[], Any]:
        from .classes import TOOLKIT
        from .loading import load_guest

        checkout = TOOLKIT.checkout()
        defined = checkout.model(name) if checkout is not None else None
        if defined is None:
            raise KeyError(name)
        kind = getattr(load_guest(defined.file), defined.cls)
        return partial(kind, **defined.arguments)


supported_VLM: dict[str, Callable[[], Any]] = SupportedModels()
"""Name to a callable without arguments, as `partial(MyModel, path=…)`."""
api_models: dict[str, Callable[[], Any]] = {}
"""The same for models behind an API, as upstream groups them; a name counts once it is in `supported_VLM`."""
