"""Recognise VLMEvalKit's inputs: files that import it, classes with its methods, TSVs with its columns."""

import ast
from pathlib import Path

from ...code.sources import parsed
from ..kits.user_code import mentions_image_generation
from ..placing import facade_names, tree_above
from ..placing import home_of as package_of

NAMES = facade_names("vlmeval")
FORK = "ulmeval"
"""Package of ULMEvalKit, a fork with most of the same names. A file that imports it is not for VLMEvalKit."""
FORK_NAMES = {name.replace("vlmeval", FORK, 1): real for name, real in NAMES.items()}
HEADER_BYTES = 64 * 1024


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a file belongs to VLMEvalKit, or None if it does not."""
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
    """Return a reason if a file's location or relative imports show that it belongs to VLMEvalKit, otherwise None."""
    if not path.is_file() or tree_above(path.resolve(), FORK_NAMES) is not None:
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "it is in a tree of vlmeval"
    home = package_of(path.resolve(), NAMES)
    if home and not mentions_image_generation(path):
        return f"it imports its neighbours as a module of {home} does"
    return None


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
    """Return why a table belongs to VLMEvalKit, judged by its header alone, or None."""
    with path.open("rb") as file:
        header = file.readline(HEADER_BYTES).decode("utf-8", "replace").rstrip("\r\n")
    columns = {name.strip('"') for name in header.split("\t")}
    if not {"index", "question"} <= columns:
        return None
    image_columns = sorted(columns & {"image", "image_path", "g_index"})
    if image_columns:
        return f"a TSV with the columns index, question and {image_columns[0]}"
    return None
