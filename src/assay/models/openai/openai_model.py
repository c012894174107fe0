"""A model behind an OpenAI-compatible URL, and the server programs that extend this API.

The program is recognised by `owned_by` in the reply to `GET /models`. llama.cpp also
sends the header `Server: llama.cpp`.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args
from weakref import WeakKeyDictionary

import msgspec

from ...core import (
    EMPTY,
    Abilities,
    Candidate,
    GenerateOptions,
    Output,
    Prompt,
    Request,
    Text,
    UsageError,
)
from ...core.reasoning import read_think_tags
from ...media.prompt_media import PLAIN_AUDIO, WEB_IMAGES, Formats
from ..carrying import CHAT, ROLES_FIX, Carrier
from ..chat_format import (
    chat_messages,
    option_fields,
    read_answer,
    tool_fields,
)
from ..http import HttpFailure, Refused
from ..http_failures import parsed
from ..http_model import HttpModel, enough, filtered, without_seed
from ..inline_media import mapping_in
from ..reply_checks import (
    UnseenParts,
    check_reply,
    ended_by_length,
    has_broken_call,
    with_notes,
    with_options_of,
)
from ..tool_prompting import ToolWriting, check_tool_syntax
from ..tool_syntaxes import HERMES, PROMPTED, SYNTAXES
from . import openai_likelihoods as weighing
from . import openai_media as media
from . import responses

BEYOND_THE_API = ("top_k", "min_p", "repetition_penalty")
"""Generation options that the public API lacks."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server program, such as vLLM: the options that it adds to the API, and its names for them."""

    name: str
    knows: frozenset[str] = frozenset()
    renames: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def renamed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body with the options under the server's names."""
        return {self.renames.get(name, name): value for name, value in body.items()}

    def unconfirmed(self, options: GenerateOptions) -> list[str]:
        """Return a note for each option of the request that this server program is not known to support."""
        names = [
            name
            for name in BEYOND_THE_API
            if getattr(options, name) is not None and name not in self.knows
        ]
        return [f"{name} could not be confirmed: {self.name}" for name in names]


ALL = frozenset(BEYOND_THE_API)
LLAMA_NAMES = {"repetition_penalty": "repeat_penalty"}
UNKNOWN = Server("the server does not say which options it knows")
PUBLIC = Server("the public service", ALL)
"""The public OpenAI service, which rejects unknown options."""
LLAMA_CPP = Server("llama.cpp", ALL, LLAMA_NAMES)
LLAMA_CPP_PYTHON = Server("llama-cpp-python", ALL, LLAMA_NAMES)
VLLM = Server("vLLM", ALL)
SGLANG = Server("SGLang", ALL)
BY_OWNER: Mapping[str, Server] = {
    "llamacpp": LLAMA_CPP,
    "vllm": VLLM,
    "sglang": SGLANG,
}
OWNER_OF_LLAMA_CPP_PYTHON = "me"


def needs_server(options: GenerateOptions) -> bool:
    """Return True if the request sets an option that the public API lacks and whose name depends on the server."""
    return any(getattr(options, name) is not None for name in BEYOND_THE_API)


def recognised(
    listed: object,
    headers: Mapping[str, str],
) -> Server:
    """Return the server program that sent this list of models and these headers, or `UNKNOWN`."""
    if headers.get("server", "").lower().startswith("llama.cpp"):
        return LLAMA_CPP
    models = mapping_in(listed).get("data")
    if not isinstance(models, list) or not models:
        return UNKNOWN
    first = mapping_in(models[0])
    owner = str(first.get("owned_by", "")).lower()
    if owner == OWNER_OF_LLAMA_CPP_PYTHON and "permissions" in first:
        return LLAMA_CPP_PYTHON
    return BY_OWNER.get(owner, UNKNOWN)


