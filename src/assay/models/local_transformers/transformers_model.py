"""`hf/PATH_OR_ID`: a model run by transformers in this process.

Requests come in large batches, so that common prefixes can be found and computed once.
In half precision, the batch can change the rounding of an answer; `assay parity`
measures it.
"""

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...core import Abilities, Meter, Output, Request, UsageError
from ..devices import cuda_devices, missing_for_videos
from ..prompting.fitting import Limits
from ..prompting.local_model import LocalModel
from ..prompting.renderer import Renderer, Seq2SeqRenderer, template_in
from .drawing import can_draw
from .engine import Engine, TokenCount
from .loading import (
    Kind,
    Source,
    kind_of,
    load_model,
    load_processor,
    load_tokenizer,
    trained_context,
)
from .media_prompts import MediaRenderer, SpeechRenderer
from .text import TextModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ACCEPTS: Mapping[Kind, frozenset[str]] = {
    "text": frozenset({"text"}),
    "vision": frozenset({"text", "image"}),
    "audio": frozenset({"text", "audio"}),
    "speech": frozenset({"audio", "text"}),
    "voice": frozenset({"text"}),
    "omni": frozenset({"text", "image", "audio"}),
}
WATCHING = ("vision", "omni")
"""Kinds of models that may accept videos, depending on their configuration."""
HEARING = ("audio", "speech", "omni")
ALWAYS_PLAIN = ("speech", "voice")
"""Kinds of models that only their own `generate` runs."""
WITH_TOOLS = ("text", "vision", "audio", "omni")
CPU_BATCH = 64
CUDA_BATCH = 512
"""Kinds of models that accept videos if their configuration supports them."""
USUAL_LENGTH = 2048
"""Assumed prompt length in tokens, to estimate how many answers fit into memory."""
VIDEOS_AT_ONCE = 8
"""Number of requests with videos to prepare at once, because their tensors need much memory."""
UNLIMITED = 1 << 20
"""Context length to assume for a model whose configuration has none."""


