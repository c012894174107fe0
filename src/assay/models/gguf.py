"""GGUF weights run in this process by llama.cpp: chat and completion, with log-probabilities of what is written.

Greedy unless a temperature is given. An answer must not depend on the question before it, whose beginning may still be
in the cache. With flash attention it does, so that is off, at no cost in speed; and where the cache would leave only
the last token of a prompt to compute, which llama.cpp does by another route, the prompt is computed whole.
"""

import importlib.metadata
import importlib.util
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..core import (
    Abilities,
    Candidate,
    GenerateOptions,
    MissingExtra,
    ModelError,
    Output,
    Request,
    Usage,
    UsageError,
)
from .chat_format import Malformed, chat_messages, option_fields, read_answer
from .function import failure
from .weights import weights_digest

# llama.cpp would otherwise cut the tail of the distribution on its own account.
WHOLE_DISTRIBUTION = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


@dataclass
class Gguf:
    """A model in a GGUF file. One question at a time; the common beginning of two prompts is computed once."""

    reference: ClassVar[str] = "path"
    batch_size: ClassVar[int] = 1

    path: str
    context: int = 4096
    """Tokens of prompt and answer together; 0 takes what the model was trained with."""
    max_tokens: int = 512
    """How long an answer may get where the task does not say."""
    threads: int = 1
    """Two compute threads on a busy machine wait for each other: more helps only on idle cores."""
    gpu_layers: int = 0
    chat_template: str | None = None
    """Jinja text instead of the template in the file."""
    _server: Any = field(default=None, init=False, repr=False, compare=False)
    _last: Mapping[str, Any] | None = field(default=None, init=False, repr=False, compare=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp, which runs GGUF files,", "xllamacpp")
        self._file = Path(self.path).expanduser()
        try:
            with self._file.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise UsageError(f"cannot open the weights: {error.strerror}", where=self.path) from error
        if magic != b"GGUF":
            raise UsageError("not a GGUF file", where=self.path, fix="give the path of a file made for llama.cpp")

    @property
    def abilities(self) -> Abilities:
        """Text in, text out. Given continuations cannot be weighed: llama.cpp reports only what it writes."""
        return Abilities(logprobs=True)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The weights by digest, the engine by version, and the settings that can change an answer."""
        return {
            "gguf": self._file.name,
            "sha256": weights_digest(self._file),
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            "context": self.context,
            "max_tokens": self.max_tokens,
            "gpu_layers": self.gpu_layers,
            "chat_template": self.chat_template,
        }

    def load(self) -> None:
        """Reads the weights; done by the first question if nobody did it before."""
        with self._lock:
            if self._server is None:
                self._server = self._start()

    def close(self) -> None:
        """Frees the weights."""
        with self._lock:
            self._server = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """One answer after another."""
        self.load()
        outputs = []
        for request in requests:
            with self._lock:
                outputs.append(self._answer(request))
        return outputs

    def _start(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._file)
        params.n_ctx = self.context
        params.n_gpu_layers = self.gpu_layers
        params.n_parallel = 1
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_ram_mib = 0
        params.warmup = False
        params.ui = False
        # The library also opens a port on the loopback interface; nobody else gets to use it.
        params.api_keys = [secrets.token_hex()]
        params.verbosity = -1
        if self.chat_template is not None:
            params.chat_template = self.chat_template
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(
                "llama.cpp could not load the weights",
                where=self.path,
                fix="the file may be damaged or need a newer xllamacpp; fetch it again, or pip install -U xllamacpp",
            ) from error

    def _answer(self, request: Request) -> Output:
        started = time.perf_counter()
        try:
            drawn = [self._draw(request, index) for index in range(request.options.n)]
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - becomes the failure of this sample alone
            return failure(error, self._file.name)
        if failed := next((output for output in drawn if output.error is not None), None):
            return failed
        candidates: tuple[Candidate, ...] = tuple(c for output in drawn for c in output.candidates)
        return Output(candidates, usage=_added(drawn), seconds=time.perf_counter() - started)

    def _draw(self, request: Request, index: int) -> Output:
        chat = request.prompt.is_chat
        options = self._options(request.options, request.seed, index, chat=chat)
        asked = {"messages": chat_messages(request.prompt)} if chat else {"prompt": request.prompt.text}
        # A further draw always follows the first of the same prompt: what it finds in the cache is always the same.
        further = index > 0
        cached = further or asked != self._last
        answer = self._ask(chat, {**asked, **options, "cache_prompt": cached})
        if cached and not further and _computed_last_token_alone(answer):
            answer = self._ask(chat, {**asked, **options, "cache_prompt": False})
        self._last = asked
        if isinstance(answer, Mapping) and isinstance(answer.get("error"), Mapping):
            error = answer["error"]
            kind = "context" if error.get("type") == "exceed_context_size_error" else "exception"
            hint = f"; fix: give a larger context than {self.context}" if kind == "context" else ""
            return Output.failed(kind, f"{error.get('message')}{hint}", retryable=False)
        try:
            return read_answer(answer, keep_top=bool(request.options.logprobs))
        except Malformed as error:
            return Output.failed("bad_response", str(error), retryable=False)

    def _ask(self, chat: bool, body: Mapping[str, Any]) -> Any:
        handle = self._server.handle_chat_completions if chat else self._server.handle_completions
        return handle(dict(body))

    def _options(self, options: GenerateOptions, seed: int | None, index: int, *, chat: bool) -> dict[str, Any]:
        if options.reasoning_effort is not None:
            raise UsageError("a GGUF model has no generation option 'reasoning_effort'", where=self.path)
        body = {"temperature": 0.0, **WHOLE_DISTRIBUTION, **option_fields(options, seed, chat=chat)}
        body["max_tokens"] = options.max_tokens if options.max_tokens is not None else self.max_tokens
        body.pop("n", None)
        if "seed" in body:
            body["seed"] += index
        if "repetition_penalty" in body:
            body["repeat_penalty"] = body.pop("repetition_penalty")
        if options.logprobs is not None:
            # With 0 llama.cpp reports nothing at all; the one alternative is dropped when reading.
            body["top_logprobs" if chat else "logprobs"] = max(1, options.logprobs)
        return body


def _computed_last_token_alone(answer: Any) -> bool:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return False
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return cached > 0 and usage.get("prompt_tokens", 0) - cached == 1


def _added(outputs: Sequence[Output]) -> Usage | None:
    """Tokens of several draws of one prompt: the prompt counts once."""
    usages = [output.usage for output in outputs if output.usage is not None]
    if not usages:
        return None
    first = usages[0]
    return Usage(first.input_tokens, sum(u.output_tokens or 0 for u in usages), first.cached_tokens)
