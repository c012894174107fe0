"""A template as TELEVAL renders it: every text that comes out is tried as JSON, and what is no number stays `nan`."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from .....rendering import PlainSandbox
from ...eras import SEED, Era


def as_upstream(template: Any, era: Era) -> Callable[[Mapping[str, Any]], Any]:
    """What makes a structure of a row."""
    environment = PlainSandbox(undefined=jinja2.StrictUndefined)

    def compiled(piece: Any) -> Callable[[Mapping[str, Any]], Any]:
        if isinstance(piece, str):
            text = environment.from_string(piece)
            return lambda row: _guessed(text.render({**row, "getvar": _getter(row, era)}))
        if isinstance(piece, dict):
            parts = {key: compiled(value) for key, value in piece.items()}
            return lambda row: {key: part(row) for key, part in parts.items()}
        if isinstance(piece, list):
            items = [compiled(item) for item in piece]
            return lambda row: [item(row) for item in items]
        return lambda row: piece

    return compiled(template)


def _guessed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _getter(row: Mapping[str, Any], era: Era) -> Callable[..., Any]:
    """A column that may be absent; the newest era takes no default and gives nothing for what is no number."""
    if era == SEED:
        return lambda name, default=None: row.get(name, default)

    def getvar(name: str) -> Any:
        value = row.get(name)
        return None if isinstance(value, float) and math.isnan(value) else value

    return getvar
