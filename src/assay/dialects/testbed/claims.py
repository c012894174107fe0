"""Recognise a testbed file: it imports `testbed`, or is a loading script with a dataset builder."""

import ast
from pathlib import Path

from ...code.sources import parsed
from ..placing import facade_names

NAMES = facade_names("testbed")

LIBRARIES = {
    "datasets": "assay.dialects.testbed.dataset_calls",
    "evaluate": "assay.dialects.testbed.metrics",
}
"""Libraries of which testbed files see some names replaced, each with the module of assay that provides them."""

BUILDERS = ("GeneratorBasedBuilder", "ArrowBasedBuilder")


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a file or folder belongs to the testbed, or `None` if it does not."""
    if path.is_dir():
        return _claims_folder(path)
    if _imports_testbed(imports):
        return "imports testbed"
    if defines_builder(path):
        return "is a loading script: it defines a dataset builder"
    return None


def _claims_folder(path: Path) -> str | None:
    """Return why a folder is a dataset folder, or a tree of them; None if it is neither."""
    if is_dataset_folder(path):
        return f"is a dataset folder of the testbed: {path.name}/{path.name}.py or __init__.py with a retriever"
    home = datasets_home(path)
    if home is not None:
        return f"is a tree of dataset folders: {home.relative_to(path.parent)}"
    return None


def datasets_home(path: Path) -> Path | None:
    """Return the folder with the dataset folders of a tree: `testbed/data` in it, or itself; `None` without any."""
    for home in (
        path / "testbed" / "data",
        path / "data" if path.name == "testbed" else path,
    ):
        is_named_so = home.name == "data" and home.parent.name == "testbed"
        if (
            is_named_so
            and home.is_dir()
            and any(is_dataset_folder(inner) for inner in home.iterdir())
        ):
            return home
    return None


def is_dataset_folder(path: Path) -> bool:
    """Return True if a folder is `<name>/` with a loading script, or with an `__init__.py` that imports the testbed."""
    if not path.is_dir():
        return False
    start = path / "__init__.py"
    return defines_builder(path / f"{path.name}.py") or (
        start.is_file() and _imports_testbed(_imports(start))
    )


def defines_builder(path: Path) -> bool:
    """Return True if a Python file defines a class derived from a builder of the `datasets` library."""
    if path.suffix != ".py" or not path.is_file():
        return False
    if b"BasedBuilder" in path.read_bytes():
        tree = parsed(path)
    else:
        tree = None
    if tree is None:
        return False
    bases = [
        base
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    ]
    return any(
        (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", ""))
        in BUILDERS
        for base in bases
    )


def _imports_testbed(imports: frozenset[str]) -> bool:
    return any(name.partition(".")[0] == "testbed" for name in imports)


def _imports(path: Path) -> frozenset[str]:
    from ..recognise import imported_names

    return imported_names(path) | _relative_parents(path)


def _relative_parents(path: Path) -> frozenset[str]:
    """Return `testbed` if a file under `testbed/data` imports `..common` or `..`."""
    if path.parent.parent.name != "data" or path.parent.parent.parent.name != "testbed":
        return frozenset()
    tree = parsed(path)
    if tree:
        levels = [
            node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        ]
    else:
        levels = []
    if any(level > 1 for level in levels):
        return frozenset({"testbed"})
    return frozenset()
