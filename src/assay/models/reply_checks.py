"""Check an endpoint's reply against the request: stop strings, length, options, token counts, model name.

Servers silently accept options that they do not support. Some deviations are corrected; the others are noted in the
record. The run counts `Output.details["notes"]` and prints them under the table.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..core import Candidate, Output, Part, Request, Text, Usage
from ..core.reasoning import ThinkTags

NOTES = "notes"
REPLY_MODEL = "reply_model"
LONGEST_NAME = 200
LEAST_TOKENS_PER_WORD = 0.8
"""Lowest plausible number of tokens per word. If the server reports fewer, it has truncated the prompt.

Tokenizers need about 1.3 tokens for a word.
"""
LEAST_CUT = 100
"""Minimum number of words for checking whether a prompt was truncated, because some servers count tokens wrongly."""
MOST_END_TOKENS = 8
"""Maximum number of tokens in an answer without text, all of them special ones."""
LEAST_REPEATED = 40
"""Minimum number of characters for detecting a repeated prompt, because a model may repeat short ones itself."""
_SPECIAL_TOKEN = re.compile(
    r"""
    <\|(?:im_(?:start|end|sep)|eot_id|eom_id|endoftext|end_of_text|(?:start|end)_header_id
       |end|assistant|user|end_of_turn_token|end_of_turn)\|>
    | <(?:end|start)_of_turn>
    | <\uff5cend\u2581of\u2581sentence\uff5c>
    | </s>(?=\s*\Z)
    """,
    re.VERBOSE,
)
"""Matches tokens that end a turn. A server with a wrong chat template leaves them in its texts."""
_RELEASE = re.compile(
    r"""
    [-@:_]
    (?: \d{4}-\d{2}-\d{2}         # gpt-4o-2024-08-06
      | \d{3,8}                   # gpt-3.5-turbo-0125, gemini-2.0-flash-001
      | latest | main             # llama3:latest, gpt2@main
      | free | nitro | floor      # how OpenRouter chooses a provider
    )$
    | \.gguf$                     # the file that llama.cpp has loaded
    """,
    re.VERBOSE,
)
"""Matches the release date or version at the end of a model's name."""


def with_notes(
    output: Output,
    notes: Iterable[str],
) -> Output:
    """Return the output with the notes added to its details."""
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
    tags: ThinkTags = None,
) -> Output:
    """Return the output cut at its stop strings, with the replying model's name and notes on ignored options.

    `model` is the name in the request, `reply_model` the one in the reply, if it has one. `tags` defines how
    reasoning is marked in the texts.
    """
    if output.error is not None:
        return output
    output = cut_at_stops(output, request.options.stop, tags)
    output, notes = _with_plausible_usage(output, request)
    notes += _ignored_options(output, request)
    notes += _odd_texts(output, request)
    if isinstance(reply_model, str) and reply_model:
        name = reply_model[:LONGEST_NAME]
        output = replace(output, details={**output.details, REPLY_MODEL: name})
        if not is_same_model(model, name):
            notes.append(f"the server answered as model {name!r}, not {model!r}")
    return with_notes(output, notes)


def is_same_model(model: str, reply_model: str) -> bool:
    """Return True if a reply's model name is the requested one, except for a release or a missing folder."""
    return _without_release(model) == _without_release(reply_model)


def _without_release(name: str) -> str:
    """Return a model's name in lower case, without its folder and without a release date or version at the end."""
    return _RELEASE.sub("", name.lower().rpartition("/")[2])


def cut_at_stops(
    output: Output,
    stops: Sequence[str],
    tags: ThinkTags = None,
) -> Output:
    """Return the output without the stop strings that a server left in its answers, and without the text after them.

    A stop string inside the reasoning stays, because cutting there would leave no answer.
    """
    if not stops:
        return output
    candidates = tuple(_cut(candidate, stops, tags) for candidate in output.candidates)
    return replace(output, candidates=candidates)


def _cut(
    candidate: Candidate,
    stops: Sequence[str],
    tags: ThinkTags,
) -> Candidate:
    separated = candidate.separated(tags)
    text = separated.text
    positions = [text.find(stop) for stop in stops if stop in text]
    if not positions:
        return candidate
    length = min(positions)
    parts: list[Part] = []
    remaining = length
    for part in separated.parts:
        if isinstance(part, Text):
            part = Text(part.text[:remaining])
            remaining -= len(part.text)
        parts.append(part)
    tokens = _tokens_within(candidate, text, length)
    return replace(
        separated,
        parts=tuple(parts),
        stop_reason="stop",
        tokens=candidate.tokens[:tokens],
        token_ids=candidate.token_ids[:tokens],
    )


