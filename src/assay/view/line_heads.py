"""What the index takes from a journal line: numbers for columns, and the text that a search looks through.

Only the members that are needed are decoded; that, and not the disk, is what an index of a long journal costs.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Any = None
    output_tokens: Any = None


class _Candidate(msgspec.Struct, gc=False):
    text: str | None = None
    parts: Any = None


class _Answer(msgspec.Struct, gc=False):
    candidates: list[_Candidate] = []
    likelihoods: Any = None
    usage: _Usage | None = None
    seconds: Any = None
    error: Any = None


class _Turn(msgspec.Struct, gc=False):
    content: Any = None


class OutputHead(msgspec.Struct, gc=False):
    """What an answer's line says, as far as a list of samples needs it."""

    task: str
    model: str
    id: str
    key: str
    epoch: int = 0
    round: int = 0
    prompt: list[_Turn] = []
    output: _Answer = msgspec.field(default_factory=_Answer)
    target: Any = None


class _Why(msgspec.Struct, gc=False):
    reason: Any = None
    reply: Any = None
    error: Any = None


class ScoreHead(msgspec.Struct, gc=False):
    """What a verdict's line says, as far as a list of samples needs it."""

    task: str
    model: str
    id: str
    scorer: str
    values: dict[str, Any]
    outcome: str
    epoch: int = 0
    answer: str | None = None
    details: _Why | None = None
    tags: dict[str, Any] | None = None
    order: int = 0


_Head = TypeVar("_Head", OutputHead, ScoreHead)


def _reader(kind: type[_Head]) -> Callable[[bytes], _Head]:
    """Reads what a line says; one with huge numbers or lone surrogates the slow way."""
    fast = msgspec.json.Decoder(kind).decode

    def read(line: bytes) -> _Head:
        try:
            return fast(line)
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(line), kind, strict=False)

    return read


output_head = _reader(OutputHead)
score_head = _reader(ScoreHead)


def output_text(head: OutputHead) -> str:
    """The words of an answer's line: what was asked, answered and expected."""
    pieces = [
        turn.content if type(turn.content) is str else _content(turn.content)
        for turn in head.prompt
    ]
    for candidate in head.output.candidates:
        pieces.append(
            candidate.text if candidate.text is not None else _content(candidate.parts)
        )
    target = head.target
    if target is not None:
        pieces.append(target if type(target) is str else _flat(target))
    if head.output.error is not None:
        pieces.append(_flat(head.output.error))
    return "\n".join(pieces)


def score_text(head: ScoreHead) -> str:
    """The words of a verdict's line: what was read in the answer, and why it was judged so."""
    pieces = [head.answer] if head.answer is not None else []
    if (why := head.details) is not None:
        pieces += [
            _flat(part)
            for part in (why.reason, why.reply, why.error)
            if part is not None
        ]
    return "\n".join(pieces)


def answer_length(head: OutputHead) -> int:
    """Characters of the first answer, without what was thought aloud."""
    candidates = head.output.candidates
    if not candidates:
        return 0
    text = candidates[0].text
    return len(text) if text is not None else len(_content(candidates[0].parts))


def confidence(likelihoods: Any) -> float:
    """The share of the likeliest continuation among those that were weighed; not a number without two of them."""
    if not isinstance(likelihoods, list) or len(likelihoods) < 2:
        return math.nan
    try:
        weights = [float(entry[0]) for entry in likelihoods]
        top = max(weights)
        return 1.0 / math.fsum(math.exp(weight - top) for weight in weights)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return math.nan


def number(value: Any) -> float:
    """A number of a record, whatever a user's model wrote there."""
    return float(value) if type(value) in (int, float) else math.nan


def _content(content: Any) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(_part(part) for part in content)
    return "" if content is None else str(content)


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    if part.get("type") == "json":
        return _flat(part.get("value"))
    return str(part.get("text", ""))


def _flat(value: Any) -> str:
    return "\n".join(_leaves(value))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)
