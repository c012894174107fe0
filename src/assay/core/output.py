"""Outputs of models. Inside assay an answer is never a bare string."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any

from .media import Media
from .message import Json, Part, Reasoning, Text, as_part
from .quick import quick
from .reasoning import (
    ThinkTags,
    begins_with_mark,
    may_hold_reasoning,
    separate_text,
)
from .sample import EMPTY
from .tools import ToolCall

MISSING = "missing_prediction"
"""Error kind for a sample without an answer in a predictions file. It is not an infrastructure error."""
LIMIT = "limit"
"""Key in `Output.details` for the limit that ended the sample: turns, calls, tokens, cost or seconds."""
INTERRUPTED = "interrupted"
"""Error kind if the user interrupted the run before a helper model gave a verdict."""


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token with its log-probability and the reported alternatives."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Log-probability of one continuation, summed over its tokens.

    Also records whether greedy decoding would produce the continuation.
    """

    logprob: float
    greedy: bool = False
    tokens: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer: its parts and its stop reason."""

    parts: tuple[Part, ...]
    stop_reason: str | None = None
    """`stop`, `length`, `content_filter`, or the value that the backend reported."""
    tokens: tuple[Token, ...] = ()
    token_ids: tuple[int, ...] = ()
    verbatim: bool = False
    """True if the text must not be searched for reasoning marks such as `<think>`, as with `think_tags=false`."""

    @property
    def text(self) -> str:
        """The answer without reasoning."""
        parts = self.parts
        if len(parts) == 1 and type(parts[0]) is Text:
            text = parts[0].text
            if self.verbatim or not may_hold_reasoning(text):
                return text
            separated = separate_text(text)
            return text if separated is None else separated.answer
        parts = self.separated().parts
        return "".join(part.text for part in parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The reasoning text."""
        parts = self.separated().parts
        return "".join(part.text for part in parts if isinstance(part, Reasoning))

    @property
    def has_reasoning(self) -> bool:
        """True if the model produced reasoning, with or without an answer after it."""
        return not self._is_plain_text() and _has_reasoning(self.separated().parts)

    @property
    def has_answer(self) -> bool:
        """True if the candidate has anything besides reasoning: text, a medium, a tool call or a structured answer."""
        for part in self.separated().parts:
            is_blank = isinstance(part, Text) and not part.text.strip()
            if not is_blank and not isinstance(part, Reasoning):
                return True
        return False

    @property
    def answer_tokens(self) -> tuple[Token, ...]:
        """Tokens of the answer only. Servers also report the tokens of the reasoning."""
        if not self.has_reasoning:
            return self.tokens
        answer = self.text.strip()
        joined = "".join(token.text for token in self.tokens)
        position = joined.rfind(answer)
        if not answer or position < 0:
            return ()
        for index, token in enumerate(self.tokens):
            position -= len(token.text)
            if position < 0:
                return self.tokens[index:]
        return ()

    def separated(self, tags: ThinkTags = None) -> "Candidate":
        """Return the same answer with the reasoning moved from its text to a separate
        part.

        Verbatim text is not changed. If the server already separated the reasoning,
        only a block at the start of the text is moved, because some servers leave one
        there.
        """
        parts = self.parts
        if self.verbatim or (not isinstance(tags, tuple) and self._is_plain_text()):
            return self
        if _has_reasoning(parts):
            return self._without_leading_block()
        texts = [part.text for part in parts if isinstance(part, Text)]
        if not all(isinstance(text, str) for text in texts):
            return self  # reported as a broken answer elsewhere
        # Most answers have no marks at all.
        if not isinstance(tags, tuple) and not any(map(may_hold_reasoning, texts)):
            return self
        if tags is False:
            is_changed = self.separated() is not self
            return replace(self, verbatim=True) if is_changed else self
        joined = _joined_texts(parts)
        pieces: list[Part] = []
        for part in joined:
            pieces += _pieces(part, tags) if isinstance(part, Text) else (part,)
        if len(pieces) == len(joined) and all(map(is_, pieces, joined)):
            # The model's own marks do not occur; marks of other models are part of the answer.
            if isinstance(tags, tuple):
                return self.separated(False)
            return self
        return replace(
            self,
            parts=tuple(pieces),
            verbatim=isinstance(tags, tuple),
        )

    def _is_plain_text(self) -> bool:
        """Return True in the usual case: the only part is a text without reasoning marks."""
        if len(self.parts) != 1:
            return False
        part = self.parts[0]
        if type(part) is not Text or type(part.text) is not str:
            return False
        return not may_hold_reasoning(part.text)

    def _without_leading_block(self) -> "Candidate":
        """Return the answer with the reasoning at the start of its first text moved to a separate part."""
        for index, part in enumerate(self.parts):
            if not isinstance(part, Text):
                continue
            if not isinstance(part.text, str) or not begins_with_mark(part.text):
                return self
            pieces = _pieces(part, None)
            return replace(
                self, parts=(*self.parts[:index], *pieces, *self.parts[index + 1 :])
            )
        return self

    @property
    def media(self) -> tuple[Media, ...]:
        """Images, audio clips and videos in the answer."""
        return tuple(part for part in self.parts if isinstance(part, Media))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the answer, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def json(self) -> object:
        """The structured answer of a specialist model, or None."""
        return next((part.value for part in self.parts if isinstance(part, Json)), None)


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts reported by the backend; None where it reports none."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The error that prevented an answer. Infrastructure errors are not counted as wrong answers."""

    kind: str
    """`timeout`, `connection`, `rate_limit`, `http`, `auth`, `oom`, `exception`, …"""
    message: str
    retryable: bool = True
    retry_after: float | None = None
    """Seconds to wait before a retry, as requested by the server."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a dialogue: the prompt sent to the model, and its answer."""

    asked: tuple[tuple[str, str], ...]
    """Role and text of each message in the round's prompt, earlier rounds first. A medium becomes `[image]`."""
    output: "Output"


