"""Which files are written for ULMEvalKit: those that import `ulmeval`, lie in its tree, or were cut out of it."""

from pathlib import Path

from ..kits.drawing_files import speaks_of_drawing
from ..placing import home_of as package_of
from ..placing import tree_above

NAMES: dict[str, str] = {"ulmeval": "assay.dialects.ulmeval.facade"}


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """The reason in words; `None` for other people's files."""
    imported = next(
        (name for name in sorted(imports) if name.partition(".")[0] in NAMES), None
    )
    if imported is not None:
        return f"imports {imported}"
    if path.suffix != ".py" or not path.is_file():
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "lies in a tree of ulmeval"
    home = package_of(path.resolve(), NAMES) if speaks_of_drawing(path) else None
    return (
        f"imports its neighbours as a module of {home} does, and speaks of drawn images"
        if home
        else None
    )
