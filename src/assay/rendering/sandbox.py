"""The sandbox of templates: JSON values, an allowlist of their attributes, and limits.

A template can use only the attributes that are listed here for each type. All Jinja in
assay is rendered in it, including that of the compatibility layers.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.filters import FILTERS
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Namespace
from jinja2.visitor import NodeTransformer

from . import limits
from .limits import MAX_WIDTH, STEP, RunawayTemplate, spend, spend_on

_STR = frozenset({
    "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format", "format_map", "index",
    "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle",
    "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind",
    "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase",
    "title", "upper", "zfill",
})  # fmt: skip
_DICT = frozenset({"get", "items", "keys", "values"})
_SEQUENCE = frozenset({"count", "index"})
_LOOP = frozenset(
    {
        "index",
        "index0",
        "revindex",
        "revindex0",
        "first",
        "last",
        "length",
        "depth",
        "depth0",
        "previtem",
        "nextitem",
        "cycle",
        "changed",
    }
)
ALLOWED: Mapping[type, frozenset[str]] = {
    str: _STR,
    dict: _DICT,
    list: _SEQUENCE,
    tuple: _SEQUENCE,
    int: frozenset({"bit_length"}),
    float: frozenset({"is_integer"}),
    LoopContext: _LOOP,
    Cycler: frozenset({"next", "reset", "current"}),
    Macro: frozenset({"name", "arguments", "caller"}),
}
"""The attributes of each type that a template may use. Values of other types have none."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
_COUNTED, _JOINED = "stepped_", "concatenated_"
"""Names of two filters that the compiler inserts into templates, for loops and for `~`.

A template may also call them itself, but gains nothing: they only charge its budget.
"""


class _Charged(NodeTransformer):
    """A Jinja code generator that inserts filters. The filters charge the budget for
    the steps of loops and for `~`.
    """

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Compile a `for` loop so that each of its steps is charged to the budget."""
        node = self.generic_visit(node)  # type: ignore[assignment]
        node.iter = nodes.Filter(
            node.iter,
            _COUNTED,
            [],
            [],
            None,
            None,
            lineno=node.lineno,
        )
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Compile `a ~ b` to a filter that joins a list, because a filter can check the length of the result."""
        node = self.generic_visit(node)  # type: ignore[assignment]
        pieces = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(pieces, _JOINED, [], [], None, None, lineno=node.lineno)


class _LimitedTemplate(jinja2.Template):
    def render(self, *args: object, **kwargs: object) -> str:
        """Return the text of the template, rendered within its own budget."""
        return limits.render_limited(
            lambda: super(_LimitedTemplate, self).render(*args, **kwargs)
        )


class PlainSandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment in which templates can use only JSON values and their allowed attributes."""

    template_class = _LimitedTemplate
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    concat = staticmethod(limits.join_pieces)  # type: ignore[assignment]

    def __init__(self, **options: object) -> None:
        super().__init__(
            autoescape=False,
            finalize=limits.charge_output,
            **options,
        )
        del self.globals["lipsum"]
        self.filters = {
            name: _charge_filter(name, function) for name, function in FILTERS.items()
        }
        self.filters |= {_COUNTED: limits.charge_steps, _JOINED: limits.concatenate}

    def make_globals(
        self,
        d: MutableMapping[str, Any] | None,
    ) -> MutableMapping[str, Any]:
        """Return the names that a template finds besides its variables.

        Jinja's own `ChainMap` takes long to copy, and every rendering copies it.
        """
        return {**self.globals, **(d or {})}

    def _parse(
        self,
        source: str,
        name: str | None,
        filename: str | None,
    ) -> nodes.Template:
        parsed: nodes.Template = _Charged().visit(
            super()._parse(source, name, filename)
        )
        return parsed

    def is_safe_attribute(
        self,
        obj: object,
        attr: str,
        value: object,
    ) -> bool:
        """Return True for allowed attributes, names in a template's own namespace, and fields of named tuples."""
        if isinstance(obj, Namespace):
            return not attr.startswith("_")
        if isinstance(obj, tuple) and attr in getattr(obj, "_fields", ()):
            return True
        kind = str if isinstance(obj, str) else type(obj)
        return attr in ALLOWED.get(kind, ())

    def getattr(self, obj: object, attribute: str) -> object:
        """Return an attribute, or the value of a dictionary key.

        A key takes precedence over a method that templates may not use.
        """
        if type(obj) is dict and attribute not in _DICT and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def call_binop(
        self,
        context: Context,
        operator: str,
        left: object,
        right: object,
    ) -> object:
        """Apply an operator, after charging the budget for its output."""
        limits.check_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return a replacement for `str.format` with limited widths."""
        inner = super().wrap_str_format(value)
        if inner is None:
            return None

        @wraps(inner)
        def bounded(*args: object, **kwargs: object) -> str:
            limits.check_format(value.__self__, [args, kwargs])
            return inner(*args, **kwargs)

        return bounded

    def call(
        __self,
        __context: Context,
        __obj: object,
        *args: object,
        **kwargs: object,
    ) -> object:
        """Call a function, after charging the budget for its arguments."""
        spend(4 * STEP)
        text = getattr(__obj, "__self__", None)
        if isinstance(text, str):
            name = getattr(__obj, "__name__", "")
            args = _charge_method(text, name, args, kwargs)
        return super().call(__context, __obj, *args, **kwargs)


def _charge_method(
    text: str,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Charge the budget for a call to a string method. Return its arguments, with iterators converted to lists."""
    spend(len(text))
    if name == "join" and args:
        items = list(limits.charge_steps(iter(args[0])))
        args = (items, *args[1:])
        spend(len(text) * len(items))
    size = sum(map(spend_on, (*args, *kwargs.values())))
    if name in _PADDING:
        width = args[0] if args else None
        if isinstance(width, int):
            spend(max(width, 0))
    elif name == "expandtabs":
        if args:
            width = args[0]
        else:
            width = kwargs.get("tabsize", 8)
        if isinstance(width, int):
            size = text.count("\t") * width
        spend(size)
    elif name == "replace" and len(args) > 1:
        old, new = args[:2]
        if isinstance(old, str) and isinstance(new, str):
            count = args[2:3]
            spend(limits.replaced_size(text, old, new, *count))
    return args


