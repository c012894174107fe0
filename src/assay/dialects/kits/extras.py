"""Libraries that assay does not bring along: imported where they are used, named where they are missing."""

import importlib
from typing import Any

from ...core import MissingExtra


def library(module: str, what: str, extra: str) -> Any:
    """A module of a library; without it an error that says what it is for and how it is installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(what, extra) from error
