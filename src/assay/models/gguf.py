"""GGUF weights run in this process by llama.cpp: chat, completion and likelihood. Greedy by default.

An answer must not depend on the previous question, whose prefix may still be in the
cache. Flash attention would make it depend on that prefix, so flash attention is off;
this costs no speed. llama.cpp also rounds differently when only the last token of a
prompt is missing from the cache. Such a prompt is computed completely.
"""

import importlib.metadata
import importlib.util
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..core import (
    Abilities,
    Candidate,
    MissingExtra,
    Output,
    Prompt,
    Request,
    TemplateError,
    Text,
    Usage,
    UsageError,
)
from .answers import failure
from .chat_format import (
    Malformed,
    chat_messages,
    option_fields,
    read_answer,
)
from .draws import generator_for
from .gguf_engine import Engine, TooLong, Weigher
from .inline_media import mapping_in
from .prompting.fitting import cut_details, fit, shortened
from .prompting.local_model import LocalModel
from .prompting.renderer import Renderer
from .prompting.weighing import plan_pairs, refused_prompt, weighed_output
from .tool_prompting import speaks_of_tools
from .weights import weights_digest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# llama.cpp would otherwise cut the tail of the distribution by default.
WHOLE_DISTRIBUTION = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}

METADATA_CHUNKS = 64
"""Megabytes at the start of a file that are searched for metadata. A vocabulary takes up to 20 megabytes."""


@dataclass(frozen=True, slots=True)
class Question:
    """Input of llama.cpp: messages, a text, or the token ids of a truncated prompt."""

    body: Mapping[str, Any]
    is_chat: bool
    cut: int = 0
    """Number of tokens removed from the prompt."""


