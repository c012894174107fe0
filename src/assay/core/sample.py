"""Samples: one question put to a model, with what is needed to judge the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .errors import DataError
from .media import Media
from .message import Message
from .quick import quick

EMPTY: Mapping[str, Any] = MappingProxyType({})
REFERENCE_COLUMNS = ("references", "reference", "answers")
"""Columns that may hold a reference answer for each round of a dialogue, the first that does counts."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """A target each of whose parts must be there; a tuple among the parts means any of them."""

    parts: tuple[str | tuple[str, ...], ...]


@quick
@dataclass(frozen=True, slots=True)
class Sample:
    """One question put to a model, with what is needed to judge the answer."""

    id: str
    """Stable across runs: the store joins records on it."""
    input: str | tuple[Message, ...] = ""
    """The question as text, or as ready-made messages."""
    target: Any = None
    """Text, a list or tuple (any of them), `AllOf`, or what the scorer understands; `None`: no answer is right."""
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The untouched row."""
    media: tuple[Media, ...] = ()
    """Images, audio clips and videos of the question, in the order in which they are shown."""
    tags: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Breakdowns: `{"subject": "law"}` gives a line for each subject."""
    group: str | None = None
    """Samples judged together: rotations of one question, both questions of an image."""
    cluster: str | None = None
    """Samples that are not independent: the unit of the standard error."""
    turns: tuple[Any, ...] = ()
    """Later user turns of a scripted dialogue; empty for a single question."""

    def named(self, id: str) -> "Sample":
        """The same sample under another id; written out, since every row of a converted dataset passes here."""
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
        )

    @property
    def targets(self) -> tuple[Any, ...]:
        """The accepted answers as a tuple, whether one or several were given."""
        target = self.target
        if target is None:
            return ()
        return (
            target
            if isinstance(target, tuple)
            else tuple(target)
            if isinstance(target, list)
            else (target,)
        )

    def __getitem__(self, column: str) -> Any:
        """A column of the row: `sample["question"]`."""
        return self.fields[column]


@dataclass(frozen=True, slots=True)
class BadSample:
    """A row that could not become a sample: listed and counted as `data_error`, never silently dropped."""

    id: str
    error: DataError
