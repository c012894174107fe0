"""Recognise files written for ULMEvalKit: they import `ulmeval`, are in its tree, or were copied from it."""

from pathlib import Path

from ..kits.user_code import mentions_image_generation
from ..placing import facade_names, tree_above
from ..placing import home_of as package_of

NAMES = facade_names("ulmeval")


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return the reason why a file belongs to ULMEvalKit, or None."""
    imported = next(
        (name for name in sorted(imports) if name.partition(".")[0] in NAMES), None
    )
    if imported is not None:
        return f"imports {imported}"
    if path.suffix != ".py" or not path.is_file():
        return None
    if tree_above(path.resolve(), NAMES) is not None:
        return "is in a tree of ulmeval"
    if mentions_image_generation(path):
        home = package_of(path.resolve(), NAMES)
    else:
        home = None
    if home:
        return f"imports its neighbours as a module of {home} does, and mentions drawn images"
    return None
