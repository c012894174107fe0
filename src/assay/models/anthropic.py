"""Claude models through the Messages API, in which the system text is a separate field and images are blocks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core import (
    Abilities,
    Candidate,
    GenerateOptions,
    Image,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UsageError,
    shorten,
)
from ..core.tools import read_arguments
from .carrying import INSTRUCTION_ROLES, Carrier
from .chat_format import Malformed, chat_messages, count_of, read_stop_reason
from .http import HttpFailure, Refused
from .http_model import HttpModel, filtered, refuse_options, without_seed
from .inline_media import from_base64, from_data_url, mapping_in, well_shaped
from .reply_checks import check_reply, ended_by_length

VERSION = "2026-10-21"
"""The API version that the newest SDK (2.8.0) sends. Requests with this version may not set sampling options."""
SAMPLING_VERSION = "2023-06-01"
"""The API version for requests that set sampling options."""
SAMPLING = ("temperature", "top_p", "top_k")
THINKING = ("adaptive", "disabled")
CARRIER = Carrier(
    "the Messages API",
    media=frozenset({"image"}),
    roles=INSTRUCTION_ROLES | {"user", "assistant"},
    system_first=True,
)
UNKNOWN = (
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logprobs",
    "response_format",
)
LEAST_THINKING = 1024
UNFINISHED = frozenset({"tool_use", "pause_turn"})
"""Stop reasons that mean that the model has paused for a tool result and will continue its answer."""
BLOCKED = "blocked by content filtering policy"
"""Words in the API's error message that mean that its filter stopped an answer."""
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
"""The API's name for each of assay's tool choices. Any other tool choice is the name of a tool."""


