"""Type names for the data that users' code and files exchange with assay."""

from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]
"""A mapping by name that is only read: a row of data, a line of a file, keyword arguments, options."""
Record = dict[str, Any]
"""A dictionary by name that its owner may change."""
Function = Callable[..., Any]
"""A user's function with an unknown signature."""
