"""Outputs: what a model gave back. Never a bare string inside assay."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .media import Media
from .message import Json, Part, Reasoning, Text, as_part
from .quick import quick
from .sample import EMPTY

MISSING = "missing_prediction"
"""The kind of failure where a file of predictions has none for a sample: nobody's infrastructure failed."""


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token with its log-probability and the alternatives that were reported."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How probable one continuation is: summed log-probability, and whether greedy decoding would write it."""

    logprob: float
    greedy: bool = False
    tokens: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer: its parts, and why it ended."""

    parts: tuple[Part, ...]
    stop_reason: str | None = None
    """`stop`, `length`, `content_filter`, or what the backend said."""
    tokens: tuple[Token, ...] = ()
    token_ids: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The answer without reasoning."""
        parts = self.parts
        if len(parts) == 1 and type(parts[0]) is Text:
            return parts[0].text
        return "".join(part.text for part in parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """What was thought aloud."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def media(self) -> tuple[Media, ...]:
        """Images and audio clips that were made."""
        return tuple(part for part in self.parts if isinstance(part, Media))

    @property
    def json(self) -> Any:
        """The structured answer of a specialist, or `None`."""
        return next((part.value for part in self.parts if isinstance(part, Json)), None)


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the backend; `None` where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a model gave no answer: infrastructure, kept apart from wrong answers."""

    kind: str
    """`timeout`, `connection`, `rate_limit`, `http`, `auth`, `oom`, `exception`, …"""
    message: str
    retryable: bool = True
    retry_after: float | None = None
    """Seconds the server asked to wait."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a dialogue: what was put to the model, and what it answered."""

    asked: tuple[tuple[str, str], ...]
    """Role and text of each message of the round's prompt, earlier rounds first; a medium reads `[image]`."""
    output: "Output"


@quick
@dataclass(frozen=True, slots=True)
class Output:
    """What a model gave back for one request."""

    candidates: tuple[Candidate, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()
    """One for each continuation that was to be weighed."""
    usage: Usage | None = None
    seconds: float | None = None
    state: Any = None
    """Opaque turn state, handed back with the next round."""
    error: ErrorInfo | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    rounds: tuple[Round, ...] = ()
    """All rounds of a dialogue, this output's own last, as a scorer sees them; empty for a single question."""

    @classmethod
    def of(
        cls, *answers: "str | Part | Media", stop_reason: str | None = None
    ) -> "Output":
        """An output with one candidate for each answer."""
        return cls(
            tuple(
                Candidate((as_part(answer, opens_files=True),), stop_reason)
                for answer in answers
            )
        )

    @classmethod
    def failed(
        cls,
        kind: str,
        message: str,
        *,
        retryable: bool = True,
        retry_after: float | None = None,
    ) -> "Output":
        """An output that says why there is none."""
        return cls(error=ErrorInfo(kind, message, retryable, retry_after))

    @property
    def text(self) -> str:
        """The text of the first candidate; empty if there is none."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def reasoning(self) -> str:
        """The reasoning of the first candidate."""
        return self.candidates[0].reasoning if self.candidates else ""

    @property
    def media(self) -> tuple[Media, ...]:
        """The media of the first candidate."""
        return self.candidates[0].media if self.candidates else ()

    @property
    def json(self) -> Any:
        """The structured answer of the first candidate."""
        return self.candidates[0].json if self.candidates else None

    @property
    def stop_reason(self) -> str | None:
        """Why the first candidate ended."""
        return self.candidates[0].stop_reason if self.candidates else None

    def only(self, index: int) -> "Output":
        """The same output with one candidate, as a scorer of single answers sees it."""
        return replace(self, candidates=(self.candidates[index],))


ANSWER_KINDS = ("text", "image", "audio", "video", "reasoning", "json")
"""What a dictionary of an answer's parts may name."""


def as_output(value: Any) -> Output:
    """What a user's model returned, as an `Output`.

    Text, a medium, or `{"text": …, "audio": …, "image": …}` is one candidate with all its parts; so is a list of parts
    of different kinds. A list of answers of one kind, of such dictionaries or of `Candidate`s has a candidate for each.
    """
    if isinstance(value, Output):
        return value
    if isinstance(value, str):
        return Output((Candidate((Text(value),)),))
    if isinstance(value, (list, tuple)):
        candidates = tuple(_as_candidate(one) for one in value)
        if is_mixed(value):
            return Output(
                (Candidate(tuple(part for one in candidates for part in one.parts)),)
            )
        return Output(candidates)
    return Output((_as_candidate(value),))


def is_mixed(value: Any) -> bool:
    """Whether a list holds parts of different kinds: those of one answer, in words and in audio.

    Elements that may be whole answers, `Candidate`s and dictionaries of several parts, are not looked at.
    """
    if not isinstance(value, (list, tuple)):
        return False
    if any(isinstance(one, (Candidate, Output)) or _names_parts(one) for one in value):
        return False
    return len({type(as_part(one, opens_files=True)) for one in value}) > 1


def _names_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and "type" not in value


def _as_candidate(value: Any) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if not _names_parts(value):
        return Candidate((as_part(value, opens_files=True),))
    unknown = [name for name in value if name not in ANSWER_KINDS]
    if unknown:
        raise ValueError(
            f"an answer has no part {unknown[0]!r}; its parts are {', '.join(ANSWER_KINDS)}"
        )
    parts: list[Part] = []
    for kind, content in value.items():
        for one in (
            content
            if isinstance(content, (list, tuple)) and kind != "json"
            else (content,)
        ):
            if one is not None:
                parts.append(_part_of(kind, one))
    if not parts:
        raise ValueError("an answer without parts")
    return Candidate(tuple(parts))


def _part_of(kind: str, content: Any) -> Part:
    if isinstance(content, (Media, Text, Reasoning, Json)) and content.kind == kind:
        return as_part(content)
    if kind in ("text", "reasoning"):
        if not isinstance(content, str):
            raise ValueError(f"{kind} must be a str")
        return Text(content) if kind == "text" else Reasoning(content)
    return (
        Json(content)
        if kind == "json"
        else as_part({"type": kind, kind: content}, opens_files=True)
    )