@dataclass
class Anthropic(HttpModel):
    """A Claude model, called through the Messages API. Each call makes one attempt; the scheduler retries."""

    scheme: ClassVar[str] = "anthropic"
    public_url: ClassVar[str] = "https://api.anthropic.com/v1"
    url_env: ClassVar[str] = "ANTHROPIC_BASE_URL"
    key_header: ClassVar[str] = "Authorization: Bearer {}"
    assumes_version: ClassVar[bool] = True

    api_key_env: str = "ANTHROPIC_API_KEY"
    accepts: tuple[str, ...] = ("text", "image")
    produces: tuple[str, ...] = ("text",)
    max_tokens: int = 4096
    """Maximum number of tokens of an answer if the task sets no limit, since this API has no default."""
    thinking: int | str | None = None
    """Number of thinking tokens before the answer, `adaptive` or `disabled`. By default the model decides."""
    version: str = "auto"
    """The API version; `auto` is the newest, or the one with sampling options if the request sets any."""

    def __post_init__(self) -> None:
        self._check_thinking_option()
        if (
            not isinstance(self.max_tokens, int)
            or isinstance(self.max_tokens, bool)
            or self.max_tokens < 1
        ):
            raise UsageError(
                f"max_tokens takes a number of tokens, got {self.max_tokens!r}"
            )
        super().__post_init__()

    def _check_thinking_option(self) -> None:
        """Raise if `thinking` is neither `adaptive`, `disabled` nor a valid number of tokens."""
        thinking = self.thinking
        if thinking is None or thinking in THINKING:
            return
        if not isinstance(thinking, int) or isinstance(thinking, bool):
            raise UsageError(
                f"thinking takes a number of tokens or one of {', '.join(THINKING)}, got {thinking!r}"
            )
        if thinking < LEAST_THINKING:
            raise UsageError(
                f"thinking={thinking} is too few tokens",
                fix=f"at least {LEAST_THINKING}, or thinking=disabled",
            )

    @property
    def abilities(self) -> Abilities:
        """Return the declared abilities; by default text and images in, text out, no log-probabilities."""
        return Abilities(
            frozenset(self.accepts),
            frozenset(self.produces),
            roles="chat",
            tools=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the properties that identify this model: its name, its URL, and the
        options that can change an answer.
        """
        return {
            **super().identity,
            "max_tokens": self.max_tokens,
            "thinking": self.thinking,
        }

    def carrier(self, prompt: Prompt) -> Carrier:
        """Return the carrier for the Messages API: the media and roles that a request can contain."""
        return CARRIER

    async def _answer(self, request: Request) -> Output:
        body = self._question(request)
        return await self._repeat(request, lambda _: self._ask(body, request))

    async def _ask(
        self,
        body: Mapping[str, Any],
        request: Request,
    ) -> Output:
        payload = {**body, **self.body}
        answer = await self._post("messages", body, self._headers_for(payload))
        output = read_body(answer)
        if answer.get("stop_reason") != "stop_sequence":
            output = ended_by_length(output, count_of(payload, "max_tokens"))
        output = check_reply(output, request, self.name, answer.get("model"))
        return without_seed(output, request)

    def _headers_for(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers: the key, and an API version that supports every field of the body."""
        version = self.version
        if version == "auto":
            samples = any(name in body for name in SAMPLING)
            version = SAMPLING_VERSION if samples else VERSION
        headers = {"anthropic-version": version, **self._headers}
        if version == SAMPLING_VERSION and self._key and "Authorization" in headers:
            del headers["Authorization"]
            headers["x-api-key"] = self._key
        return headers

    def _question(self, request: Request) -> dict[str, Any]:
        options = request.options
        refuse_options(request, UNKNOWN, "the Messages API")
        if self.thinking not in (None, "disabled"):
            self._check_thinking(options)
        spoken = [m for m in request.messages if m.parts is not None]
        system = [m.text for m in spoken if m.role in INSTRUCTION_ROLES]
        turns = [m for m in spoken if m.role not in INSTRUCTION_ROLES]
        body: dict[str, Any] = {
            "model": self.name,
            "max_tokens": options.max_tokens
            if options.max_tokens is not None
            else self.max_tokens,
            "messages": _messages(turns),
        }
        if system:
            body["system"] = "\n\n".join(system)
        if options.stop:
            body["stop_sequences"] = list(options.stop)
        for name in SAMPLING:
            if (value := getattr(options, name)) is not None:
                body[name] = value
        if options.reasoning_effort is not None:
            body["output_config"] = {"effort": options.reasoning_effort}
        if isinstance(self.thinking, int):
            body["thinking"] = {"type": "enabled", "budget_tokens": self.thinking}
        elif self.thinking is not None:
            body["thinking"] = {"type": self.thinking}
        return body | _tool_fields(request.prompt)

    def _check_thinking(self, options: GenerateOptions) -> None:
        """Raise for options that the API does not accept together with thinking."""
        if options.temperature not in (None, 1) or options.top_k is not None:
            raise UsageError(
                "the Messages API thinks only at temperature 1 and without top_k",
                fix="--temperature 1, or leave thinking out",
            )
        if options.max_tokens is not None:
            most = options.max_tokens
        else:
            most = self.max_tokens
        if isinstance(self.thinking, int) and most <= self.thinking:
            raise UsageError(
                f"thinking={self.thinking} leaves nothing of max_tokens={most} for the answer",
                fix=f"--max_tokens {self.thinking + self.max_tokens}, or a smaller thinking",
            )

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        failure = refused.failure()
        if refused.error.get("type") in ("overloaded_error", "rate_limit_error"):
            # 529 is a limit of the service, not of the key; sending less also helps.
            failure.kind = "rate_limit"
        elif (
            refused.error.get("type") == "billing_error"
            or "credit balance" in failure.message
        ):
            return HttpFailure("quota", failure.message, retryable=False)
        elif refused.status == 400 and BLOCKED in failure.message:
            return filtered()
        elif refused.status == 400:
            failure.message += _option_fix(failure.message)
        return failure


def _option_fix(message: str) -> str:
    """If an error message names an option that the model rejects, return advice to leave it out, otherwise ""."""
    for name in SAMPLING:
        if re.search(rf"\b{name}\b", message):
            return f"; fix: newer models take no {name}, leave it out"
    if "thinking" in message:
        return "; fix: leave thinking out, or try thinking=adaptive or disabled"
    return ""


def _tool_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the request fields that offer the prompt's tools to the model."""
    fields: dict[str, Any] = {}
    if prompt.tools:
        fields["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            }
            for tool in prompt.tools
        ]
    choice = prompt.tool_choice
    chosen: dict[str, Any] = {}
    if choice in CHOICES:
        chosen = {"type": CHOICES[choice]}
    elif choice is not None:
        chosen = {"type": "tool", "name": choice}
    if prompt.parallel_calls is not None and choice != "none":
        chosen = {"type": "auto", **chosen}
        chosen["disable_parallel_tool_use"] = not prompt.parallel_calls
    return {**fields, "tool_choice": chosen} if chosen else fields


def _messages(turns: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert messages to the API's turns. A user message after tool results joins the same user turn."""
    spelled: list[dict[str, Any]] = []
    follows_results = False
    for message in turns:
        role = "user" if message.results else message.role
        content = _message_content(message)
        if follows_results and role == "user":
            spelled[-1]["content"] += _as_blocks(content)
        else:
            spelled.append({"role": role, "content": content})
        follows_results = bool(message.results)
    return spelled


def _as_blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(content, str):
        return list(content)
    if content:
        return [{"type": "text", "text": content}]
    return []


def _message_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the content of a message: text or blocks; with tool calls or results always blocks, results first."""
    parts = message.parts or ()
    if not message.calls and not message.results:
        return _plain_content(message)
    blocks = [_result(part) for part in parts if isinstance(part, ToolResult)]
    for part in parts:
        if isinstance(part, ToolCall):
            blocks.append(_call(part))
        elif isinstance(part, Reasoning):
            blocks += _thinking(part)
        elif not isinstance(part, ToolResult):
            blocks += _as_blocks(_plain_content(Message(message.role, (part,))))
    return blocks


def _plain_content(message: Message) -> str | list[dict[str, Any]]:
    [spelled] = chat_messages(Prompt((message,)))
    content = spelled["content"]
    if isinstance(content, str):
        return content
    return [_block(part) for part in content]


def _thinking(part: Reasoning) -> list[dict[str, Any]]:
    """Return the reasoning before a tool call as a block; empty if it lacks the signature that the API verifies."""
    if not part.signature:
        return []
    block = {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return [block]


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments
    if isinstance(arguments, str):
        # The API accepts only objects, so the model gets its text back inside one.
        arguments = {"arguments": arguments}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _result(result: ToolResult) -> dict[str, Any]:
    if result.parts:
        content = _plain_content(Message("user", result.parts))
    else:
        content = ""
    block = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return {**block, "is_error": True} if result.error else block


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": data},
    }


@well_shaped
def read_body(answer: object) -> Output:
    """Return the output in the body of an answer. Raise `Malformed` if it has none."""
    body = mapping_in(answer)
    content = body.get("content")
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise Malformed(f"the answer has no `content`: {shorten(answer)}")
    parts: list[Part] = []
    for block in content:
        kind = mapping_in(block).get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            parts.append(Text(block["text"]))
        elif kind == "thinking":
            # Newer models hide their thinking: the block exists and is empty.
            signature = str(block.get("signature") or "")
            if block.get("thinking") or signature:
                parts.append(Reasoning(str(block.get("thinking") or ""), signature))
        elif kind == "tool_use":
            name = str(block.get("name") or "")
            arguments = read_arguments(block.get("input"))
            parts.append(ToolCall(str(block.get("id") or ""), name, arguments))
        elif kind == "image" and isinstance(block.get("source"), Mapping):
            source = block["source"]
            if "url" in source:
                image = from_data_url(Image, source["url"])
            else:
                image = from_base64(Image, source.get("data"))
            parts.append(image)
        elif kind is None or kind == "text":
            raise Malformed(f"a block of `content` cannot be read: {shorten(block)}")
    reason = body.get("stop_reason")
    if reason in UNFINISHED and not any(
        isinstance(part, (Text, Image, ToolCall)) for part in parts
    ):
        raise Malformed(
            f"the model said nothing, stop_reason {reason!r}: {shorten(content)}",
            passes=False,
        )
    candidate = Candidate(
        _with_needed_signatures(parts),
        read_stop_reason(reason),
    )
    return Output((candidate,), usage=_usage(body.get("usage")))


def _with_needed_signatures(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return an answer's parts; if none is a tool call, remove the signatures from its reasoning.

    Reasoning is sent back only together with a tool call, and only then does the API
    check signatures.
    """
    if any(isinstance(part, ToolCall) for part in parts):
        return tuple(parts)
    visible: list[Part] = []
    for part in parts:
        if not isinstance(part, Reasoning):
            visible.append(part)
        elif part.text:
            visible.append(Reasoning(part.text))
    return tuple(visible)


def _usage(usage: object) -> Usage | None:
    """Return the token counts. Cached tokens, which the API reports separately, are added to the input."""
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