@dataclass
class Gguf(LocalModel):
    """A model in a GGUF file.

    It answers one request at a time. The common prefix of consecutive prompts is computed once.
    """

    batch_size: ClassVar[int] = 1
    preflight_loads: ClassVar[bool] = True
    """True if checking a prompt loads the weights, as here: llama.cpp has no tokenizer without them."""

    context: int = 4096
    """Maximum tokens of prompt and answer together; 0 means the model's own context length."""
    threads: int = 1
    """Number of CPU threads. More than two help only if all of their cores are idle."""
    gpu_layers: int = 0
    """Number of layers to compute on a GPU."""
    _engine: Engine | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _renderer: Renderer | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _weigher: Weigher | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _last: Mapping[str, Any] | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _lock: Any = field(
        default_factory=threading.RLock,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        """Raise if llama.cpp is not installed, or if the path is not a GGUF file."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp, which runs GGUF files,", "xllamacpp")
        self._check_options({"context": 0, "threads": 1})
        self._file = Path(self.path).expanduser()
        try:
            with self._file.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise UsageError(
                f"cannot open the weights: {error.strerror}",
                where=self.path,
                fix="check the path",
            ) from error
        if magic != b"GGUF":
            raise UsageError(
                "not a GGUF file",
                where=self.path,
                fix="give the path of a file made for llama.cpp",
            )

    @property
    def abilities(self) -> Abilities:
        """Abilities: text in, text out, and likelihoods of continuations."""
        has_template = self._has_template()
        return Abilities(
            likelihood=True,
            logprobs=True,
            tokens=True,
            chat=has_template,
            tools=self._can_take_tools(has_template),
        )

    def _has_template(self) -> bool | None:
        """Return True if the file has a chat template. Return None if the file has not been opened yet."""
        if self.chat_template is not None:
            return True
        file: Path | None = vars(self).get("_file")
        return None if file is None else holds_template(file)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: digest of the weights, version of the
        engine, settings that change answers.
        """
        return {
            "gguf": self._file.name,
            "sha256": weights_digest(self._file),
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            "context": self.context,
            "max_tokens": self.max_tokens,
            "gpu_layers": self.gpu_layers,
            "chat_template": self.chat_template,
            **({"truncate": self.truncate} if self.truncate != "refuse" else {}),
            **({"tool_syntax": self.tool_syntax} if self.tool_syntax else {}),
        }

    def load(self) -> None:
        """Load the weights, unless they are already loaded."""
        with self._lock:
            if self._engine is None:
                self._engine = Engine(
                    self._file,
                    self.context,
                    self.threads,
                    self.gpu_layers,
                    self.chat_template,
                )
                self._renderer = Renderer(
                    self._engine.tokenizer,
                    where=self.path,
                    tool_syntax=self.tool_syntax,
                )
                ask = self._engine.ask
                self._weigher = Weigher(
                    lambda body: ask(False, {**WHOLE_DISTRIBUTION, **body}),
                    self._engine.tokenizer,
                )

    @property
    def tokenizer(self) -> "PreTrainedTokenizerBase":
        """The tokenizer of the model. Accessing it loads the weights."""
        return self._prompts.tokenizer

    def close(self) -> None:
        """Release the weights."""
        with self._lock:
            self._engine = self._renderer = self._weigher = self._last = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Generate the answers one after another."""
        outputs = [self._alone(self._answer, request) for request in requests]
        return self._with_calls(outputs, requests)

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Compute the likelihoods of each request's continuations, one request after another."""
        return [self._alone(self._weighed, request) for request in requests]

    def _alone(
        self,
        ask: Callable[[Request], Output],
        request: Request,
    ) -> Output:
        """Run `ask` on one request. An error becomes a failed output, so that the rest of the batch can continue."""
        self.load()
        with self._lock:
            try:
                return ask(request)
            except TooLong as error:
                return _too_long(error.tokens, error.context)
            except TemplateError as error:
                return refused_prompt(error)
            except Malformed as error:
                return Output.failed("bad_response", str(error), retryable=False)
            except UsageError:
                raise
            except Exception as error:  # noqa: BLE001 - becomes the failure of this sample alone
                return failure(error, self._file.name)

    @property
    def _prompts(self) -> Renderer:
        self.load()
        assert self._renderer is not None
        return self._renderer

    def _answer(self, request: Request) -> Output:
        """Generate the candidates for one request.

        Each candidate has its own seed, so the third candidate is the same whether
        three or ten are requested.
        """
        started = time.perf_counter()
        if self._weigher is not None:
            self._weigher.forget()
        question = self._fitting(request)
        outputs = [
            self._draw(question, request, index) for index in range(request.options.n)
        ]
        candidates: tuple[Candidate, ...] = tuple(
            c for output in outputs for c in output.candidates
        )
        usage = _added(outputs)
        if usage is not None:
            length = usage.input_tokens
        else:
            length = None
        if length is None:
            squeezed = None
        else:
            squeezed = self._squeezed(request, candidates, self._context - length)
        details = cut_details(question.cut, squeezed)
        return Output(
            candidates,
            usage=usage,
            seconds=time.perf_counter() - started,
            details=details,
        )

    def _fitting(self, request: Request) -> Question:
        """Convert the prompt of a request to a `Question`, truncated if necessary to leave space for the answer."""
        prompt = request.prompt
        if self.truncate != "refuse":
            tokens = self._prompts.encode(prompt)
            size, _ = fit(
                len(tokens),
                self._context,
                request.options.max_tokens,
                self.max_tokens,
                self.truncate,
            )
            if size < len(tokens):
                body = {"prompt": list(shortened(tokens, size, self.truncate))}
                return Question(
                    body,
                    is_chat=False,
                    cut=len(tokens) - size,
                )
        if speaks_of_tools(prompt):
            return self._question_with_tools(prompt)
        whole = (
            {"messages": chat_messages(prompt)}
            if prompt.is_chat
            else {"prompt": prompt.text}
        )
        return Question(whole, prompt.is_chat)

    def _question_with_tools(self, prompt: Prompt) -> Question:
        """Convert a prompt with tools to token ids.

        If llama.cpp received the tools themselves, it would force the answer into a
        tool grammar.
        """
        return Question({"prompt": list(self._prompts.encode(prompt))}, is_chat=False)

    def _draw(
        self,
        question: Question,
        request: Request,
        index: int,
    ) -> Output:
        """Generate candidate number `index`.

        If only the last prompt token was missing from the cache, generate again with an
        empty cache, because llama.cpp rounds differently in that case.
        """
        chat = question.is_chat
        body = {**question.body, **self._options(request, index, chat=chat)}
        is_first = index == 0
        # Further draws follow the first of the same prompt, so the cache is always in the same state.
        may_reuse = True
        if is_first:
            may_reuse = self._last is not None and question.body != self._last
        body["cache_prompt"] = may_reuse
        answer = self._ask(chat, body)
        if may_reuse and is_first and _computed_last_token_alone(answer):
            body["cache_prompt"] = False
            answer = self._ask(chat, body)
        self._last = question.body
        keep_top = bool(request.options.logprobs)
        output = read_answer(answer, keep_top=keep_top)
        if chat:
            return _without_beginning(output, request.prompt)
        return output

    def _weighed(self, request: Request) -> Output:
        """Score a request's continuations, or all of a text.

        With `truncate` set to `left` or `middle`, a context that is too long for the
        model is cut first.
        """
        assert self._weigher is not None, "load comes first"
        self._last = None
        # llama.cpp includes the last token, although it is only predicted.
        planned = plan_pairs(
            self._prompts,
            request,
            self._context - 1,
            self.truncate,
            _too_long,
        )
        if isinstance(planned, Output):
            return planned
        pairs, cut = planned
        likelihoods, cached = self._weigher.weigh(pairs)
        output = weighed_output(request, pairs, likelihoods, cut)
        if output.usage is None:
            return output
        usage = replace(output.usage, cached_tokens=cached)
        return replace(output, usage=usage)

    @property
    def _context(self) -> int:
        assert self._engine is not None, "load comes first"
        return self._engine.tokenizer.context

    def _ask(
        self,
        chat: bool,
        body: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        assert self._engine is not None, "load comes first"
        return self._engine.ask(chat, body)

    def _options(
        self,
        request: Request,
        index: int,
        *,
        chat: bool,
    ) -> dict[str, Any]:
        """Return the options of a request under llama.cpp's names.

        They override the sampling defaults in the file, so an unset temperature means
        greedy decoding.
        """
        options = request.options
        if options.reasoning_effort is not None:
            raise UsageError(
                "a GGUF model has no generation option 'reasoning_effort'",
                where=self.path,
            )
        body = {
            "temperature": 0.0,
            **WHOLE_DISTRIBUTION,
            **option_fields(options, None, chat=chat),
        }
        body["max_tokens"] = self._answer_length(request)
        body.pop("n", None)
        body["seed"] = generator_for(request, index).getrandbits(31)
        if not chat and options.response_format == "json":
            del body["response_format"]  # llama.cpp ignores it outside chat requests
            body["json_schema"] = {"type": "object"}
        if "repetition_penalty" in body:
            body["repeat_penalty"] = body.pop("repetition_penalty")
        if request.prompt.tools:
            syntax = self._prompts.tool_writing.syntax
            body["preserved_tokens"] = list(syntax.marks if syntax else ())
        if options.logprobs is not None:
            # With 0, llama.cpp reports no log-probabilities; the single alternative is dropped when reading.
            body["top_logprobs" if chat else "logprobs"] = max(1, options.logprobs)
        return body


def _too_long(length: int, context: int) -> Output:
    return Output.failed(
        "context",
        f"the prompt has {length} tokens and the model was given {context}; "
        f"fix: give a larger context than {context}, or truncate=left or middle",
        retryable=False,
    )


def _without_beginning(output: Output, prompt: Prompt) -> Output:
    """Remove the prefilled text of the assistant turn from the output, because llama.cpp repeats it in the answer."""
    messages = [message for message in prompt.messages if message.parts is not None]
    if messages:
        last = messages[-1]
    else:
        last = None
    if last is None or last.role != "assistant" or not last.text:
        return output
    candidates = []
    for candidate in output.candidates:
        candidates.append(_without(last.text, candidate))
    return replace(output, candidates=tuple(candidates))


def _without(beginning: str, candidate: Candidate) -> Candidate:
    """Remove a prefix from the first text part of a candidate."""
    parts = list(candidate.parts)
    for index, part in enumerate(parts):
        if isinstance(part, Text):
            parts[index] = Text(part.text.removeprefix(beginning))
            break
    return replace(candidate, parts=tuple(parts))


def _computed_last_token_alone(answer: object) -> bool:
    """Return True if all prompt tokens except the last one came from the cache."""
    usage = mapping_in(answer, "usage")
    cached = mapping_in(usage, "prompt_tokens_details").get("cached_tokens") or 0
    return cached > 0 and usage.get("prompt_tokens", 0) - cached == 1


def _added(outputs: Sequence[Output]) -> Usage | None:
    """Add up the usage of several answers to one prompt. The prompt's tokens are counted only once."""
    usages = [output.usage for output in outputs if output.usage is not None]
    if not usages:
        return None
    first = usages[0]
    return Usage(
        first.input_tokens,
        sum(u.output_tokens or 0 for u in usages),
        first.cached_tokens,
    )


@lru_cache(maxsize=8)
def holds_template(file: Path) -> bool:
    """Return True if a GGUF file's metadata, which is stored before the weights, contains a chat template."""
    key = b"tokenizer.chat_template"
    rest = b""
    with file.open("rb") as stream:
        for _ in range(METADATA_CHUNKS):
            chunk = stream.read(1 << 20)
            if not chunk:
                return False
            if key in rest + chunk:
                return True
            rest = chunk[-len(key) :]
    return False
