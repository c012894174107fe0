"""Claude models by their own Messages API: system text apart, images as blocks, thinking kept apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core import (
    Abilities,
    Candidate,
    GenerateOptions,
    Image,
    Output,
    Part,
    Reasoning,
    Request,
    Text,
    Usage,
    UsageError,
    shorten,
)
from .chat_format import Malformed, chat_messages, count_of
from .http import HttpFailure, Refused
from .http_model import HttpModel, refuse_options, without_seed
from .inline_media import from_base64, from_data_url

VERSION = "2023-06-01"
INSTRUCTING = frozenset({"system", "developer"})
UNKNOWN = (
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logprobs",
    "response_format",
)
LEAST_THINKING = 1024
STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
UNFINISHED = frozenset({"tool_use", "pause_turn"})
"""Ends of an answer that waits for somebody else, who is not there."""


@dataclass
class Anthropic(HttpModel):
    """A model behind the Messages API. One attempt a call: the scheduler tries again."""

    scheme: ClassVar[str] = "anthropic"
    public_url: ClassVar[str] = "https://api.anthropic.com/v1"
    url_env: ClassVar[str] = "ANTHROPIC_BASE_URL"
    key_header: ClassVar[str] = "x-api-key: {}"
    assumes_version: ClassVar[bool] = True

    api_key_env: str = "ANTHROPIC_API_KEY"
    accepts: tuple[str, ...] = ("text", "image")
    produces: tuple[str, ...] = ("text",)
    max_tokens: int = 4096
    """How long an answer may get where the task does not say: this API has no default."""
    thinking: int | str | None = None
    """Tokens to think with before the answer, or `adaptive`; by default as the model does."""

    def __post_init__(self) -> None:
        if not (
            self.thinking is None
            or self.thinking == "adaptive"
            or isinstance(self.thinking, int)
        ):
            raise UsageError(
                f"thinking takes a number of tokens or 'adaptive', got {self.thinking!r}"
            )
        if isinstance(self.thinking, int) and self.thinking < LEAST_THINKING:
            raise UsageError(
                f"thinking={self.thinking} is too few tokens",
                fix=f"at least {LEAST_THINKING}",
            )
        if (
            not isinstance(self.max_tokens, int)
            or isinstance(self.max_tokens, bool)
            or self.max_tokens < 1
        ):
            raise UsageError(
                f"max_tokens takes a number of tokens, got {self.max_tokens!r}"
            )
        super().__post_init__()

    @property
    def abilities(self) -> Abilities:
        """Text and images in, text out; no log-probabilities."""
        return Abilities(
            frozenset(self.accepts), frozenset(self.produces), roles="chat"
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, place, and what is added to every request."""
        return {
            **super().identity,
            "max_tokens": self.max_tokens,
            "thinking": self.thinking,
        }

    async def _answer(self, request: Request) -> Output:
        body = self._question(request)
        return await self._repeat(request, lambda _: self._ask(body, request))

    async def _ask(self, body: Mapping[str, Any], request: Request) -> Output:
        headers = {"anthropic-version": VERSION, **self._headers}
        answer = await self._client.post(
            self._address("messages"), {**body, **self.body}, headers
        )
        return without_seed(_read(answer), request)

    def _question(self, request: Request) -> dict[str, Any]:
        options = request.options
        refuse_options(request, UNKNOWN, "the Messages API")
        if self.thinking is not None:
            self._check_thinking(options)
        messages = chat_messages(request.prompt)
        system = [
            str(message["content"])
            for message in messages
            if message["role"] in INSTRUCTING
        ]
        body: dict[str, Any] = {
            "model": self.name,
            "max_tokens": options.max_tokens
            if options.max_tokens is not None
            else self.max_tokens,
            "messages": [
                _message(message)
                for message in messages
                if message["role"] not in INSTRUCTING
            ],
        }
        if system:
            body["system"] = "\n\n".join(system)
        if options.stop:
            body["stop_sequences"] = list(options.stop)
        for name in ("temperature", "top_p", "top_k"):
            if (value := getattr(options, name)) is not None:
                body[name] = value
        if options.reasoning_effort is not None:
            body["output_config"] = {"effort": options.reasoning_effort}
        if isinstance(self.thinking, int):
            body["thinking"] = {"type": "enabled", "budget_tokens": self.thinking}
        elif self.thinking is not None:
            body["thinking"] = {"type": self.thinking}
        return body

    def _check_thinking(self, options: GenerateOptions) -> None:
        """What the API allows beside thinking; each request would be refused for it."""
        if options.temperature not in (None, 1) or options.top_k is not None:
            raise UsageError(
                "the Messages API thinks only at temperature 1 and without top_k",
                fix="--temperature 1, or leave thinking out",
            )
        most = options.max_tokens if options.max_tokens is not None else self.max_tokens
        if isinstance(self.thinking, int) and most <= self.thinking:
            raise UsageError(
                f"thinking={self.thinking} leaves nothing of max_tokens={most} for the answer",
                fix=f"--max_tokens {self.thinking + self.max_tokens}, or a smaller thinking",
            )

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        failure = refused.failure()
        if refused.error.get("type") in ("overloaded_error", "rate_limit_error"):
            # 529 is a limit of the service, not of the key: sending less helps all the same.
            failure.kind = "rate_limit"
        elif (
            refused.error.get("type") == "billing_error"
            or "credit balance" in failure.message
        ):
            return HttpFailure("quota", failure.message, retryable=False)
        return failure


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    return {"role": message["role"], "content": [_block(part) for part in content]}


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] != "image_url":
        raise UsageError(f"the Messages API takes no {part['type']} part")
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": data},
    }


def _read(answer: Any) -> Output:
    content = answer.get("content") if isinstance(answer, Mapping) else None
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise Malformed(f"the answer has no `content`: {shorten(answer)}")
    parts: list[Part] = []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text" and isinstance(block.get("text"), str):
            parts.append(Text(block["text"]))
        elif kind == "thinking":
            # Newer models think without showing it: the block is there, and empty.
            parts += [Reasoning(block["thinking"])] if block.get("thinking") else []
        elif kind == "image" and isinstance(block.get("source"), Mapping):
            source = block["source"]
            image = (
                from_data_url(Image, source["url"])
                if "url" in source
                else from_base64(Image, source.get("data"))
            )
            parts.append(image)
        elif kind is None or kind == "text":
            raise Malformed(f"a block of `content` is not one: {shorten(block)}")
    reason = answer.get("stop_reason")
    if reason in UNFINISHED and not any(
        isinstance(part, (Text, Image)) for part in parts
    ):
        raise Malformed(
            f"the model said nothing, stop_reason {reason!r}: {shorten(content)}",
            passes=False,
        )
    candidate = Candidate(
        tuple(parts),
        STOP_REASONS.get(reason, reason) if isinstance(reason, str) else None,
    )
    return Output((candidate,), usage=_usage(answer.get("usage")))


def _usage(usage: Any) -> Usage | None:
    """Tokens read from and written to the cache count as input: the API reports them beside it."""
    if not isinstance(usage, Mapping):
        return None
    cached = count_of(usage, "cache_read_input_tokens") or 0
    fresh = (count_of(usage, "input_tokens") or 0) + (
        count_of(usage, "cache_creation_input_tokens") or 0
    )
    return Usage(
        input_tokens=fresh + cached,
        output_tokens=count_of(usage, "output_tokens"),
        cached_tokens=cached,
        reasoning_tokens=count_of(
            usage.get("output_tokens_details"), "thinking_tokens"
        ),
    )
