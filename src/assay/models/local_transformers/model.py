"""`hf/PATH_OR_ID`: a transformers model in this process.

Requests come in large hand-overs, so that what they have in common is found; inside, they are grouped by beginning and
length. How many came together never changes an answer.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from ...core import Abilities, Meter, Output, Request, UsageError
from .drawing import can_draw
from .engine import Engine, TokenCount
from .loading import Kind, Source, kind_of, load_model, load_processor, load_tokenizer
from .local_model import LocalModel
from .media_prompts import MediaRenderer, SpeechRenderer
from .prompts import Renderer, template_in
from .text import Limits, TextModel

ACCEPTS: Mapping[Kind, frozenset[str]] = {
    "text": frozenset({"text"}),
    "vision": frozenset({"text", "image"}),
    "audio": frozenset({"text", "audio"}),
    "speech": frozenset({"audio", "text"}),
    "voice": frozenset({"text"}),
    "omni": frozenset({"text", "image", "audio"}),
}
HEARING = ("audio", "speech", "omni")
UNLIMITED = 1 << 20
"""Where a model does not say how much it takes."""


@dataclass
class LocalTransformers(LocalModel):
    """A model from a folder, the hub or a GGUF file, which is converted once; run by transformers."""

    concurrency: ClassVar[int] = 2
    """Hand-overs at the same time: one is on the device while the next one is tokenised and its media are decoded."""

    dtype: str = "auto"
    """float32, bfloat16, float16; by default full precision on a CPU, else as the weights were saved."""
    device: str | None = None
    """cpu, cuda, cuda:1; by default a GPU where there is one."""
    device_map: Any = None
    """How to spread the layers over several GPUs, as accelerate takes it: auto, balanced, or a mapping."""
    revision: str | None = None
    adapter: str | None = None
    """A folder or hub name of a PEFT adapter, merged into the weights."""
    kind: Literal["auto", "text", "vision", "audio", "speech", "voice", "omni"] = "auto"
    """What the model is, where its configuration does not say."""
    context: int | None = None
    """Tokens of prompt and answer together; by default what the model was trained with."""
    batch_size: int = 64
    """Requests handed over at once; what they have in common is computed once."""
    rows: int = 0
    """Answers written at the same time; 0 takes 32 on a CPU and 256 on a GPU."""
    drafts: bool = True
    """Whether a text model tries what its prompt says next together with what it writes: the same answer, sooner."""
    threads: int | None = None
    """Compute threads of the whole process; by default as torch has it."""
    generate_args: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of a model that sees or hears, as its `generate` takes them: {"language": "de"}."""
    trust_remote_code: bool = False
    _loaded: Any = field(default=None, init=False, repr=False, compare=False)
    _lock: Any = field(
        default_factory=threading.RLock, init=False, repr=False, compare=False
    )
    _meter: Meter = field(default_factory=Meter, init=False, repr=False, compare=False)
    _reading: Any = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )
    """Held while requests become token ids: tokenizers and processors serve one caller at a time."""

    def __post_init__(self) -> None:
        if self.kind != "auto" and self.kind not in ACCEPTS:
            what = f"kind={self.kind!r} is no kind of model"
            raise UsageError(
                what, where=self.path, fix=f"auto, or one of {', '.join(ACCEPTS)}"
            )
        self._check_options({"context": 2, "batch_size": 1, "rows": 0, "threads": 1})
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

    @property
    def model_kind(self) -> Kind:
        """What the model is."""
        return kind_of(self.source.config()) if self.kind == "auto" else self.kind

    @property
    def abilities(self) -> Abilities:
        """Read off the configuration: no weight is loaded for it."""
        kind = self.model_kind
        return Abilities(
            accepts=ACCEPTS[kind],
            produces=self._produces(),
            likelihood=kind not in ("speech", "voice"),
            logprobs=kind == "text",
            tokens=True,
            roles="any",
            audio_rate=16000 if kind in HEARING else None,
            audio_channels=1 if kind in HEARING else None,
        )

    def _produces(self) -> frozenset[str]:
        if self.model_kind == "voice":
            return frozenset({"audio"})
        if self.model_kind == "omni" and self.source.config().get(
            "enable_audio_output", True
        ):
            return frozenset({"text", "audio"})
        return (
            frozenset({"text", "image"})
            if can_draw(self.source.config())
            else frozenset({"text"})
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Weights and configuration by digest, and the settings that can change an answer."""
        return {
            **self.source.identity(),
            "kind": self.model_kind,
            "dtype": self.source.computed_in(),
            "max_tokens": self.max_tokens,
            "context": self.context,
            "truncate": self.truncate,
            "chat_template": self.chat_template,
            **(
                {"generate_args": dict(self.generate_args)}
                if self.generate_args
                else {}
            ),
            "engine": "transformers",
        }

    def load(self) -> None:
        """Reads the weights; done by the first question if nobody did it before."""
        self._ready()

    def _ready(self) -> Any:
        # Looked at without the lock, which is held for as long as the device works.
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded = self._loaded or self._load()
        return loaded

    @property
    def tokenizer(self) -> Any:
        """What cuts texts into the model's tokens; the weights are read for it."""
        return self._ready().renderer.tokenizer

    def close(self) -> None:
        """Frees the weights."""
        with self._lock:
            self._loaded = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Answers to all requests; they are read while the device still works on those before."""
        return self._asked("generate", requests)

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """The likelihoods of all requests' continuations; they are read while the device still works."""
        return self._asked("likelihood", requests)

    def _asked(self, verb: str, requests: Sequence[Request]) -> list[Output]:
        loaded = self._ready()
        with self._reading:
            prepared = getattr(loaded, f"prepare_{verb}")(requests)
        with self._lock, self._meter.batch(len(requests)):
            loaded.engine.count.meter = self._meter
            answers: list[Output] = getattr(loaded, verb)(prepared)
        return answers

    def report_to(self, meter: Meter) -> None:
        """Passes through the model and answers that are done are counted there from now on."""
        self._meter = meter

    def fit_memory(self) -> str:
        """Answers written at once, and requests handed over, by the memory that is free beside the weights."""
        from .memory import choose_rows

        loaded = self._ready()
        if not isinstance(loaded.engine, Engine):
            return "one request at a time, as this kind of model is asked"
        rows, reason = choose_rows(loaded.model, loaded.limits)
        loaded.engine.rows = rows
        self.batch_size = max(self.batch_size, 2 * rows)
        return f"{rows} answers at once, {self.batch_size} requests a batch ({reason})"

    @property
    def counted(self) -> TokenCount:
        """Tokens and passes that went through the model so far."""
        count: TokenCount = self._ready().engine.count
        return count

    @property
    def _prompts(self) -> Renderer:
        if self._loaded is not None:
            found: Renderer = self._loaded.renderer
            return found
        kind = self.model_kind
        if kind in ("text", "voice"):
            tokenizer = load_tokenizer(self.source)
            return Renderer(
                tokenizer, chat_template=self._template(tokenizer), where=self.path
            )
        processor = load_processor(self.source)
        maker = SpeechRenderer if kind == "speech" else MediaRenderer
        return maker(
            processor, chat_template=self._template(processor), where=self.path
        )

    def _template(self, tokenizer: Any) -> str | None:
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
        rows = self.rows or (256 if str(model.device).startswith("cuda") else 32)
        limits = Limits(self._context(model), self.max_tokens, self.truncate, rows)
        if kind == "text":
            return TextModel(model, renderer, limits, self.path, self.drafts)
        if kind == "voice":
            from .speaking import VoiceModel

            return VoiceModel(model, renderer, self.path)
        from .media_models import MediaModel, SpeechModel
        from .talking import TalkingModel

        maker = {"speech": SpeechModel, "omni": TalkingModel}.get(kind, MediaModel)
        return maker(model, renderer, limits, self.path, self.generate_args)

    def _context(self, model: Any) -> int:
        if self.context is not None:
            return self.context
        config = getattr(model.config, "thinker_config", model.config)
        config = getattr(config, "text_config", None) or config
        names = (
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "seq_length",
            "max_target_positions",
        )
        return next(
            (int(found) for name in names if (found := getattr(config, name, None))),
            UNLIMITED,
        )
