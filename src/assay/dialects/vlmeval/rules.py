"""The differences between assay's rules and those of VLMEvalKit, and which rules apply to a call.

VLMEvalKit has two revisions: the newest, and the one that the how-to document
describes. A name that exists in only one of them follows its rules. `vlmeval.utils`
exists in both, so the calling file decides. A file belongs to the documented revision
if it imports names that only this revision has (`TSVDataset`, `vlmeval.eval`,
`vlmeval.infer`) and none that only the newest has. `protocol="upstream@documented"`
selects it for the whole process.
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
    """One set of rules, of assay or of a VLMEvalKit revision. Each field is a point on which the sets differ."""

    name: RuleName
    """Name of these rules, which selects the function in `letters` that reads multiple choice."""
    yes_no: Literal["words", "substring"] = "words"
    """How yes and no are found: as whole words, or anywhere in the text (`Nothing` then counts as no)."""
    protocol: str = ""
    """Suffix of protocol ids under these rules."""
    draws_letters: bool = False
    """True to draw a random letter if the judge finds no option; False to count such an answer as no option."""
    replaces_accuracy: bool = False
    """True to write the judge's accuracy to `_acc.csv`; False to write the rules' accuracy there."""
    calls_judges_openai: bool = False
    """True to write `openai` in file names for every judge; False to do so only for judges of OpenAI."""
    requires_all_of_mme: bool = False
    """True to raise an error for a missing category of MME, or an image with one question."""
    counts_capabilities_twice: bool = False
    """True to count an MM-Vet item with a single capability twice, in the tables by capability and by combination."""
    grades_at_least_zero: bool = False
    """True to score an MM-Vet answer 0 if five judge replies have no grade; False to report a judge error."""
    guesses_types_by_name: bool = False
    """True to treat datasets of unknown type as multiple choice, unless their name contains `openended`."""
    encodes_images: bool = False
    """True to decode and re-encode the images of rows; False to keep their bytes."""
    keeps_image_paths: bool = False
    """True to use `image_path` in prompts exactly as in the cell, if the table has no images."""
    writes_images_here: bool = False
    """True to write images for early model classes below the working folder. If False, they go to `$LMUData`."""


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
    """Return the rules for a call: assay's, or those of the VLMEvalKit revision of the calling file."""
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
    """Return the global names of the user's code that made this call. Skip frames of assay and of threads."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in (PACKAGE, "concurrent", "threading"):
            return frame.f_globals
        frame = frame.f_back
    return {}


def _names_used(scope: Fields) -> Iterator[str]:
    """Yield the dotted names of VLMEvalKit in a file's imports; in a notebook, those of its classes' bases."""
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
    """Yield the names under which VLMEvalKit has a class of assay. For a user's class, yield its dotted name."""
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
