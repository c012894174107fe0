"""Names for the plain data that users' code and files exchange with assay."""

from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]
"""Named values that are only read: a row of data, a line of a file, keyword arguments, options."""
Record = dict[str, Any]
"""Named values in a dictionary of their own, which may be changed."""
Function = Callable[..., Any]
"""A user's function with an unknown signature."""
