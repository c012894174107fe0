"""`vlmeval.config`: where user files register their models by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["api_models", "partial", "supported_VLM"]

supported_VLM: dict[str, Callable[[], Any]] = {}
"""Name to a callable without arguments, as `partial(MyModel, path=…)`."""
api_models: dict[str, Callable[[], Any]] = {}
"""The same for models behind an API, as upstream groups them; a name counts once it is in `supported_VLM`."""
