"""Records: the lines of a run's journal, and the results computed from them.

There are two kinds of lines, joined by task, model, sample id and epoch: a model's answer and a scorer's verdict.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from .media import MEDIA_KINDS, Media
from .message import Message, Part, Text, as_message, as_part, part_to_plain, to_plain
from .output import Candidate, ErrorInfo, Likelihood, Output, Token, Usage
from .quick import quick
from .request import Prompt
from .sample import EMPTY
from .score import UNRESOLVED


def is_sealed(line: bytes) -> bool:
    """Return True if a line (without newline) ends with a checksum, valid or not."""
    return line[-18:-10] == b',"crc":"' and line[-2:] == b'"}'


def is_whole(line: bytes) -> bool:
    """Return True if a line (without newline) is complete and unchanged since it was written."""
    if line[-18:-10] != b',"crc":"' or line[-2:] != b'"}':
        return False
    return (
        b"%08x" % crc32(b"}", crc32(line[:-18])) == line[-10:-2]
    )  # 18 is the length of ,"crc":"01234567"}


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """Record from a journal line: a model's answer to one request."""

    task: str
    model: str
    id: str
    key: str
    epoch: int = 0
    round: int = 0
    prompt: Sequence[Mapping[str, Any]] = ()
    continuations: Sequence[str] | None = None
    output: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    target: Any = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    tools: Sequence[Mapping[str, Any]] = ()
    """Tools that the prompt offered. Recorded in the first round only."""
    follows: bool = False
    """True if `prompt` contains only the new messages since the previous round. See `whole_prompts`."""
    kind: str = "output"

    @property
    def failed(self) -> bool:
        """True if the model gave no answer, so that the next run repeats the request."""
        return "error" in self.output


@quick
@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """One scorer's verdict on one sample."""

    task: str
    model: str
    id: str
    scorer: str
    digest: str
    """Digest of the scorer's code and options. If it changes, older lines are outdated."""
    values: Mapping[str, float | None]
    outcome: str
    epoch: int = 0
    answer: str | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    candidates: Sequence[float | None] = ()
    tags: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    group: str | None = None
    cluster: str | None = None
    order: int = 0
    """Position of the sample in the data. It makes results independent of the order of answers."""
    weight: float | None = None
    """Weight of the sample in a mean; None if all samples have the same weight."""
    kind: str = "score"

    def with_values(self, values: Mapping[str, float | None]) -> "ScoreRecord":
        """Return a copy with other values. It is faster than `replace()`, which matters
        because it runs for every record.
        """
        return ScoreRecord(
            self.task,
            self.model,
            self.id,
            self.scorer,
            self.digest,
            values,
            self.outcome,
            self.epoch,
            self.answer,
            self.details,
            self.candidates,
            self.tags,
            self.group,
            self.cluster,
            self.order,
            self.weight,
            self.kind,
        )

    @property
    def value(self) -> float | None:
        """The score's value, or the first of several named values; `None` without a verdict."""
        if self.outcome in UNRESOLVED:
            return None
        return next(iter(self.values.values()), None)


CUT_ANSWERS = "cut_answers"
"""Key in `Result.details`: how many of the scored answers `max_tokens` cut off."""

FLOOR = "floor"
"""Key in `Result.details` for the floor, a mapping with `value` and `agent`.

The value is the score of an agent that does nothing, or the chance level.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """One metric of a run: its value with an interval and failure counts."""

    task: str
    model: str
    metric: str
    value: float | None
    n: int
    """Number of samples from which the value was computed."""
    n_expected: int | None
    protocol: str = ""
    stderr: float | None = None
    ci: tuple[float, float] | None = None
    interval: str = ""
    """Method that computed the interval, or `none: reason`."""
    outcomes: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    groups: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    parsed_value: float | None = None
    """The metric computed only from answers that could be parsed."""
    bounds: tuple[float, float] | None = None
    """The range of possible values: all samples without a verdict wrong, and all of them right."""
    flags: tuple[str, ...] = ()
    higher_is_better: bool = True
    clusters: int | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def reducer(self) -> str:
        """Name of the rule that combines repeated answers to a sample into one value."""
        epochs = self.details.get("epochs")
        if isinstance(epochs, Mapping):
            return str(epochs.get("reducer", "mean"))
        return "mean"

    def to_plain(self) -> dict[str, Any]:
        """Return the result as a row of `summary.json` and of `--json` output."""
        plain: dict[str, Any] = {
            "task": self.task,
            "protocol": self.protocol,
            "model": self.model,
            "metric": self.metric,
            "value": self.value,
            "stderr": self.stderr,
            "ci": list(self.ci) if self.ci else None,
            "interval": self.interval,
            "n": self.n,
            "n_expected": self.n_expected,
            "outcomes": dict(self.outcomes),
            "groups": {
                name: _plain_group(group) for name, group in self.groups.items()
            },
            "parsed_value": self.parsed_value,
            "bounds": list(self.bounds) if self.bounds else None,
            "flags": list(self.flags),
            "higher_is_better": self.higher_is_better,
            "clusters": self.clusters,
        }
        if self.details:
            plain["details"] = dict(self.details)
        return plain


def result_from_plain(plain: Mapping[str, Any]) -> Result:
    """Build a result from a row of `summary.json`."""
    values = dict(plain)
    for name in ("ci", "bounds", "flags"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    return Result(**values)


def _plain_group(group: object) -> object:
    if isinstance(group, Mapping):
        return {str(name): _plain_group(value) for name, value in group.items()}
    if isinstance(group, Result):
        return group.to_plain()
    return group


def prompt_to_plain(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the messages of a prompt as JSON, with media by digest."""
    return [to_plain(message) for message in prompt.messages]


