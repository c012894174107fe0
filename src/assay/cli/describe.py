"""Describe a component from its code: its location, and its options with defaults and documentation."""

import ast
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..code.userfiles import load_attribute
from ..registry import place_of


def described(reference: str) -> Iterator[str]:
    """Return a description of `file.py:name`, or of everything a file defines."""
    thing = load_attribute(reference)
    if inspect.ismodule(thing):
        yield f"{reference}: {(inspect.getdoc(thing) or 'a Python file').partition(chr(10))[0]}"
        names = []
        for n, v in vars(thing).items():
            if getattr(v, "__module__", None) == thing.__name__:
                names.append(n)
        yield f"  defines {', '.join(names) or 'nothing'}; `assay show {reference}:NAME` says more"
        return
    yield f"{reference}: {(inspect.getdoc(thing) or '').partition(chr(10))[0]}".rstrip(
        ": "
    )
    # A text would be taken for a place, and may be a key.
    yield f"  defined at {'unknown' if isinstance(thing, str) else place_of(thing)}"
    yield from field_lines(thing)


def shipped_at(target: str) -> str:
    """Return `file:line` of the definition of `module:attribute`, which plain values do not store."""
    module, _, attribute = target.partition(":")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return target
    for number, line in enumerate(
        Path(spec.origin).read_text(encoding="utf-8").splitlines(), start=1
    ):
        if re.match(rf"(?:def |class )?{re.escape(attribute)}\b", line):
            return f"{spec.origin}:{number}"
    return spec.origin


def field_lines(thing: object) -> Iterator[str]:
    """Return one line for each option: name, type, default and documentation."""
    if inspect.isclass(thing) and is_dataclass(thing):
        docs = field_docs(thing)
        options = [f for f in fields(thing) if f.init]
        if options:
            yield "  options:"
        for f in options:
            yield _line(f.name, f.type, _default(f), docs.get(f.name, ""))
        return
    if not callable(thing):
        return
    parameters = list(inspect.signature(thing).parameters.values())
    yield f"  takes ({', '.join(str(p) for p in parameters)})"


def _line(
    name: str,
    kind: object,
    default: str,
    doc: str,
) -> str:
    kind_name = kind
    if not isinstance(kind, str):
        kind_name = getattr(kind, "__name__", None)
    if not kind_name or "[" in str(kind):
        kind_name = str(kind).replace("typing.", "")
    return f"    {name}: {kind_name}{default}  {doc}".rstrip()


def _default(f: "Field[Any]") -> str:
    if f.default is not MISSING:
        return f" = {f.default!r}"
    if f.default_factory is not MISSING:
        value = f.default_factory()
        return f" = {dict(value) if hasattr(value, 'items') else value!r}"
    return " (must be given)"


def field_docs(thing: type) -> dict[str, str]:
    """Return the string below each field of a class, on one line. Fields of base classes are included."""
    docs: dict[str, str] = {}
    for kind in reversed(thing.__mro__):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        except (TypeError, OSError, SyntaxError):
            continue
        if tree.body and isinstance(tree.body[0], ast.ClassDef):
            body = tree.body[0].body
        else:
            body = []
        for statement, following in pairwise(body):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(
                statement.target, ast.Name
            ):
                continue
            if isinstance(following, ast.Expr) and isinstance(
                following.value, ast.Constant
            ):
                docs[statement.target.id] = " ".join(str(following.value.value).split())
    return docs
