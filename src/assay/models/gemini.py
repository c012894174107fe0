"""Gemini models through `generateContent`: contents with parts, inline media, and separate thoughts."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..core import (
    Abilities,
    Audio,
    Candidate,
    Image,
    Media,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Request,
    Text,
    Token,
    ToolCall,
    ToolResult,
    Usage,
    UsageError,
    shorten,
)
from ..core.message import part_text
from ..core.tools import read_arguments
from ..media.prompt_media import Formats
from .carrying import ALL_MEDIA, INSTRUCTION_ROLES, Carrier
from .chat_format import Malformed, count_of
from .http import HttpFailure, Refused
from .http_model import HttpModel, enough, filtered, refuse_options
from .inline_media import (
    USUAL_RATE,
    as_wav,
    from_base64,
    from_data_url,
    well_shaped,
)
from .reply_checks import check_reply

CARRIER = Carrier(
    "generateContent",
    media=ALL_MEDIA,
    roles=INSTRUCTION_ROLES | {"user", "assistant"},
    system_first=True,
)
UNKNOWN = ("min_p", "repetition_penalty")
SAME_MEANING = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
STOP_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
BLOCKED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_RECITATION",
        "IMAGE_PROHIBITED_CONTENT",
    }
)
FAILED = frozenset(
    {"OTHER", "IMAGE_OTHER", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED"}
)
"""Finish reasons that mean a failure of the service, even if it returned some text."""
ENDED = frozenset({None, *STOP_REASONS, *BLOCKED})
CHOICES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
"""The API's function calling mode for each of assay's tool choices."""
_BARE = re.compile(r"(?i)^audio/(?:l16|pcm)\b(?:.*\brate=(\d+))?")
"""Matches the MIME type of raw audio (16-bit mono samples in a file without a header)."""
_SECONDS = re.compile(r"^(\d+(?:\.\d+)?)s$")


@dataclass
class Gemini(HttpModel):
    """A model behind `generateContent`. Each call makes one attempt; the scheduler retries."""

    scheme: ClassVar[str] = "gemini"
    public_url: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta"
    url_env: ClassVar[str] = "GEMINI_BASE_URL"
    key_header: ClassVar[str] = "x-goog-api-key: {}"
    assumes_version: ClassVar[bool] = True

    api_key_env: str = "GEMINI_API_KEY"
    accepts: tuple[str, ...] = ("text", "image", "audio", "video")
    produces: tuple[str, ...] = ("text",)
    thinking: int | None = None
    """Maximum number of thinking tokens; -1 leaves it to the model, 0 switches thinking off if possible."""
    show_thoughts: bool = True
    """True to request thoughts, which are kept separate from the answer."""
    voice: str | None = None
    """The voice of audio answers, by the service's name for it; by default the service chooses."""

    def __post_init__(self) -> None:
        if self.thinking is not None and (
            not isinstance(self.thinking, int) or isinstance(self.thinking, bool)
        ):
            raise UsageError(
                f"thinking takes a number of tokens, got {self.thinking!r}",
                fix="-a thinking=1024",
            )
        if not isinstance(self.show_thoughts, bool):
            raise UsageError(
                f"show_thoughts must be true or false, got {self.show_thoughts!r}"
            )
        super().__post_init__()

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the properties that identify this model: its name, its URL, and the
        options that can change an answer.
        """
        return {
            **super().identity,
            "thinking": self.thinking,
            **({"voice": self.voice} if self.voice else {}),
        }

    @property
    def formats(self) -> Formats:
        """Return the image and audio formats that Gemini's documentation lists."""
        return {
            "image": {"png", "jpeg", "webp", "heic"},
            "audio": {"wav", "mp3", "aiff", "aac", "ogg", "flac"},
        }

    def carrier(self, prompt: Prompt) -> Carrier:
        """Return the carrier for this API: the media and roles that a request can contain."""
        return CARRIER

    @property
    def abilities(self) -> Abilities:
        """Return the abilities that the user declared. Every Gemini model also accepts tools."""
        return replace(super().abilities, tools=True)

    async def _answer(self, request: Request) -> Output:
        """Send a request and read the answer."""
        name = self.name
        if "/" not in name:
            name = f"models/{name}"
        body = self._question(request)
        answer = await self._post(f"{name}:generateContent", body)
        output = _read(answer)
        if output.stop_reason == "content_filter":
            return output
        output = check_reply(output, request, self.name, answer.get("modelVersion"))
        return enough(output, request.options.n)

    def _question(self, request: Request) -> dict[str, Any]:
        refuse_options(request, UNKNOWN, "generateContent")
        spoken = [message for message in request.messages if message.parts is not None]
        turns = [m for m in spoken if m.role not in INSTRUCTION_ROLES]
        body: dict[str, Any] = {"contents": _contents(turns)}
        system = [
            {"text": message.text}
            for message in spoken
            if message.role in INSTRUCTION_ROLES
        ]
        if system:
            body["systemInstruction"] = {"parts": system}
        body |= _tool_fields(request.prompt)
        settings = self._settings(request)
        return {**body, "generationConfig": settings} if settings else body

    def _settings(self, request: Request) -> dict[str, Any]:
        options = request.options
        settings = {
            theirs: value
            for ours, theirs in SAME_MEANING.items()
            if (value := getattr(options, ours)) is not None
        }
        if request.seed is not None:
            settings["seed"] = request.seed
        if options.stop:
            settings["stopSequences"] = list(options.stop)
        if options.n != 1:
            settings["candidateCount"] = options.n
        if options.logprobs is not None:
            settings["responseLogprobs"] = True
            if options.logprobs:
                settings["logprobs"] = options.logprobs
        if options.response_format is not None:
            is_json = options.response_format == "json"
            settings["responseMimeType"] = (
                "application/json" if is_json else options.response_format
            )
        if request.prompt.produces != ("text",):
            settings["responseModalities"] = [
                kind.upper() for kind in request.prompt.produces
            ]
        if self.voice is not None and "audio" in request.prompt.produces:
            settings["speechConfig"] = {
                "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": self.voice}}
            }
        if (thinking := self._thinking(options.reasoning_effort)) is not None:
            settings["thinkingConfig"] = thinking
        return settings

    def _thinking(self, effort: str | None) -> dict[str, Any] | None:
        config: dict[str, Any] = {}
        if self.thinking is not None:
            config["thinkingBudget"] = self.thinking
        if effort is not None:
            config["thinkingLevel"] = effort
        if not config:
            return None
        return {"includeThoughts": self.show_thoughts, **config}

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        failure = refused.failure()
        details = [
            detail
            for detail in refused.error.get("details") or ()
            if isinstance(detail, Mapping)
        ]
        if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
            return HttpFailure("auth", failure.message, retryable=False)
        violations = [
            violation
            for detail in details
            for violation in detail.get("violations") or ()
        ]
        # Waiting does not help against a daily limit.
        if any(
            "PerDay" in str(violation.get("quotaId", "")) for violation in violations
        ):
            return HttpFailure("quota", failure.message, retryable=False)
        if refused.error.get("status") == "RESOURCE_EXHAUSTED":
            failure.kind = "rate_limit"
            failure.retry_after = _asked_wait(details) or failure.retry_after
        return failure


