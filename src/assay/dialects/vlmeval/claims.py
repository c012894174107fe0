"""What is written for VLMEvalKit: files that import it, classes with its methods, TSVs with its columns."""

import ast
from pathlib import Path

from ...code.sources import parsed
from ..kits.drawing_files import speaks_of_drawing
from ..placing import home_of as package_of
from ..placing import tree_above

NAMES: dict[str, str] = {"vlmeval": "assay.dialects.vlmeval.facade"}
FORK = "ulmeval"
"""Shares most names; whatever imports it is not ours."""
HEADER_BYTES = 64 * 1024


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """Why a file is ours, in words; `None` if it is not."""
    tops = {name.partition(".")[0] for name in imports}
    if FORK in tops:
        return None
    if "vlmeval" in tops:
        return "it imports vlmeval"
    if path.suffix == ".py":
        return _claims_place(path) or _claims_class(path)
    if path.suffix.lower() == ".tsv" and path.is_file():
        return _claims_table(path)
    return None


def _claims_place(path: Path) -> str | None:
    """By where it lies, or would lie for its relative imports to lead somewhere."""
    if (
        not path.is_file()
        or tree_above(path.resolve(), {FORK: NAMES["vlmeval"]}) is not None
    ):
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "it lies in a tree of vlmeval"
    home = package_of(path.resolve(), NAMES)
    return (
        f"it imports its neighbours as a module of {home} does"
        if home and not speaks_of_drawing(path)
        else None
    )


def _claims_class(path: Path) -> str | None:
    tree = parsed(path)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                names = [
                    argument.arg
                    for argument in method.args.args
                    if argument.arg not in ("self", "cls")
                ]
                if method.name == "generate" and names[:2] == ["image_path", "prompt"]:
                    return f"its class {node.name} has generate(image_path, prompt)"
                if method.name == "build_prompt" and names[:2] == ["line", "dataset"]:
                    return f"its class {node.name} has build_prompt(line, dataset)"
    return None


def _claims_table(path: Path) -> str | None:
    """By the header alone: rows are not read."""
    with path.open("rb") as file:
        header = file.readline(HEADER_BYTES).decode("utf-8", "replace").rstrip("\r\n")
    columns = {name.strip('"') for name in header.split("\t")}
    if not {"index", "question"} <= columns:
        return None
    found = sorted(columns & {"image", "image_path", "g_index"})
    return f"a TSV with the columns index, question and {found[0]}" if found else None
