"""Recognise a testbed file: it imports `testbed`, or is a loading script with a dataset builder."""

import ast
from pathlib import Path

from ...code.sources import names_imported, parsed
from ..placing import facade_names

NAMES = facade_names("testbed")

LIBRARIES = {
    "datasets": "assay.dialects.testbed.dataset_calls",
    "evaluate": "assay.dialects.testbed.metrics",
}
"""Libraries in which assay replaces some names for testbed files, each with the module that has the replacements."""

BUILDERS = ("GeneratorBasedBuilder", "ArrowBasedBuilder")


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a file or folder belongs to the testbed, or `None` if it does not."""
    if is_dataset_folder(path):
        return f"is a dataset folder of the testbed: {path.name}/{path.name}.py or __init__.py with a retriever"
    if path.is_dir():
        home = datasets_home(path)
        if home is None:
            return None
        return f"is a tree of dataset folders: {home.relative_to(path.parent)}"
    if _names_testbed(imports):
        return "imports testbed"
    if defines_builder(path):
        return "is a loading script: it defines a dataset builder"
    return None


def datasets_home(path: Path) -> Path | None:
    """Return the folder `testbed/data` of a tree, which contains the dataset folders; None if there is none.

    `path` may be the folder around `testbed`, `testbed` itself or its `data`.
    """
    inner = path / "data" if path.name == "testbed" else path
    for home in (path / "testbed" / "data", inner):
        is_named_so = (home.parent.name, home.name) == ("testbed", "data")
        if (
            is_named_so
            and home.is_dir()
            and any(map(is_dataset_folder, home.iterdir()))
        ):
            return home
    return None


def is_dataset_folder(path: Path) -> bool:
    """Return True for a folder of a dataset.

    It has a loading script with the folder's name, or an `__init__.py` that imports the testbed.
    """
    if not path.is_dir():
        return False
    return defines_builder(path / f"{path.name}.py") or _imports_testbed(
        path / "__init__.py"
    )


def defines_builder(path: Path) -> bool:
    """Return True if a Python file defines a class derived from a builder of the `datasets` library."""
    if path.suffix != ".py" or not path.is_file():
        return False
    if b"BasedBuilder" not in path.read_bytes():
        return False
    tree = parsed(path)
    if tree is None:
        return False
    for node in ast.walk(tree):
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            if ast.unparse(base).rpartition(".")[2] in BUILDERS:
                return True
    return False


def _names_testbed(imports: frozenset[str]) -> bool:
    packages = {name.partition(".")[0] for name in imports}
    return "testbed" in packages


def _imports_testbed(path: Path) -> bool:
    """Return True if a file imports the testbed, or is below `testbed/data` and imports `..common` or `..`."""
    tree = parsed(path) if path.is_file() else None
    if tree is None:
        return False
    is_in_tree = path.parts[-4:-2] == ("testbed", "data")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > 1 and is_in_tree:
            return True
        if _names_testbed(frozenset(names_imported(node))):
            return True
    return False
