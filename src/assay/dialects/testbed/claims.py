"""What a testbed file looks like: it imports `testbed`, or is a loading script with its dataset builder."""

import ast
from pathlib import Path

from ...code.sources import parsed

NAMES = {"testbed": "assay.dialects.testbed.facade"}

LIBRARIES = {
    "datasets": "assay.dialects.testbed.dataset_calls",
    "evaluate": "assay.dialects.testbed.metric_calls",
}
"""Libraries in which such files find names of ours."""

BUILDERS = ("GeneratorBasedBuilder", "ArrowBasedBuilder")


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """Why a file or folder is taken for one of the testbed; `None` if it is not."""
    if path.is_dir():
        return _claims_folder(path)
    if _imports_testbed(imports):
        return "imports testbed"
    return (
        "is a loading script: it defines a dataset builder"
        if defines_builder(path)
        else None
    )


def _claims_folder(path: Path) -> str | None:
    """A dataset folder, or a tree of them."""
    if is_dataset_folder(path):
        return f"is a dataset folder of the testbed: {path.name}/{path.name}.py or __init__.py with a retriever"
    home = datasets_home(path)
    return (
        f"is a tree of dataset folders: {home.relative_to(path.parent)}"
        if home is not None
        else None
    )


def datasets_home(path: Path) -> Path | None:
    """The folder that holds the dataset folders of a tree: `testbed/data` in it, or it itself; `None` without any."""
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
    """Whether a folder is `<name>/` with a loading script, or with an `__init__.py` that registers for the testbed."""
    if not path.is_dir():
        return False
    start = path / "__init__.py"
    return defines_builder(path / f"{path.name}.py") or (
        start.is_file() and _imports_testbed(_imports(start))
    )


def defines_builder(path: Path) -> bool:
    """Whether a Python file defines a class derived from a builder of the `datasets` library."""
    if path.suffix != ".py" or not path.is_file():
        return False
    tree = parsed(path) if b"BasedBuilder" in path.read_bytes() else None
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
    """`testbed` where a file under `testbed/data` imports `..common` or `..`."""
    if path.parent.parent.name != "data" or path.parent.parent.parent.name != "testbed":
        return frozenset()
    tree = parsed(path)
    levels = (
        [node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        if tree
        else []
    )
    return frozenset({"testbed"}) if any(level > 1 for level in levels) else frozenset()
