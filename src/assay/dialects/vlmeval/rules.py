"""How assay's rules differ from those of VLMEvalKit's two revisions, and which rules apply to a call.

The revisions are the newest, and the documented one, which the how-to document describes. Names that only one of them
has follow its rules, and `vlmeval.utils`, which both have, follows the calling file. A file belongs to the documented
revision if it imports names that only that one has (`TSVDataset`, `vlmeval.eval`, `vlmeval.infer`) and none of the
newest. `protocol="upstream@documented"` chooses it for the whole process.
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
    """One set of rules: assay's, or those of a VLMEvalKit revision. Each field is a difference between them."""

    name: RuleName
    """Name of these rules, by which `letters` finds the function that reads multiple choice."""
    yes_no: Literal["words", "substring"] = "words"
    """How yes and no are read: as whole words, or as any part of the text, so that `Nothing` counts as no."""
    protocol: str = ""
    """Suffix of the protocol id that a benchmark gets under these rules."""
    draws_letters: bool = False
    """True to draw a random letter if the judge cannot assign an answer; otherwise the answer counts as no option."""
    replaces_accuracy: bool = False
    """True to write the accuracy by judge to `_acc.csv`; otherwise that file has the accuracy by rules, and another one
    the judge's.
    """
    calls_judges_openai: bool = False
    """True to use `openai` in file names for every judge, in the formats of the documented revision; otherwise only for
    judges of OpenAI.
    """
    requires_all_of_mme: bool = False
    """True if a missing category of MME, or an image with one question, is an error."""
    counts_capabilities_twice: bool = False
    """True to count an MM-Vet item with a single capability twice, in the tables by capability and by combination."""
    grades_at_least_zero: bool = False
    """True to score 0 for an MM-Vet answer if five judge replies have no grade; otherwise that is a judge error."""
    guesses_types_by_name: bool = False
    """True to take every dataset of unknown type for multiple choice, unless its name contains `openended`."""
    encodes_images: bool = False
    """True to decode the images of rows and encode them again; otherwise their own bytes are kept."""
    keeps_image_paths: bool = False
    """True to use `image_path` in prompts as it is written in the cell, if the table has no images."""
    writes_images_here: bool = False
    """True to write the images for early model classes below the working folder; otherwise below `$LMUData`."""


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
    """Return the scoring rules of the protocol in use here: assay's own, or those of a VLMEvalKit revision."""
    if not is_upstream("vlmeval"):
        return ASSAY
    return DOCUMENTED if is_documented("vlmeval") else NEWEST


def rules_of_caller() -> Rules:
    """Return the rules for a call: assay's, or those of the VLMEvalKit revision for which its file is written."""
    if chosen_rules() is ASSAY:
        return ASSAY
    return DOCUMENTED if called_by_documented() else NEWEST


def called_by_documented() -> bool:
    """Return True if the calling file is written for VLMEvalKit's documented revision."""
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
    """Yield the dotted names of VLMEvalKit that a file imports or, in a notebook, from which its classes derive."""
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
    """Yield the dotted names that a class of assay replaces in VLMEvalKit; for a user's class its own dotted name."""
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