Weighing = Literal["none", "echo", "prompt_logprobs"]
TokenField = Literal["auto", "max_tokens", "max_completion_tokens"]
Api = Literal[
    "auto", "chat", "completions", "responses", "images", "speech", "transcriptions"
]
FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "moderation_blocked"}
)
REFUSABLE = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "logprobs",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "reasoning_effort",
    "response_format",
)
"""Options that some models reject."""
FAILED_GENERATION = "failed_generation"
"""Groq's error field with the text that the model wrote instead of the requested JSON or tool call."""
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
"""Input and output kinds of the APIs for images and audio, as (inputs, outputs)."""
OWN_CARRIERS: Mapping[str, Carrier] = {
    "responses": replace(CHAT, name="a request of the Responses API"),
    "images": Carrier("the images endpoint", media=frozenset({"image"})),
    "speech": Carrier("the speech endpoint"),
    "transcriptions": Carrier(
        "the transcriptions endpoint", media=frozenset({"audio"})
    ),
}
LIKELIHOOD_FIX = "-a likelihood_by=echo, or likelihood_by=prompt_logprobs for vLLM, if the server measures given texts"
CONVERSING = frozenset({"auto", "chat", "responses"})
"""Values of `api` for which requests can contain tools and media."""
WITHOUT_LOGPROBS = frozenset({"images", "speech", "transcriptions"})