@dataclass
class LocalTransformers(LocalModel):
    """A model from a folder, the hub or a GGUF file, run by transformers in this process."""

    concurrency: ClassVar[int] = 2
    """Number of batches in progress: the device computes one while the inputs of the next are prepared."""

    dtype: str = "auto"
    """float32, bfloat16 or float16; by default float32 on a CPU, otherwise the dtype of the weights."""
    device: str | None = None
    """cpu, cuda or cuda:1; by default a GPU if there is one."""
    device_map: Any = None
    """How to spread the layers over several GPUs: auto, balanced, or a mapping (see accelerate)."""
    revision: str | None = None
    adapter: str | None = None
    """Folder or hub name of a PEFT adapter to merge into the weights."""
    kind: Literal["auto", "text", "vision", "audio", "speech", "voice", "omni"] = "auto"
    """Kind of model; by default read from the configuration."""
    context: int | None = None
    """Maximum tokens of prompt and answer together; by default the model's own context length."""
    batch_size: int | None = None
    """Requests per batch, and answers generated at once; the default depends on device and memory."""
    rows: int = 0
    """Deprecated: use `batch_size`."""
    drafts: bool | None = None
    """Deprecated: has no effect."""
    threads: int | None = None
    """Number of torch's CPU threads in the whole process; by default torch decides."""
    generate_args: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `generate`, for a model with media input: {"language": "de"}."""
    video_args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the model's video processor, such as {"fps": 2} or {"num_frames": 16}."""
    trust_remote_code: bool = False
    _loaded: Any = field(
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
    _meter: Meter = field(
        default_factory=Meter,
        init=False,
        repr=False,
        compare=False,
    )
    _reading: Any = field(
        default_factory=threading.Lock,
        init=False,
        repr=False,
        compare=False,
    )
    """Lock for converting prompts to token ids, because tokenizers are not thread-safe."""

    def __post_init__(self) -> None:
        if self.kind != "auto" and self.kind not in ACCEPTS:
            raise UsageError(
                f"kind={self.kind!r} is not a kind of model",
                where=self.path,
                fix=f"auto, or one of {', '.join(ACCEPTS)}",
            )
        self._check_options({"context": 2, "batch_size": 1, "rows": 0, "threads": 1})
        if self.rows or self.drafts is not None:
            fix = "`batch_size` sets how many answers are written at once"
            text = f"{self.path}: the options `rows` and `drafts` are deprecated; {fix}"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
        self.source = Source(
            self.path,
            self.revision,
            self.dtype,
            self.device,
            self.device_map,
            self.adapter,
            self.trust_remote_code,
        )
        self.source.check()
        self._check_context()
        self._slots = self.rows or self.batch_size or 0
        if self.batch_size is None:
            self.batch_size = CUDA_BATCH if self.source.is_on_cuda() else CPU_BATCH

    def _check_context(self) -> None:
        """Raise if the requested context is longer than the model was trained with."""
        if self.context is None or self.source.local is None:
            return
        config = self.source.config()
        inner = config.get("thinker_config") or config
        trained = trained_context(inner.get("text_config") or inner)
        if trained is not None and self.context > trained:
            raise UsageError(
                f"context={self.context} is longer than the model's own {trained}",
                where=self.path,
                fix=f"context={trained} or less",
            )

    @property
    def model_kind(self) -> Kind:
        """The kind of model: the option `kind` if it is set, otherwise the kind read from the configuration."""
        if self.kind == "auto":
            return kind_of(self.source.config())
        return self.kind

    @cached_property
    def abilities(self) -> Abilities:
        """The model's abilities, read from its configuration without loading weights."""
        kind = self.model_kind
        return Abilities(
            accepts=self._accepts(),
            produces=self._produces(),
            likelihood=kind not in ("speech", "voice"),
            logprobs=kind == "text",
            tokens=True,
            chat=self._has_template(),
            tools=kind in WITH_TOOLS and self._can_take_tools(self._has_template()),
            roles="any",
            audio_rate=16000 if kind in HEARING else None,
            audio_channels=1 if kind in HEARING else None,
        )

    def _accepts(self) -> frozenset[str]:
        """Return the inputs that the model accepts; videos only if their libraries are installed."""
        kinds = ACCEPTS[self.model_kind]
        if self._takes_videos and not missing_for_videos():
            return kinds | {"video"}
        return kinds

    @cached_property
    def _takes_videos(self) -> bool:
        return self.model_kind in WATCHING and self.source.takes_videos()

    @property
    def media_fixes(self) -> Mapping[str, str]:
        """For a model that accepts videos: the `pip install` command for missing libraries, under the key `video`.

        The mapping is empty if no library is missing.
        """
        missing = missing_for_videos()
        if not missing or not self._takes_videos:
            return {}
        return {"video": f"pip install {' '.join(missing)}"}

    def _has_template(self) -> bool | None:
        return self.chat_template is not None or self.source.has_chat_template()

    def _produces(self) -> frozenset[str]:
        """Return the kinds of output, such as `text` and `audio`, that the model can generate."""
        if self.model_kind == "voice":
            return frozenset({"audio"})
        config = self.source.config()
        if self.model_kind == "omni" and config.get("enable_audio_output", True):
            return frozenset({"text", "audio"})
        if can_draw(config):
            return frozenset({"text", "image"})
        return frozenset({"text"})

    @property
    def identity(self) -> Mapping[str, Any]:
        """Digests of weights and configuration, and settings that can change an answer."""
        identity = {
            **self.source.identity(),
            "kind": self.model_kind,
            "dtype": self.source.computed_in(),
            "max_tokens": self.max_tokens,
            "context": self.context,
            "truncate": self.truncate,
            "chat_template": self.chat_template,
            "engine": "transformers",
        }
        # Left out if empty: identities of older runs have no such entry.
        if self.tool_syntax:
            identity["tool_syntax"] = self.tool_syntax
        if self.generate_args:
            identity["generate_args"] = dict(self.generate_args)
        if self.video_args:
            identity["video_args"] = dict(self.video_args)
        return identity

    def load(self) -> None:
        """Load the weights, unless they are already loaded."""
        self._ready()

    def copies(self) -> int:
        """Return how many copies of the model to run.

        There is one on each GPU if the model fits on one and the user chose no device;
        otherwise there is one in all.
        """
        is_chosen = self.device is not None or self.device_map is not None
        if is_chosen or not self.source.fits_one_gpu():
            return 1
        return max(1, cuda_devices())

    def prefetch(self) -> None:
        """Start loading the model in the background, while the run is still being prepared."""
        threading.Thread(
            target=self._prefetch,
            name="prefetch",
            daemon=True,
        ).start()

    def _prefetch(self) -> None:
        with contextlib.suppress(Exception):  # `load` raises the same error
            self._ready()

    def _ready(self) -> Any:
        # Check without the lock first, because it is held while the device works.
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded = self._loaded or self._load()
        return loaded

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model; accessing it loads the weights."""
        return self._ready().renderer.tokenizer

    def close(self) -> None:
        """Drop the loaded model, so that its memory is freed."""
        with self._lock:
            self._loaded = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Answer requests. Another thread can prepare the next batch while the device works."""
        return in_parts(requests, self._generate)

    def _generate(self, requests: Sequence[Request]) -> list[Output]:
        loaded = self._ready()
        with self._reading:
            prepared = loaded.prepare_generate(requests)
        if isinstance(loaded, TextModel):
            self._check_writing(loaded)
            loaded.submit(prepared)
        with self._device(loaded, len(requests)):
            outputs = loaded.generate(prepared)
        return self._with_calls(outputs, requests)

    def _check_writing(self, loaded: TextModel) -> None:
        # Check without the lock first, because it is held while the device works.
        if not loaded.has_checked_writing:
            with self._lock:
                loaded.check_writing()

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Score continuations. Another thread can prepare the next batch while the device works."""
        return in_parts(requests, self._likelihood)

    def _likelihood(self, requests: Sequence[Request]) -> list[Output]:
        loaded = self._ready()
        with self._reading:
            prepared = loaded.prepare_likelihood(requests)
        with self._device(loaded, len(requests)):
            outputs: list[Output] = loaded.likelihood(prepared)
        return outputs

    @contextlib.contextmanager
    def _device(
        self,
        loaded: Any,
        count: int,
    ) -> Iterator[None]:
        """Lock the device for a batch of `count` requests, and report the progress of the batch."""
        with self._lock, self._meter.batch(count):
            loaded.engine.count.meter = self._meter
            yield

    def report_to(self, meter: Meter) -> None:
        """Report forward passes and finished answers to this progress meter from now on."""
        self._meter = meter

    def fit_memory(self) -> str:
        """Return a sentence with the number of answers generated at once, derived from the free memory."""
        engine = self._ready().engine
        if not isinstance(engine, Engine):
            return "one request at a time: this kind of model has no batches"
        length = USUAL_LENGTH + self.max_tokens
        slots = engine.slots_of(length)
        free = f"{engine.room / 1e9:.1f} GB for answers of {length:,} tokens"
        return f"{slots} answers at once, {self.batch_size} requests a batch ({free})"

    @property
    def counted(self) -> TokenCount:
        """Return the counter of computed tokens and forward passes."""
        count: TokenCount = self._ready().engine.count
        return count

    @property
    def _prompts(self) -> Renderer:
        if self._loaded is not None:
            loaded_renderer: Renderer = self._loaded.renderer
            return loaded_renderer
        kind = self.model_kind
        if kind in ("text", "voice"):
            tokenizer = load_tokenizer(self.source)
            is_seq2seq = kind == "text" and self.source.is_seq2seq()
            renderer = Seq2SeqRenderer if is_seq2seq else Renderer
            return renderer(
                tokenizer,
                chat_template=self._template(tokenizer),
                where=self.path,
                tool_syntax=self.tool_syntax,
            )
        processor = load_processor(self.source)
        maker = SpeechRenderer if kind == "speech" else MediaRenderer
        return maker(
            processor,
            chat_template=self._template(processor),
            where=self.path,
            tool_syntax=self.tool_syntax,
            video_args=self.video_args,
        )

    def _template(self, tokenizer: "PreTrainedTokenizerBase") -> str | None:
        if self.chat_template is not None:
            return self.chat_template
        if getattr(tokenizer, "chat_template", None) or self.source.local is None:
            return None
        return template_in(Path(self.source.folder()))

    def _load(self) -> Any:
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        kind = self.model_kind
        model = load_model(self.source, kind)
        renderer = self._prompts
        limits = Limits(
            self._context(model),
            self.max_tokens,
            self.truncate,
            self._slots,
        )
        if kind == "text":
            return TextModel(model, renderer, limits, self.path)
        if kind == "voice":
            from .speaking import VoiceModel

            return VoiceModel(model, renderer, self.path)
        from .media_models import MediaModel, SpeechModel
        from .talking import TalkingModel

        maker = {"speech": SpeechModel, "omni": TalkingModel}.get(kind, MediaModel)
        return maker(model, renderer, limits, self.path, self.generate_args)

    def _context(self, model: "PreTrainedModel") -> int:
        if self.context is not None:
            return self.context
        config = getattr(model.config, "thinker_config", model.config)
        config = getattr(config, "text_config", None) or config
        return trained_context(vars(config)) or UNLIMITED

    def describe_engine(self) -> str:
        """Load the model, and return a sentence on whether assay's engine or
        transformers' `generate` is used, and why.
        """
        loaded = self._ready()
        if isinstance(loaded, TextModel):
            self._check_writing(loaded)
        reason = self._why_not_engine()
        if reason is not None:
            return f"transformers' own generate: {reason}"
        return "the engine of assay, which computes common prefixes once"

    def _why_not_engine(self) -> str | None:
        """Return why transformers' own `generate` is used, or None if the engine is used."""
        if self.model_kind in ALWAYS_PLAIN:
            return "models of this kind always use it"
        settings = getattr(self._loaded, "asks_for_more", ())
        if settings:
            return f"only it supports {', '.join(settings)}"
        reason: str | None = getattr(self._loaded, "plain_because", None)
        return reason

    def run_notes(self) -> Iterator[str]:
        """Yield notes on how answers were generated, such as why the engine was not used."""
        loaded = self._loaded
        reason = self._why_not_engine()
        is_always_plain = self.model_kind in ALWAYS_PLAIN
        if loaded is not None and reason is not None and not is_always_plain:
            way = "was asked by transformers' own generate, not by the engine"
            yield f"hf/{self.path}: {way}: {reason}"
        if isinstance(loaded, TextModel):
            yield from self._settings_notes(loaded)
        engine = getattr(loaded, "engine", None)
        if isinstance(engine, Engine) and engine.eager_because is not None:
            yield f"hf/{self.path}: no CUDA graph: {engine.eager_because}"

    def _settings_notes(self, loaded: TextModel) -> Iterator[str]:
        """Yield notes on generation settings of the model that are applied or ignored."""
        if loaded.penalty is not None:
            yield (
                f"hf/{self.path}: its generation settings have repetition_penalty={loaded.penalty:g}, "
                "which is applied as `generate` does; --repetition_penalty 1 turns it off"
            )
        config = getattr(loaded.model, "generation_config", None)
        beams = getattr(config, "num_beams", None) or 1
        if beams > 1:
            yield f"hf/{self.path}: its generation settings have num_beams={beams}; answers are written without beams"


def in_parts(
    requests: Sequence[Request],
    answer: Callable[[Sequence[Request]], list[Output]],
) -> list[Output]:
    """Answer all requests in one call, or in small groups if any request contains a video."""
    kinds = {medium.kind for request in requests for medium in request.prompt.media}
    if "video" not in kinds:
        return answer(requests)
    outputs: list[Output] = []
    for start in range(0, len(requests), VIDEOS_AT_ONCE):
        part = requests[start : start + VIDEOS_AT_ONCE]
        outputs += answer(part)
    return outputs
