"""The chat format: requests and answers as OpenAI-compatible endpoints spell them.

Pure data in, pure data out: the HTTP model and the in-process llama.cpp speak the same format.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import (
    EMPTY,
    Audio,
    Candidate,
    GenerateOptions,
    Image,
    Json,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Text,
    Token,
    Usage,
    Video,
    shorten,
)
from .inline_media import Malformed as Malformed
from .inline_media import from_base64, image_at, playable

STOP_REASONS = {
    "max_tokens": "length",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
}
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
        "insufficient_system_resource",
    }
)
"""Ends of an answer that are faults of the server, whatever was written until then."""
OPEN, CLOSE = "<think>", "</think>"
"""Around reasoning that a server leaves in the text."""
CALLING = frozenset({"tool_calls", "function_call"})


def chat_messages(prompt: Prompt) -> list[dict[str, Any]]:
    """The messages for a chat endpoint; the place where the model writes is left out."""
    return [
        {"role": message.role, "content": _content(message)}
        for message in prompt.messages
        if message.parts is not None
    ]


def _content(message: Message) -> Any:
    parts = [part for part in message.parts or () if not isinstance(part, Reasoning)]
    if all(isinstance(part, Text) for part in parts):
        return message.text
    return [_part(part) for part in parts]


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
    if isinstance(part, Json):
        return {"type": "text", "text": json.dumps(part.value, ensure_ascii=False)}
    return {"type": "text", "text": part.text}


def option_fields(
    options: GenerateOptions, seed: int | None, *, chat: bool
) -> dict[str, Any]:
    """The options that were set, under the names the endpoints use; `max_tokens` is left to the caller."""
    body = {
        name: value
        for name in SAME_NAME
        if (value := getattr(options, name)) is not None
    }
    if options.stop:
        body["stop"] = list(options.stop)
    if (chosen := options.seed if seed is None else seed) is not None:
        body["seed"] = chosen
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
        kind = (
            "json_object"
            if options.response_format == "json"
            else options.response_format
        )
        body["response_format"] = {"type": kind}
    return body


def read_answer(
    body: Any,
    *,
    seconds: float | None = None,
    keep_top: bool = True,
    audio_format: str | None = None,
) -> Output:
    """The output in an answer's body; raises `Malformed` where it is not one. `audio_format` is what was asked for."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, Sequence) or not choices:
        raise Malformed(f"the answer has no `choices`: {shorten(body)}")
    try:
        candidates = tuple(
            _candidate(choice, keep_top, audio_format) for choice in choices
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise Malformed(
            f"a choice is not shaped as one ({type(error).__name__}: {error}): {shorten(choices)}"
        ) from error
    words = next(
        (words for choice in choices if (words := _refusal(choice.get("message")))),
        None,
    )
    details = {"refusal": words} if words else EMPTY
    return Output(
        candidates,
        usage=read_usage(body.get("usage")),
        seconds=seconds,
        details=details,
    )


def _candidate(choice: Any, keep_top: bool, audio_format: str | None) -> Candidate:
    if not isinstance(choice, Mapping):
        raise Malformed(f"a choice is not an object: {shorten(choice)}")
    reason = choice.get("finish_reason")
    stop_reason = STOP_REASONS.get(reason, reason) if isinstance(reason, str) else None
    if stop_reason in FAILED:
        raise Malformed(
            f"the server broke the answer off, finish_reason {reason!r}: {shorten(dict(choice))}"
        )
    if "message" in choice:
        parts = _message_parts(choice["message"], audio_format)
        _check_said_something(choice["message"], parts, stop_reason)
        stop_reason = "content_filter" if _refusal(choice["message"]) else stop_reason
    elif isinstance(choice.get("text"), str):
        parts = (Text(choice["text"]),)
    else:
        raise Malformed(
            f"a choice has neither `message` nor `text`: {shorten(dict(choice))}"
        )
    tokens, ids = _tokens(choice.get("logprobs"), keep_top)
    return Candidate(parts, stop_reason, tokens, ids)


def _check_said_something(
    message: Mapping[str, Any], parts: Sequence[Part], stop_reason: str | None
) -> None:
    """Raises for a model that called a tool and said nothing: nobody calls it for the model, so no answer follows."""
    calls = message.get("tool_calls") or message.get("function_call")
    if not calls and stop_reason not in CALLING:
        return
    if all(
        isinstance(part, Reasoning)
        or (isinstance(part, Text) and not part.text.strip())
        for part in parts
    ):
        raise Malformed(
            f"the model called a tool instead of answering: {shorten(calls)}",
            passes=False,
        )


def _refusal(message: Any) -> str | None:
    """The words with which the model declined: they are no answer, so they are kept apart from it."""
    if not isinstance(message, Mapping):
        return None
    content, refusal = message.get("content"), message.get("refusal")
    pieces = content if isinstance(content, list) else []
    if pieces and all(
        isinstance(piece, Mapping) and piece.get("type") == "refusal"
        for piece in pieces
    ):
        refusal, content = (
            " ".join(
                str(piece.get("refusal") or "no reason given") for piece in pieces
            ),
            None,
        )
    return refusal if refusal and isinstance(refusal, str) and not content else None


def _message_parts(message: Any, audio_format: str | None) -> tuple[Part, ...]:
    """What was said; no content at all is no parts, never an empty answer."""
    if not isinstance(message, Mapping):
        raise Malformed(f"`message` is not an object: {shorten(message)}")
    parts: list[Part] = []
    thought = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thought, str):
        parts.append(Reasoning(thought))
    content = message.get("content")
    if isinstance(content, str):
        parts.append(Text(content))
    elif isinstance(content, Sequence):
        parts += [
            part
            for piece in content
            if (part := _piece(piece, audio_format)) is not None
        ]
    elif content is not None:
        raise Malformed(f"`content` is neither text nor a list: {shorten(content)}")
    return (*parts, *_made_media(message, audio_format))


