"""A table of the differences between assay's rules and those of VLMEvalKit's two revisions; which one a call uses.

The revisions are the newest, and the one that the how-to document describes. Names that only one of them has follow
its rules, and `vlmeval.utils`, which both have, follows the calling file. A file belongs to the documented revision
if it imports names that only that one has (`TSVDataset`, `vlmeval.eval`, `vlmeval.infer`) and none of the newest.
`protocol="upstream@documented"` chooses it for the whole process.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Literal

from ..protocol import is_documented, is_upstream
from ..recognise import imported_names
from ..shapes import Fields
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


RuleName = Literal["assay", "newest", "documented"]


@dataclass(frozen=True, slots=True)
class Rules:
    """One set of rules, with a field for each difference."""

    name: RuleName
    """The entry of `letters` that reads multiple choice."""
    yes_no: Literal["words", "substring"] = "words"
    """True if `Nothing` counts as no."""
    protocol: str = ""
    """The suffix of a benchmark's name in its protocol."""
    draws_letters: bool = False
    """True to draw a letter at random for an answer that the judge cannot assign; otherwise it gets none."""
    replaces_accuracy: bool = False
    """True to write the judge's accuracy to `_acc.csv`; otherwise the rules' accuracy goes there, and the judge's
    to a separate file.
    """
    calls_judges_openai: bool = False
    """True to call the files of every judge `openai` in the documented revision's formats; otherwise only those of
    OpenAI's.
    """
    requires_all_of_mme: bool = False
    """True if a missing category of MME, or an image with one question, is an error."""
    counts_capabilities_twice: bool = False
    """True to count items of a single MM-Vet capability twice in both tables."""
    grades_at_least_zero: bool = False
    """True to score 0 on MM-Vet for an answer without a grade in five replies; otherwise it counts as a judge error."""
    guesses_types_by_name: bool = False
    """True if the type of an unknown dataset is MCQ unless its name contains `openended`."""
    encodes_images: bool = False
    """True to decode the images of rows and encode them again; otherwise their own bytes are kept."""
    keeps_image_paths: bool = False
    """True to use `image_path` in prompts as it is written in the cell, if rows have no images."""
    writes_images_here: bool = False
    """True to store images of the documented interface below the working folder; otherwise below `$LMUData`."""


ASSAY = Rules("assay")
NEWEST = Rules(
    "newest",
    protocol="@upstream",
    draws_letters=True,
    replaces_accuracy=True,
    calls_judges_openai=True,
    requires_all_of_mme=True,
    counts_capabilities_twice=True,
    grades_at_least_zero=True,
    guesses_types_by_name=True,
    encodes_images=True,
    keeps_image_paths=True,
    writes_images_here=True,
)
DOCUMENTED = replace(NEWEST, name="documented", yes_no="substring")


def chosen_rules() -> Rules:
    """Return the rules that this process, or the current piece of work, follows."""
    if not is_upstream("vlmeval"):
        return ASSAY
    return DOCUMENTED if is_documented("vlmeval") else NEWEST


def rules_of_caller() -> Rules:
    """Return the rules in effect; upstream's are those of the revision that the calling file was written for."""
    if chosen_rules() is ASSAY:
        return ASSAY
    return DOCUMENTED if called_by_documented() else NEWEST


def called_by_documented() -> bool:
    """Return True if the file that called assay is written for the documented revision."""
    if is_documented("vlmeval"):
        return True
    main = vars(sys.modules["__main__"])
    for scope in (_calling_scope(), main):
        names = set(_names_used(scope))
        is_of_documented = _any_below(names, DOCUMENTED_NAMES)
        is_newest = _any_below(names, NEWEST_NAMES)
        if is_newest or is_of_documented:
            return is_of_documented and not is_newest
    return False


def _calling_scope() -> Fields:
    """Return the globals of the innermost caller outside assay and the standard library's thread pools."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in (PACKAGE, "concurrent", "threading"):
            return frame.f_globals
        frame = frame.f_back
    return {}


def _names_used(scope: Fields) -> Iterator[str]:
    """Yield the dotted names of VLMEvalKit that a file imports, or those of the classes in a notebook."""
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
    """Yield VLMEvalKit's dotted names for a class; for a user's class its own name."""
    is_ours = False
    for name, real in NAMES.items():
        module, _, part = real.partition(":")
        if module == kind.__module__ and kind.__qualname__ in part.split():
            is_ours = True
            yield f"{name}.{kind.__qualname__}"
    if not is_ours:
        yield f"{kind.__module__}.{kind.__qualname__}"


def _any_below(
    names: set[str],
    prefixes: tuple[str, ...],
) -> bool:
    return any(
        name == prefix or name.startswith(f"{prefix}.")
        for name in names
        for prefix in prefixes
    )
