"""Writes docs/reference/python.md from signatures and docstrings: `python tools/list_python.py`.

Everything is read from the source, so that annotations and defaults stand there as they were written.
"""

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import assay

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
SECTIONS = {
    "Run, and read what came out": ("run", "score", "compare", "RunResult", "Result", "RunComparison", "RunReader",
                                    "RunOptions"),
    "Tasks": ("Task", "Suite", "Measure", "Fewshot", "DataSource"),
    "Samples and prompts": ("Sample", "AllOf", "Message", "Text", "Image", "Audio", "Video", "Prompt", "Request",
                            "GenerateOptions"),
    "Answers and scores": ("Output", "Candidate", "Likelihood", "Score", "Outcome"),
    "Models and errors": ("Abilities", "AssayError"),
}  # fmt: skip
WIDTH = 100
HEAD = """\
# Python

The public names of `assay`, with what their docstrings say. Importing `assay` is cheap: a name is loaded when it is
first used. Components of your own are functions or classes in a file ([guides](../README.md)); to give one a name, use
`@assay.registry.scorers.register("name")`, and `models`, `datasets`, `templates`, `summarizers`, `tasks` alike.
"""


def page() -> str:
    """Return the whole page."""
    placed = [name for names in SECTIONS.values() for name in names]
    rest = tuple(name for name in assay.__all__ if name not in placed)
    sections = {**SECTIONS, **({"More": rest} if rest else {})}
    parts = [HEAD]
    for title, names in sections.items():
        parts.append(f"\n## {title}\n")
        parts += [
            _entry(name, getattr(assay, name))
            for name in names
            if name in assay.__all__
        ]
    return "".join(parts)


def _entry(name: str, thing: Any) -> str:
    node = _definition(thing)
    if isinstance(node, ast.ClassDef):
        if thing is assay.RunOptions:  # its methods serve the runner
            return f"\n### {name}\n\n{_words(node)}\nIts fields are the options of a run: [options](../options.md).\n"
        return f"\n### {name}\n\n{_words(node)}{_fields(thing, node)}{_members(node)}"
    return f"\n### {name}\n\n```text\n{_in_lines(node, f'assay.{name}')}\n```\n\n{_words(node)}"


def _definition(thing: Any) -> ast.ClassDef | ast.FunctionDef:
    tree = ast.parse(
        Path(sys.modules[thing.__module__].__file__ or "").read_text(encoding="utf-8")
    )
    kinds = (ast.ClassDef, ast.FunctionDef)
    return next(
        node
        for node in tree.body
        if isinstance(node, kinds) and node.name == thing.__name__
    )


def _words(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return the docstring as Markdown; an indented example becomes a block."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    blocks = [
        "```text\n" + inspect.cleandoc(part) + "\n```"
        if part.startswith("    ")
        else part
        for part in re.split(r"\n\n(?=\S)|\n\n(?=    )", text)
    ]
    return "\n\n".join(blocks) + "\n"


def _fields(thing: Any, node: ast.ClassDef) -> str:
    """Return a table of the fields of a class, with the sentence below each."""
    rows = []
    for position, line in enumerate(node.body):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            name, kind = line.target.id, ast.unparse(line.annotation)
            if name.startswith("_") or kind.startswith("ClassVar"):
                continue
            rows.append(
                (name, kind, _default(line.value), _sentence_after(node, position))
            )
        elif (
            isinstance(line, ast.Assign)
            and isinstance(line.targets[0], ast.Name)
            and _is_enum(thing)
        ):
            rows.append(
                (
                    line.targets[0].id,
                    "",
                    ast.unparse(line.value),
                    _sentence_after(node, position),
                )
            )
    if not rows:
        return ""
    table = "\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n"
    return table + "".join(
        f"| `{n}` | {_code(kind)} | {_code(d)} | {_cell(text)} |\n"
        for n, kind, d, text in rows
    )


def _is_enum(thing: Any) -> bool:
    return hasattr(thing, "__members__")


def _sentence_after(node: ast.ClassDef, position: int) -> str:
    match node.body[position + 1 : position + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return " ".join(text.split())
    return ""


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {word.arg: ast.unparse(word.value) for word in value.keywords}
        return given.get("default", "empty" if "default_factory" in given else "")
    return ast.unparse(value)


def _members(node: ast.ClassDef) -> str:
    """Return a list of the public methods and properties."""
    lines = []
    for member in node.body:
        if (
            not isinstance(member, ast.FunctionDef)
            or member.name.startswith("_")
            or not ast.get_docstring(member)
        ):
            continue
        marks = [ast.unparse(mark) for mark in member.decorator_list]
        is_value = any(mark in ("property", "cached_property") for mark in marks)
        head = member.name if is_value else _signature(member, member.name)
        first = (ast.get_docstring(member) or "").split("\n\n")[0]
        lines.append(f"- `{head}`: {' '.join(first.split())}\n")
    return "\n" + "".join(lines) if lines else ""


def _signature(node: ast.FunctionDef, name: str) -> str:
    arguments = node.args
    arguments.args = [one for one in arguments.args if one.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({ast.unparse(arguments)}){returns}"


def _in_lines(node: ast.FunctionDef, name: str) -> str:
    """Return a signature, with a line for each argument if one line is too short."""
    whole = _signature(node, name)
    if len(whole) <= WIDTH:
        return whole
    pieces = re.split(
        r", (?![^\[(]*[\])])", ast.unparse(node.args)
    )  # a comma inside brackets belongs to a type
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){returns}"


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
