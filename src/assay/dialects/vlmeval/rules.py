"""Where the rules of assay and of VLMEvalKit's two revisions differ, as a table, and which of the three a call follows.

The revisions are the newest, and the one that the how-to document describes. Names that only one of them has follow it,
and `vlmeval.utils`, which both have, follows the calling file. A file that imports names which only the documented
revision has (`TSVDataset`, `vlmeval.eval`, `vlmeval.infer`) and none of the newest belongs to the documented one.
`protocol="upstream@documented"` chooses it for the whole process.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

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


RuleName = Literal["assay", "newest", "documented"]


@dataclass(frozen=True, slots=True)
class Rules:
    """One set of rules, with a field for each difference."""

    name: RuleName
    """Which table of `letters` reads multiple choice."""
    yes_no: Literal["words", "substring"] = "words"
    """Whether `Nothing` says no."""
    protocol: str = ""
    """What follows a benchmark's name in its protocol."""
    draws_letters: bool = False
    """An answer that the judge cannot settle gets a letter by chance, else none."""
    replaces_accuracy: bool = False
    """Write the judge's accuracy to `_acc.csv`, else the rules' accuracy, and the judge's to a file of its own."""
    calls_judges_openai: bool = False
    """In the documented revision's formats files of every judge are called `openai`, else only those of OpenAI's."""
    requires_all_of_mme: bool = False
    """A missing category of MME, or an image with one question, is an error."""
    counts_capabilities_twice: bool = False
    """Items of a single MM-Vet capability are in both tables twice."""
    grades_at_least_zero: bool = False
    """Score 0 on MM-Vet for an answer that gets no grade in five replies, else count a judge error."""
    guesses_types_by_name: bool = False
    """The type of an unknown dataset is MCQ unless its name says `openended`."""
    encodes_images: bool = False
    """Images of rows are decoded and written anew, else their own bytes are kept."""
    keeps_image_paths: bool = False
    """Put `image_path` into prompts as written in the cell, if rows hold no images."""
    writes_images_here: bool = False
    """Images of the documented interface are below the working folder, else below `$LMUData`."""


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
    """Return the rules that this process, or the piece of work at hand, follows."""
    if not is_upstream("vlmeval"):
        return ASSAY
    return DOCUMENTED if is_documented("vlmeval") else NEWEST


def rules_of_caller() -> Rules:
    """Return the same, but upstream's of the revision for which the calling file is written."""
    if chosen_rules() is ASSAY:
        return ASSAY
    return DOCUMENTED if called_by_documented() else NEWEST


def called_by_documented() -> bool:
    """Return True if the file that called into assay is written for the documented revision."""
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
