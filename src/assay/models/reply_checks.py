"""Check an endpoint's reply against the request: stop strings, length, options, token counts, model name.

Servers silently accept options that they do not know. What can be corrected is corrected; the rest is noted in the
record. The run counts `Output.details["notes"]` and prints them under the table.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..core import Candidate, Output, Part, Request, Text, Usage

NOTES = "notes"
REPLY_MODEL = "reply_model"
LONGEST_NAME = 200
_RELEASE = re.compile(
    r"""[-@:_]
    (?: \d{4}-\d{2}-\d{2}    # gpt-4o-2024-08-06
      | \d{3,8}              # gpt-3.5-turbo-0125, gemini-2.0-flash-001
      | latest | main        # llama3:latest, gpt2@main
    )$""",
    re.VERBOSE,
)
"""The end of a model's name that says which release of it answered."""


def with_notes(output: Output, notes: Iterable[str]) -> Output:
    """Return the output with further notes in its details."""
    further = list(notes)
    if not further:
        return output
    before = output.details.get(NOTES, ())
    return replace(output, details={**output.details, NOTES: [*before, *further]})


def check_reply(
    output: Output,
    request: Request,
    model: str,
    reply_model: object,
) -> Output:
    """Return the output cut at its stop strings, with the replying model's name and notes on ignored options.

    `model` is the name in the request, `reply_model` the one in the reply, if it has one.
    """
    if output.error is not None:
        return output
    output = cut_at_stops(output, request.options.stop)
    output, notes = _with_plausible_usage(output, request)
    notes += _ignored_options(output, request)
    if isinstance(reply_model, str) and reply_model:
        name = reply_model[:LONGEST_NAME]
        output = replace(output, details={**output.details, REPLY_MODEL: name})
        if not is_same_model(model, name):
            notes.append(f"the server answered as model {name!r}, not {model!r}")
    return with_notes(output, notes)


def is_same_model(model: str, reply_model: str) -> bool:
    """Return True if a reply's model name is the one asked for, perhaps with a release or without its folder."""
    return _without_release(model) == _without_release(reply_model)


def _without_release(name: str) -> str:
    """Return a model's name in small letters, without its folder and the release at its end."""
    return _RELEASE.sub("", name.lower().rpartition("/")[2])


def cut_at_stops(output: Output, stops: Sequence[str]) -> Output:
    """Return the output without the stop strings that a server left in its texts, and without the text after them."""
    if not stops or not any(
        stop in candidate.text for candidate in output.candidates for stop in stops
    ):
        return output
    candidates = tuple(_cut(candidate, stops) for candidate in output.candidates)
    return replace(output, candidates=candidates)


def _cut(candidate: Candidate, stops: Sequence[str]) -> Candidate:
    text = candidate.text
    positions = [text.find(stop) for stop in stops if stop in text]
    if not positions:
        return candidate
    length = min(positions)
    parts: list[Part] = []
    remaining = length
    for part in candidate.parts:
        if isinstance(part, Text):
            part = Text(part.text[:remaining])
            remaining -= len(part.text)
        parts.append(part)
    tokens = _tokens_within(candidate, length)
    return Candidate(
        tuple(parts),
        "stop",
        candidate.tokens[:tokens],
        candidate.token_ids[:tokens],
    )


def _tokens_within(candidate: Candidate, length: int) -> int:
    """Return how many of the candidate's first tokens are within `length` characters."""
    count = 0
    for token in candidate.tokens:
        length -= len(token.text)
        if length < 0:
            break
        count += 1
    return count


def ended_by_length(output: Output, most: int | None) -> Output:
    """Return the output with stop reason `length` if it has `most` output tokens, the limit in the request.

    Some servers report "completed" in that case.
    """
    count = output.usage.output_tokens if output.usage is not None else None
    if most is None or count is None or count < most:
        return output
    if len(output.candidates) != 1 or output.stop_reason != "stop":
        return output
    return replace(
        output, candidates=(replace(output.candidates[0], stop_reason="length"),)
    )


def _with_plausible_usage(output: Output, request: Request) -> tuple[Output, list[str]]:
    """Return the output with a token count that is not smaller than its texts require, and notes on the change.

    With several candidates, some servers count the tokens of only one.
    """
    usage = output.usage
    if len(output.candidates) < 2 or usage is None or usage.output_tokens is None:
        return output, []
    least = sum(_fewest_tokens(c, request) for c in output.candidates)
    if usage.output_tokens >= least:
        return output, []
    count = len(output.candidates)
    note = f"the server counted fewer output tokens than its {count} candidates have"
    return replace(output, usage=_with_output_tokens(usage, least)), [note]


def _with_output_tokens(usage: Usage, count: int) -> Usage:
    return replace(usage, output_tokens=count)


def _fewest_tokens(candidate: Candidate, request: Request) -> int:
    """Return the smallest number of tokens that a candidate can have."""
    if candidate.tokens:
        return len(candidate.tokens)
    if candidate.stop_reason == "length" and request.options.max_tokens is not None:
        return request.options.max_tokens
    return len(candidate.text.split())


def _ignored_options(output: Output, request: Request) -> list[str]:
    """Return notes on options that the reply shows to have been ignored."""
    options = request.options
    notes = []
    count = output.usage.output_tokens if output.usage is not None else None
    most = options.max_tokens
    if len(output.candidates) == 1 and count is not None and count > (most or count):
        notes.append(f"the server wrote more than max_tokens={most}")
    if options.logprobs is not None and _lacks_logprobs(output):
        notes.append("the server ignored logprobs")
    if options.response_format in ("json", "json_object") and _lacks_json(output):
        notes.append("the server ignored response_format: an answer is not JSON")
    return notes


def _lacks_logprobs(output: Output) -> bool:
    return any(c.text and not c.tokens for c in output.candidates)


def _lacks_json(output: Output) -> bool:
    """Return True if a candidate that ended by itself is not a JSON object."""
    for candidate in output.candidates:
        if candidate.stop_reason != "stop" or not candidate.text:
            continue
        try:
            value = json.loads(candidate.text)
        except ValueError:
            return True
        if not isinstance(value, dict):
            return True
    return False
