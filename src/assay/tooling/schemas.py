"""The schema of a tool, from the signature of a Python function, and checks of arguments against it."""

import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ..core import UsageError
from ..core.errors import shorten
from ..core.tools import Tool
from ..registry import place_of

STATE = "state"
"""The name of the parameter that receives the state of the sample. It is not in the schema for the model."""
SIMPLE_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
LISTS = (list, tuple, set, frozenset, Sequence)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""A pattern for names of tools that every service accepts."""
_SECTION = re.compile(
    r"^[ \t]*(args|arguments|parameters|params|returns?|raises|yields?|examples?|notes?):?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""The heading of a section in a docstring: `Args:`, `Parameters`."""
_SPHINX = re.compile(r"^[ \t]*:param(?: \w+)? (\w+):[ \t]*(.*)$", re.MULTILINE)
"""A parameter in Sphinx style: `:param x: The first number.`"""
_ENTRY = re.compile(r"^[ \t]*\*{0,2}(\w+)[ \t]*(?:\([^)]*\))?[ \t]*:[ \t]*(.+)$")
"""A parameter in an `Args:` section: `x (int): The first number.`"""
PARAMETER_SECTIONS = ("args", "arguments", "parameters", "params")


def tool_of(
    function: Callable[..., Any],
    where: str = "",
) -> Tool:
    """Return the description of a function as a tool. Raise if it has no docstring or a parameter has no type."""
    name = getattr(function, "__name__", type(function).__name__)
    where = where or place_of(function)
    if not NAME.fullmatch(name):
        raise UsageError(
            f"a tool cannot be called {name!r}",
            where=where,
            fix="use letters, digits and underscores, at most 64",
        )
    docstring = inspect.getdoc(function) or ""
    if not docstring.strip():
        raise UsageError(
            f"the tool {name!r} has no docstring, from which the model learns what it does",
            where=where,
            fix='begin its body with a line such as """Add two numbers."""',
        )
    description, notes = read_docstring(docstring)
    return Tool(name, description, _parameters(function, name, notes, where))


