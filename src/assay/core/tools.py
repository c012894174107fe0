"""Tools: functions that a model may call, its calls, and their results.

Datasets and services describe tools in different formats. `read_tools` understands those of OpenAI, Anthropic, Gemini
and Hermes; `core.tool_messages` does the same for calls and results in a conversation.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import shorten
from .quick import quick

if TYPE_CHECKING:
    from .message import Part

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without parameters."""
TOOL_CHOICES = ("auto", "none", "required")
"""Allowed values of `tool_choice`, besides the name of a tool."""
TOOLS_ROLE = "tools"
"""The journal's role name for results of calls, as in `TASK#tools`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call, in the form shown to the model."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMETERS)
    """JSON schema of the arguments. Its type is `object`."""

    def to_plain(self) -> dict[str, Any]:
        """Return the tool as JSON, for keys and the journal."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model wrote."""

    id: str
    """Id that joins the call to its result."""
    name: str
    arguments: Mapping[str, Any] | str
    """Arguments by name, or text if the model wrote anything other than a JSON object."""
    signature: str = ""
    """Opaque text that a service requires when the call is sent back."""
    kind: ClassVar[str] = "tool_call"

    @property
    def is_readable(self) -> bool:
        """True if the arguments are a JSON object."""
        return not isinstance(self.arguments, str)

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text, or as the model wrote them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(
            self.arguments,
            ensure_ascii=False,
            default=str,
        )

    @property
    def text(self) -> str:
        """The call as text on one line: `add({"x": 1})`."""
        return f"{self.name}({self.arguments_text})"


@quick
@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call."""

    call_id: str
    parts: "tuple[Part, ...]" = ()
    error: str = ""
    """Kind of failure: `raised`, `timeout`, `unknown_tool`, `bad_arguments`, … Empty if the call succeeded.

    The message for the model is in `parts`.
    """
    kind: ClassVar[str] = "tool_result"

    @property
    def text(self) -> str:
        """The text of the result, without media."""
        texts = (part_words(part) for part in self.parts)
        return "".join(texts)


def part_words(part: object) -> str:
    """Return the text of one part of a tool result, with a structured value as JSON. Empty for media."""
    if hasattr(part, "value"):
        return json.dumps(
            part.value,
            ensure_ascii=False,
            default=str,
        )
    text = getattr(part, "text", "")
    return text if isinstance(text, str) else ""


def read_arguments(value: object) -> Mapping[str, Any] | str:
    """Return the arguments of a call as a mapping, or as text if they are not a JSON object.

    Empty arguments are an empty mapping, because services write them for a tool without parameters.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        return json.dumps(
            value,
            ensure_ascii=False,
            default=str,
        )
    try:
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(decoded, dict):
        return decoded
    return value


def read_tools(value: object) -> tuple[Tool, ...]:
    """Return the tools in a value: JSON text, a list, or a single declaration. Raise `ValueError` if one is invalid.

    A duplicate name is an error, because a call could not be assigned to one of the tools.
    """
    if isinstance(value, str):
        value = _decode(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence):
        raise ValueError(f"tools are a list, got {shorten(value)}")
    tools: list[Tool] = []
    for entry in value:
        tools += _read_declarations(entry)
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            raise ValueError(f"the tool {tool.name!r} is defined twice")
        names.add(tool.name)
    return tuple(tools)


def _decode(text: str) -> object:
    """Parse the JSON text of tool declarations."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"tools are not JSON: {shorten(text)}") from error


def _read_declarations(entry: object) -> list[Tool]:
    """Return the tools in one entry; Gemini lists several under `functionDeclarations`."""
    if isinstance(entry, str):
        entry = _decode(entry)
    if isinstance(entry, Tool):
        return [entry]
    if not isinstance(entry, Mapping):
        raise ValueError(f"a tool is an object with a name, got {shorten(entry)}")
    several = entry.get("functionDeclarations", entry.get("function_declarations"))
    if isinstance(several, Sequence):
        return [_read_tool(declaration) for declaration in several]
    return [_read_tool(entry)]


def _read_tool(entry: Mapping[str, Any]) -> Tool:
    """Read one tool in the format of OpenAI (nested or flat), Anthropic (`input_schema`) or Gemini."""
    inner = entry.get("function")
    if isinstance(inner, Mapping):
        declaration = inner
    else:
        declaration = entry
    name = declaration.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"a tool without a name: {shorten(dict(entry))}")
    schema: Any = None
    for key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema"):
        if declaration.get(key) is not None:
            schema = declaration[key]
            break
    if isinstance(schema, str):
        schema = _decode(schema)
    if schema is None:
        schema = NO_PARAMETERS
    if not isinstance(schema, Mapping):
        raise ValueError(
            f"the parameters of the tool {name!r} are not a JSON schema: {shorten(schema)}"
        )
    schema = with_usual_types(schema)
    if not _may_be_object(schema):
        raise ValueError(
            f"the parameters of the tool {name!r} are not the schema of an object: {shorten(dict(schema))}"
        )
    description = declaration.get("description")
    return Tool(name, str(description or ""), schema)


SCHEMA_KEYWORDS = frozenset(
    {"properties", "$ref", "anyOf", "oneOf", "allOf", "additionalProperties"}
)
"""Keywords of object schemas. A schema without `type` must contain one of them, or be empty."""


def _may_be_object(schema: Mapping[str, Any]) -> bool:
    """Return True if the schema may describe an object. Services accept no other schema for parameters."""
    kind = schema.get("type")
    if kind is None:
        return not schema or not SCHEMA_KEYWORDS.isdisjoint(schema)
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


TYPE_NAMES = {
    "OBJECT": "object",
    "STRING": "string",
    "INTEGER": "integer",
    "NUMBER": "number",
    "BOOLEAN": "boolean",
    "ARRAY": "array",
    "dict": "object",
    "float": "number",
    "tuple": "array",
}
"""The JSON schema type for each type name in Gemini's and BFCL's schemas."""


def with_usual_types(schema: object) -> object:
    """Return the schema with standard JSON schema type names. Return the same object if nothing had to change."""
    if isinstance(schema, list):
        changed = [with_usual_types(entry) for entry in schema]
        is_same = all(a is b for a, b in zip(changed, schema, strict=True))
        return schema if is_same else changed
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    is_changed = False
    for key, value in schema.items():
        if isinstance(value, (Mapping, list)):
            new = with_usual_types(value)
        else:
            new = value
        if key == "type" and isinstance(value, str):
            new = TYPE_NAMES.get(value, value)
        result[key] = new
        is_changed = is_changed or new is not value
    return result if is_changed else schema


def check_tool_choice(
    choice: str,
    tools: Sequence[Tool],
) -> None:
    """Raise `ValueError` if a tool choice names a tool that is not offered."""
    names = [tool.name for tool in tools]
    if choice in TOOL_CHOICES or choice in names:
        return
    listed = ", ".join((*TOOL_CHOICES, *names))
    raise ValueError(
        f"the tool choice {shorten(choice)} is not one of the tools: {listed}"
    )


def read_tool_choice(value: object) -> str | None:
    """Return a tool choice as `auto`, `none`, `required` or a tool's name; None if there is none.

    Raise `ValueError` if it is invalid.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return {"any": "required"}.get(value, value)
    if isinstance(value, Mapping):
        inner = value.get("function")
        if isinstance(inner, Mapping):
            name = inner.get("name")
        else:
            name = value.get("name")
        if isinstance(name, str) and name:
            return name
        kind = value.get("type")
        if isinstance(kind, str):
            return read_tool_choice(kind)
    raise ValueError(f"a tool choice is a word or names a function: {shorten(value)}")
