"""The revision of VLMEvalKit that a call follows: the newest, or the one its how-to document describes.

Rules and formats changed between them under the same names. No state is kept between calls: names that only one
revision has follow that revision, and `vlmeval.utils`, which both have, follows the calling file. A file that imports
names which only the documented revision has (`TSVDataset`, `vlmeval.eval`, `vlmeval.infer`) and none of the newest
belongs to the documented one. `protocol="upstream@documented"` chooses it for the whole process.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from ..protocol import is_documented, is_upstream
from ..recognise import imported_names
from .claims import NAMES

DOCUMENTED_NAMES = (
    "vlmeval.eval",
    "vlmeval.infer",
    "vlmeval.chat_api",
    "vlmeval.utils.TSVDataset",
    "vlmeval.utils.data_util",
)
NEWEST_NAMES = ("vlmeval.dataset", "vlmeval.api", "vlmeval.vlm.BaseModel")
PACKAGE = __package__.partition(".")[0]


def of_documented() -> bool:
    """Return True if the documented revision was chosen for the process or the piece of work at hand."""
    return is_documented("vlmeval")


def called_by_documented() -> bool:
    """Return True if the file that called into assay is written for the documented revision."""
    if of_documented():
        return True
    main = vars(sys.modules["__main__"])
    for scope in (_calling_scope(), main):
        names = set(_names_used(scope))
        is_of_documented = _any_below(names, DOCUMENTED_NAMES)
        is_newest = _any_below(names, NEWEST_NAMES)
        if is_newest or is_of_documented:
            return is_of_documented and not is_newest
    return False


def upstreams_rule() -> bool:
    """Return True if upstream's rule is followed where assay's differs."""
    return is_upstream("vlmeval")


def _calling_scope() -> Mapping[str, Any]:
    """Return the globals of the innermost caller outside assay and the standard library's thread pools."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in (PACKAGE, "concurrent", "threading"):
            return frame.f_globals
        frame = frame.f_back
    return {}


def _names_used(scope: Mapping[str, Any]) -> Iterator[str]:
    """Yield dotted names of VLMEvalKit that a file imports, or the classes a notebook holds."""
    file = scope.get("__file__")
    if isinstance(file, str):
        path = Path(file)
        if path.suffix == ".py" and path.is_file():
            yield from imported_names(path)
            return
    for value in list(scope.values()):
        if not isinstance(value, type):
            continue
        for kind in value.__mro__:
            yield from _names_of(kind)


def _names_of(kind: type) -> Iterator[str]:
    """Yield the dotted names that VLMEvalKit has for a class; of a user's class its own name."""
    is_ours = False
    for name, real in NAMES.items():
        module, _, part = real.partition(":")
        if module == kind.__module__ and kind.__qualname__ in part.split():
            is_ours = True
            yield f"{name}.{kind.__qualname__}"
    if not is_ours:
        yield f"{kind.__module__}.{kind.__qualname__}"


def _any_below(names: set[str], prefixes: tuple[str, ...]) -> bool:
    return any(
        name == prefix or name.startswith(f"{prefix}.")
        for name in names
        for prefix in prefixes
    )
