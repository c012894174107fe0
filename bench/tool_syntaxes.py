"""Compare assay's readers of tool calls with the decoders of bfcl-eval, on made-up outputs, broken ones included.

    python -m venv VENV && VENV/bin/pip install --no-deps bfcl-eval && VENV/bin/pip install tenacity
    PYTHONPATH=src:VENV/lib/python3.12/site-packages python bench/tool_syntaxes.py [--fixture FILE]

Decoders are taken from the source of bfcl-eval's handlers and run here, without the SDKs that the handlers import. For
each syntax it prints how many outputs both read alike, and how often which deliberate difference occurs. It ends with
status 1 if another difference is found. `--fixture` writes a part of the outputs with the result of bfcl-eval.
"""

import argparse
import ast
import importlib.util
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from assay.core import Candidate, Output, Prompt, Request, Text
from assay.core.tools import ToolCall
from assay.models.tool_prompting import read_calls
from assay.models.tool_syntaxes import SYNTAXES

OUTPUTS = 400
FIXTURE_OUTPUTS = 60
NAMES = ("add", "get_weather", "math.hypot", "book-flight", "sendMail", "f")
WORDS = (
    "Rome",
    "a b",
    "it's",
    'say "hi"',
    "x;y",
    "naïve 日本",
    "",
    "1",
    "true",
    "a\\b",
    "[1]",
    "{}",
)
REQUEST = Request(Prompt(()))

Decoded = list[dict[str, Any]] | None
"""The calls of an output as `[{name: arguments}]`, or None if it has none."""


def bfcl_source(module: str) -> ast.Module:
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("pip install --no-deps bfcl-eval")
    folder = Path(spec.submodule_search_locations[0])
    return ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))