def _asked_wait(details: Sequence[Mapping[str, Any]]) -> float | None:
    """Return how many seconds the service asks the client to wait, read from `google.rpc.RetryInfo` in the body."""
    delays = [_SECONDS.match(str(detail.get("retryDelay", ""))) for detail in details]
    return next((float(delay[1]) for delay in delays if delay), None)


def _tool_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the request fields that offer the prompt's tools to the model."""
    if prompt.parallel_calls is not None:
        raise UsageError(
            "generateContent has no setting for parallel calls",
            fix="leave parallel_calls out",
        )
    fields: dict[str, Any] = {}
    if prompt.tools:
        declarations = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            }
            for tool in prompt.tools
        ]
        fields["tools"] = [{"functionDeclarations": declarations}]
    choice = prompt.tool_choice
    if choice is not None:
        config: dict[str, Any] = {"mode": CHOICES.get(choice, "ANY")}
        if choice not in CHOICES:
            config["allowedFunctionNames"] = [choice]
        fields["toolConfig"] = {"functionCallingConfig": config}
    return fields


def _contents(turns: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert messages to `contents`. Consecutive tool results form one turn, each with the name of its tool."""
    names: dict[str, str] = {}
    contents: list[dict[str, Any]] = []
    follows_results = False
    for message in turns:
        names.update((call.id, call.name) for call in message.calls)
        parts: list[dict[str, Any]] = []
        for part in message.parts or ():
            if isinstance(part, ToolResult):
                parts += _result(part, names.get(part.call_id, ""))
            elif not isinstance(part, Reasoning):
                parts.append(_part(part))
        if message.results and follows_results:
            contents[-1]["parts"] += parts
        else:
            role = "model" if message.role == "assistant" else "user"
            contents.append({"role": role, "parts": parts})
        follows_results = bool(message.results)
    return contents


def _result(result: ToolResult, name: str) -> list[dict[str, Any]]:
    """Convert a tool result to a part, followed by its media as separate parts."""
    key = "error" if result.error else "result"
    response = {"name": name, "response": {key: result.text}}
    media = [_part(part) for part in result.parts if isinstance(part, Media)]
    return [{"functionResponse": response}, *media]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        kind = f"{part.kind}/{part.sent_format}"
        return {
            "inlineData": {
                "mimeType": kind,
                "data": base64.b64encode(part.data()).decode("ascii"),
            }
        }
    if isinstance(part, ToolCall):
        arguments = part.arguments
        if isinstance(arguments, str):
            # The service accepts only objects, so the model gets its text back inside one.
            arguments = {"arguments": arguments}
        call: dict[str, Any] = {"functionCall": {"name": part.name, "args": arguments}}
        if part.signature:
            call["thoughtSignature"] = part.signature
        return call
    return {"text": part_text(part)}


@well_shaped
def _read(answer: object) -> Output:
    if not isinstance(answer, Mapping):
        raise Malformed(f"the answer is not an object: {shorten(answer)}")
    usage = _usage(answer.get("usageMetadata"))
    candidates = answer.get("candidates")
    if not candidates:
        if (answer.get("promptFeedback") or {}).get("blockReason"):
            return replace(
                filtered(),
                usage=usage,
                details={"blocked": answer["promptFeedback"]["blockReason"]},
            )
        raise Malformed(f"the answer has no `candidates`: {shorten(answer)}")
    return Output(tuple(_candidate(candidate) for candidate in candidates), usage=usage)


def _candidate(candidate: object) -> Candidate:
    if not isinstance(candidate, Mapping):
        raise Malformed(f"a candidate is not an object: {shorten(candidate)}")
    reason = candidate.get("finishReason")
    parts: list[Part] = []
    for part in (candidate.get("content") or {}).get("parts") or ():
        if isinstance(part.get("text"), str):
            parts.append(
                Reasoning(part["text"]) if part.get("thought") else Text(part["text"])
            )
        elif isinstance(call := part.get("functionCall"), Mapping):
            parts.append(_read_call(call, part.get("thoughtSignature")))
        elif isinstance(inline := part.get("inlineData"), Mapping):
            parts.append(_medium(str(inline.get("mimeType", "")), inline.get("data")))
        elif isinstance(named := part.get("fileData"), Mapping):
            parts.append(from_data_url(Image, named.get("fileUri")))
    if not parts and reason is None:
        raise Malformed(
            f"a candidate has neither parts nor a `finishReason`: {shorten(dict(candidate))}"
        )
    if reason in FAILED or (
        reason not in ENDED
        and not any(isinstance(p, (Text, Image, Audio, ToolCall)) for p in parts)
    ):
        message = f"the service aborted the answer, finishReason {reason!r}: {shorten(dict(candidate))}"
        raise Malformed(message, passes=reason in FAILED)
    stop = None
    if reason in BLOCKED:
        stop = "content_filter"
    elif reason:
        stop = STOP_REASONS.get(reason, reason)
    if stop == "stop" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    return Candidate(tuple(parts), stop, _tokens(candidate.get("logprobsResult")))


def _read_call(
    call: Mapping[str, Any],
    signature: object,
) -> ToolCall:
    name = str(call.get("name") or "")
    arguments = read_arguments(call.get("args"))
    return ToolCall(str(call.get("id") or ""), name, arguments, str(signature or ""))


def _medium(kind: str, data: object) -> Image | Audio:
    if kind.startswith("image/"):
        return from_base64(Image, data)
    audio = from_base64(Audio, data)
    bare = _BARE.match(kind)
    if bare:
        return Audio(as_wav(audio.data(), int(bare[1] or USUAL_RATE)))
    return audio


def _tokens(result: object) -> tuple[Token, ...]:
    if not isinstance(result, Mapping):
        return ()
    chosen = result.get("chosenCandidates") or ()
    rivals = result.get("topCandidates") or [{}] * len(chosen)
    tokens = []
    for token, top in zip(chosen, rivals, strict=False):
        others = []
        for other in top.get("candidates") or ():
            other_text = str(other["token"])
            other_logprob = float(other["logProbability"])
            others.append((other_text, other_logprob))
        text = str(token.get("token", ""))
        logprob = float(token["logProbability"])
        tokens.append(Token(text, logprob, tuple(others)))
    return tuple(tokens)


def _usage(usage: object) -> Usage | None:
    """Return the token counts. Thoughts, which the service counts separately, are added to the output."""
    if not isinstance(usage, Mapping):
        return None
    thought = count_of(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=count_of(usage, "promptTokenCount"),
        output_tokens=(count_of(usage, "candidatesTokenCount") or 0) + (thought or 0),
        cached_tokens=count_of(usage, "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )
