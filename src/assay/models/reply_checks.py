"""Check an endpoint's reply against the request: stop strings, length, options, token counts, model name.

Servers silently accept options that they do not support. Some deviations are corrected; the others are noted in the
record. The run counts `Output.details["notes"]` and prints them under the table.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from ..core import (
    Candidate,
    GenerateOptions,
    Media,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Request,
    Text,
    Usage,
)
from ..core.reasoning import ThinkTags
from .chat_format import Malformed, count_of
from .http import HttpFailure, Refused
from .inline_media import mapping_in

NOTES = "notes"
REPLY_MODEL = "reply_model"
LONGEST_NAME = 200
LEAST_TOKENS_PER_WORD = 0.8
"""Lowest plausible number of tokens per word.

Usual tokenizers need about 1.3. If the server reports fewer tokens than this, it has
truncated the prompt.
"""
LEAST_CUT = 100
"""Prompts with fewer words are not checked for truncation, because some servers miscount tokens."""
MOST_END_TOKENS = 8
"""An answer without text may have this many tokens, because all of them may be special tokens."""
LEAST_LIMIT = 16
"""The lowest token limit that the public Responses API accepts. Some proxies raise lower limits to this value."""
LENGTH_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
LEAST_REPEATED = 40
"""Shorter prompts are not searched for in the answer, because a model may repeat them by itself."""
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


TOOLS = "tools"
MEDIA = "images or sounds"
FIX = {
    TOOLS: "; fix: -a tool_syntax=prompted writes them into the prompt",
    MEDIA: "",
}


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
    """Check a reply. Cut the output at its stop strings, add the replying model's name, and note ignored options.

    `model` is the name in the request, `reply_model` the name in the reply, if it has
    one. `tags` defines how reasoning is marked in the texts.
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
    """Cut each answer at the first stop string, if the server did not do this.

    A stop string inside the reasoning is ignored, because cutting there would leave no
    answer.
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
    """Set the stop reason to `length` if the output used all of its token limit, `most`.

    Some servers report "completed" in that case. An output with more tokens than that
    keeps the server's stop reason, because the server ignored the limit.
    """
    count = _output_tokens(output)
    if most is None or count is None or count < most:
        return output
    has_ended = output.stop_reason in ("stop", None) or has_broken_call(output)
    if len(output.candidates) != 1 or not has_ended:
        return output
    if output.stop_reason == "stop" and count not in (most, max(most, LEAST_LIMIT)):
        return output
    return replace(
        output, candidates=(replace(output.candidates[0], stop_reason="length"),)
    )


def has_broken_call(output: Output) -> bool:
    """Return True if the answer has a tool call with arguments that are not JSON, as in an answer that was cut."""
    return any(not call.is_readable for call in output.last_calls)


def with_options_of(
    body: Mapping[str, Any],
    request: Request,
) -> Request:
    """Return the request with its options replaced by those that the user set in `body`."""
    options = request.options
    stop = body.get("stop")
    if isinstance(stop, str):
        options = replace(options, stop=(stop,))
    elif isinstance(stop, list):
        options = replace(options, stop=tuple(stop))
    for name in LENGTH_FIELDS:
        if count := count_of(body, name):
            options = replace(options, max_tokens=count)
    if body.get("logprobs") not in (None, False):
        options = replace(options, logprobs=count_of(body, "top_logprobs") or 0)
    if _asks_for_object(body.get("response_format")):
        options = replace(options, response_format="json")
    if options is request.options:
        return request
    return replace(request, options=options)


def _asks_for_object(response_format: object) -> bool:
    """Return True if `response_format` requires a JSON object, by its type or its schema."""
    kind = mapping_in(response_format).get("type")
    schema = mapping_in(response_format, "json_schema", "schema")
    return kind == "json_object" or schema.get("type") == "object"


def _output_tokens(output: Output) -> int | None:
    """Return the number of output tokens that the server reported, or None."""
    if output.usage is None:
        return None
    return output.usage.output_tokens


def _with_plausible_usage(output: Output, request: Request) -> tuple[Output, list[str]]:
    """Return the output without an implausible token count, and a note if the count was changed.

    For several candidates, some servers count the tokens of only one.
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
    """Remove an output token count of 0 if the answer has text. Return the output, and a note on the change."""
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
    """Return a note for each requested option that the server ignored, as its reply shows."""
    options = request.options
    notes = []
    count = _output_tokens(output)
    most = options.max_tokens
    is_over = bool(most and count is not None and count > most)
    if len(output.candidates) == 1 and is_over:
        notes.append(f"the server wrote more than max_tokens={most}")
    if _is_cut_early(output, most):
        notes.append(
            "the server cut an answer before max_tokens: its context may be full"
        )
    if options.logprobs is not None and _lacks_logprobs(output):
        notes.append("the server ignored logprobs")
    if request.prompt.tools and _lacks_call(output, request.prompt.tool_choice):
        notes.append("the server ignored tool_choice: an answer has no call")
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