def _charge_filter(
    name: str,
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a Jinja filter that charges the budget for its input and its output."""
    skipped = int(hasattr(function, "jinja_pass_arg"))
    check = _GROWING.get(name)

    @wraps(function)
    def charged(*args: object, **kwargs: object) -> object:
        for value in (*args[skipped:], *kwargs.values()):
            spend_on(value)
        if check is not None:
            args = (
                *args[:skipped],
                check(args[skipped], *args[skipped + 1 :], **kwargs),
                *args[skipped + 1 :],
            )
        return function(*args, **kwargs)

    return charged


def _charge_width(
    value: object,
    width: object = 0,
    *rest: object,
    **named: object,
) -> object:
    """Charge the budget for a filter that takes a width or a count, such as `center` or `batch`."""
    for number in (width, *named.values()):
        if isinstance(number, int):
            if number > MAX_WIDTH:
                raise RunawayTemplate
            spend(max(number, 0))
    return value


def _charge_indent(
    value: object,
    width: object = 4,
    *rest: object,
    **named: object,
) -> object:
    width = named.get("width", width)
    size = 0
    if isinstance(width, str):
        size = len(width)
    elif isinstance(width, int):
        size = width
    lines = str(value).count("\n") + 1
    spend(lines * max(size, 0))
    return value


def _charge_join(
    value: Iterable[object],
    d: object = "",
    attribute: object = None,
) -> list[object]:
    items = [*limits.charge_steps(iter(value))]
    spend(len(str(d)) * len(items))
    spend_on(items)
    return items


def _charge_replace(
    value: object,
    old: object,
    new: object,
    count: object = None,
) -> object:
    most = count if isinstance(count, int) else -1
    spend(limits.replaced_size(str(value), str(old), str(new), most))
    return value


def _charge_format(
    value: object,
    *args: object,
    **kwargs: object,
) -> object:
    limits.check_percent(str(value), kwargs or args)
    return value


def _charge_round(
    value: object,
    precision: object = 0,
    method: object = "common",
) -> object:
    if isinstance(precision, int) and abs(precision) > 1000:
        raise RunawayTemplate
    return value


def _charge_wordwrap(
    value: object,
    *args: object,
    wrapstring: object = None,
    **named: object,
) -> object:
    if len(args) > 2:
        mark = args[2]
    else:
        mark = wrapstring
    spend(len(str(value)) * len(str(mark or "")))
    return value


_GROWING: Mapping[str, Callable[..., Any]] = {
    "batch": _charge_width,
    "center": _charge_width,
    "format": _charge_format,
    "indent": _charge_indent,
    "join": _charge_join,
    "replace": _charge_replace,
    "round": _charge_round,
    "slice": _charge_width,
    "tojson": _charge_width,
    "wordwrap": _charge_wordwrap,
}
