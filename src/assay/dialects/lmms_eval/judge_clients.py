"""Redirect the judge calls of lmms-eval's code to the judge of the run.

Its tasks call judges in three ways: with a client of the `openai` package, often
created when their module is imported; with the providers of `lmms_eval.llm_judge`; and
with `requests.post` to an address that ends in `/chat/completions`. All three reach the
model of `--judge`, whose answers are in the run's journal.
"""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...core import (
    DEFAULT_OPTIONS,
    Audio,
    GenerateOptions,
    Image,
    Message,
    Part,
    Prompt,
    ScorerError,
    Text,
    UsageError,
    shorten,
)
from ..kits.judging import JudgePool

if TYPE_CHECKING:
    import requests
    from openai.types.chat import ChatCompletion

CLIENTS = {
    "OpenAI": False,
    "AzureOpenAI": False,
    "AsyncOpenAI": True,
    "AsyncAzureOpenAI": True,
}
"""Client classes of the `openai` package. The value is True for those that are used with `await`."""
ADDRESS_END = "/chat/completions"
PLACEHOLDER_KEYS = ("OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY")
"""Environment variables with API keys, without which some helper modules cannot be imported."""


class NoJudge(BaseException):
    """Raised if a task calls a judge and the run has none.

    It is not an `Exception`, because tasks catch exceptions and would count the answer
    as wrong.
    """


class RunJudge:
    """Sends requests to the judge model of one run, and records failed calls, because tasks ignore them."""

    def __init__(
        self,
        name: str | None,
        judge_pool: JudgePool,
    ) -> None:
        self._name = name
        self._judge_pool = judge_pool
        self._failures: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> str:
        """Ask the judge, and return its answer. The request has the form of OpenAI's chat completions."""
        if self._name is None:
            raise NoJudge(str(request.get("model") or "a model"))
        try:
            prompt, options = prompt_of(request), options_of(request)
            output = self._judge_pool.ask(self._name, prompt, options)
        except Exception as error:
            self._failures.append(str(error))
            raise
        if output.error is not None:
            self._failures.append(output.error.message)
            raise RuntimeError(f"the judge failed: {output.error.message}")
        return output.text

    def raise_failure(self) -> None:
        """Raise if a call to the judge failed since the last check."""
        failures, self._failures = self._failures, []
        if failures:
            raise ScorerError(f"the judge failed: {failures[0]}")


_current: list[RunJudge] = []


def answer(request: Mapping[str, Any]) -> str:
    """Ask the judge of the current run, and return its answer."""
    if not _current:
        raise NoJudge(str(request.get("model") or "a model"))
    return _current[-1].answer(request)


@contextmanager
def judged_by(judge: RunJudge) -> Iterator[None]:
    """Use this judge inside the block for all calls that tasks make to judges."""
    import requests

    original: Callable[..., requests.Response] = requests.post
    _current.append(judge)

    def post(
        url: str,
        *args: object,
        **settings: Any,
    ) -> "requests.Response":
        body = settings.get("json") or _decode_body(settings.get("data"))
        if "messages" in body and str(url).split("?")[0].endswith(ADDRESS_END):
            return _http_response(completion(body))
        return original(url, *args, **settings)

    requests.post = post  # type: ignore[assignment]
    try:
        with replaced_clients():
            yield
    except NoJudge as error:
        raise UsageError(
            f"the task asks a judge ({error}), and the run has none",
            fix="--judge MODEL; answers that were already given are not asked again",
        ) from None
    finally:
        requests.post = original
        _current.remove(judge)


@contextmanager
def replaced_clients() -> Iterator[None]:
    """Replace the client classes of `openai` inside the block by classes that call the judge of the run."""
    try:
        import openai
    except ModuleNotFoundError:
        yield
        return
    originals = {name: getattr(openai, name) for name in CLIENTS}
    for name, is_async in CLIENTS.items():
        setattr(openai, name, AsyncJudgeClient if is_async else JudgeClient)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(openai, name, original)


@contextmanager
def placeholder_keys() -> Iterator[None]:
    """Set placeholder API keys inside the block, because helper modules check for keys at import."""
    missing = [name for name in PLACEHOLDER_KEYS if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "judge-of-the-run"))
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


class JudgeClient:
    """A replacement for the client of the `openai` package that calls the judge of the run."""

    def __init__(self, *_: object, **settings: object) -> None:
        self.api_key, self.base_url = "", str(settings.get("base_url") or "")
        self.chat = self.beta = self
        self.completions = self

    def create(self, **request: object) -> "ChatCompletion | Awaitable[ChatCompletion]":
        """Ask the judge, and return a chat completion of the `openai` package."""
        return _completion_object(completion(request))

    def with_options(self, **_: object) -> "JudgeClient":
        """Return the client unchanged. The judge's time limits apply."""
        return self

    def close(self) -> None:
        """Do nothing, because the connection belongs to the judge."""