def _parameters(
    function: Callable[..., Any],
    name: str,
    notes: Mapping[str, str],
    where: str,
) -> dict[str, Any]:
    """Return the schema of the parameters of a function."""
    hints = _type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == STATE:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(
                f"the tool {name!r} takes any number of arguments ({parameter})",
                where=where,
                fix="name each parameter, or take a list",
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(
                f"the parameter {parameter.name!r} of the tool {name!r} has no name for callers",
                where=where,
                fix="leave the slash (/) out of the parameters",
            )
        if parameter.name not in hints:
            raise UsageError(
                f"the parameter {parameter.name!r} of the tool {name!r} has no type",
                where=where,
                fix=f"write {parameter.name}: int, or another type",
            )
        try:
            schema = schema_of(hints[parameter.name])
        except TypeError as error:
            raise UsageError(
                f"the parameter {parameter.name!r} of the tool {name!r} has a type without a JSON schema: {error}",
                where=where,
                fix="use str, int, float, bool, list, dict, Literal, an enum or a dataclass without itself in it",
            ) from error
        if parameter.name in notes and "description" not in schema:
            schema = {**schema, "description": notes[parameter.name]}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is None or type(parameter.default) in SIMPLE_TYPES:
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters of a function or of a callable object."""
    subject: Any = function
    if not inspect.isroutine(function):
        subject = type(function).__call__
    try:
        return get_type_hints(subject, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"a type of {getattr(function, '__name__', function)!r} is not defined: {error}",
            fix="import it at the top of the file",
        ) from error


def schema_of(
    hint: object,
    around: tuple[Any, ...] = (),
) -> dict[str, Any]:
    """Return the JSON schema of a type. Raise `TypeError` if no schema can describe the type.

    `around` are the classes that contain the type. A class that occurs in it contains
    itself.
    """
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in SIMPLE_TYPES:
        return {"type": SIMPLE_TYPES[hint]}
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return _annotated(arguments, around)
    if origin in (Required, NotRequired):
        return schema_of(arguments[0], around)
    if origin is Literal:
        return _enumeration(list(arguments))
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(argument, around) for argument in arguments]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enumeration([member.value for member in hint])
    if has_fields(hint):
        return _fields(hint, around)
    return _collection(hint, origin or hint, arguments, around)


def has_fields(kind: object) -> TypeGuard[type]:
    """Return True for a dataclass, a `TypedDict` or a `NamedTuple`.

    In the schema for the model these are objects.
    """
    if not isinstance(kind, type):
        return False
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return dataclasses.is_dataclass(kind) or is_typeddict(kind) or is_named_tuple


def _annotated(
    arguments: Sequence[Any],
    around: tuple[Any, ...],
) -> dict[str, Any]:
    """Return the schema of an annotated type such as `Annotated[int, "what it is"]`."""
    schema = schema_of(arguments[0], around)
    for note in arguments[1:]:
        text = note
        if not isinstance(note, str):
            text = getattr(note, "description", None)
        if isinstance(text, str):
            schema = {**schema, "description": text}
    return schema


def _enumeration(values: list[Any]) -> dict[str, Any]:
    kinds = {SIMPLE_TYPES.get(type(value)) for value in values}
    schema: dict[str, Any] = {"enum": values}
    if len(kinds) == 1 and None not in kinds:
        schema["type"] = kinds.pop()
    return schema


def _fields(
    hint: type,
    around: tuple[Any, ...],
) -> dict[str, Any]:
    """Return the schema of a class with fields."""
    if hint in around:
        raise TypeError(f"{hint.__name__} has members of its own type")
    hints = get_type_hints(hint, include_extras=True)
    properties = {
        name: schema_of(member, (*around, hint)) for name, member in hints.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": _required_fields(hint),
        "additionalProperties": False,
    }


def _required_fields(hint: Any) -> list[str]:
    """Return the names of the fields that have no default."""
    if is_typeddict(hint):
        return [name for name in hint.__annotations__ if name in hint.__required_keys__]
    if not dataclasses.is_dataclass(hint):
        return [name for name in hint._fields if name not in hint._field_defaults]
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(hint)
        if field.default is missing and field.default_factory is missing
    ]


def _collection(
    hint: object,
    origin: object,
    arguments: Sequence[Any],
    around: tuple[Any, ...],
) -> dict[str, Any]:
    """Return the schema of a list, a tuple, a set or a dictionary."""
    if not isinstance(origin, type):
        raise TypeError(str(hint))
    if issubclass(origin, Mapping):
        if len(arguments) != 2:
            return {"type": "object"}
        values = schema_of(arguments[1], around)
        return {"type": "object", "additionalProperties": values or True}
    if not issubclass(origin, LISTS):
        raise TypeError(getattr(hint, "__name__", str(hint)))
    schemas = [schema_of(inner, around) for inner in arguments if inner is not Ellipsis]
    kinds = [schema for n, schema in enumerate(schemas) if schema not in schemas[:n]]
    items: Any = {}
    if len(kinds) == 1:
        items = kinds[0]
    elif kinds:
        items = {"anyOf": kinds}
    result: dict[str, Any] = {"type": "array", "items": items}
    if issubclass(origin, tuple) and arguments and arguments[-1] is not Ellipsis:
        result.update(
            minItems=len(arguments),
            maxItems=len(arguments),
        )
    return result


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and the description of each parameter by name."""
    notes: dict[str, str] = {}
    description_end = len(text)
    for entry in _SPHINX.finditer(text):
        name, words = entry.groups()
        notes[name] = words.strip()
        description_end = min(description_end, entry.start())
    for heading, section in _sections(text):
        description_end = min(description_end, heading.start())
        if heading.group(1).lower() in PARAMETER_SECTIONS:
            notes.update(_read_entries(section))
    description = text[:description_end]
    return description.strip(), notes


def _sections(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the heading and the content of each section of a docstring."""
    headings = list(_SECTION.finditer(text))
    ends = [heading.start() for heading in headings[1:]]
    ends.append(len(text))
    for heading, end in zip(headings, ends, strict=False):
        yield heading, text[heading.end() : end]


def _read_entries(section: str) -> dict[str, str]:
    """Return the descriptions of the parameters in a section of a docstring, by parameter name.

    A description starts with `x: The first number.` and may continue on indented lines.
    """
    notes: dict[str, str] = {}
    name = ""
    indent = 0
    for line in section.splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        entry = _ENTRY.match(line)
        is_new = entry is not None and (not name or depth <= indent)
        if entry is not None and is_new:
            name = entry.group(1)
            indent = depth
            notes[name] = entry.group(2).strip()
        elif name:
            notes[name] = f"{notes[name]} {line.strip()}"
    return notes


MOST_FAULTS = 5
"""Maximum number of faults in the result of one call."""
MOST_DEPTH = 50
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}
_SMALLEST: Mapping[str, Any] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "null": None,
}


def find_faults(
    arguments: object,
    schema: Mapping[str, Any],
) -> list[str]:
    """Return the faults of arguments as sentences for the model. Rarely used keywords of a schema are ignored."""
    faults: list[str] = []
    _check(arguments, schema, "", faults, 0)
    return faults[:MOST_FAULTS]


def _check(
    value: object,
    schema: object,
    path: str,
    faults: list[str],
    depth: int,
) -> None:
    """Compare a value with a schema, and append its faults to `faults`."""
    if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
        return
    fault = _fault_of(value, schema, depth)
    if fault:
        subject = f"`{path}`" if path else "the arguments"
        faults.append(f"{subject} must be {fault}, got {shorten(value)}")
    elif isinstance(value, Mapping):
        _check_object(value, schema, path, faults, depth)
    elif isinstance(value, (list, tuple)):
        _check_length(value, schema, path, faults)
        items = schema.get("items")
        for number, entry in enumerate(value):
            _check(entry, items, f"{path}[{number}]", faults, depth + 1)
            if len(faults) >= MOST_FAULTS:
                return


def _fault_of(
    value: object,
    schema: Mapping[str, Any],
    depth: int,
) -> str:
    """Return what a schema expects instead of this value, such as `a string`; empty if the value fits.

    Only the type, the choices and the alternatives of the schema are checked.
    """
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, Sequence) and options:
        if any(_fits(value, option, depth) for option in options):
            return ""
        return " or ".join(_describe_schema(option) for option in options)
    if not is_of_type(value, schema.get("type")):
        return _describe_schema(schema)
    allowed = schema.get("enum")
    if isinstance(allowed, Sequence) and value not in allowed:
        names = ", ".join(shorten(entry) for entry in allowed[:20])
        return f"one of {names}"
    return ""


def _check_length(
    value: Sequence[Any],
    schema: Mapping[str, Any],
    path: str,
    faults: list[str],
) -> None:
    """Add a fault if a list does not have as many members as the schema requires."""
    count = len(value)
    least = schema.get("minItems")
    most = schema.get("maxItems")
    if isinstance(least, int) and count < least:
        fault = f"`{path}` must have at least {least} members, got {count}"
        faults.append(fault)
    if isinstance(most, int) and count > most:
        fault = f"`{path}` must have at most {most} members, got {count}"
        faults.append(fault)


def _check_object(
    value: Mapping[str, Any],
    schema: Mapping[str, Any],
    path: str,
    faults: list[str],
    depth: int,
) -> None:
    """Add the faults of an object: missing, forbidden and invalid members."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    prefix = f"{path}." if path else ""
    required = schema.get("required")
    for name in required if isinstance(required, Sequence) else ():
        if name not in value:
            faults.append(f"`{prefix}{name}` is missing")
    others = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in properties:
            _check(member, properties[name], f"{prefix}{name}", faults, depth + 1)
        elif others is False:
            listed = ", ".join(properties) or "none"
            fault = f"there is no parameter `{prefix}{name}` (there are: {listed})"
            faults.append(fault)
        elif isinstance(others, Mapping):
            _check(member, others, f"{prefix}{name}", faults, depth + 1)


def _fits(
    value: object,
    schema: object,
    depth: int,
) -> bool:
    faults: list[str] = []
    _check(value, schema, "", faults, depth + 1)
    return not faults


def is_of_type(value: object, kind: object) -> bool:
    """Return True if a value has a type of JSON schema. A whole number such as 2.0 is an integer; True is not."""
    if isinstance(kind, (list, tuple)):
        return any(is_of_type(value, entry) for entry in kind)
    if not isinstance(kind, str) or kind not in _KINDS:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS[kind])


def _describe_schema(schema: object) -> str:
    """Return the type or the values that a schema allows, in words for the model: `an integer`."""
    if isinstance(schema, Mapping):
        kind = schema.get("type")
    else:
        kind = None
    if isinstance(kind, (list, tuple)):
        return " or ".join(str(entry) for entry in kind)
    if isinstance(kind, str):
        if kind[:1] in "aeio":
            return f"an {kind}"
        return f"a {kind}"
    if isinstance(schema, Mapping):
        allowed = schema.get("enum")
    else:
        allowed = None
    if isinstance(allowed, Sequence):
        return f"one of {shorten(list(allowed))}"
    return "another value"


def smallest_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the smallest valid arguments: required ones only, with values such as `""`, `0` or the first choice."""
    value = _smallest(schema, 0)
    return value if isinstance(value, dict) else {}


def _smallest(schema: object, depth: int) -> object:
    """Return the smallest value that a schema allows."""
    if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
        return ""
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and choices:
        return choices[0]
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, Sequence) and options:
        return _smallest(options[0], depth + 1)
    default_kind = "object" if "properties" in schema else "string"
    kind = schema.get("type", default_kind)
    if isinstance(kind, (list, tuple)):
        kind = kind[0] if kind else "string"
    if kind == "object":
        return _smallest_object(schema, depth)
    if kind == "array":
        count = schema.get("minItems", 0)
        return [
            _smallest(schema.get("items"), depth + 1) for _ in range(min(count, 100))
        ]
    return schema.get("minimum", _SMALLEST.get(kind, ""))


def _smallest_object(
    schema: Mapping[str, Any],
    depth: int,
) -> dict[str, Any]:
    """Return an object with the members that a schema requires."""
    properties = schema.get("properties") or {}
    members: dict[str, Any] = {}
    for name in schema.get("required") or ():
        members[name] = _smallest(properties.get(name), depth + 1)
    return members