def _piece(piece: Any, audio_format: str | None) -> Part | None:
    """One piece of a content that comes as a list; `None` for what is neither said, thought nor made."""
    if not isinstance(piece, Mapping):
        return Text(piece) if isinstance(piece, str) else None
    kind = piece.get("type", "text")
    if kind in ("reasoning", "thinking"):
        thought = _thought(piece)
        return Reasoning(thought) if thought else None
    if kind == "image_url":
        return image_at(piece.get("image_url"))
    if kind in ("audio", "input_audio", "output_audio"):
        audio_part = piece[kind]
        return _audio(audio_part, audio_format) or Text(_words(audio_part))
    return Text(piece["text"]) if isinstance(piece.get("text"), str) else None


def _thought(piece: Mapping[str, Any]) -> str:
    """What was thought, as a text or as pieces of its own."""
    names = ("thinking", "reasoning", "text", "summary")
    content = next((content for name in names if (content := piece.get(name))), "")
    if isinstance(content, str):
        return content
    return "".join(
        str(inner.get("text") or "") for inner in content if isinstance(inner, Mapping)
    )


def _made_media(message: Mapping[str, Any], audio_format: str | None) -> list[Part]:
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
    holder: Mapping[str, Any], audio_format: str | None, *, has_words: bool = False
) -> Audio | None:
    """The audio of an answer; `None` where it is left empty beside words, which are then the answer."""
    if holder["data"] == "" and (has_words or _words(holder)):
        return None
    return playable(from_base64(Audio, holder["data"]), audio_format)


def _words(holder: Mapping[str, Any]) -> str:
    words = holder.get("transcript")
    return words if isinstance(words, str) else ""


def _tokens(logprobs: Any, keep_top: bool) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    if not isinstance(logprobs, Mapping):
        return (), ()
    content = logprobs.get("content")
    if isinstance(content, Sequence):
        tokens = tuple(
            weighed_token(t["token"], t["logprob"], rivals_of(t) if keep_top else ())
            for t in content
        )
        ids = tuple(t["id"] for t in content if isinstance(t.get("id"), int))
        return tokens, ids if len(ids) == len(tokens) else ()
    texts, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(texts, Sequence) or not isinstance(values, Sequence):
        return (), ()
    tops = logprobs.get("top_logprobs") if keep_top else None
    tops = (
        tops
        if isinstance(tops, Sequence) and len(tops) == len(texts)
        else [None] * len(texts)
    )
    return tuple(
        weighed_token(text, value, tuple((top or {}).items()))
        for text, value, top in zip(texts, values, tops, strict=True)
    ), ()


def rivals_of(token: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """What else the model might have written in a token's place, with its log-probabilities."""
    return tuple(
        (other["token"], other["logprob"]) for other in token.get("top_logprobs") or ()
    )


def weighed_token(
    text: Any, logprob: Any, top: tuple[tuple[Any, Any], ...] = ()
) -> Token:
    """A token with its log-probability and those of its rivals; raises `Malformed` for what is no text or no number.

    JSON has no infinity, and servers write `null` for one: the token's own is then not known, and a rival with it is
    none.
    """
    for word, weight in ((text, logprob), *top):
        if not isinstance(word, str) or not (
            weight is None or isinstance(weight, (int, float))
        ):
            raise Malformed(
                f"a log-probability is not one: {shorten(word)}: {shorten(weight)}"
            )
    rivals = tuple(rival for rival in top if rival[1] is not None)
    return Token(text, math.nan if logprob is None else logprob, rivals)


def read_usage(
    usage: Any, input_word: str = "prompt", output_word: str = "completion"
) -> Usage | None:
    """What the endpoint counted; a number that is none is left out, since a wrong count must not end a run."""
    if not isinstance(usage, Mapping):
        return None
    of_prompt, of_answer = (
        usage.get(f"{input_word}_tokens_details"),
        usage.get(f"{output_word}_tokens_details"),
    )
    return Usage(
        input_tokens=count_of(usage, f"{input_word}_tokens"),
        output_tokens=count_of(usage, f"{output_word}_tokens"),
        cached_tokens=count_of(of_prompt, "cached_tokens"),
        reasoning_tokens=count_of(of_answer, "reasoning_tokens"),
        cost=_number(usage.get("cost")),
    )


def count_of(counts: Any, name: str) -> int | None:
    """One of an endpoint's counts; `None` where it is no number."""
    number = _number(counts.get(name)) if isinstance(counts, Mapping) else None
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value < float("inf") else None


def split_thinking(output: Output) -> Output:
    """The same output with what was thought kept apart from what was answered."""
    return replace(
        output, candidates=tuple(_split(candidate) for candidate in output.candidates)
    )


def _split(candidate: Candidate) -> Candidate:
    parts: list[Part] = []
    for part in candidate.parts:
        parts += _pieces(part.text) if isinstance(part, Text) else [part]
    return replace(candidate, parts=tuple(parts))


def _pieces(text: str) -> list[Part]:
    """A tag that is never closed is an answer that never came; one never opened was opened by the prompt."""
    thought, close, answer = text.partition(CLOSE)
    bare = thought.lstrip()
    if not close:
        return (
            [Reasoning(bare.removeprefix(OPEN).strip("\n"))]
            if bare.startswith(OPEN)
            else [Text(text)]
        )
    pieces: list[Part] = [Reasoning(bare.removeprefix(OPEN).strip("\n"))]
    return [*pieces, Text(answer.lstrip("\n"))] if answer.strip() else pieces
