"""Arguments of a call: check them against the schema of the tool, and build the smallest ones that match it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import shorten

MOST_FAULTS = 5
"""Most faults that the result of one call lists."""
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


def find_faults(arguments: object, schema: Mapping[str, Any]) -> list[str]:
    """Return the faults of arguments, in words for the model. Rare keywords of a schema are ignored."""
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
    """Add the faults of a value to a list."""
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


def _fault_of(value: object, schema: Mapping[str, Any], depth: int) -> str:
    """Return the type, choices or alternatives that a value violates, in words; empty if it is valid."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, Sequence) and options:
        if any(_fits(value, option, depth) for option in options):
            return ""
        return " or ".join(_described(option) for option in options)
    if not is_of_type(value, schema.get("type")):
        return _described(schema)
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
    """Check that a list has as many members as it must."""
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
    """Check that an object has all required members, no forbidden ones, and only valid ones."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
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


def _fits(value: object, schema: object, depth: int) -> bool:
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


def _described(schema: object) -> str:
    """Return the type of a schema in words."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, (list, tuple)):
        return " or ".join(str(entry) for entry in kind)
    if isinstance(kind, str):
        if kind[:1] in "aeio":
            return f"an {kind}"
        return f"a {kind}"
    allowed = schema.get("enum") if isinstance(schema, Mapping) else None
    if isinstance(allowed, Sequence):
        return f"one of {shorten(list(allowed))}"
    return "another value"


def smallest_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with only what a schema requires, each as small as it allows: `""`, `0`, the first choice."""
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


def _smallest_object(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Return an object with the members that a schema requires."""
    properties = schema.get("properties") or {}
    members: dict[str, Any] = {}
    for name in schema.get("required") or ():
        members[name] = _smallest(properties.get(name), depth + 1)
    return members
