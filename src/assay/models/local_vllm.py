"""`vllm/PATH_OR_ID`: vLLM in this process, with its progress.

Prompts are rendered, and likelihoods computed, as by the `hf` backend, so that the two can be compared. vLLM batches
requests and caches prefixes itself. Prompts with media go through its chat interface, because only vLLM knows where
its models expect media.
"""

import importlib.util
import inspect
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import (
    Abilities,
    Candidate,
    DataError,
    Likelihood,
    Meter,
    MissingExtra,
    Output,
    Prompt,
    Request,
    TemplateError,
    Text,
    Token,
    Usage,
)
from .answers import failure
from .carrying import CHAT, Carrier
from .chat_format import chat_messages
from .draws import generator_for
from .local_transformers.loading import Kind, Source, kind_of
from .local_transformers.transformers_model import ACCEPTS
from .prompting.fitting import cut_details, fit, shortened, too_long
from .prompting.local_model import LocalModel
from .prompting.pairs import Pair
from .prompting.renderer import Renderer, special_ids
from .prompting.weighing import plan_pairs, refused_prompt, weigh_planned
from .reasoning_marks import decode_with_marks, mark_tokens, opening_mark

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from vllm import RequestOutput
    from vllm.outputs import CompletionOutput


class MeterBar:
    """Replaces vLLM's tqdm bar: counts finished prompts, or iterates over the prompts that vLLM adds."""

    def __init__(
        self,
        share: float,
        meter: Meter,
        iterable: Iterable[Any] = (),
        *,
        total: float | None = None,
        **settings: object,
    ) -> None:
        self._meter = meter
        self._each = share / total if total else 0.0
        self._iterable = iterable
        self._started = time.monotonic()
        self.n = 0.0
        self.postfix: Any = None

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the prompts that vLLM adds. Adding a prompt is not counted as progress."""
        return iter(self._iterable)

    @property
    def format_dict(self) -> dict[str, float]:
        """The elapsed seconds, never 0, because vLLM divides by them."""
        return {"elapsed": max(time.monotonic() - self._started, 1e-6)}

    def update(self, n: float = 1) -> None:
        """Count `n` more prompts as finished."""
        self.n += n
        self._meter.advance(self._each * n)

    def refresh(self, *args: object, **settings: object) -> None:
        """Do nothing, because nothing is drawn."""

    def close(self) -> None:
        """Do nothing, because nothing was drawn."""


def bar_for(
    generate: Callable[..., Any],
    meter: Meter,
    share: float,
) -> object:
    """Return the `use_tqdm` argument for a call of vLLM.

    It is a bar if this vLLM version accepts one, otherwise `False`. `share` is the
    fraction of the batch in this call.
    """
    try:
        annotation = inspect.signature(generate).parameters["use_tqdm"].annotation
    except (KeyError, TypeError, ValueError):
        return False
    if "Callable" in str(annotation):
        return partial(MeterBar, share, meter)
    return False


SAMPLED = (
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logprobs",
)
"""Names of generation options that are the same in assay and in vLLM."""


@dataclass
class LocalVllm(LocalModel):
    """A model from a folder or the hub, run by vLLM's engine in this process."""

    dtype: str = "auto"
    revision: str | None = None
    tensor_parallel: int = 1
    """Number of GPUs for one copy of the model."""
    memory: float = 0.9
    """Share of a GPU's memory that vLLM may use."""
    context: int | None = None
    """Maximum tokens of prompt and answer together; by default the model's own context length."""
    quantization: str | None = None
    """Quantization method of the weights, as in vLLM; by default read from the model."""
    batch_size: int = 512
    """Requests per batch; vLLM computes as many of them at once as its memory allows."""
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `vllm.LLM`."""
    trust_remote_code: bool = False
    _meter: Meter = field(
        default_factory=Meter,
        init=False,
        repr=False,
        compare=False,
    )
    _llm: Any = field(
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
    _lock: Any = field(
        default_factory=threading.RLock,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        if importlib.util.find_spec("vllm") is None:
            raise MissingExtra("vllm, which runs `vllm/…` models,", "vllm")
        self._check_options({"context": 2, "batch_size": 1})
        self.source = Source(
            self.path,
            self.revision,
            self.dtype,
            trust_remote_code=self.trust_remote_code,
        )
        self.source.check()

    @property
    def _kind(self) -> Kind:
        return kind_of(self.source.config())

    @property
    def abilities(self) -> Abilities:
        """The abilities according to the configuration. No weights are loaded."""
        return Abilities(
            accepts=ACCEPTS[self._kind],
            likelihood=self._kind == "text",
            logprobs=True,
            tokens=True,
            chat=self._has_template(),
            tools=self._can_take_tools(self._has_template()),
        )

    def _has_template(self) -> bool | None:
        return self.chat_template is not None or self.source.has_chat_template()

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: digests of weights and configuration,
        and settings that can change an answer.
        """
        names = (
            "dtype",
            "max_tokens",
            "context",
            "truncate",
            "quantization",
            "chat_template",
            "tool_syntax",
        )
        settings = {
            name: getattr(self, name)
            for name in names
            if getattr(self, name) is not None
        }
        if self.engine_args:
            further = {"engine_args": dict(self.engine_args)}
        else:
            further = {}
        return {**self.source.identity(), **settings, **further, "engine": "vllm"}

    def load(self) -> None:
        """Start the engine, unless it is running."""
        with self._lock:
            if self._llm is not None:
                return
            from vllm import LLM

            options = {
                "revision": self.revision,
                "max_model_len": self.context,
                "quantization": self.quantization,
                "trust_remote_code": self.trust_remote_code or None,
            }
            self._llm = LLM(
                model=self.source.folder(),
                dtype=self.dtype,
                tensor_parallel_size=self.tensor_parallel,
                gpu_memory_utilization=self.memory,
                **{name: value for name, value in options.items() if value is not None},
                **self.engine_args,
            )
            self._renderer = Renderer(
                self._llm.get_tokenizer(),
                chat_template=self.chat_template,
                where=self.path,
                tool_syntax=self.tool_syntax,
            )

    def report_to(self, meter: Meter) -> None:
        """Set the progress meter that counts the prompts that vLLM has finished."""
        self._meter = meter

    def close(self) -> None:
        """Release the engine."""
        with self._lock:
            self._llm = self._renderer = None

    @property
    def tokenizer(self) -> "PreTrainedTokenizerBase":
        """The tokenizer of the model. Accessing it starts the engine."""
        return self.renderer.tokenizer

    @property
    def renderer(self) -> Renderer:
        """Converts prompts to token ids."""
        self.load()
        assert self._renderer is not None
        return self._renderer

    @property
    def _prompts(self) -> Renderer:
        if self._renderer is not None:
            return self._renderer
        from .local_transformers.loading import load_tokenizer

        return Renderer(
            load_tokenizer(self.source),
            chat_template=self.chat_template,
            where=self.path,
            tool_syntax=self.tool_syntax,
        )

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error for a prompt with media that cannot be sent completely; None if it can."""
        if not prompt.media:
            return super().refusal(prompt)
        if prompt.tools:
            fix = "hf/… takes both, or leave one of them out"
            return DataError("vllm/… takes no tools with media", fix=fix)
        if prompt.continuations is not None or prompt.rolling:
            return Carrier("a vLLM likelihood request").refusal(prompt)
        return CHAT.refusal(prompt)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Generate all answers: requests with media through vLLM's chat, the others by token ids."""
        with self._lock, self._meter.batch(len(requests)):
            outputs: dict[int, Output] = {}
            chats: dict[int, Request] = {}
            prompts: dict[int, Any] = {}
            for index, request in enumerate(requests):
                if request.prompt.media:
                    chats[index] = request
                    continue
                ids = self._prompt_ids(request)
                if isinstance(ids, Output):
                    outputs[index] = ids
                else:
                    prompts[index] = {"prompt_token_ids": ids}

            def write(params: list[Any]) -> "list[RequestOutput]":
                share = len(prompts) / len(requests)
                answers: list[RequestOutput] = self._llm.generate(
                    list(prompts.values()),
                    params,
                    use_tqdm=bar_for(self._llm.generate, self._meter, share),
                )
                return answers

            def chat(params: list[Any]) -> "list[RequestOutput]":
                share = len(chats) / len(requests)
                answers: list[RequestOutput] = self._llm.chat(
                    [chat_messages(request.prompt) for request in chats.values()],
                    params,
                    use_tqdm=bar_for(self._llm.chat, self._meter, share),
                    chat_template=self.chat_template,
                )
                return answers

            outputs |= self._asked(list(prompts), requests, write)
            outputs |= self._asked(list(chats), requests, chat)
        answers = [outputs[index] for index in range(len(requests))]
        return self._with_calls(answers, requests)

    def _prompt_ids(self, request: Request) -> list[int] | Output:
        try:
            ids = list(self.renderer.encode(request.prompt))
        except TemplateError as error:
            return refused_prompt(error)
        except Exception as error:  # noqa: BLE001 - becomes the failure of this sample alone
            return failure(error, self.path)
        longest = self._longest()
        if len(ids) >= longest and self.truncate == "refuse":
            return too_long(len(ids), longest)
        size, _ = fit(
            len(ids),
            longest,
            request.options.max_tokens,
            self.max_tokens,
            self.truncate,
        )
        return list(shortened(ids, size, self.truncate))

    def _longest(self) -> int:
        return int(self._llm.llm_engine.model_config.max_model_len)

    def _asked(
        self,
        indices: Sequence[int],
        requests: Sequence[Request],
        call: Callable[[list[Any]], Any],
    ) -> dict[int, Output]:
        """Send requests, given by their indices, in one call to vLLM. Return their outputs by index.

        If the call fails, the caller repeats it in halves to isolate the faulty request.
        """
        if not indices:
            return {}
        try:
            self.load()
            results = call([self._params(requests[index]) for index in indices])
            outputs = {}
            for index, result in zip(indices, results, strict=True):
                outputs[index] = self._read(requests[index], result)
        except Exception as error:
            if len(requests) > 1:
                raise
            return {indices[0]: failure(error, self.path)}
        return outputs

    def _params(self, request: Request) -> object:
        from vllm import SamplingParams

        options = request.options
        arguments: dict[str, Any] = {
            name: value
            for name in SAMPLED
            if (value := getattr(options, name)) is not None
        }
        if options.temperature:
            seed = generator_for(request, 0).getrandbits(31)
            arguments |= {"temperature": options.temperature, "seed": seed}
        else:
            arguments["temperature"] = 0.0
        if options.response_format == "json":
            from vllm.sampling_params import StructuredOutputsParams

            arguments["structured_outputs"] = StructuredOutputsParams(json_object=True)
        if ends := special_ids(self.renderer.tokenizer, options.stop):
            arguments["stop_token_ids"] = sorted(ends)
        return SamplingParams(
            n=options.n,
            max_tokens=self._answer_length(request),
            stop=list(options.stop) or None,
            **arguments,
        )

    def _read(self, request: Request, result: "RequestOutput") -> Output:
        """Convert vLLM's result of one request to an output."""
        ids = result.prompt_token_ids or ()
        candidates = []
        for completion in result.outputs:
            candidate = Candidate(
                parts=(Text(self._text(request, completion, ids)),),
                stop_reason=completion.finish_reason,
                tokens=_tokens(completion),
                token_ids=tuple(completion.token_ids),
            )
            candidates.append(candidate)
        usage = Usage(
            len(ids),
            sum(len(candidate.token_ids) for candidate in candidates),
            result.num_cached_tokens,
        )
        squeezed = self._squeezed(request, candidates, self._longest() - len(ids))
        is_whole = self.truncate == "refuse" or bool(request.prompt.media)
        if is_whole:
            cut = 0
        else:
            cut = len(self.renderer.encode(request.prompt)) - len(ids)
        details = cut_details(cut, squeezed)
        return Output(
            tuple(candidates),
            usage=usage,
            details=details,
        )

    def _text(
        self,
        request: Request,
        completion: "CompletionOutput",
        prompt: Sequence[int],
    ) -> str:
        """Return an answer's text with its reasoning marks, which vLLM or the chat template may have removed."""
        if request.think_tags is False:
            return str(completion.text)
        tokenizer = self.renderer.tokenizer
        text = str(completion.text)
        marks = mark_tokens(tokenizer, with_tools=bool(request.prompt.tools))
        if any(token in marks for token in completion.token_ids):
            text = decode_with_marks(tokenizer, completion.token_ids, marks)
            for stop in request.options.stop:
                text = text.partition(stop)[0]
        return opening_mark(tokenizer, prompt) + text

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Compute likelihoods from the log-probabilities that vLLM reports for prompt tokens."""
        with self._lock, self._meter.batch(len(requests)):
            self.load()
            return self._weighed(requests)

    def _weighed(self, requests: Sequence[Request]) -> list[Output]:
        """Compute the likelihoods of all requests in one call. If the call fails, the caller repeats it in halves."""
        try:
            # The last token is only predicted, and vLLM must be allowed to generate one.
            longest = self._longest() - 2
            policy = self.truncate
            planned = []
            for request in requests:
                plan = plan_pairs(self.renderer, request, longest, policy, _too_long)
                planned.append((request, plan))
            return weigh_planned(planned, self._weigh)
        except Exception as error:
            if len(requests) > 1:
                raise
            return [failure(error, self.path)]

    def _weigh(self, pairs: Sequence[Pair]) -> list[Likelihood]:
        from vllm import SamplingParams

        # Each position reports only the token itself, with its rank. Rank 1 is the greedy choice.
        params = SamplingParams(
            temperature=0.0,
            max_tokens=1,
            prompt_logprobs=0,
        )
        prompts = [{"prompt_token_ids": list(pair.tokens)} for pair in pairs]
        bar = bar_for(self._llm.generate, self._meter, 1.0)
        if prompts:
            results = self._llm.generate(prompts, params, use_tqdm=bar)
        else:
            results = []
        return [
            _likelihood(pair, result.prompt_logprobs)
            for pair, result in zip(pairs, results, strict=True)
        ]


def _too_long(length: int, longest: int) -> Output:
    return too_long(length + 1, longest + 2)


def _likelihood(
    pair: Pair,
    reported: Sequence[Mapping[int, Any] | None],
) -> Likelihood:
    """Add up the log-probabilities that vLLM reported for the tokens of a continuation.

    A prompt's first token has no log-probability.
    """
    logprobs: list[float] = []
    is_greedy = True
    for index in range(pair.start, len(pair.tokens)):
        alternatives = reported[index] or {}
        entry = alternatives.get(pair.tokens[index])
        if entry is None:
            logprobs.append(math.nan)
            is_greedy = False
            continue
        logprobs.append(float(entry.logprob))
        is_greedy = is_greedy and entry.rank == 1
    return Likelihood(math.fsum(logprobs), is_greedy, len(logprobs))


def _tokens(completion: "CompletionOutput") -> tuple[Token, ...]:
    """Return each generated token with its alternatives, most probable first."""
    tokens = []
    logprobs = completion.logprobs or ()
    for token, alternatives in zip(completion.token_ids, logprobs, strict=False):
        chosen = alternatives[token]
        top = []
        for entry in sorted(alternatives.values(), key=lambda entry: -entry.logprob):
            top.append((entry.decoded_token or "", entry.logprob))
        tokens.append(
            Token(
                chosen.decoded_token or "",
                chosen.logprob,
                tuple(top),
            )
        )
    return tuple(tokens)