def functions_of(module: str, *names: str) -> dict[str, Any]:
    """Return functions of one of its modules, free of their classes and decorators."""
    scope: dict[str, Any] = {"json": json, "re": re, "ast": ast, "Any": Any}
    tree = bfcl_source(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            code = ast.Module([node], [])
            exec(compile(ast.fix_missing_locations(code), module, "exec"), scope)  # noqa: S102
    return scope


LOCAL = "model_handler/local_inference"


class _Self:
    """Stands for a handler: its methods call each other through `self`."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self._extract_tool_calls = scope.get("_extract_tool_calls")
        self._is_tool_call_response_format = scope.get("_is_tool_call_response_format")


def tagged_decoder(module: str) -> Callable[[str], Any]:
    scope = functions_of(f"{LOCAL}/{module}", "decode_ast", "_extract_tool_calls")
    return lambda text: scope["decode_ast"](_Self(scope), text, None, False)


def listed_decoder(module: str) -> Callable[[str], Any]:
    """Return the decoder of handlers that read the calls with the answer: Phi, Granite 3."""
    names = ("_extract_tool_calls", "_is_tool_call_response_format", "decode_ast")
    scope = functions_of(f"{LOCAL}/{module}", *names)

    def decode(text: str) -> Any:
        calls = scope["_extract_tool_calls"](text)
        if not scope["_is_tool_call_response_format"](calls) or not calls:
            return None
        return [{item["name"]: item["arguments"]} for item in calls]

    return decode


def mistral_decoder() -> Callable[[str], Any]:
    """Return what its Mistral handler does with a text whose special token was left out."""

    def decode(text: str) -> Any:
        calls = json.loads(text.removeprefix("[TOOL_CALLS]"))
        return [{item["name"]: item["arguments"]} for item in calls]

    return decode


def pythonic_decoder() -> Callable[[str], Any]:
    names = ("ast_parse", "resolve_ast_call", "resolve_ast_by_type")
    tree = bfcl_source("model_handler/utils")
    scope: dict[str, Any] = {"ast": ast, "re": re}

    class ReturnFormat:
        PYTHON = "python"

    scope["ReturnFormat"] = ReturnFormat
    for node in tree.body:
        is_wanted = isinstance(node, ast.FunctionDef) and node.name in (
            *names,
            "default_decode_ast_prompting",
        )
        if is_wanted:
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            code = ast.fix_missing_locations(ast.Module([node], []))
            exec(compile(code, "utils", "exec"), scope)  # noqa: S102
    return lambda text: scope["default_decode_ast_prompting"](text)


def value(draw: random.Random, depth: int = 0) -> Any:
    kinds = ("word", "word", "int", "float", "bool", "none", "list", "dict")
    kind = draw.choice(kinds if depth < 2 else kinds[:6])
    if kind == "word":
        return draw.choice(WORDS)
    if kind == "int":
        return draw.randint(-9, 999)
    if kind == "float":
        return draw.choice((0.5, -1.25, 3.0, 1e-05))
    if kind == "bool":
        return draw.random() < 0.5
    if kind == "none":
        return None
    count = draw.randint(0, 3)
    if kind == "list":
        return [value(draw, depth + 1) for _ in range(count)]
    return {f"k{index}": value(draw, depth + 1) for index in range(count)}


def some_calls(draw: random.Random) -> list[ToolCall]:
    calls = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        count = draw.randint(0, 3)
        arguments = {f"a{index}": value(draw) for index in range(count)}
        calls.append(ToolCall("", draw.choice(NAMES), arguments))
    return calls


def broken(text: str, draw: random.Random) -> str:
    """Return an output as models break them."""
    ways: list[Callable[[str], str]] = [
        lambda t: t[: draw.randint(0, len(t))],
        lambda t: t.replace('"', "'"),
        lambda t: t.replace("}", ",}", 1),
        lambda t: t.replace("}", "", 1),
        lambda t: t.replace("]", ""),
        lambda t: f"I call:\n{t}",
        lambda t: f"{t}\nDone.",
        lambda t: f"```json\n{t}\n```",
        lambda t: f"```\n{t}\n```",
        lambda t: t + t,
        lambda t: t.replace("\n", ""),
        lambda t: t.replace("name", "function"),
        lambda t: t.replace("arguments", "args").replace("parameters", "args"),
        lambda t: t.replace("tool_call", "toolcall"),
        lambda t: t.replace("(", "(1, ", 1),
        lambda t: t.replace("=", "=2*3+", 1),
        lambda t: t.replace(": ", ":"),
        lambda _: "I cannot help with that.",
        lambda _: "",
        lambda _: "[]",
        lambda _: "{}",
        lambda _: '{"answer": 42}',
    ]
    return draw.choice(ways)(text)


def outputs(name: str) -> Iterator[tuple[str, list[ToolCall]]]:
    """Yield outputs, and the calls of which they were made."""
    draw = random.Random(f"tool syntaxes {name}")
    for index in range(OUTPUTS):
        calls = some_calls(draw)
        text = SYNTAXES[name].write(calls)
        if index % 2:
            text = broken(text, draw)
        if index % 5 == 0:
            text = f"<think>\nI could call {draw.choice(NAMES)}.\n</think>\n\n{text}"
        yield text, calls


def as_plain(calls: list[ToolCall]) -> list[Any]:
    """Return calls as decoders give them."""
    plain: list[Any] = json.loads(json.dumps([{c.name: c.arguments} for c in calls]))
    return plain


def without_thought(text: str) -> str:
    """Return what bfcl-eval's handlers of reasoning models pass on."""
    return text.split("</think>")[-1].lstrip("\n")


def theirs(decode: Callable[[str], Any], text: str) -> Decoded:
    try:
        calls = decode(without_thought(text))
    except Exception:  # noqa: BLE001 - any failure of a decoder means that there is no call
        return None
    if not isinstance(calls, list) or not calls:
        return None
    for call in calls:
        if not isinstance(call, dict) or len(call) != 1:
            return None
        if not isinstance(next(iter(call.values())), dict):
            return None
    return json.loads(json.dumps(calls, default=str))


def ours(name: str, text: str) -> Decoded:
    output = Output((Candidate((Text(text),)),))
    candidate = read_calls(output.candidates[0], SYNTAXES[name], REQUEST)
    calls = [
        {call.name: call.arguments} for call in candidate.calls if call.is_readable
    ]
    is_whole = len(calls) == len(candidate.calls)
    return json.loads(json.dumps(calls, default=str)) if calls and is_whole else None


def difference(
    name: str, text: str, our: Decoded, their: Decoded, written: list[Any]
) -> str:
    """Return why both may differ; empty if they should not.

    Calls that only assay reads must be among those of which the output was made.
    """
    bare = without_thought(text)
    if our is not None and their is None and all(call in written for call in our):
        if name == "hermes":
            return "tags without line breaks, or without the last one"
        if name == "llama3_json":
            return (
                "a semicolon in a text, JSON's null or false, or words before the tag"
            )
        if name == "pythonic":
            return "a fence with a language, or other marks"
        if name in ("mistral", "phi", "granite"):
            return "words around the calls"
    if our is None and their is not None:
        if name == "pythonic" and re.search(r"\(1, ", bare):
            return "arguments by position are kept as text, not dropped"
        if name in ("phi", "granite"):
            return "Python in place of JSON"
    return ""


DECODERS: dict[str, Callable[[], Callable[[str], Any]]] = {
    "hermes": lambda: tagged_decoder("qwen_fc"),
    "llama3_json": lambda: tagged_decoder("llama_3_1"),
    "pythonic": pythonic_decoder,
    "mistral": mistral_decoder,
    "phi": lambda: listed_decoder("phi_fc"),
    "granite": lambda: listed_decoder("granite_3"),
}


def compare(name: str) -> tuple[list[dict[str, Any]], Counter[str], list[str]]:
    decode = DECODERS[name]()
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for text, calls in outputs(name):
        our, their = ours(name, text), theirs(decode, text)
        rows.append({"syntax": name, "text": text, "bfcl_eval": their, "assay": our})
        if our == their:
            counts["alike, with calls" if our else "alike, no call"] += 1
            continue
        reason = difference(name, text, our, their, as_plain(calls))
        counts[reason or "UNEXPLAINED"] += 1
        if not reason:
            faults.append(f"{name}: {text!r}\n  assay {our}\n  bfcl  {their}")
    return rows, counts, faults


def round_trips(name: str) -> int:
    """Return how many of the outputs that are not broken are read as they were written."""
    draw = random.Random(f"round trips {name}")
    count = 0
    for _ in range(OUTPUTS):
        calls = some_calls(draw)
        read = ours(name, SYNTAXES[name].write(calls))
        count += read == as_plain(calls)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixture", type=Path, help="write a part of the outputs")
    arguments = parser.parse_args()
    fixture: list[dict[str, Any]] = []
    faults: list[str] = []
    for name in SYNTAXES:
        print(f"{name}: {round_trips(name)} of {OUTPUTS} written outputs read back")
        if name not in DECODERS:
            print("  bfcl-eval has no decoder of this syntax")
            continue
        rows, counts, more = compare(name)
        fixture += rows[:FIXTURE_OUTPUTS]
        faults += more
        for reason, count in counts.most_common():
            print(f"  {count:4} {reason}")
    if arguments.fixture is not None:
        lines = [json.dumps(row, ensure_ascii=False) for row in fixture]
        arguments.fixture.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
