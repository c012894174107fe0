"""How models write tool calls as text: one reader for each syntax, chosen by the chat template.

A reader takes the text of an answer without its reasoning, and returns the calls and the text around them. An
incomplete call stays part of the text. Arguments that are not a JSON object are kept as text: see `ToolCall`.

    hermes       <tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>          Hermes, Qwen, Granite 4
    llama3_json  {"name": "add", "parameters": {"x": 1}}; {…}                           Llama 3.1 and later
    pythonic     [add(x=1), add(x=2)]                                                   Llama 4, LFM2, ToolACE
    mistral      [TOOL_CALLS][{"name": "add", "arguments": {"x": 1}}]                   Mistral, Mixtral
    phi          <|tool_call|>[{"name": "add", "arguments": {"x": 1}}]<|/tool_call|>    Phi-4-mini
    granite      <|tool_call|>[{"name": "add", "arguments": {"x": 1}}]                  Granite 3
    deepseek     <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"x": 1}…      DeepSeek V3, R1, V3.1
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.tools import ToolCall, read_arguments

LONGEST_TEXT = 1_000_000
"""Maximum number of characters in an answer that is searched for calls."""
MOST_DIGITS = 300
"""Maximum number of digits in the value of an expression such as `2**10`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The tool calls in a text, and the text around them."""

    calls: tuple[ToolCall, ...] = ()
    words: str = ""


class NoCall(ValueError):
    """Raised if a text is not a tool call."""


Reader = Callable[[str], Reading]
Writer = Callable[[Sequence[ToolCall]], str]


@dataclass(frozen=True, slots=True)
class ToolSyntax:
    """One syntax in which models write tool calls."""

    name: str
    reader: Reader
    write: Writer
    """Returns calls as the model would write them. Needed for chat templates that leave
    calls out of a conversation.
    """
    marks: tuple[str, ...] = ()
    """Texts of the syntax that the tokenizer may treat as special tokens. Decoding keeps them."""
    null_content: bool = False
    """True if the chat template needs a `content` of null in an assistant message with tool calls."""
    id_length: int | None = None
    """Length of a call's id, if the chat template requires one."""

    def read(self, text: str) -> Reading:
        """Read the calls in a text. If there are none, the result is the unchanged text."""
        if len(text) > LONGEST_TEXT:
            return Reading((), text)
        try:
            reading = self.reader(text)
        except (NoCall, ValueError, SyntaxError, RecursionError, MemoryError):
            return Reading((), text)
        if reading.calls:
            return reading
        return Reading((), text)


# --- JSON -----------------------------------------------------------------


def _call_of(value: object, *, needs_arguments: bool = False) -> ToolCall:
    """Return the tool call in an object such as `{"name": …, "arguments": {…}}`. Raise `NoCall` if there is none."""
    if not isinstance(value, Mapping):
        raise NoCall
    inner = value.get("function")
    if isinstance(inner, Mapping):
        body = inner
    else:
        body = value
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise NoCall
    for key in ("arguments", "parameters"):
        if key in body:
            return ToolCall("", name.strip(), read_arguments(body[key]))
    has_others = not body.keys() <= {"name", "id", "type"}
    if needs_arguments or has_others:
        # Arguments under another key would be lost.
        raise NoCall
    return ToolCall("", name.strip(), {})


def _calls_of(value: object, *, needs_arguments: bool = False) -> tuple[ToolCall, ...]:
    """Return the calls in an object or in a list of objects."""
    if isinstance(value, list):
        values = value
    else:
        values = [value]
    return tuple(_call_of(entry, needs_arguments=needs_arguments) for entry in values)


def _loads(text: str) -> object:
    """Return the value of JSON text. Line breaks inside strings are allowed, because models write them."""
    return json.loads(text, strict=False)


def _json_values(text: str, separators: str) -> Iterator[Any]:
    """Yield the values of consecutive JSON texts. Raise if there is anything else between them."""
    decoder = json.JSONDecoder(strict=False)
    position = 0
    while True:
        while position < len(text) and text[position] in separators:
            position += 1
        if position == len(text):
            return
        value, position = decoder.raw_decode(text, position)
        yield value