def _is_cut_early(
    output: Output,
    most: int | None,
) -> bool:
    """Return True if an answer has the stop reason `length`, but fewer tokens than the limit.

    Answers with reasoning are not checked, because some servers do not count reasoning
    tokens.
    """
    count = _output_tokens(output)
    if most is None or count is None or len(output.candidates) != 1:
        return False
    [candidate] = output.candidates
    has_reasoning = any(isinstance(part, Reasoning) for part in candidate.parts)
    is_cut = candidate.stop_reason == "length"
    return is_cut and not has_reasoning and count < most


def _lacks_call(
    output: Output,
    tool_choice: str | None,
) -> bool:
    """Return True if a tool call was required, but a candidate has none and is not a refusal."""
    if tool_choice in (None, "auto", "none"):
        return False
    return any(
        not candidate.calls and candidate.stop_reason != "content_filter"
        for candidate in output.candidates
    )


def _lacks_json(output: Output) -> bool:
    """Return True if a candidate is not a JSON object.

    A candidate that was cut by the token limit must only begin with `{`.
    """
    for candidate in output.candidates:
        if not candidate.text.strip():
            continue
        if candidate.stop_reason == "length" and candidate.text.lstrip()[0] != "{":
            return True
        if candidate.stop_reason != "stop":
            continue
        try:
            value = json.loads(candidate.text)
        except ValueError:
            return True
        if not isinstance(value, dict):
            return True
    return False


class UnseenParts:
    """Checks by token counts whether a server shows the tools and media of a prompt to its model.

    Some servers accept them for models that cannot use them, and silently drop them.
    The prompt then has the same token count with and without them. Tools and media are
    each tested once per server.
    """

    def __init__(self) -> None:
        self._notes: dict[str, list[str]] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def notes(
        self,
        request: Request,
        output: Output,
        ask: Callable[[Request], Awaitable[Output]],
    ) -> list[str]:
        """Return notes on parts of the prompt that do not change the server's token count.

        If the server was not tested yet, `ask` is called to send the test requests.
        """
        if output.usage is None or not output.usage.input_tokens:
            return []
        notes: list[str] = []
        for part in _doubtful_parts(request.prompt, output):
            lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
            async with lock:
                if part not in self._notes:
                    bare = await _input_tokens(_without(request, part), ask)
                    is_unseen = bare is not None and bare >= output.usage.input_tokens
                    self._notes[part] = [_note(part)] if is_unseen else []
            notes += self._notes[part]
        return notes


def _note(part: str) -> str:
    return f"the server counts no tokens for {part}: it may not show them to the model{FIX[part]}"


def _doubtful_parts(prompt: Prompt, output: Output) -> list[str]:
    """Return the kinds of parts (tools, media) that the server may have dropped from the prompt.

    If the model called a tool, the tools were not dropped.
    """
    parts = []
    has_call = any(candidate.calls for candidate in output.candidates)
    if prompt.tools and prompt.tool_choice != "none" and not has_call:
        parts.append(TOOLS)
    if prompt.media:
        parts.append(MEDIA)
    return parts


def _without(request: Request, part: str) -> Request:
    """Return a request for one token with the same prompt, excluding the tools or the media."""
    prompt = request.prompt
    if part == TOOLS:
        prompt = replace(prompt, tools=(), tool_choice=None, parallel_calls=None)
    else:
        prompt = replace(prompt, messages=tuple(map(_without_media, prompt.messages)))
    return Request(prompt, GenerateOptions(max_tokens=1))


def _without_media(message: Message) -> Message:
    parts = [part for part in message.parts or () if not isinstance(part, Media)]
    return Message(message.role, tuple(parts))


async def _input_tokens(
    request: Request,
    ask: Callable[[Request], Awaitable[Output]],
) -> int | None:
    """Return the number of tokens that the server counts in a prompt; None if it does not answer."""
    try:
        output = await ask(request)
    except (Refused, HttpFailure, Malformed):
        return None
    if output.usage is None:
        return None
    return output.usage.input_tokens
