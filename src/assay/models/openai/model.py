"""Any OpenAI-compatible URL, without streaming: one model class, and one file for each of the APIs it speaks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import msgspec

from ...core import Abilities, Output, Request, UsageError
from ...media.portable import PLAIN_AUDIO, WEB_IMAGES, Formats
from ..chat_format import chat_messages, option_fields, read_answer, split_thinking
from ..http import HttpFailure, Refused
from ..http_model import HttpModel, enough, filtered, without_seed
from . import media, responses, weighing

Weighing = Literal["none", "echo", "prompt_logprobs"]
TokenField = Literal["auto", "max_tokens", "max_completion_tokens"]
Api = Literal[
    "auto", "chat", "completions", "responses", "images", "speech", "transcriptions"
]
FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "moderation_blocked"}
)
PATHS = (
    "chat/completions",
    "completions",
    "responses",
    "images/generations",
    "audio/speech",
    "audio/transcriptions",
)
ACCEPTS = ("text", "image", "audio")
PRODUCES = ("text",)
OWN_KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "responses": (("text", "image"), ("text",)),
    "images": (("text", "image"), ("image",)),
    "speech": (("text",), ("audio",)),
    "transcriptions": (("text", "audio"), ("text",)),
}
"""What the APIs beside chat and completions take and make."""
LIKELIHOOD_FIX = "-a likelihood_by=echo, or likelihood_by=prompt_logprobs for vLLM, where the server weighs given texts"
WITHOUT_LOGPROBS = frozenset({"images", "speech", "transcriptions"})


@dataclass
class OpenAI(HttpModel):
    """A model behind an OpenAI-compatible endpoint. One attempt a call: the scheduler tries again."""

    scheme: ClassVar[str] = "openai"
    public_url: ClassVar[str] = "https://api.openai.com/v1"
    url_env: ClassVar[str] = "OPENAI_BASE_URL"
    key_header: ClassVar[str] = "Authorization: Bearer {}"

    api_key_env: str = "OPENAI_API_KEY"
    api: Api = "auto"
    """`auto` sends prompts with free roles as completions, all others as chat."""
    max_tokens_field: TokenField = "auto"
    """Servers disagree on the name; `auto` uses the newer one for the public service only."""
    accepts: tuple[str, ...] = ACCEPTS
    produces: tuple[str, ...] = PRODUCES
    likelihood_by: Weighing = "none"
    """How the server weighs given continuations: `echo` with `logprobs`, or vLLM's `prompt_logprobs`."""
    think_tags: bool = False
    """Whether the server leaves `<think>…</think>` in the text; it is then kept apart from the answer."""
    voice: str = "alloy"
    """Who speaks where audio is asked for."""
    audio_format: str = "wav"

    def __post_init__(self) -> None:
        for name, kind in (
            ("api", Api),
            ("likelihood_by", Weighing),
            ("max_tokens_field", TokenField),
        ):
            if getattr(self, name) not in get_args(kind):
                listed = ", ".join(get_args(kind))
                raise UsageError(
                    f"{name} must be one of {listed}, got {getattr(self, name)!r}"
                )
        if self.likelihood_by != "none" and self.api not in (
            "auto",
            "chat",
            "completions",
        ):
            raise UsageError(
                f"api={self.api} cannot weigh continuations",
                fix="leave likelihood_by or api out",
            )
        if not isinstance(self.think_tags, bool):
            raise UsageError(
                f"think_tags must be true or false, got {self.think_tags!r}"
            )
        for name in ("voice", "audio_format"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"{name} takes a name, got {getattr(self, name)!r}")
        super().__post_init__()
        self._has_weighed = False
        if api := next(
            (path for path in PATHS if self._place.endswith(f"/{path}")), None
        ):
            raise UsageError(
                f"base_url of model 'openai/{self.name}' ends with the path of one API, {api}",
                fix=f"--base_url {self._place.removesuffix('/' + api)}",
            )
        if self.api in OWN_KINDS and (self.accepts, self.produces) == (
            ACCEPTS,
            PRODUCES,
        ):
            self.accepts, self.produces = OWN_KINDS[self.api]

    @property
    def abilities(self) -> Abilities:
        """As declared; what it weighs and reports depends on the API."""
        return replace(
            super().abilities,
            likelihood=self.likelihood_by != "none",
            logprobs=self.api not in WITHOUT_LOGPROBS,
            roles="chat" if self.api in ("chat", "responses") else "any",
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, place, API and what is added to every request; a digest in place of each key."""
        audio = (
            {"voice": self.voice, "audio_format": self.audio_format}
            if "audio" in self.produces
            else {}
        )
        ways = {
            "api": self.api,
            "likelihood_by": self.likelihood_by,
            "think_tags": self.think_tags,
        }
        return {**super().identity, **ways, **audio}

    @property
    def formats(self) -> Formats:
        """The public chat hears WAV and MP3 alone; transcriptions take containers too."""
        if self.api == "transcriptions":
            return {"audio": {*PLAIN_AUDIO, "m4a", "mp4", "webm"}}
        is_public = self._place.startswith(self.public_url)
        return {
            "image": WEB_IMAGES,
            "audio": {"wav", "mp3"} if is_public else PLAIN_AUDIO,
        }

    async def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """One attempt for each request, all continuations of a request in one question where the API allows it."""
        return [await self._attempt(request, self._weigh) for request in requests]

    @property
    def likelihood_fix(self) -> str:
        """How it may be made to weigh continuations, for a task that needs it."""
        return f"{LIKELIHOOD_FIX}; or " if self.likelihood_by == "none" else ""

    async def _answer(self, request: Request) -> Output:
        ways = {
            "responses": self._respond,
            "speech": self._speak,
            "transcriptions": self._transcribe,
        }
        if self.api in ways:
            return await self._repeat(request, ways[self.api])
        if self.api == "images":
            return await self._draw(request)
        chat = self.api == "chat" or (self.api == "auto" and request.prompt.is_chat)
        answer = await self._post(
            "chat/completions" if chat else "completions", self._question(request, chat)
        )
        output = read_answer(answer, audio_format=self.audio_format)
        return enough(
            split_thinking(output) if self.think_tags else output, request.options.n
        )

    def _question(self, request: Request, chat: bool) -> dict[str, Any]:
        prompt, options = request.prompt, request.options
        body: dict[str, Any] = {"model": self.name}
        body |= {"messages": chat_messages(prompt)} if chat else {"prompt": prompt.text}
        body |= option_fields(options, request.seed, chat=chat)
        if options.max_tokens is not None:
            body[self._max_tokens_field(chat)] = options.max_tokens
        if chat and prompt.produces != ("text",):
            body |= media.modalities(prompt.produces, self.voice, self.audio_format)
        return body

    def _max_tokens_field(self, chat: bool) -> str:
        if self.max_tokens_field != "auto":
            return self.max_tokens_field
        return (
            "max_completion_tokens"
            if chat and self._url == self.public_url
            else "max_tokens"
        )

    async def _respond(self, request: Request) -> Output:
        answer = await self._post("responses", responses.question(self.name, request))
        return without_seed(responses.read(answer), request)

    async def _draw(self, request: Request) -> Output:
        is_public = self._url == self.public_url
        fields = media.image_fields(self.name, request, inline=not is_public)
        if not request.prompt.media:
            answer = await self._post("images/generations", fields)
        else:
            form, kind = media.image_form({**fields, **self.body}, request.prompt.media)
            answer = await self._post_form("images/edits", form, kind)
        return enough(media.read_images(answer), request.options.n)

    async def _speak(self, request: Request) -> Output:
        body = {
            **media.speech_fields(self.name, request, self.voice, self.audio_format),
            **self.body,
        }
        reply = await self._client.send(
            self._address("audio/speech"), msgspec.json.encode(body), self._headers
        )
        return media.read_audio(reply, self.audio_format)

    async def _transcribe(self, request: Request) -> Output:
        form, kind = media.audio_form(self.name, request, self.body)
        return media.read_transcript(
            await self._post_form("audio/transcriptions", form, kind), request
        )

    async def _weigh(self, request: Request) -> Output:
        if self.likelihood_by == "none":
            raise UsageError(
                f"model 'openai/{self.name}' is not said to weigh continuations",
                fix=LIKELIHOOD_FIX,
            )
        try:
            output = await self._weigh_by(self.likelihood_by, request)
        except weighing.CannotWeigh as failure:
            if self._has_weighed:
                raise
            # It was said to weigh texts and does not, as llama.cpp's server: no further question is worth asking.
            what, _, fix = failure.message.partition("; fix: ")
            raise UsageError(
                what, where=f"model 'openai/{self.name}'", fix=fix or None
            ) from failure
        self._has_weighed = True
        return output

    async def _weigh_by(self, way: weighing.Way, request: Request) -> Output:
        if request.prompt.is_chat:
            questions = weighing.chat_questions(self.name, request, way)
            answers = [
                await self._post("chat/completions", question) for question in questions
            ]
            return weighing.read_chat(answers, request)
        answer = await self._post(
            "completions", weighing.question(self.name, request, way)
        )
        return weighing.read(answer, request, way)

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        return (
            filtered() if refused.error.get("code") in FILTERED else refused.failure()
        )