def _tokens_within(
    candidate: Candidate,
    answer: str,
    length: int,
) -> int:
    """Return the number of tokens up to the first `length` characters of a candidate's answer."""
    joined = "".join(token.text for token in candidate.tokens)
    remaining = max(joined.rfind(answer), 0) + length
    count = 0
    for token in candidate.tokens:
        remaining -= len(token.text)
        if remaining < 0:
            break
        count += 1
    return count


def ended_by_length(
    output: Output,
    most: int | None,
) -> Output:
    """Return the output with stop reason `length` if it used all `most` tokens, the limit in the request.

    Some servers report "completed" in that case.
    """
    if output.usage is not None:
        count = output.usage.output_tokens
    else:
        count = None
    if most is None or count is None or count < most:
        return output
    if len(output.candidates) != 1 or output.stop_reason not in ("stop", None):
        return output
    return replace(
        output, candidates=(replace(output.candidates[0], stop_reason="length"),)
    )


def _with_plausible_usage(output: Output, request: Request) -> tuple[Output, list[str]]:
    """Return the output with a token count that fits its texts, and notes on a correction.

    With several candidates, some servers count the tokens of only one.
    """
    usage = output.usage
    if usage is None or usage.output_tokens is None:
        return output, []
    if len(output.candidates) < 2:
        return _without_zero(output, usage)
    least = sum(_fewest_tokens(c, request) for c in output.candidates)
    if usage.output_tokens >= least:
        return output, []
    count = len(output.candidates)
    note = f"the server counted fewer output tokens than its {count} candidates have"
    counted = replace(usage, output_tokens=least)
    return replace(output, usage=counted), [note]


def _without_zero(output: Output, usage: Usage) -> tuple[Output, list[str]]:
    """Return the output, and a note if its token count of 0 was removed because the answer has text."""
    if usage.output_tokens or not output.text.strip():
        return output, []
    note = "the server counted no output tokens for an answer that has text"
    counted = replace(
        usage,
        input_tokens=usage.input_tokens or None,
        output_tokens=None,
    )
    return replace(output, usage=counted), [note]


def _fewest_tokens(candidate: Candidate, request: Request) -> int:
    """Return the smallest plausible number of tokens in a candidate, from its tokens, stop reason and words."""
    if candidate.tokens:
        return len(candidate.tokens)
    if candidate.stop_reason == "length" and request.options.max_tokens is not None:
        return request.options.max_tokens
    return len(candidate.text.split())


def _ignored_options(output: Output, request: Request) -> list[str]:
    """Return notes on options that the server ignored, according to the reply."""
    options = request.options
    notes = []
    if output.usage is not None:
        count = output.usage.output_tokens
    else:
        count = None
    most = options.max_tokens
    if len(output.candidates) == 1 and count is not None and count > (most or count):
        notes.append(f"the server wrote more than max_tokens={most}")
    if options.logprobs is not None and _lacks_logprobs(output):
        notes.append("the server ignored logprobs")
    if options.response_format in ("json", "json_object") and _lacks_json(output):
        notes.append("the server ignored response_format: an answer is not JSON")
    return notes


def _odd_texts(output: Output, request: Request) -> list[str]:
    """Return notes on a truncated or repeated prompt, missing text, and special tokens in the text."""
    notes = []
    usage = output.usage or Usage()
    prompt = "".join(message.text for message in request.messages)
    words = len(prompt.split())
    least = words * LEAST_TOKENS_PER_WORD
    is_long = words >= LEAST_CUT
    if is_long and usage.input_tokens and usage.input_tokens < least:
        notes.append(
            "the server counted fewer input tokens than the prompt has words: it may have cut the prompt"
        )
    thoughts = usage.reasoning_tokens or 0
    unseen = (usage.output_tokens or 0) - thoughts
    if unseen > MOST_END_TOKENS and not any(c.parts for c in output.candidates):
        notes.append("the server counted output tokens, but sent no text")
    for text in dict.fromkeys(candidate.text for candidate in output.candidates):
        special = _SPECIAL_TOKEN.search(text)
        is_html = special is not None and special[0] == "</s>" and "<s>" in text
        if special is not None and not is_html:
            notes.append(f"the server left {special[0]} in its texts")
        can_tell = len(prompt.strip()) >= LEAST_REPEATED
        if can_tell and not request.prompt.is_chat and text.startswith(prompt):
            notes.append("the server repeats the prompt before its answer")
    return list(dict.fromkeys(notes))


def _lacks_logprobs(output: Output) -> bool:
    return any(c.text and not c.tokens for c in output.candidates)


def _lacks_json(output: Output) -> bool:
    """Return True if a candidate that was not cut is not a JSON object."""
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