@dataclass
class OpenAI(HttpModel):
    """A model behind an OpenAI-compatible endpoint. Each call makes one attempt; the scheduler retries."""

    scheme: ClassVar[str] = "openai"
    public_url: ClassVar[str] = "https://api.openai.com/v1"
    url_env: ClassVar[str] = "OPENAI_BASE_URL"
    key_header: ClassVar[str] = "Authorization: Bearer {}"

    api_key_env: str = "OPENAI_API_KEY"
    api: Api = "auto"
    """The API to use. `auto` uses completions for prompts without chat roles, and chat for all others."""
    max_tokens_field: TokenField = "auto"
    """The name of the field for the token limit, which differs between servers.

    `auto` uses the newer name for the public service only.
    """
    accepts: tuple[str, ...] = ACCEPTS
    produces: tuple[str, ...] = PRODUCES
    likelihood_by: Weighing = "none"
    """How the server reports likelihoods of given texts: `echo` (with `logprobs`) or `prompt_logprobs` (vLLM)."""
    think_tags: bool | str | tuple[str, str] | None = None
    """How the server marks reasoning in the text. None recognises all known forms, False none."""
    tool_syntax: str | None = None
    """How the model writes tool calls in its text. `prompted` puts the tools into the prompt."""
    voice: str = "alloy"
    """The voice of audio answers."""
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
                f"api={self.api} cannot compute likelihoods",
                fix="leave likelihood_by or api out",
            )
        self._tags = read_think_tags(self.think_tags, f"model 'openai/{self.name}'")
        check_tool_syntax(self.tool_syntax, f"model 'openai/{self.name}'")
        for name in ("voice", "audio_format"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"{name} takes a name, got {getattr(self, name)!r}")
        super().__post_init__()
        self._unseen = UnseenParts()
        self._has_weighed = False
        self._has_aligned_echo = False
        """Whether a token that the server generated has shown that its echoes are aligned."""
        self._takes_lists = True
        """True if the server accepts several prompts in one request; False after it rejected them."""
        self._server: Server | None = None
        self._probing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        if api := next(
            (path for path in PATHS if self._place.endswith(f"/{path}")), None
        ):
            whole = self._place.removesuffix(f"/{api}")
            and_query = ", with the same part behind the ?" if self._query else ""
            raise UsageError(
                f"base_url of model 'openai/{self.name}' ends with the path of one API, {api}",
                fix=f"--base_url {whole}{and_query}",
            )
        if self.api in OWN_KINDS and (self.accepts, self.produces) == (
            ACCEPTS,
            PRODUCES,
        ):
            self.accepts, self.produces = OWN_KINDS[self.api]

    @property
    def abilities(self) -> Abilities:
        """Return the declared abilities. The API determines whether likelihoods and
        log-probabilities are available.
        """
        return replace(
            super().abilities,
            likelihood=self.likelihood_by != "none",
            logprobs=self.api not in WITHOUT_LOGPROBS,
            roles="chat" if self.api in ("chat", "responses") else "any",
            tools=self.api in ("auto", "chat", "responses") or self.prompts_tools,
        )

    @property
    def prompts_tools(self) -> bool:
        """True if tools are written into the prompt."""
        return self.tool_syntax == PROMPTED

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the properties that identify this model: name, URL, API and options. A digest replaces each key."""
        if "audio" in self.produces:
            audio = {"voice": self.voice, "audio_format": self.audio_format}
        else:
            audio = {}
        ways: dict[str, Any] = {
            "api": self.api,
            "likelihood_by": self.likelihood_by,
            "think_tags": self.think_tags is True,
        }
        if self.tool_syntax is not None:
            ways["tool_syntax"] = self.tool_syntax
        return {**super().identity, **ways, **audio}

    @property
    def formats(self) -> Formats:
        """Return the accepted media formats.

        The public chat API accepts only WAV and MP3 audio, the transcription API more formats.
        """
        if self.api == "transcriptions":
            return {"audio": {*PLAIN_AUDIO, "m4a", "mp4", "webm"}}
        is_public = self._place.startswith(self.public_url)
        return {
            "image": WEB_IMAGES,
            "audio": {"wav", "mp3"} if is_public else PLAIN_AUDIO,
        }

    def carrier(self, prompt: Prompt) -> Carrier:
        """Return the carrier for a prompt: the media and roles that its request can contain, depending on the API."""
        if self.api in OWN_CARRIERS:
            return OWN_CARRIERS[self.api]
        weighs = prompt.continuations is not None or prompt.rolling
        if self._is_chat(prompt) or (weighs and prompt.is_chat):
            return CHAT
        if self.api == "auto":
            fix = ROLES_FIX
        else:
            fix = f"leave api={self.api} out"
        return Carrier("a completion request", fix=fix)

    def _is_chat(self, prompt: Prompt) -> bool:
        """Return True if the prompt is sent to /chat/completions."""
        return self.api == "chat" or (self.api == "auto" and prompt.is_chat)

    async def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Score each request in one attempt, with all its continuations in one call if the API allows this."""
        return [await self._attempt(request, self._weigh) for request in requests]

    @property
    def likelihood_fix(self) -> str:
        """Advice on how to get likelihoods from this endpoint, for a task that needs them."""
        if self.likelihood_by == "none":
            return f"{LIKELIHOOD_FIX}; or "
        return ""

    async def _answer(self, request: Request) -> Output:
        if self.tool_syntax is None:
            return await self._answer_once(request)
        syntax = SYNTAXES.get(self.tool_syntax, HERMES)
        writing = ToolWriting(syntax, self.prompts_tools)
        output = await self._answer_once(writing.asked(request))
        if output.last_calls:
            return output
        return writing.read(output, request)

    async def _answer_once(self, request: Request) -> Output:
        """Return the answer. Add a note if the server may not have shown the tools or media to the model."""
        output = await self._exchange(request)
        if self._url == self.public_url or self.api not in CONVERSING:
            return output
        notes = await self._unseen.notes(request, output, self._exchange)
        return with_notes(output, notes)

    async def _exchange(self, request: Request) -> Output:
        """Send a request through the configured API, and return the answer after checking it."""
        ways = {
            "responses": self._respond,
            "speech": self._speak,
            "transcriptions": self._transcribe,
        }
        if self.api in ways:
            return await self._repeat(request, ways[self.api])
        if self.api == "images":
            return await self._draw(request)
        chat = self._is_chat(request.prompt)
        body = self._question(request, chat)
        server = await self._server_for(request)
        answer = await self._post(
            "chat/completions" if chat else "completions", server.renamed(body)
        )
        output = read_answer(answer, audio_format=self.audio_format)
        request = with_options_of(self.body, request)
        if output.stop_reason is None or has_broken_call(output):
            output = ended_by_length(output, request.options.max_tokens)
        output = self._checked(output, request, answer)
        output = with_notes(output, server.unconfirmed(request.options))
        return enough(output, request.options.n)

    def _checked(
        self,
        output: Output,
        request: Request,
        answer: object,
    ) -> Output:
        """Return the output with notes on options that the server ignored, according to its reply."""
        reply_model = mapping_in(answer).get("model")
        if self.tool_syntax is not None:  # calls in the text are read later
            request = replace(request, prompt=replace(request.prompt, tool_choice=None))
        return check_reply(output, request, self.name, reply_model, self._tags)

    async def _server_for(self, request: Request) -> Server:
        """Return the server program behind the URL.

        It is identified once, if the name of a requested option depends on it.
        """
        if self._url == self.public_url or not needs_server(request.options):
            if self._url == self.public_url:
                return PUBLIC
            return UNKNOWN
        loop = asyncio.get_running_loop()
        lock = self._probing.setdefault(loop, asyncio.Lock())
        async with lock:
            if self._server is None:
                self._server = await self._probe()
        return self._server

    async def _probe(self) -> Server:
        """Identify the server program by its list of models."""
        try:
            reply = await self._client.get(self._address("models"), self._headers)
            return recognised(parsed(reply.body), reply.headers)
        except (Refused, ValueError):
            return UNKNOWN

    def _question(self, request: Request, chat: bool) -> dict[str, Any]:
        """Return the body of a chat or completion request."""
        prompt = request.prompt
        body: dict[str, Any] = {"model": self.name}
        if chat:
            body["messages"] = chat_messages(prompt)
            body.update(tool_fields(prompt))
        else:
            body["prompt"] = prompt.text
        body.update(option_fields(request.options, request.seed, chat=chat))
        max_tokens = request.options.max_tokens
        if max_tokens is not None:
            body[self._max_tokens_field(chat)] = max_tokens
        if chat and prompt.produces != ("text",):
            kinds = prompt.produces
            body.update(media.modalities(kinds, self.voice, self.audio_format))
        return body

    def _max_tokens_field(self, chat: bool) -> str:
        if self.max_tokens_field != "auto":
            return self.max_tokens_field
        if chat and self._url == self.public_url:
            return "max_completion_tokens"
        return "max_tokens"

    async def _respond(self, request: Request) -> Output:
        body = responses.question(self.name, request)
        answer = await self._post("responses", body)
        request = with_options_of(self.body, request)
        output = responses.read(answer)
        output = ended_by_length(output, request.options.max_tokens)
        output = self._checked(output, request, answer)
        return without_seed(output, request)

    async def _draw(self, request: Request) -> Output:
        """Request images: new ones, or edited copies of the images in the prompt."""
        is_public = self._url == self.public_url
        fields = media.image_fields(self.name, request, inline=not is_public)
        images = request.prompt.media
        if images:
            form, kind = media.image_form({**fields, **self.body}, images)
            answer = await self._post_form("images/edits", form, kind)
        else:
            answer = await self._post("images/generations", fields)
        return enough(media.read_images(answer), request.options.n)

    async def _speak(self, request: Request) -> Output:
        body = {
            **media.speech_fields(self.name, request, self.voice, self.audio_format),
            **self.body,
        }
        reply = await self._client.send(
            self._address("audio/speech"),
            msgspec.json.encode(body),
            self._headers,
        )
        return media.read_audio(reply, self.audio_format)

    async def _transcribe(self, request: Request) -> Output:
        form, kind = media.audio_form(self.name, request, self.body)
        return media.read_transcript(
            await self._post_form("audio/transcriptions", form, kind), request
        )

    async def _weigh(self, request: Request) -> Output:
        """Return the likelihoods of the continuations. If the server reports none, raise to stop the run."""
        if self.likelihood_by == "none":
            raise UsageError(
                f"model 'openai/{self.name}' reports no likelihoods of given texts",
                fix=LIKELIHOOD_FIX,
            )
        try:
            output = await self._weigh_by(self.likelihood_by, request)
        except weighing.CannotWeigh as failure:
            if self._has_weighed:
                raise
            # The server does not support `likelihood_by`, so further requests would also fail.
            message, _, fix = failure.message.partition("; fix: ")
            raise UsageError(
                message,
                where=f"model 'openai/{self.name}'",
                fix=fix or None,
            ) from failure
        self._has_weighed = True
        return output

    async def _weigh_by(
        self,
        way: weighing.Way,
        request: Request,
    ) -> Output:
        if request.prompt.is_chat:
            questions = weighing.chat_questions(self.name, request, way)
            answers = [
                await self._post("chat/completions", question) for question in questions
            ]
            return weighing.read_chat(answers, request)
        texts = weighing.texts_of(request)
        if self._takes_lists and len(texts) > 1:
            choices = await self._weigh_together(texts, way)
            if choices is not None:
                return await self._read_weighed(choices, request, way)
        replies = []
        for text in texts:
            question = weighing.question(self.name, text, way)
            replies.append(await self._post("completions", question))
        choices = weighing.single_choices(replies)
        output = await self._read_weighed(choices, request, way)
        self._takes_lists = self._takes_lists and len(texts) == 1
        return output

    async def _read_weighed(
        self,
        choices: weighing.Choices,
        request: Request,
        way: weighing.Way,
    ) -> Output:
        """Return the likelihoods in a server's reports.

        A generated token shows whether an `echo` report is aligned. If no report has
        had one so far, send one more text to check this.
        """
        output = weighing.read(choices, request, way)
        if way != "echo" or self._has_aligned_echo:
            return output
        if not weighing.has_generated(choices, weighing.texts_of(request)):
            question = weighing.question(self.name, weighing.PROBE, way)
            probe = weighing.single_choices([await self._post("completions", question)])
            weighing.check_echo(probe)
            if not weighing.has_generated(probe, [weighing.PROBE]):
                return with_notes(output, [weighing.WITHOUT_GENERATED])
        self._has_aligned_echo = True
        return output

    async def _weigh_together(
        self,
        texts: Sequence[str],
        way: weighing.Way,
    ) -> weighing.Choices | None:
        """Send a list of prompts in one request. Return None if the server accepts only one prompt per request."""
        question = weighing.question(self.name, list(texts), way)
        try:
            answer = await self._post("completions", question)
        except Refused as refused:
            if refused.status not in weighing.LIST_REFUSED:
                raise
            return None
        return weighing.choices_of(answer, len(texts))

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        if refused.error.get("code") in FILTERED:
            return filtered()
        generation = refused.error.get(FAILED_GENERATION)
        if refused.status == 400 and isinstance(generation, str):
            note = "the server refused what the model wrote, which is scored"
            output = Output((Candidate((Text(generation),), "stop"),))
            return with_notes(output, [note])
        failure = refused.failure()
        if refused.status in (400, 422) and failure.kind == "http":
            way = self.likelihood_by
            if re.search(rf"\b{way}\b", failure.message):
                failure.message += f"; fix: leave likelihood_by={way} out"
            else:
                failure.message += _option_fix(failure.message)
        return failure


def _option_fix(message: str) -> str:
    """If an error message names an option that the model rejects, return advice on that option, otherwise ""."""
    if re.search(r"\bmax_completion_tokens\b.* instead", message):
        return "; fix: -a max_tokens_field=max_completion_tokens"
    if re.search(r"\bmax_completion_tokens\b", message):
        return "; fix: -a max_tokens_field=max_tokens"
    if re.search(r"""(['"`])n\1""", message):
        return "; fix: use epochs instead of n"
    for name in REFUSABLE:
        if re.search(rf"\b{name}\b", message):
            return f"; fix: --gen_kwargs {name}=null leaves it out"
    return ""