class AsyncJudgeClient(JudgeClient):
    """A `JudgeClient` for code that uses `await`."""

    async def create(self, **request: object) -> "ChatCompletion":
        """Ask the judge, and return a chat completion of the `openai` package."""
        return await asyncio.to_thread(lambda: _completion_object(completion(request)))

    async def close(self) -> None:  # type: ignore[override]
        """Do nothing, because the connection belongs to the judge."""


def replace_providers() -> None:
    """Make every provider of `lmms_eval.llm_judge` call the judge of the run."""
    from lmms_eval.llm_judge import ProviderFactory, Request, Response, ServerConfig
    from lmms_eval.llm_judge.base import AsyncServerInterface
    from lmms_eval.llm_judge.providers.openai import OpenAIProvider

    class Provider(OpenAIProvider, AsyncServerInterface):  # type: ignore[misc]
        """A provider of `lmms_eval.llm_judge` that calls the judge of the run.

        Prompts and parsing are those of the package.
        """

        def __init__(self, config: ServerConfig | None = None) -> None:
            default = ServerConfig(model_name="judge")
            AsyncServerInterface.__init__(self, config or default)

        def is_available(self) -> bool:
            return True

        def evaluate(self, request: Request) -> Response:
            config = request.config or self.config
            messages = self.prepare_messages(request)
            if request.images:
                messages = self._add_images_to_messages(messages, request.images)
            request_body = {
                "model": config.model_name,
                "messages": messages,
                "temperature": config.temperature,
                "max_tokens": config.max_tokens,
                "top_p": config.top_p,
            }
            text = answer(request_body)
            return Response(
                content=text.strip(),
                model_used=config.model_name,
            )

        async def evaluate_async(self, request: Request) -> Response:
            return await asyncio.to_thread(self.evaluate, request)

    for name in list(ProviderFactory._provider_classes):
        ProviderFactory.register_provider(name, Provider)


def completion(request: Mapping[str, Any]) -> dict[str, Any]:
    """Send a request to the judge `n` times. Return all answers as one chat completion in OpenAI's JSON format."""
    answers = [answer(request) for _ in range(int(request.get("n") or 1))]
    choices = [
        {
            "index": number,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        for number, text in enumerate(answers)
    ]
    return {
        "id": "judge",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(request.get("model") or "judge"),
        "choices": choices,
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def prompt_of(request: Mapping[str, Any]) -> Prompt:
    """Convert the messages of a request to a prompt."""
    messages = []
    for turn in request["messages"]:
        parts = tuple(_parts_of(turn.get("content")))
        messages.append(Message(str(turn["role"]), parts))
    return Prompt(tuple(messages))


def options_of(request: Mapping[str, Any]) -> GenerateOptions:
    """Return the generation options that a request sets."""
    stops = request.get("stop") or ()
    length = request.get("max_tokens") or request.get("max_completion_tokens")
    settings = {
        "temperature": request.get("temperature"),
        "top_p": request.get("top_p"),
        "seed": request.get("seed"),
        "max_tokens": length,
        "stop": (stops,) if isinstance(stops, str) else tuple(stops),
    }
    options = DEFAULT_OPTIONS
    for name, value in settings.items():
        if value not in (None, ()):
            options = options.set(**{name: value})
    return options


def _parts_of(
    content: str | Sequence[str | Mapping[str, Any]] | None,
) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content)
        return
    for entry in content or ():
        if not isinstance(entry, Mapping):
            yield Text(str(entry))
            continue
        kind = entry["type"]
        if kind == "text":
            yield Text(entry["text"])
        elif kind == "image_url":
            address = entry["image_url"]
            if isinstance(address, Mapping):
                url = address["url"]
            else:
                url = address
            yield Image(_without_blanks(url))
        elif kind == "input_audio":
            yield Audio(entry["input_audio"]["data"])
        else:
            raise RuntimeError(f"a judge cannot be sent {shorten(kind)}")


def _without_blanks(url: str) -> str:
    """Remove whitespace from a data URL, where endpoints ignore it."""
    if url.startswith("data:"):
        return "".join(url.split())
    return url


def _completion_object(document: dict[str, Any]) -> "ChatCompletion":
    from openai.types.chat import ChatCompletion

    return ChatCompletion.model_validate(document)


def _http_response(document: dict[str, Any]) -> "requests.Response":
    import requests

    response = requests.Response()
    response.status_code = 200
    response._content = json.dumps(document).encode()
    return response


def _decode_body(data: object) -> Mapping[str, Any]:
    """Parse the body of an HTTP request as a JSON object; return an empty mapping for anything else."""
    if isinstance(data, (str, bytes)):
        with contextlib.suppress(ValueError):
            decoded = json.loads(data)
            if isinstance(decoded, Mapping):
                return decoded
    return {}