@quick
@dataclass(frozen=True, slots=True)
class Output:
    """The result of one request to a model."""

    candidates: tuple[Candidate, ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()
    """One entry for each continuation of the request."""
    usage: Usage | None = None
    seconds: float | None = None
    state: Any = None
    """Opaque dialogue state of the model, passed back in the next round.

    In a task with tools, scorers read the state of the tools here.
    """
    error: ErrorInfo | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    rounds: tuple[Round, ...] = ()
    """All rounds of a dialogue, for scorers. The last one is this output. Empty for a single question."""

    @classmethod
    def of(
        cls,
        *answers: "str | Part | Media",
        stop_reason: str | None = None,
    ) -> "Output":
        """Build an output with one candidate per answer."""
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
        """Build an output that holds an error instead of an answer."""
        return cls(error=ErrorInfo(kind, message, retryable, retry_after))

    @property
    def text(self) -> str:
        """Text of the first candidate; empty if there is none."""
        if self.candidates:
            return self.candidates[0].text
        return ""

    @property
    def reasoning(self) -> str:
        """Reasoning of the first candidate."""
        if self.candidates:
            return self.candidates[0].reasoning
        return ""

    @property
    def media(self) -> tuple[Media, ...]:
        """Media of the first candidate."""
        if self.candidates:
            return self.candidates[0].media
        return ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All tool calls of the first candidate, in order. In a task with several rounds, the calls of all rounds."""
        if self.rounds:
            return tuple(c for entry in self.rounds for c in entry.output.last_calls)
        return self.last_calls

    @property
    def last_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this answer only, without earlier rounds."""
        if self.candidates:
            return self.candidates[0].calls
        return ()

    @property
    def json(self) -> object:
        """Structured answer of the first candidate."""
        if self.candidates:
            return self.candidates[0].json
        return None

    @property
    def stop_reason(self) -> str | None:
        """Stop reason of the first candidate."""
        if self.candidates:
            return self.candidates[0].stop_reason
        return None

    def only(self, index: int) -> "Output":
        """Return a copy of the output with only this candidate, for scorers that take one answer."""
        return replace(self, candidates=(self.candidates[index],))

    def separated(self, tags: ThinkTags = None) -> "Output":
        """Return the same output with the reasoning of each candidate as a separate part."""
        candidates = tuple(candidate.separated(tags) for candidate in self.candidates)
        if all(map(is_, candidates, self.candidates)):
            return self
        return replace(self, candidates=candidates)


def _has_reasoning(parts: tuple[Part, ...]) -> bool:
    """Return True if one of the parts is reasoning."""
    for part in parts:  # noqa: SIM110 - faster than `any`, and every scorer asks for each answer
        if isinstance(part, Reasoning):
            return True
    return False


def _joined_texts(parts: tuple[Part, ...]) -> list[Part]:
    """Return the parts with adjacent texts joined. A block of reasoning may start in one text and end in the next."""
    joined: list[Part] = []
    for part in parts:
        if joined and isinstance(part, Text) and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        else:
            joined.append(part)
    return joined


def _pieces(text: Text, tags: ThinkTags) -> tuple[Part, ...]:
    """Return a text as parts: its reasoning, if it has any, followed by its answer."""
    separated = separate_text(text.text, tags)
    if separated is None:
        return (text,)
    thought = Reasoning(separated.reasoning)
    if not separated.answer:
        return (thought,)
    answer = Text(separated.answer)
    if thought.text:
        return (thought, answer)
    return (answer,)


ANSWER_KINDS = ("text", "image", "audio", "video", "reasoning", "json", "calls")
"""Keys allowed in a dictionary of answer parts."""


def as_output(value: object) -> Output:
    """Convert the return value of a user's model to an `Output`.

    One candidate with all parts: a text, a medium, `{"text": …, "audio": …, "image":
    …}`, or a list of parts of different kinds. One candidate per item: a list of
    answers of one kind, of such dictionaries, or of `Candidate`s. Tool calls are
    `ToolCall`s, alone or in a list, or `{"calls": [{"name": …, "arguments": {…}}]}`.
    """
    if isinstance(value, Output):
        return value
    if isinstance(value, str):
        return Output((Candidate((Text(value),)),))
    if isinstance(value, (list, tuple)):
        candidates = tuple(_as_candidate(answer) for answer in value)
        if is_mixed(value):
            return Output(
                (
                    Candidate(
                        tuple(part for answer in candidates for part in answer.parts)
                    ),
                )
            )
        return Output(candidates)
    return Output((_as_candidate(value),))


def is_mixed(value: object) -> bool:
    """Return True if a list holds the parts of a single answer: tool calls, or parts of
    different kinds.

    A list that contains a `Candidate`, an `Output` or a dictionary of parts holds
    several answers.
    """
    if not isinstance(value, (list, tuple)):
        return False
    if any(isinstance(entry, ToolCall) for entry in value):
        return True
    for entry in value:
        if isinstance(entry, (Candidate, Output)) or _names_parts(entry):
            return False
    kinds = {type(as_part(entry, opens_files=True)) for entry in value}
    return len(kinds) > 1


def _names_parts(value: object) -> bool:
    return isinstance(value, Mapping) and "type" not in value


def _as_candidate(value: object) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if not isinstance(value, Mapping) or not _names_parts(value):
        return Candidate((as_part(value, opens_files=True),))
    if "tool_calls" in value:
        value = {"text": value.get("content"), "calls": value["tool_calls"]}
    unknown = [name for name in value if name not in ANSWER_KINDS]
    if unknown:
        raise ValueError(
            f"an answer has no part {unknown[0]!r}; its parts are {', '.join(ANSWER_KINDS)}"
        )
    parts: list[Part] = []
    for kind, content in value.items():
        is_list = isinstance(content, (list, tuple)) and kind != "json"
        for entry in content if is_list else (content,):
            if entry is not None:
                parts.append(_part_of(kind, entry))
    if not parts:
        raise ValueError("an answer without parts")
    return Candidate(tuple(parts))


def _part_of(kind: str, content: object) -> Part:
    if isinstance(content, (Media, Text, Reasoning, Json)) and content.kind == kind:
        return as_part(content)
    if kind == "calls":
        if isinstance(content, ToolCall):
            return content
        if isinstance(content, Mapping):
            members = content
        else:
            members = {}
        return as_part({**members, "type": "tool_call"})
    if kind in ("text", "reasoning"):
        if not isinstance(content, str):
            raise ValueError(f"{kind} must be a str")
        if kind == "text":
            return Text(content)
        return Reasoning(content)
    if kind == "json":
        return Json(content)
    return as_part({"type": kind, kind: content}, opens_files=True)
