"""Gemini models by their own `generateContent`: contents and parts, all media inline, thoughts kept apart."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..core import (
    Audio,
    Candidate,
    Image,
    Json,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Request,
    Text,
    Token,
    Usage,
    UsageError,
    shorten,
)
from ..core.request import canonical
from ..media.portable import Formats
from .chat_format import Malformed, count_of
from .http import HttpFailure, Refused
from .http_model import HttpModel, enough, filtered, refuse_options
from .inline_media import USUAL_RATE, as_wav, from_base64, from_data_url

INSTRUCTING = frozenset({"system", "developer"})
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
"""Ends of an answer that are faults of the service, whatever was written until then."""
ENDED = frozenset({None, *STOP_REASONS, *BLOCKED})
_BARE = re.compile(r"(?i)^audio/(?:l16|pcm)\b(?:.*\brate=(\d+))?")
"""Samples of 16 bits and one channel, with no file around them."""
_SECONDS = re.compile(r"^(\d+(?:\.\d+)?)s$")


@dataclass
class Gemini(HttpModel):
    """A model behind `generateContent`. One attempt a call: the scheduler tries again."""

    scheme: ClassVar[str] = "gemini"
    public_url: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta"
    url_env: ClassVar[str] = "GEMINI_BASE_URL"
    key_header: ClassVar[str] = "x-goog-api-key: {}"
    assumes_version: ClassVar[bool] = True

    api_key_env: str = "GEMINI_API_KEY"
    accepts: tuple[str, ...] = ("text", "image", "audio", "video")
    produces: tuple[str, ...] = ("text",)
    thinking: int | None = None
    """Tokens to think with before the answer; -1 leaves it to the model, 0 switches it off where that is possible."""
    show_thoughts: bool = True
    """Whether what is thought comes back; it is kept apart from the answer."""
    voice: str | None = None
    """Who speaks where audio is asked for, by the service's names; else the service chooses."""

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
        """Name, place, and what is added to every request."""
        return {
            **super().identity,
            "thinking": self.thinking,
            **({"voice": self.voice} if self.voice else {}),
        }

    @property
    def formats(self) -> Formats:
        """As its documentation lists them."""
        return {
            "image": {"png", "jpeg", "webp", "heic"},
            "audio": {"wav", "mp3", "aiff", "aac", "ogg", "flac"},
        }

    async def _answer(self, request: Request) -> Output:
        name = self.name if "/" in self.name else f"models/{self.name}"
        answer = await self._post(f"{name}:generateContent", self._question(request))
        output = _read(answer)
        return (
            output
            if output.stop_reason == "content_filter"
            else enough(output, request.options.n)
        )

    def _question(self, request: Request) -> dict[str, Any]:
        refuse_options(request, UNKNOWN, "generateContent")
        spoken = [message for message in request.messages if message.parts is not None]
        body: dict[str, Any] = {
            "contents": [_content(m) for m in spoken if m.role not in INSTRUCTING]
        }
        system = [
            {"text": message.text} for message in spoken if message.role in INSTRUCTING
        ]
        if system:
            body["systemInstruction"] = {"parts": system}
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
        options = {"thinkingBudget": self.thinking, "thinkingLevel": effort}
        config = {name: value for name, value in options.items() if value is not None}
        return {"includeThoughts": self.show_thoughts, **config} if config else None

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
        # A limit of a whole day does not pass while a run waits.
        if any(
            "PerDay" in str(violation.get("quotaId", "")) for violation in violations
        ):
            return HttpFailure("quota", failure.message, retryable=False)
        if refused.error.get("status") == "RESOURCE_EXHAUSTED":
            failure.kind = "rate_limit"
            failure.retry_after = _asked_wait(details) or failure.retry_after
        return failure


def _asked_wait(details: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds of `google.rpc.RetryInfo`, which stands in the body instead of a header."""
    delays = [_SECONDS.match(str(detail.get("retryDelay", ""))) for detail in details]
    return next((float(delay[1]) for delay in delays if delay), None)


def _content(message: Message) -> dict[str, Any]:
    parts = [
        _part(part) for part in message.parts or () if not isinstance(part, Reasoning)
    ]
    return {"role": "model" if message.role == "assistant" else "user", "parts": parts}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        kind = f"{part.kind}/{part.sent_format}"
        return {
            "inlineData": {
                "mimeType": kind,
                "data": base64.b64encode(part.data()).decode("ascii"),
            }
        }
    if isinstance(part, Json):
        return {"text": canonical(part.value).decode()}
    return {"text": part.text}


def _read(answer: Any) -> Output:
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


def _candidate(candidate: Any) -> Candidate:
    if not isinstance(candidate, Mapping):
        raise Malformed(f"a candidate is not an object: {shorten(candidate)}")
    reason = candidate.get("finishReason")
    parts: list[Part] = []
    for part in (candidate.get("content") or {}).get("parts") or ():
        if isinstance(part.get("text"), str):
            parts.append(
                Reasoning(part["text"]) if part.get("thought") else Text(part["text"])
            )
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
        and not any(isinstance(part, (Text, Image, Audio)) for part in parts)
    ):
        message = f"the service broke the answer off, finishReason {reason!r}: {shorten(dict(candidate))}"
        raise Malformed(message, passes=reason in FAILED)
    stop = (
        "content_filter"
        if reason in BLOCKED
        else STOP_REASONS.get(reason, reason)
        if reason
        else None
    )
    return Candidate(tuple(parts), stop, _tokens(candidate.get("logprobsResult")))


def _medium(kind: str, data: Any) -> Image | Audio:
    if kind.startswith("image/"):
        return from_base64(Image, data)
    audio = from_base64(Audio, data)
    bare = _BARE.match(kind)
    return Audio(as_wav(audio.data(), int(bare[1] or USUAL_RATE))) if bare else audio


def _tokens(result: Any) -> tuple[Token, ...]:
    if not isinstance(result, Mapping):
        return ()
    chosen = result.get("chosenCandidates") or ()
    rivals = result.get("topCandidates") or [{}] * len(chosen)
    return tuple(
        Token(
            str(token.get("token", "")),
            float(token["logProbability"]),
            tuple(
                (str(other["token"]), float(other["logProbability"]))
                for other in top.get("candidates") or ()
            ),
        )
        for token, top in zip(chosen, rivals, strict=False)
    )


def _usage(usage: Any) -> Usage | None:
    """What was thought is paid for as output, but counted beside it."""
    if not isinstance(usage, Mapping):
        return None
    thought = count_of(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=count_of(usage, "promptTokenCount"),
        output_tokens=(count_of(usage, "candidatesTokenCount") or 0) + (thought or 0),
        cached_tokens=count_of(usage, "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )
