"""The chat format of OpenAI-compatible endpoints: build requests and read answers.

The HTTP model, litellm and the in-process llama.cpp share it. Nothing is sent here.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import (
    EMPTY,
    Audio,
    Candidate,
    GenerateOptions,
    Image,
    Media,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Text,
    Token,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
    Video,
    shorten,
)
from ..core.message import part_text
from ..core.tools import TOOL_CHOICES, read_arguments
from .inline_media import Malformed as Malformed
from .inline_media import from_base64, image_at, mapping_in, playable

STOP_REASONS = {
    "length": "length",
    "max_tokens": "length",
    "max_length": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "stop": "stop",
    "complete": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
}
"""Assay's stop reasons, by the server's finish reason in lower case."""
SAME_NAME = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
)


FAILED = frozenset(
    {
        "error",
        "abort",
        "aborted",
        "cancelled",
        "network_error",
        "server_error",
        "timeout",
        "insufficient_system_resource",
    }
)
"""Finish reasons that mean that the server failed, even if its reply contains some text."""
REASONING_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
)
"""Message keys that may contain the reasoning. A server that sends several repeats the same text."""
KNOWN_PIECES = frozenset(
    {"text", "output_text", "reasoning", "thinking", "redacted_thinking", "refusal"}
)
"""Known values of `type` for the elements of a content list. An element of such a type may have no text."""
LONG_SHOWN = 300
"""Maximum number of characters of an unexpected body that an error message quotes."""
MOST_COUNTED = 2**53
"""The largest accepted count: 2**53, up to which all JSON parsers represent integers exactly."""


def chat_messages(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the messages for a chat endpoint, without the empty last turn, which marks where the model writes."""
    spelled: list[dict[str, Any]] = []
    for message in prompt.messages:
        if message.parts is None:
            continue
        if not message.results:
            spelled.append(_chat_message(message))
            continue
        spelled += [_result_message(result) for result in message.results]
        rest = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        if rest:
            spelled.append(_chat_message(Message(message.role, rest)))
    return spelled


def _chat_message(message: Message) -> dict[str, Any]:
    calls = message.calls
    if not calls:
        return {"role": message.role, "content": _content(message.parts or ())}
    hidden = (ToolCall, Reasoning)
    rest = [part for part in message.parts or () if not isinstance(part, hidden)]
    return {
        "role": message.role,
        "content": _content(rest) if rest else None,
        "tool_calls": [function_call(call) for call in calls],
    }


def function_call(call: ToolCall) -> dict[str, Any]:
    """Convert a tool call to the form of OpenAI's chat API."""
    function = {"name": call.name, "arguments": call.arguments_text}
    return {"id": call.id, "type": "function", "function": function}


def _result_message(result: ToolResult) -> dict[str, Any]:
    content = _content(result.parts)
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    visible = [part for part in parts if not isinstance(part, Reasoning)]
    if not any(isinstance(part, Media) for part in visible):
        return "".join(part_text(part) for part in visible)
    return [_part(part) for part in visible]


def tool_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the request fields that offer tools; empty for a prompt without tools."""
    fields: dict[str, Any] = {}
    if prompt.tools:
        fields["tools"] = [function_tool(tool) for tool in prompt.tools]
    choice = prompt.tool_choice
    if choice in TOOL_CHOICES:
        fields["tool_choice"] = choice
    elif choice is not None:
        fields["tool_choice"] = {"type": "function", "function": {"name": choice}}
    if prompt.parallel_calls is not None:
        fields["parallel_tool_calls"] = prompt.parallel_calls
    return fields


def function_tool(tool: Tool) -> dict[str, Any]:
    """Convert a tool to the form of OpenAI's chat API, which chat templates also use."""
    return {"type": "function", "function": tool.to_plain()}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": part.data_url()}}
    if isinstance(part, Audio):
        data = base64.b64encode(part.data()).decode("ascii")
        return {
            "type": "input_audio",
            "input_audio": {"data": data, "format": part.sent_format},
        }
    if isinstance(part, Video):
        return {"type": "video_url", "video_url": {"url": part.data_url()}}
    return {"type": "text", "text": part_text(part)}


def option_fields(
    options: GenerateOptions,
    seed: int | None,
    *,
    chat: bool,
) -> dict[str, Any]:
    """Return the options that are set as fields of a request body. The caller adds `max_tokens`."""
    body = {
        name: value
        for name in SAME_NAME
        if (value := getattr(options, name)) is not None
    }
    if options.stop:
        body["stop"] = list(options.stop)
    if seed is None:
        chosen_seed = options.seed
    else:
        chosen_seed = seed
    if chosen_seed is not None:
        body["seed"] = chosen_seed
    if options.n != 1:
        body["n"] = options.n
    if options.logprobs is not None:
        body |= (
            {"logprobs": True, "top_logprobs": options.logprobs}
            if chat
            else {"logprobs": options.logprobs}
        )
    if options.reasoning_effort is not None:
        body["reasoning_effort"] = options.reasoning_effort
    if options.response_format is not None:
        if options.response_format == "json":
            kind = "json_object"
        else:
            kind = options.response_format
        body["response_format"] = {"type": kind}
    return body


def read_answer(
    body: object,
    *,
    seconds: float | None = None,
    keep_top: bool = True,
    audio_format: str | None = None,
) -> Output:
    """Read the output from the body of a reply. Raise `Malformed` if it has none.

    `audio_format` is the format that the request asked for.
    """
    answer = mapping_in(body)
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or not choices:
        raise Malformed(f"the answer has no `choices`: {shorten(body, LONG_SHOWN)}")
    try:
        candidates = tuple(
            _candidate(choice, keep_top, audio_format) for choice in in_order(choices)
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise Malformed(
            f"a choice has an unexpected structure ({type(error).__name__}: {error}): {shorten(choices)}"
        ) from error
    words = next(
        (words for choice in choices if (words := _refusal(choice.get("message")))),
        None,
    )
    details = {"refusal": words} if words else EMPTY
    return Output(
        candidates,
        usage=read_usage(answer.get("usage")),
        seconds=seconds,
        details=details,
    )


def in_order(choices: Sequence[Any]) -> Sequence[Any]:
    """Sort the choices by index, if all indices differ. Some servers send them in the order of completion."""
    indexes = set()
    for choice in choices:
        if isinstance(choice, Mapping):
            indexes.add(str(choice.get("index")))
    if indexes != set(map(str, range(len(choices)))):
        return choices
    return sorted(choices, key=lambda choice: int(choice["index"]))


def read_stop_reason(reason: object) -> str | None:
    """Return assay's name for a server's finish reason; an unknown one unchanged, and None if there is none.

    SGLang's native API returns an object with a `type` instead.
    """
    if isinstance(reason, Mapping):
        reason = reason.get("type")
    if not isinstance(reason, str) or not reason:
        return None
    word = reason.lower().removeprefix("finish_reason_")
    return STOP_REASONS.get(word, reason)


def _candidate(
    choice: object,
    keep_top: bool,
    audio_format: str | None,
) -> Candidate:
    if not isinstance(choice, Mapping):
        raise Malformed(f"a choice is not an object: {shorten(choice)}")
    reason = choice.get("finish_reason")
    stop_reason = read_stop_reason(reason)
    error = choice.get("error")
    if isinstance(error, Mapping) and error.get("message"):
        raise Malformed(f"the server aborted the answer: {error['message']}")
    if stop_reason is not None and stop_reason.lower() in FAILED:
        raise Malformed(
            f"the server aborted the answer, finish_reason {reason!r}: {shorten(dict(choice))}"
        )
    if "message" in choice:
        parts = _message_parts(choice["message"], audio_format)
        _check_said_something(choice["message"], parts, stop_reason)
        if _refusal(choice["message"]):
            stop_reason = "content_filter"
    elif isinstance(choice.get("text"), str):
        parts = (Text(choice["text"]),)
    else:
        raise Malformed(
            f"a choice has neither `message` nor `text`: {shorten(dict(choice))}"
        )
    tokens, ids = _tokens(choice.get("logprobs"), keep_top)
    return Candidate(parts, stop_reason, tokens, ids)


def _check_said_something(
    message: Mapping[str, Any],
    parts: Sequence[Part],
    stop_reason: str | None,
) -> None:
    """Raise if an answer stopped for a tool call and contains neither a call nor text."""
    if stop_reason != "tool_calls":
        return
    for part in parts:
        is_blank = isinstance(part, Text) and not part.text.strip()
        if not is_blank and not isinstance(part, Reasoning):
            return
    raise Malformed(
        f"finish_reason is tool_calls and there is no call: {shorten(dict(message))}",
        passes=False,
    )


def _read_calls(message: Mapping[str, Any]) -> list[Part]:
    """Return the tool calls in a message. Arguments that are not JSON stay as text."""
    calls = message.get("tool_calls")
    if not calls and message.get("function_call"):
        calls = [{"function": message["function_call"]}]
    if not calls:
        return []
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise Malformed(f"`tool_calls` is not a list: {shorten(calls)}")
    return [_read_call(call) for call in calls]


def _read_call(call: object) -> ToolCall:
    fields = mapping_in(call)
    function = fields.get("function")
    if not isinstance(function, Mapping):
        raise Malformed(f"a tool call has no `function`: {shorten(call)}")
    call_id = str(fields.get("id") or "")
    name = str(function.get("name") or "")
    arguments = read_arguments(function.get("arguments"))
    return ToolCall(call_id, name, arguments)


def _refusal(message: object) -> str | None:
    """Return the text of a refusal, which is not an answer; None without one."""
    if not isinstance(message, Mapping):
        return None
    content = message.get("content")
    refusal = message.get("refusal")
    if isinstance(content, list):
        pieces = content
    else:
        pieces = []
    if pieces and all(
        isinstance(piece, Mapping) and piece.get("type") == "refusal"
        for piece in pieces
    ):
        refusal = " ".join(
            str(piece.get("refusal") or "no reason given") for piece in pieces
        )
        content = None
    if refusal and isinstance(refusal, str) and not content:
        return refusal
    return None


def _message_parts(
    message: object,
    audio_format: str | None,
) -> tuple[Part, ...]:
    """Return the parts of a message. If its content is empty, add no text part."""
    if not isinstance(message, Mapping):
        raise Malformed(f"`message` is not an object: {shorten(message)}")
    parts: list[Part] = []
    thoughts = [_thought(message.get(name)) for name in REASONING_FIELDS]
    thought = next(filter(None, thoughts), "")
    if thought:
        parts.append(Reasoning(thought))
    content = message.get("content")
    if isinstance(content, str):
        parts.append(Text(content))
    elif isinstance(content, Sequence):
        pieces = [_piece(piece, audio_format) for piece in content]
        read_pieces = [piece for piece in pieces if piece is not None]
        if content and not read_pieces and not _knows_any(content):
            raise Malformed(f"no piece of `content` can be read: {shorten(content)}")
        parts += read_pieces
    elif content is not None:
        raise Malformed(f"`content` is neither text nor a list: {shorten(content)}")
    parts += _made_media(message, audio_format)
    return (*parts, *_read_calls(message))


def _piece(
    piece: object,
    audio_format: str | None,
) -> Part | None:
    """Convert one element of a content list to a part; None if it is neither text, reasoning nor a medium."""
    if not isinstance(piece, Mapping):
        if isinstance(piece, str):
            return Text(piece)
        return None
    kind = piece.get("type", "text")
    if kind in ("reasoning", "thinking"):
        thought = _thought(piece)
        return Reasoning(thought) if thought else None
    if kind == "image_url":
        return image_at(piece.get("image_url"))
    if kind in ("audio", "input_audio", "output_audio"):
        audio_part = piece[kind]
        return _audio(audio_part, audio_format) or Text(_words(audio_part))
    if isinstance(piece.get("text"), str):
        return Text(piece["text"])
    return None


def _knows_any(content: Sequence[Any]) -> bool:
    """Return True if a content list has an element of a known type, even one with an empty text."""
    kinds = [piece.get("type") for piece in content if isinstance(piece, Mapping)]
    return not KNOWN_PIECES.isdisjoint(map(str, kinds))


def _thought(thought: object) -> str:
    """Return the reasoning text in a message field: a string, an object that contains text, or a list of these."""
    if isinstance(thought, str):
        return thought
    if isinstance(thought, Mapping):
        names = ("thinking", "reasoning", "text", "summary", "content")
        return next(filter(None, (_thought(thought.get(name)) for name in names)), "")
    if isinstance(thought, Sequence):
        return "".join(map(_thought, thought))
    return ""


def _made_media(
    message: Mapping[str, Any],
    audio_format: str | None,
) -> list[Part]:
    parts: list[Part] = []
    for image in message.get("images") or ():
        parts.append(image_at(image["image_url"]))
    audio = message.get("audio")
    if isinstance(audio, Mapping) and audio.get("data") is not None:
        audio_part = _audio(audio, audio_format, has_words=bool(message.get("content")))
        parts += [audio_part] if audio_part is not None else []
    if (
        isinstance(audio, Mapping)
        and not message.get("content")
        and (words := _words(audio))
    ):
        parts.append(Text(words))
    return parts


def _audio(
    holder: Mapping[str, Any],
    audio_format: str | None,
    *,
    has_words: bool = False,
) -> Audio | None:
    """Return the audio of an answer; None if the audio is empty, so that the text is the answer."""
    if holder["data"] == "" and (has_words or _words(holder)):
        return None
    return playable(from_base64(Audio, holder["data"]), audio_format)


def _words(holder: Mapping[str, Any]) -> str:
    words = holder.get("transcript")
    return words if isinstance(words, str) else ""


def _tokens(
    logprobs: object,
    keep_top: bool,
) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    """Return a choice's tokens, and their ids if the server reports all of them.

    Chat endpoints report `{"content": [{"token": …}]}`, completion endpoints
    `{"tokens": […], "token_logprobs": […], "top_logprobs": […]}`.
    """
    if not isinstance(logprobs, Mapping):
        return (), ()
    content = logprobs.get("content")
    if isinstance(content, Sequence):
        return _chat_tokens(content, keep_top)
    texts = logprobs.get("tokens")
    values = logprobs.get("token_logprobs")
    if not isinstance(texts, Sequence) or not isinstance(values, Sequence):
        return (), ()
    if len(texts) != len(values):
        raise Malformed(
            f"{len(texts)} tokens have {len(values)} log-probabilities: {shorten(texts)}"
        )
    tops: Any = logprobs.get("top_logprobs")
    has_tops = isinstance(tops, Sequence) and len(tops) == len(texts)
    if not keep_top or not has_tops:
        tops = [None] * len(texts)
    tokens = []
    for text, value, top in zip(texts, values, tops, strict=True):
        rivals = tuple((top or {}).items())
        tokens.append(read_token(text, value, rivals))
    return tuple(tokens), ()


def _chat_tokens(
    content: Sequence[Any],
    keep_top: bool,
) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    """Return the tokens of a chat choice and, if the server reports them all, their ids."""
    tokens = []
    ids = []
    for entry in content:
        rivals = alternatives_of(entry) if keep_top else ()
        tokens.append(read_token(entry["token"], entry["logprob"], rivals))
        if isinstance(entry.get("id"), int):
            ids.append(entry["id"])
    if len(ids) != len(tokens):
        ids = []
    return tuple(tokens), tuple(ids)


def alternatives_of(token: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return the alternatives to a token with their log-probabilities."""
    rivals = token.get("top_logprobs") or ()
    if isinstance(rivals, Mapping):
        return tuple(rivals.items())
    return tuple((other["token"], other["logprob"]) for other in rivals)


def read_token(
    text: Any,
    logprob: Any,
    top: tuple[tuple[Any, Any], ...] = (),
) -> Token:
    """Convert a token, its log-probability and its alternatives. Raise `Malformed` for values of other types.

    Servers write minus infinity as `null`. The token's own log-probability is then NaN,
    and an alternative with `null` is left out.
    """
    for word, weight in ((text, logprob), *top):
        if not isinstance(word, str) or not (
            weight is None or isinstance(weight, (int, float))
        ):
            raise Malformed(
                f"a log-probability is not a number: {shorten(word)}: {shorten(weight)}"
            )
    rivals = tuple(rival for rival in top if rival[1] is not None)
    return Token(text, math.nan if logprob is None else logprob, rivals)


def read_usage(
    usage: object,
    input_word: str = "prompt",
    output_word: str = "completion",
) -> Usage | None:
    """Return the endpoint's token counts. Invalid ones are left out, since a wrong count must not end a run."""
    if not isinstance(usage, Mapping):
        return None
    if f"{input_word}_tokens" not in usage and "input_tokens" in usage:
        input_word = "input"
        output_word = "output"
    of_prompt = usage.get(f"{input_word}_tokens_details")
    of_answer = usage.get(f"{output_word}_tokens_details")
    return Usage(
        input_tokens=count_of(usage, f"{input_word}_tokens"),
        output_tokens=count_of(usage, f"{output_word}_tokens"),
        cached_tokens=count_of(of_prompt, "cached_tokens"),
        reasoning_tokens=count_of(of_answer, "reasoning_tokens"),
        cost=_number(usage.get("cost")),
    )


def count_of(counts: object, name: str) -> int | None:
    """Return the count under `name`, or None if it is not a plausible number."""
    number = _number(mapping_in(counts).get(name))
    if number is None or number > MOST_COUNTED:
        return None
    return int(number)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value < math.inf else None
