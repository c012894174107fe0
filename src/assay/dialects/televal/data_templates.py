"""`DataTemplate`: Jinja templates that turn a row into messages or a dialogue."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import jinja2
from jinja2 import meta, pass_context
from jinja2.runtime import Context
from jinja2.utils import missing

from ...core import shorten
from ...rendering import PlainSandbox, plain_values
from ..protocol import is_upstream
from ..shapes import Fields, Function, Record
from .eras import SEED, Era, era_here
from .structures import decoded, encoded

Row = Fields
Render = Callable[[Row], Any]
"""A function that renders a structure from a row."""

STRUCTURAL = frozenset({"dialogue", "content", "instruct", "nrounds"})
_ONE_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


@lru_cache(maxsize=1)
def _environment() -> PlainSandbox:
    environment = PlainSandbox(undefined=jinja2.StrictUndefined)
    environment.globals["getvar"] = _getvar
    # References that must all occur are tuples; plain JSON would turn them into alternatives.
    environment.policies["json.dumps_function"] = lambda value, **options: json.dumps(
        encoded(value), **options
    )
    return environment


class DataTemplate:
    """A template of one turn (a list of roles with content) or of a dialogue (`nrounds` and `dialogue`)."""

    def __init__(self, template: object) -> None:
        self.template = template
        if is_upstream("televal"):
            self._render = _compile(template, _upstream_leaf(era_here()))
        else:
            self._render = (
                _whole(template)
                if isinstance(template, str)
                else _compile(template, _leaf)
            )

    def load(self, **row: object) -> Any:
        """Render the structure for one row. For a missing column, raise a `ValueError` that lists the row's columns."""
        return self.render(row)

    def render(self, row: Row) -> Any:
        """Render the structure for one row, given as a mapping. Missing columns raise the same error as in `load`."""
        try:
            return self._render(row)
        except jinja2.UndefinedError as error:
            raise ValueError(
                f"{error.message}; the row has the columns {', '.join(map(str, row))}"
            ) from error


def _compile(
    piece: object,
    leaf: Callable[[str, str], Render],
    place: str = "",
) -> Render:
    """Compile a structure of mappings, lists and texts. `leaf` compiles a text; it also receives the text's key."""
    if isinstance(piece, str):
        return leaf(piece, place)
    if isinstance(piece, Mapping):
        parts = {}
        for key, value in piece.items():
            parts[key] = _compile(value, leaf, str(key))
        return partial(_render_mapping, parts)
    if isinstance(piece, list):
        items = [_compile(item, leaf) for item in piece]
        return partial(_render_list, items)
    return lambda row: piece


def _render_mapping(
    parts: Mapping[Any, Render],
    row: Row,
) -> dict[Any, Any]:
    return {key: render(row) for key, render in parts.items()}


def _render_list(
    items: Iterable[Render],
    row: Row,
) -> list[Any]:
    return [render(row) for render in items]


def _leaf(text: str, place: str) -> Render:
    if place in STRUCTURAL:
        return _structure(text)
    return _text(text)


def _upstream_leaf(era: Era) -> Callable[[str, str], Render]:
    """Compile a text as TELEVAL renders it: the result is parsed as JSON if possible, and `nan` is kept."""
    environment = PlainSandbox(undefined=jinja2.StrictUndefined)

    def leaf(text: str, place: str) -> Render:
        template = environment.from_string(text)

        def render(row: Row) -> Any:
            rendered = template.render({**row, "getvar": _upstream_getvar(row, era)})
            try:
                return json.loads(rendered)
            except json.JSONDecodeError:
                return rendered

        return render

    return leaf


def _upstream_getvar(row: Row, era: Era) -> Function:
    """Return upstream's `getvar` for optional columns.

    In the newest revision it takes no default and maps NaN to None.
    """
    if era == SEED:
        return lambda name, default=None: row.get(name, default)
    return lambda name: _without_gap(row.get(name))


def _without_gap(value: object) -> Any:
    """Return a value, with None for NaN, which tables use for a missing value."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _text(text: str) -> Render:
    """Compile a text. A single column is passed on unchanged: text as text, None as None."""
    if "{" not in text:
        return lambda row: text
    alone = _ONE_VARIABLE.fullmatch(text.strip())
    if alone is not None:
        return _column(alone[1])
    return _rendering(text)


def _rendering(text: str) -> Callable[[Row], str]:
    """Compile a Jinja text over plain values: of the columns that it names, or of all columns if it uses `getvar`."""
    template = _environment().from_string(text)
    names = meta.find_undeclared_variables(_environment().parse(text))
    if "getvar" in text:
        return lambda row: template.render(plain_values(_known(row, row)))
    return lambda row: template.render(plain_values(_known(row, names)))


def _known(
    row: Row,
    names: Iterable[str],
) -> Record:
    """Return the values of the columns that a row has."""
    return {name: _without_gap(row[name]) for name in names if name in row}


def _column(name: str) -> Render:
    def read(row: Row) -> Any:
        try:
            value = row[name]
        except KeyError:
            raise jinja2.UndefinedError(f"{name!r} is undefined") from None
        if value is None or type(value) is str:
            return value
        if _without_gap(value) is None:
            return None
        return str(value)

    return read


def _structure(text: str) -> Render:
    """Compile a text where a structure is expected; text that is not JSON stays text."""
    render = _text(text)

    def read(row: Row) -> Any:
        text = render(row)
        try:
            if isinstance(text, str):
                return decoded(json.loads(text))
            return text
        except ValueError:
            return text

    return read


def _whole(text: str) -> Render:
    """Compile a template that is one text and must render to a structure in JSON."""
    render = _rendering(text)

    def read(row: Row) -> Any:
        rendered = render(row)
        try:
            structure = decoded(json.loads(rendered))
        except ValueError as error:
            raise ValueError(
                f"the template does not render to JSON: {error}; it gave {shorten(rendered)}"
            ) from error
        if not isinstance(structure, (dict, list)):
            raise ValueError(
                f"the template must render to a list of roles or a dialogue, not {shorten(structure)}"
            )
        return structure

    return read


@pass_context
def _getvar(
    context: Context,
    name: str,
    default: object = None,
) -> Any:
    """Return an optional column, with None for NaN."""
    value = context.resolve_or_missing(name)
    if value is missing or callable(value):
        return default
    return _without_gap(value)
