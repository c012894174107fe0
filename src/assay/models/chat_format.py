"""The chat format: requests and answers as OpenAI-compatible endpoints spell them.

Pure data in, pure data out: the HTTP model and the in-process llama.cpp speak the same format.
"""

import base64
import json
from collections.abc import Mapping, Sequence
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

STOP_REASONS = {"max_tokens": "length", "end_turn": "stop", "eos": "stop", "eos_token": "stop", "stop_sequence": "stop"}
SAME_NAME = (
    "temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty"
)  # fmt: skip


class Malformed(ValueError):
    """A body that is JSON but not an answer."""


def chat_messages(prompt: Prompt) -> list[dict[str, Any]]:
    """The messages for a chat endpoint; the place where the model writes is left out."""
    return [
        {"role": message.role, "content": _content(message)} for message in prompt.messages if message.parts is not None
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
        return {"type": "input_audio", "input_audio": {"data": data, "format": part.format or "wav"}}
    if isinstance(part, Video):
        return {"type": "video_url", "video_url": {"url": part.data_url()}}
    if isinstance(part, Json):
        return {"type": "text", "text": json.dumps(part.value, ensure_ascii=False)}
    return {"type": "text", "text": part.text}


def option_fields(options: GenerateOptions, seed: int | None, *, chat: bool) -> dict[str, Any]:
    """The options that were set, under the names the endpoints use; `max_tokens` is left to the caller."""
    body = {name: value for name in SAME_NAME if (value := getattr(options, name)) is not None}
    if options.stop:
        body["stop"] = list(options.stop)
    if (chosen := options.seed if seed is None else seed) is not None:
        body["seed"] = chosen
    if options.n != 1:
        body["n"] = options.n
    if options.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": options.logprobs} if chat else {"logprobs": options.logprobs}
    if options.reasoning_effort is not None:
        body["reasoning_effort"] = options.reasoning_effort
    if options.response_format is not None:
        kind = "json_object" if options.response_format == "json" else options.response_format
        body["response_format"] = {"type": kind}
    return body


def read_answer(body: Any, *, seconds: float | None = None, keep_top: bool = True) -> Output:
    """The output in an answer's body; raises `Malformed` where it is not one."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, Sequence) or not choices:
        raise Malformed(f"the answer has no `choices`: {shorten(body)}")
    try:
        candidates = tuple(_candidate(choice, keep_top) for choice in choices)
    except (AttributeError, KeyError, TypeError) as error:
        raise Malformed(
            f"a choice is not shaped as one ({type(error).__name__}: {error}): {shorten(choices)}"
        ) from error
    words = next((words for choice in choices if (words := _refusal(choice.get("message")))), None)
    details = {"refusal": words} if words else EMPTY
    return Output(candidates, usage=read_usage(body.get("usage")), seconds=seconds, details=details)


def _candidate(choice: Any, keep_top: bool) -> Candidate:
    if not isinstance(choice, Mapping):
        raise Malformed(f"a choice is not an object: {shorten(choice)}")
    reason = choice.get("finish_reason")
    stop_reason = STOP_REASONS.get(reason, reason) if isinstance(reason, str) else None
    if "message" in choice:
        parts = _message_parts(choice["message"])
        stop_reason = "content_filter" if _refusal(choice["message"]) else stop_reason
    elif isinstance(choice.get("text"), str):
        parts = (Text(choice["text"]),)
    else:
        raise Malformed(f"a choice has neither `message` nor `text`: {shorten(dict(choice))}")
    tokens, ids = _tokens(choice.get("logprobs"), keep_top)
    return Candidate(parts, stop_reason, tokens, ids)


def _refusal(message: Any) -> str | None:
    """The words with which the model declined: they are no answer, so they are kept apart from it."""
    refusal = message.get("refusal") if isinstance(message, Mapping) else None
    return refusal if refusal and isinstance(refusal, str) and not message.get("content") else None


def _message_parts(message: Any) -> tuple[Part, ...]:
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
        parts += [Text(str(piece.get("text", ""))) for piece in content if isinstance(piece, Mapping)]
    elif content is not None:
        raise Malformed(f"`content` is neither text nor a list: {shorten(content)}")
    return (*parts, *_made_media(message))


def _made_media(message: Mapping[str, Any]) -> list[Part]:
    made: list[Part] = []
    for image in message.get("images") or ():
        made.append(Image(image["image_url"]["url"]))
    audio = message.get("audio")
    if isinstance(audio, Mapping) and isinstance(audio.get("data"), str):
        made.append(Audio(base64.b64decode(audio["data"])))
        if message.get("content") is None and isinstance(audio.get("transcript"), str):
            made.append(Text(audio["transcript"]))
    return made


def _tokens(logprobs: Any, keep_top: bool) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    if not isinstance(logprobs, Mapping):
        return (), ()
    content = logprobs.get("content")
    if isinstance(content, Sequence):
        tokens = tuple(Token(t["token"], t["logprob"], _top(t) if keep_top else ()) for t in content)
        ids = tuple(t["id"] for t in content if isinstance(t.get("id"), int))
        return tokens, ids if len(ids) == len(tokens) else ()
    texts, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(texts, Sequence) or not isinstance(values, Sequence):
        return (), ()
    tops = logprobs.get("top_logprobs") if keep_top else None
    tops = tops if isinstance(tops, Sequence) and len(tops) == len(texts) else [None] * len(texts)
    return tuple(
        Token(text, float("nan") if value is None else value, tuple((top or {}).items()))
        for text, value, top in zip(texts, values, tops, strict=True)
    ), ()


def _top(token: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple((other["token"], other["logprob"]) for other in token.get("top_logprobs") or ())


def read_usage(usage: Any, given: str = "prompt", made: str = "completion") -> Usage | None:
    """What the endpoint counted; a number that is none is left out, since a wrong count must not end a run."""
    if not isinstance(usage, Mapping):
        return None
    of_prompt, of_answer = usage.get(f"{given}_tokens_details"), usage.get(f"{made}_tokens_details")
    return Usage(
        input_tokens=count_of(usage, f"{given}_tokens"),
        output_tokens=count_of(usage, f"{made}_tokens"),
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
