"""The model a guest file defines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import Model
from .loading import load_guest
from .models import adapt


def model_of(reference: str, args: Mapping[str, Any]) -> Model | None:
    """`file.py:Class`, `file.py:registered-name`, or `file.py` with one model in it; `None` if it defines none."""
    path, name = split_reference(reference)
    if not path.endswith(".py"):
        return None
    found = load_guest(path).model(name)
    if found is None:
        return None
    return adapt(found[1], reference, args, Path(path).expanduser())
