"""`vllm/PATH_OR_ID`: vLLM in this process.

Prompts are rendered and weighed as the `hf` backend does it, so that the two can be compared; vLLM batches and caches
beginnings by itself. Prompts with media go through its chat, since only it knows where its models want them.
"""

import importlib.util
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import (
    Abilities,
    Candidate,
    Likelihood,
    Meter,
    MissingExtra,
    Output,
    Request,
    TemplateError,
    Text,
    Token,
    Usage,
)
from .answers import failure
from .chat_format import chat_messages
from .draws import generator_for
from .local_transformers.fitting import cut_details, fit, shortened, too_long
from .local_transformers.likelihood import Pair
from .local_transformers.loading import Kind, Source, kind_of
from .local_transformers.local_model import LocalModel
from .local_transformers.model import ACCEPTS
from .local_transformers.prompts import Renderer, special_ids
from .local_transformers.text import plan_pairs, refused_prompt, weigh_planned
from .vllm_progress import bar_for

SAMPLED = (
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logprobs",
)
"""Options that vLLM calls by the same name."""


@dataclass
class LocalVllm(LocalModel):
    """A model from a folder or the hub, served by vLLM's engine inside this process."""

    dtype: str = "auto"
    revision: str | None = None
    tensor_parallel: int = 1
    """GPUs one copy of the model is spread over."""
    memory: float = 0.9
    """The share of a GPU's memory that vLLM may take."""
    context: int | None = None
    """Tokens of prompt and answer together; by default what the model was trained with."""
    quantization: str | None = None
    batch_size: int = 512
    """Requests handed over at once: vLLM keeps as many of them going as its memory holds."""
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `vllm.LLM`."""
    trust_remote_code: bool = False
    _meter: Meter = field(default_factory=Meter, init=False, repr=False, compare=False)
    _llm: Any = field(default=None, init=False, repr=False, compare=False)
    _renderer: Renderer | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _lock: Any = field(
        default_factory=threading.RLock, init=False, repr=False, compare=False
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
        """Read off the configuration: no weight is loaded for it."""
        return Abilities(
            accepts=ACCEPTS[self._kind],
            likelihood=self._kind == "text",
            logprobs=True,
            tokens=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Weights and configuration by digest, and the settings that can change an answer."""
        names = (
            "dtype",
            "max_tokens",
            "context",
            "truncate",
            "quantization",
            "chat_template",
        )
        settings = {
            name: getattr(self, name)
            for name in names
            if getattr(self, name) is not None
        }
        further = {"engine_args": dict(self.engine_args)} if self.engine_args else {}
        return {**self.source.identity(), **settings, **further, "engine": "vllm"}

    def load(self) -> None:
        """Starts the engine; done by the first question if nobody did it before."""
        with self._lock:
            if self._llm is not None:
                return
            from vllm import LLM

            wanted = {
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
                **{name: value for name, value in wanted.items() if value is not None},
                **self.engine_args,
            )
            self._renderer = Renderer(
                self._llm.get_tokenizer(),
                chat_template=self.chat_template,
                where=self.path,
            )

    def report_to(self, meter: Meter) -> None:
        """Prompts that vLLM is done with are counted there from now on."""
        self._meter = meter

    def close(self) -> None:
        """Lets the engine go."""
        with self._lock:
            self._llm = self._renderer = None

    @property
    def tokenizer(self) -> Any:
        """What cuts texts into the model's tokens; the engine is started for it."""
        return self.renderer.tokenizer

    @property
    def renderer(self) -> Renderer:
        """Where text becomes token ids."""
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
        )

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Answers to all requests; those with media by vLLM's chat, the others by token ids."""
        with self._lock, self._meter.batch(len(requests)):
            by_chat = [
                at for at, request in enumerate(requests) if request.prompt.media
            ]
            tokens = {
                at: self._prompt_ids(requests[at])
                for at in range(len(requests))
                if at not in by_chat
            }
            outputs = {
                at: failed
                for at, failed in tokens.items()
                if isinstance(failed, Output)
            }
            by_ids = [at for at in tokens if at not in outputs]
            outputs |= self._asked(
                by_ids,
                requests,
                lambda chosen, params: self._llm.generate(
                    [{"prompt_token_ids": tokens[at]} for at in chosen],
                    params,
                    use_tqdm=bar_for(
                        self._llm.generate, self._meter, len(chosen) / len(requests)
                    ),
                ),
            )
            outputs |= self._asked(
                by_chat,
                requests,
                lambda chosen, params: self._llm.chat(
                    [chat_messages(requests[at].prompt) for at in chosen],
                    params,
                    use_tqdm=bar_for(
                        self._llm.chat, self._meter, len(chosen) / len(requests)
                    ),
                    chat_template=self.chat_template,
                ),
            )
        return [outputs[at] for at in range(len(requests))]

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
        places: Sequence[int],
        requests: Sequence[Request],
        call: Callable[[Sequence[int], list[Any]], Any],
    ) -> dict[int, Output]:
        """One call for all; where it fails, the caller asks again in halves, so that a fault costs its own sample."""
        if not places:
            return {}
        try:
            self.load()
            results = call(places, [self._params(requests[at]) for at in places])
            return {
                at: self._read(requests[at], result)
                for at, result in zip(places, results, strict=True)
            }
        except Exception as error:
            if len(requests) > 1:
                raise
            return {places[0]: failure(error, self.path)}

    def _params(self, request: Request) -> Any:
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

    def _read(self, request: Request, result: Any) -> Output:
        candidates = tuple(
            Candidate(
                (Text(one.text),), one.finish_reason, _tokens(one), tuple(one.token_ids)
            )
            for one in result.outputs
        )
        ids = result.prompt_token_ids or ()
        usage = Usage(
            len(ids),
            sum(len(one.token_ids) for one in candidates),
            result.num_cached_tokens,
        )
        squeezed = self._squeezed(request, candidates, self._longest() - len(ids))
        is_whole = self.truncate == "refuse" or bool(request.prompt.media)
        cut = 0 if is_whole else len(self.renderer.encode(request.prompt)) - len(ids)
        return Output(candidates, usage=usage, details=cut_details(cut, squeezed))

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Weighs continuations by the log-probabilities vLLM reports for the tokens of a prompt."""
        with self._lock, self._meter.batch(len(requests)):
            self.load()
            return self._weighed(requests)

    def _weighed(self, requests: Sequence[Request]) -> list[Output]:
        """One call for all; where it fails, the caller asks again in halves."""
        try:
            # One token is only predicted, and vLLM must be allowed to write one.
            longest, policy = self._longest() - 2, self.truncate
            planned = [
                (one, plan_pairs(self.renderer, one, longest, policy, _too_long))
                for one in requests
            ]
            return weigh_planned(planned, self._weigh)
        except Exception as error:
            if len(requests) > 1:
                raise
            return [failure(error, self.path)]

    def _weigh(self, pairs: Sequence[Pair]) -> list[Likelihood]:
        from vllm import SamplingParams

        # Only the token itself is reported for each place, with its rank: 1 is what greedy decoding would write.
        params = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0)
        prompts = [{"prompt_token_ids": list(pair.tokens)} for pair in pairs]
        bar = bar_for(self._llm.generate, self._meter, 1.0)
        results = self._llm.generate(prompts, params, use_tqdm=bar) if prompts else []
        return [
            _likelihood(pair, result.prompt_logprobs)
            for pair, result in zip(pairs, results, strict=True)
        ]


def _too_long(length: int, longest: int) -> Output:
    return too_long(length + 1, longest + 2)


def _likelihood(pair: Pair, reported: Sequence[Mapping[int, Any] | None]) -> Likelihood:
    """The sum over the continuation's tokens; the first token of a prompt has nothing before it and no number."""
    values, greedy = [], True
    for place in range(pair.start, len(pair.tokens)):
        found = (reported[place] or {}).get(pair.tokens[place])
        values.append(math.nan if found is None else float(found.logprob))
        greedy &= found is not None and found.rank == 1
    return Likelihood(math.fsum(values), greedy, len(values))


def _tokens(completion: Any) -> tuple[Token, ...]:
    """Each written token with its alternatives, the most probable first."""
    tokens = []
    for token, alternatives in zip(
        completion.token_ids, completion.logprobs or (), strict=False
    ):
        ordered = sorted(alternatives.values(), key=lambda one: -one.logprob)
        top = tuple((one.decoded_token or "", one.logprob) for one in ordered)
        tokens.append(
            Token(
                alternatives[token].decoded_token or "",
                alternatives[token].logprob,
                top,
            )
        )
    return tuple(tokens)
