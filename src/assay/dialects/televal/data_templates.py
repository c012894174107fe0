"""`DataTemplate`: Jinja templates that convert a row to messages or a dialogue."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial

import jinja2
from jinja2 import meta, pass_context
from jinja2.runtime import Context
from jinja2.utils import missing

from ...core import shorten
from ...rendering import PlainSandbox, plain_values
from ..protocol import is_upstream
from ..shapes import Fields, Function
from .eras import SEED, Era, era_here
from .structures import decoded, encoded

STRUCTURAL = frozenset({"dialogue", "content", "instruct", "nrounds"})
"""Keys of a template whose rendered text may be JSON, which is then parsed."""
Renderer = Callable[[Fields], object]
"""A function that renders a template, or a part of it, for a row."""
_ONE_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


class DataTemplate:
    """A template for one question (a list of roles with content) or for a dialogue (`nrounds` and `dialogue`)."""

    def __init__(self, template: object) -> None:
        self.template = template
        self._is_upstream = is_upstream("televal")
        self._era = era_here()
        for text in _texts_in(template):
            # Report invalid Jinja now, rather than when a row is read.
            _compiled(text, self._is_upstream)

    def load(self, **row: object) -> object:
        """Render the template for one row. For a missing column, raise a `ValueError` that lists the row's columns."""
        return self.renderer()(row)

    def renderer(self) -> Renderer:
        """Return a function that renders the template for a row, and is faster for many rows than `load`.

        A missing column raises the same error as in `load`.
        """
        template = self.template
        if isinstance(template, str) and not self._is_upstream:
            fill: Renderer = partial(_whole, template)
        else:
            fill = self._prepared(template)

        def render(row: Fields) -> object:
            try:
                return fill(row)
            except jinja2.UndefinedError as error:
                columns = ", ".join(map(str, row))
                raise ValueError(
                    f"{error.message}; the row has the columns {columns}"
                ) from error

        return render

    def _prepared(
        self,
        piece: object,
        key: str = "",
    ) -> Renderer:
        """Prepare one value inside the template. `key` is its key in the surrounding mapping; empty in a list."""
        if isinstance(piece, str):
            return self._prepared_text(piece, key)
        if isinstance(piece, list):
            items = [self._prepared(item) for item in piece]
            return lambda row: [render(row) for render in items]
        if isinstance(piece, Mapping):
            values = {
                name: self._prepared(value, str(name)) for name, value in piece.items()
            }
            return lambda row: {name: render(row) for name, render in values.items()}
        return lambda row: piece

    def _prepared_text(
        self,
        text: str,
        key: str,
    ) -> Renderer:
        """Prepare a string in the template. Under the keys in `STRUCTURAL`, JSON is parsed."""
        if self._is_upstream:
            return partial(_by_upstream, text, self._era)
        render = _text_renderer(text)
        if key not in STRUCTURAL:
            return render
        return lambda row: _structure_in(render(row))


def _texts_in(piece: object) -> Iterator[str]:
    """Yield all strings in a template."""
    if isinstance(piece, str):
        yield piece
    elif isinstance(piece, Mapping):
        for part in piece.values():
            yield from _texts_in(part)
    elif isinstance(piece, list):
        for part in piece:
            yield from _texts_in(part)


@lru_cache(maxsize=1024)
def _compiled(
    text: str,
    as_upstream: bool = False,
) -> tuple[jinja2.Template, frozenset[str]]:
    """Compile a Jinja template, and return it with the names of its variables."""
    environment = _environment(as_upstream)
    names = meta.find_undeclared_variables(environment.parse(text))
    return environment.from_string(text), frozenset(names)


@lru_cache(maxsize=2)
def _environment(as_upstream: bool) -> PlainSandbox:
    environment = PlainSandbox(undefined=jinja2.StrictUndefined)
    if as_upstream:
        return environment
    environment.globals["getvar"] = _getvar
    # References that must all occur are tuples; plain JSON would turn them into alternatives.
    environment.policies["json.dumps_function"] = lambda value, **options: json.dumps(
        encoded(value), **options
    )
    return environment


@pass_context
def _getvar(
    context: Context,
    name: str,
    default: object = None,
) -> object:
    """Return the value of a column that may be missing in a row: the `getvar` of templates. NaN becomes None."""
    value = context.resolve_or_missing(name)
    if value is missing or callable(value):
        return default
    return _none_for_nan(value)


def _none_for_nan(value: object) -> object:
    """Replace NaN, the missing value of tables, by None. Other values are returned unchanged."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _text_renderer(text: str) -> Callable[[Fields], str | None]:
    """Return a function that renders a string template for a row.

    A template that is only `{{ column }}` returns the column's value as text, or None
    if the value is missing.
    """
    if "{" not in text:
        return lambda row: text
    match = _ONE_VARIABLE.fullmatch(text.strip())
    if match is None:
        return partial(_by_jinja, text)
    column = match[1]

    def read_column(row: Fields) -> str | None:
        if column not in row:
            raise jinja2.UndefinedError(f"{column!r} is undefined")
        value = row[column]
        if type(value) is str:
            return value
        known_value = _none_for_nan(value)
        return None if known_value is None else str(known_value)

    return read_column


def _structure_in(text: str | None) -> object:
    """Return the structure in a rendered text if it is JSON; otherwise the text unchanged."""
    if text is None:
        return None
    try:
        return decoded(json.loads(text))
    except ValueError:
        return text


def _by_jinja(
    text: str,
    row: Fields,
) -> str:
    """Render a Jinja string with the columns in it, or with all columns if it uses `getvar`."""
    template, names = _compiled(text)
    columns: Iterable[str] = names
    if "getvar" in text:
        columns = row
    values = {}
    for name in columns:
        if name in row:
            values[name] = _none_for_nan(row[name])
    return template.render(plain_values(values))


def _whole(
    text: str,
    row: Fields,
) -> object:
    """Render a template that is a single string. The result must be JSON: a list of roles, or a dialogue."""
    rendered = _by_jinja(text, row)
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


def _by_upstream(
    text: str,
    era: Era,
    row: Fields,
) -> object:
    """Render a string as TELEVAL does: parse the result as JSON if possible, and keep NaN."""
    template, _ = _compiled(text, as_upstream=True)
    rendered = template.render({**row, "getvar": _upstream_getvar(row, era)})
    try:
        return json.loads(rendered)
    except json.JSONDecodeError:
        return rendered


def _upstream_getvar(
    row: Fields,
    era: Era,
) -> Function:
    """Return upstream's function `getvar` for optional columns.

    In upstream's newest revision, `getvar` takes no default and converts NaN to None.
    """
    if era == SEED:
        return lambda name, default=None: row.get(name, default)
    return lambda name: _none_for_nan(row.get(name))