# --- Hermes and Qwen ------------------------------------------------------

_HERMES_BLOCK = re.compile(
    r"""
    <tool_call>\s*
    (?P<body>.*?)
    \s*(?:</tool_call>|\Z)    # the last mark may be missing, for example if it ends generation
    """,
    re.VERBOSE | re.DOTALL,
)


def _read_blocks(
    text: str,
    blocks: re.Pattern[str],
) -> Reading:
    """Return the tool calls in all blocks that can be read. A block that cannot be read stays in the text."""
    calls: list[ToolCall] = []
    words: list[str] = []
    position = 0
    for block in blocks.finditer(text):
        try:
            read = _calls_of(_loads(block["body"]))
        except ValueError:
            continue
        words.append(text[position : block.start()])
        position = block.end()
        calls += read
    words.append(text[position:])
    return Reading(tuple(calls), "".join(words).strip())


def _read_hermes(text: str) -> Reading:
    return _read_blocks(text, _HERMES_BLOCK)


def _json_call(call: ToolCall, key: str = "arguments") -> str:
    return json.dumps({"name": call.name, key: call.arguments}, ensure_ascii=False)


def _json_list(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(map(_json_call, calls))}]"


def _write_hermes(calls: Sequence[ToolCall]) -> str:
    blocks = [f"<tool_call>\n{_json_call(call)}\n</tool_call>" for call in calls]
    return "\n".join(blocks)


# --- Llama 3 --------------------------------------------------------------

_PYTHON_TAG = "<|python_tag|>"
_LLAMA_ENDS = re.compile(r"<\|(?:eom_id|eot_id)\|>")


def _read_llama3(text: str) -> Reading:
    """Return calls in Llama's syntax: JSON after `<|python_tag|>`, or JSON that makes up the whole text."""
    text = _LLAMA_ENDS.sub("", text)
    before, tag, after = text.partition(_PYTHON_TAG)
    body = after if tag else before
    body = body.replace(_PYTHON_TAG, "").strip()
    if body[:1] not in ("{", "["):
        raise NoCall
    try:
        values = list(_json_values(body, " \t\r\n;,"))
    except ValueError:
        # Small models write Python dictionaries.
        values = [ast.literal_eval(body)]
    calls: list[ToolCall] = []
    for value in values:
        calls += _calls_of(value, needs_arguments=True)
    return Reading(tuple(calls), before.strip() if tag else "")


def _write_llama3(calls: Sequence[ToolCall]) -> str:
    return "; ".join(_json_call(call, "parameters") for call in calls)


# --- Python calls ---------------------------------------------------------

_PYTHONIC_MARKS = (
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|python_start|>",
    "<|python_end|>",
)
_PYTHONIC_START = r"<\|(?:tool_call|python)_start\|>"
_PYTHONIC_END = r"<\|(?:tool_call|python)_end\|>"
_PYTHONIC_BLOCK = re.compile(
    rf"{_PYTHONIC_START}(.*?)(?:{_PYTHONIC_END}|\Z)",
    re.DOTALL,
)


def _read_pythonic(text: str) -> Reading:
    """Return calls in Python syntax: between marks, or a list of calls that makes up the whole text."""
    block = _PYTHONIC_BLOCK.search(text)
    if block is not None:
        words = text[: block.start()] + text[block.end() :]
        return Reading(_python_calls(block[1]), words.strip())
    return Reading(_python_calls(text), "")


def _python_calls(text: str) -> tuple[ToolCall, ...]:
    bare = text.strip("`\n ")
    for language in ("python\n", "tool_code\n"):
        bare = bare.removeprefix(language)
    if not bare.startswith("["):
        bare = f"[{bare}"
    if not bare.endswith("]"):
        bare = f"{bare}]"
    tree = ast.parse(bare, mode="eval").body
    if isinstance(tree, (ast.List, ast.Tuple)):
        elements = tree.elts
    else:
        elements = [tree]
    return tuple(_python_call(element) for element in elements)


