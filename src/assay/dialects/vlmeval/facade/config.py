"""`vlmeval.config`: where user files register their models by name."""

from collections.abc import Callable
from typing import Any

__all__ = ["supported_VLM"]

supported_VLM: dict[str, Callable[[], Any]] = {}
"""Name to a callable without arguments, as `partial(MyModel, path=…)`."""
