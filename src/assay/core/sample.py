"""Samples: one question for a model, with everything needed to score the answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from types import MappingProxyType
from typing import Any

from .errors import DataError
from .media import Media
from .message import Message
from .quick import quick
from .tools import Tool

_OWN_LETTER = re.compile(
    r"""
    \s* (?:
        [(\[（]?(?P<bracketed>[A-Z])[)\]）]           # "A) Paris", "(A)7"
        | (?P<marked>[A-Z])(?:[、．：]|[.:](?=\s))    # "A. Paris", "A、巴黎"
        | (?P<before_cjk>[A-Z])[.:](?=[\u2e80-\uffef])  # "A.巴黎"
    )
    \s*(?=\S)
    """,
    re.VERBOSE,
)

EMPTY: Mapping[str, Any] = MappingProxyType({})
REFERENCE_COLUMNS = ("references", "reference", "answers")
"""Columns that may hold a reference answer for each round of a dialogue. The first existing one is used."""

CHOICE_ORDER = "choice_order"
"""Sample field, set if the options were shuffled: their original letters in the displayed order, such as `CABD`."""
ORIGINAL_LETTER = "original_letter"
"""Key in `Score.details`, set if the options were shuffled: the original letter of the chosen option."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """A target that requires several parts. If a part is a tuple, any one of its texts is enough."""

    parts: tuple[str | tuple[str, ...], ...]


@quick
@dataclass(frozen=True, slots=True)
class Sample:
    """One question for a model, with everything needed to score the answer."""

    id: str
    """Must be the same in every run. The store joins records by this id."""
    input: str | tuple[Message, ...] = ""
    """The question as text, or as messages."""
    target: Any = None
    """Text, a list or tuple (any entry is right), `AllOf`, or any value that the scorer supports.

    None if no answer is right.
    """
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The row from which the sample was built, unchanged."""
    media: tuple[Media, ...] = ()
    """Images, audio clips and videos of the question, in the order of display."""
    tags: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Values for breakdowns: `{"subject": "law"}` gives one line per subject."""
    group: str | None = None
    """Name of a group of samples that are scored together, such as all rotations of one question."""
    cluster: str | None = None
    """Name shared by samples that depend on each other. Standard errors treat them as one unit."""
    turns: tuple[Any, ...] = ()
    """Later user turns of a scripted dialogue; empty for a single question."""
    weight: float | None = None
    """Weight of the sample in a mean. None gives every sample the same weight."""
    tools: tuple[Tool, ...] = ()
    """Tools of the row, besides those of the task."""

    def named(self, id: str) -> "Sample":
        """Return a copy of the sample with another id.

        It is faster than `replace()`, which matters because it runs for every row.
        """
        return Sample(
            id,
            self.input,
            self.target,
            self.choices,
            self.fields,
            self.media,
            self.tags,
            self.group,
            self.cluster,
            self.turns,
            self.weight,
            self.tools,
        )

    @property
    def targets(self) -> tuple[Any, ...]:
        """The accepted answers as a tuple, whether `target` holds one or several."""
        target = self.target
        if target is None:
            return ()
        if isinstance(target, tuple):
            return target
        if isinstance(target, list):
            return tuple(target)
        return (target,)

    # A cell has the type from its data file.
    def __getitem__(self, column: str) -> Any:
        """Return a column of the row, as in `sample["question"]`."""
        return self.fields[column]


@dataclass(frozen=True, slots=True)
class BadSample:
    """A row that could not become a sample. It is reported as `data_error`, never dropped silently."""

    id: str
    error: DataError


def without_letters(options: Sequence[str]) -> tuple[str, ...]:
    """Remove the letters that the options already contain, as in `["A. Paris", "B. Rome"]`.

    Return the options unchanged unless each begins with the letter of its position.
    """
    texts = []
    for letter, option in zip(ascii_uppercase, options, strict=False):
        match = _OWN_LETTER.match(option)
        if match is None or match[match.lastgroup or 0] != letter:
            return tuple(options)
        texts.append(option[match.end() :])
    return tuple(texts) if len(texts) == len(options) else tuple(options)