def _python_call(node: ast.expr) -> ToolCall:
    """Convert a Python call expression to a tool call: `find(name="Ada", limit=3)`."""
    if not isinstance(node, ast.Call):
        raise NoCall
    name = _dotted_name(node.func)
    has_unpacked = any(keyword.arg is None for keyword in node.keywords)
    if not node.args and not has_unpacked:
        return ToolCall("", name, _keyword_values(node))
    # Only the tool knows the names of arguments by position, so they stay as written.
    pieces = [ast.unparse(part) for part in (*node.args, *node.keywords)]
    return ToolCall("", name, ", ".join(pieces))


def _dotted_name(node: ast.expr) -> str:
    """Return a name in a Python expression, such as `a.b.c`. Raise `NoCall` if it is not a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise NoCall
    names.append(node.id)
    return ".".join(reversed(names))


def _keyword_values(node: ast.Call) -> dict[str, Any]:
    return {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}


def _value(node: ast.expr) -> object:
    """Return the value of an argument in a Python expression; no code is run. A bare name becomes text: `x=red`."""
    if isinstance(node, ast.Constant):
        if node.value is Ellipsis:
            return "..."
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        return _dictionary(node)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return _nested_call(node)
    if isinstance(node, ast.Subscript):
        return ast.unparse(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        return _number(node.operand)
    if isinstance(node, ast.BinOp):
        return computed(node)
    raise NoCall


def _dictionary(node: ast.Dict) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise NoCall
        name = _value(key)
        if isinstance(name, (list, dict)):
            raise NoCall
        values[name] = _value(value)
    return values


def _nested_call(node: ast.Call) -> object:
    """Return a call inside an argument as `{name: arguments}`, or as its text if it has no named arguments."""
    if not node.keywords:
        return ast.unparse(node)
    return {_dotted_name(node.func): _keyword_values(node)}


def _write_pythonic(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(map(_pythonic_call, calls))}]"


def _pythonic_call(call: ToolCall) -> str:
    arguments = call.arguments
    if isinstance(arguments, str):
        return f"{call.name}({arguments})"
    pieces = [f"{name}={value!r}" for name, value in arguments.items()]
    return f"{call.name}({', '.join(pieces)})"


_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: lambda left, right: left**right,
}


def _number(node: ast.expr) -> int | float:
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoCall
    return value


def computed(node: ast.BinOp) -> float | str:
    """Evaluate an arithmetic expression of numbers, or a concatenation of two texts: `"2**10" -> 1024`.

    Raise `NoCall` for any other expression.
    """
    if isinstance(node.op, ast.Add):
        first, second = _value(node.left), _value(node.right)
        if isinstance(first, str) and isinstance(second, str):
            return first + second
    operation = _OPERATIONS.get(type(node.op))
    if operation is None:
        raise NoCall
    left = _number(node.left)
    right = _number(node.right)
    digits = float(len(str(abs(left))))
    if isinstance(node.op, ast.Pow):
        digits *= abs(right)
    if digits > MOST_DIGITS:
        raise NoCall
    try:
        result: float | complex = operation(left, right)
    except ArithmeticError as error:
        raise NoCall from error
    if isinstance(result, complex):
        raise NoCall
    return result


# --- Mistral --------------------------------------------------------------

_TOOL_CALLS = "[TOOL_CALLS]"
_MISTRAL_CALL = re.compile(
    r"""
    \s*(?P<name>[\w.\-]+)
    (?:\[CALL_ID\][\w\-]*)?      # [TOOL_CALLS]add[CALL_ID]a1b2c3d4e[ARGS]{"x": 1}
    (?:\[ARGS\])?\s*
    (?=\{)                       # [TOOL_CALLS]add{"x": 1}
    """,
    re.VERBOSE,
)


def _read_mistral(text: str) -> Reading:
    """Return calls in Mistral's syntax: after `[TOOL_CALLS]`, or as a list of calls that is the whole text."""
    before, mark, after = text.partition(_TOOL_CALLS)
    if not mark:
        body = before.strip().removesuffix("</s>")
        if not body.startswith("["):
            raise NoCall
        return Reading(_calls_of(_loads(body), needs_arguments=True), "")
    calls: list[ToolCall] = []
    for piece in after.removesuffix("</s>").split(_TOOL_CALLS):
        calls += _mistral_piece(piece.strip())
    return Reading(tuple(calls), before.strip())


def _write_mistral(calls: Sequence[ToolCall]) -> str:
    return f"{_TOOL_CALLS}{_json_list(calls)}"


def _mistral_piece(piece: str) -> tuple[ToolCall, ...]:
    """Return the calls after one `[TOOL_CALLS]` mark: `[{"name": …}, …]`, or `name{…}` in newer versions."""
    decoder = json.JSONDecoder(strict=False)
    if piece.startswith(("[", "{")):
        value, _ = decoder.raw_decode(piece)
        return _calls_of(value)
    match = _MISTRAL_CALL.match(piece)
    if match is None:
        raise NoCall
    arguments, _ = decoder.raw_decode(piece, match.end())
    call = ToolCall("", match["name"], read_arguments(arguments))
    return (call,)


# --- Phi and Granite ------------------------------------------------------

_PHI_BLOCK = re.compile(
    r"<\|tool_call\|>\s*(?P<body>.*?)\s*(?:<\|/tool_call\|>|\Z)", re.DOTALL
)
_FUNCTOOLS = re.compile(r"functools(?P<body>\[.*\])", re.DOTALL)
_GRANITE_MARK = re.compile(r"<\|tool_call\|>|</?tool_call>|<function_call>")


def _read_phi(text: str) -> Reading:
    """Return calls in Phi's syntax: in blocks between marks, or in the older form `functools[{…}]`."""
    if "<|tool_call|>" not in text:
        return _read_blocks(text, _FUNCTOOLS)
    calls: list[ToolCall] = []
    words: list[str] = []
    position = 0
    for block in _PHI_BLOCK.finditer(text):
        words.append(text[position : block.start()])
        position = block.end()
        for value in _json_values(block["body"], " \t\r\n,"):
            calls += _calls_of(value)
    words.append(text[position:])
    return Reading(tuple(calls), "".join(words).strip())


def _read_granite(text: str) -> Reading:
    """Return calls in Granite's syntax: one list after a mark, or one object after each mark."""
    first = _GRANITE_MARK.search(text)
    if first is None:
        raise NoCall
    calls: list[ToolCall] = []
    for piece in _GRANITE_MARK.split(text[first.start() :]):
        for value in _json_values(piece, " \t\r\n,"):
            calls += _calls_of(value)
    if any(call.name == "no_function" for call in calls):
        raise NoCall
    return Reading(tuple(calls), text[: first.start()].strip())


def _write_phi(calls: Sequence[ToolCall]) -> str:
    return f"<|tool_call|>{_json_list(calls)}<|/tool_call|>"


def _write_granite(calls: Sequence[ToolCall]) -> str:
    return f"<|tool_call|>{_json_list(calls)}"


# --- DeepSeek -------------------------------------------------------------

_DEEPSEEK_BEGIN = "<｜tool▁calls▁begin｜>"
_DEEPSEEK_CALL = re.compile(
    r"""
    <｜tool▁call▁begin｜>\s*
    (?:function<｜tool▁sep｜>)?            # V3 and R1 name the type first
    (?P<name>[^\n<{]+?)\s*
    (?:<｜tool▁sep｜>|(?=```)|\n)\s*
    (?:```(?:json)?\s*)?                  # V3 and R1 fence the arguments
    (?P<arguments>.*?)
    \s*(?:```)?\s*
    (?:<｜tool▁call▁end｜>|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)


def _read_deepseek(text: str) -> Reading:
    before, begin, after = text.partition(_DEEPSEEK_BEGIN)
    body = after if begin else before
    calls = tuple(map(_deepseek_call, _DEEPSEEK_CALL.finditer(body)))
    if begin:
        words = before
    else:
        words = before.partition("<｜tool▁call▁begin｜>")[0]
    return Reading(calls, words.strip())


def _deepseek_call(match: re.Match[str]) -> ToolCall:
    arguments = match["arguments"].removesuffix("<｜tool▁calls▁end｜>").strip()
    arguments = arguments.removesuffix("```").strip()
    return ToolCall("", match["name"].strip(), read_arguments(arguments))


def _write_deepseek(calls: Sequence[ToolCall]) -> str:
    pieces = []
    for call in calls:
        body = f"{call.name}<｜tool▁sep｜>{call.arguments_text}"
        pieces.append(f"<｜tool▁call▁begin｜>{body}<｜tool▁call▁end｜>")
    return f"{_DEEPSEEK_BEGIN}{''.join(pieces)}<｜tool▁calls▁end｜>"


_DEEPSEEK_MARKS = (
    _DEEPSEEK_BEGIN,
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)

HERMES = ToolSyntax(
    "hermes",
    _read_hermes,
    _write_hermes,
    ("<tool_call>", "</tool_call>"),
)
SYNTAXES: Mapping[str, ToolSyntax] = {
    syntax.name: syntax
    for syntax in (
        HERMES,
        ToolSyntax("llama3_json", _read_llama3, _write_llama3, (_PYTHON_TAG,)),
        ToolSyntax("pythonic", _read_pythonic, _write_pythonic, _PYTHONIC_MARKS),
        ToolSyntax(
            "mistral",
            _read_mistral,
            _write_mistral,
            (_TOOL_CALLS, "[ARGS]", "[CALL_ID]"),
            id_length=9,
        ),
        ToolSyntax("phi", _read_phi, _write_phi, ("<|tool_call|>", "<|/tool_call|>")),
        ToolSyntax(
            "granite",
            _read_granite,
            _write_granite,
            ("<|tool_call|>", "<tool_call>", "</tool_call>", "<function_call>"),
        ),
        ToolSyntax(
            "deepseek",
            _read_deepseek,
            _write_deepseek,
            _DEEPSEEK_MARKS,
            null_content=True,
        ),
    )
}
PROMPTED = "prompted"
"""The value of `tool_syntax` that writes the tools into the system prompt."""
NAMES = (*SYNTAXES, PROMPTED)

_OTHER_SIGNS = (
    "<function=",
    "<tool_calls>",
    "<arg_key>",
    "<|tool_calls_section_begin|>",
    "<invoke",
)
"""Texts in chat templates that show a syntax which assay cannot read: Qwen3-Coder, GLM, Kimi, MiniMax."""
_SIGNS: Sequence[tuple[tuple[str, ...], str]] = (
    ((_DEEPSEEK_BEGIN,), "deepseek"),
    ((_TOOL_CALLS,), "mistral"),
    (("<|tool_call_start|>",), "pythonic"),
    (("<|tool_list_start|>",), "pythonic"),
    (("<|python_start|>",), "pythonic"),
    (("[func_name1(",), "pythonic"),
    (("<|start_of_role|>", "<|tool_call|>"), "granite"),
    (("<|start_of_role|>", "<function_call>"), "granite"),
    (("<|tool_call|>",), "phi"),
    (("<|tool|>", "<|/tool|>"), "phi"),
    (("<tool_call>",), "hermes"),
    (("<|python_tag|>",), "llama3_json"),
    (("<|start_header_id|>", '"parameters"'), "llama3_json"),
)
"""For each syntax, the texts that a chat template must all contain. The first syntax that matches is used."""
_TOOLS = re.compile(r"\btools\b")


def takes_tools(template: str) -> bool:
    """Return True if a chat template uses the variable `tools`."""
    return _TOOLS.search(template) is not None


def syntax_of(template: str) -> ToolSyntax | None:
    """Return the syntax of tool calls that a chat template teaches, or None if assay cannot read it."""
    if any(sign in template for sign in _OTHER_SIGNS):
        return None
    for signs, name in _SIGNS:
        if all(sign in template for sign in signs):
            return SYNTAXES[name]
    return None
