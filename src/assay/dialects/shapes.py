"""Type names for the data that users' code and files exchange with assay."""

from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]
"""A read-only mapping with string keys: a row of data, a line of a file, keyword arguments, options."""
Record = dict[str, Any]
"""A dictionary with string keys that may be changed."""
MAPPINGS = (dict, Mapping)
"""Types for `isinstance` checks of mappings. `dict` comes first, because the abstract class is slow to check."""
Function = Callable[..., Any]
"""A user's function with an unknown signature."""