def messages_from_plain(
    plain: Sequence[Mapping[str, Any]],
    blobs: Mapping[str, Media] = EMPTY,
) -> tuple[Message, ...]:
    """Build the messages of a record, looking up media by digest."""
    return tuple(
        as_message(
            {**turn, "content": [_part_from_plain(p, blobs) for p in turn["content"]]}
            if isinstance(turn.get("content"), list)
            else turn
        )
        for turn in plain
    )


def _part_from_plain(
    plain: Mapping[str, Any],
    blobs: Mapping[str, Media],
) -> Part:
    """Build a part from its JSON in the journal. `blobs` maps digests to media."""
    kind = plain.get("type")
    if kind in MEDIA_KINDS and "sha256" in plain:
        medium = blobs[plain["sha256"]]
        # The same bytes may be audio in one record and video in another; the store only knows the format.
        if not isinstance(medium, MEDIA_KINDS[kind]):
            medium = MEDIA_KINDS[kind](medium.source)
        return as_part(medium)
    if kind == "tool_result":
        content = plain.get("content", ())
        parts = [_part_from_plain(piece, blobs) for piece in content]
        return as_part({**plain, "content": parts})
    return as_part(plain)


def whole_prompts(
    records: Sequence[OutputRecord],
) -> list[Sequence[Mapping[str, Any]]]:
    """Return the complete prompt of each round of a sample, from the records of all its rounds in order.

    The record of a later round of a tool task has only the new messages: the model's calls and their results.
    """
    prompts: list[Sequence[Mapping[str, Any]]] = []
    for record in records:
        if not record.follows or not prompts:
            prompts.append(record.prompt)
            continue
        before = [turn for turn in prompts[-1] if "content" in turn]
        prompts.append([*before, *record.prompt])
    return prompts


def with_whole_prompts(records: Sequence[OutputRecord]) -> list[OutputRecord]:
    """Return the rounds of a sample, each with its complete prompt."""
    prompts = whole_prompts(records)
    return [
        replace(record, prompt=prompt, follows=False) if record.follows else record
        for record, prompt in zip(records, prompts, strict=True)
    ]


def output_to_plain(output: Output) -> dict[str, Any]:
    """Return an output as JSON. Absent values are left out."""
    plain: dict[str, Any] = {
        "candidates": [_candidate_to_plain(c) for c in output.candidates]
    }
    if output.likelihoods:
        plain["likelihoods"] = [
            [_finite(x.logprob), x.greedy, x.tokens] for x in output.likelihoods
        ]
    if output.usage is not None:
        names = (
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "reasoning_tokens",
            "cost",
        )
        plain["usage"] = {
            n: v for n in names if (v := getattr(output.usage, n)) is not None
        }
    if output.seconds is not None:
        plain["seconds"] = round(output.seconds, 6)
    if output.error is not None:
        error = output.error
        plain["error"] = {
            "kind": error.kind,
            "message": error.message,
            "retryable": error.retryable,
        }
    if output.details:
        plain["details"] = dict(output.details)
    return plain


def _finite(number: float) -> float | str:
    """Return a number unchanged, or an infinity as text, because JSON cannot represent it."""
    if math.isfinite(number):
        return number
    return str(number)


def _answer_part(part: Part) -> dict[str, Any]:
    """Return a part of an answer as JSON. The size of a medium is included, although request keys leave it out."""
    if isinstance(part, Media):
        return {**part_to_plain(part), **part.facts}
    return part_to_plain(part)


def _candidate_to_plain(candidate: Candidate) -> dict[str, Any]:
    parts = candidate.parts
    plain: dict[str, Any]
    if len(parts) == 1 and type(parts[0]) is Text:
        plain = {"text": parts[0].text}
    else:
        plain = {"parts": [_answer_part(part) for part in parts]}
    if candidate.stop_reason is not None:
        plain["stop_reason"] = candidate.stop_reason
    if candidate.tokens:
        plain["tokens"] = [
            [
                t.text,
                _finite(t.logprob),
                [[text, _finite(logprob)] for text, logprob in t.top],
            ]
            for t in candidate.tokens
        ]
    if candidate.token_ids:
        plain["token_ids"] = list(candidate.token_ids)
    if candidate.verbatim:
        plain["verbatim"] = True
    return plain


def output_from_plain(
    plain: Mapping[str, Any],
    blobs: Mapping[str, Media] = EMPTY,
) -> Output:
    """Build an output from its JSON in the journal."""
    error = plain.get("error")
    usage = plain.get("usage")
    return Output(
        candidates=tuple(
            _candidate_from_plain(c, blobs) for c in plain.get("candidates", ())
        ),
        likelihoods=tuple(
            Likelihood(float(logprob), greedy, tokens)
            for logprob, greedy, tokens in plain.get("likelihoods", ())
        ),
        usage=Usage(**usage) if usage else None,
        seconds=plain.get("seconds"),
        error=ErrorInfo(**error) if error else None,
        details=plain.get("details", EMPTY),
    )


def _candidate_from_plain(
    plain: Mapping[str, Any],
    blobs: Mapping[str, Media],
) -> Candidate:
    parts: tuple[Part, ...]
    if "text" in plain:
        parts = (Text(plain["text"]),)
    else:
        parts = tuple(_part_from_plain(part, blobs) for part in plain.get("parts", ()))
    tokens = tuple(
        Token(text, float(logprob), tuple((other, float(its)) for other, its in top))
        for text, logprob, top in plain.get("tokens", ())
    )
    return Candidate(
        parts,
        plain.get("stop_reason"),
        tokens,
        tuple(plain.get("token_ids", ())),
        bool(plain.get("verbatim", False)),
    )
