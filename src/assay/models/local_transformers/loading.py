"""Loading: from a folder, a hub name or a GGUF file to a model and its tokenizer or processor.

What a model is can be told from its `config.json` alone, before a weight is read. Code that comes with weights runs
only when the run's own flag says so.
"""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...core import AssayError, MissingExtra, ModelError, UsageError, digest_of
from ..weights import weights_digest
from .gguf_files import converted
from .speaking import can_speak, writes_and_speaks

Kind = Literal["text", "vision", "audio", "speech", "voice", "omni"]
PIP = "torch transformers accelerate"
HASHED = (".json", ".jinja", ".safetensors", ".bin", ".model", ".txt", ".gguf", ".py")
SPEECH_KEYS = frozenset({"num_mel_bins", "input_feat_per_channel", "feat_extract_norm"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from."""

    path: str
    revision: str | None = None
    dtype: str = "auto"
    device: str | None = None
    device_map: str | Mapping[str, Any] | None = None
    adapter: str | None = None
    trust_remote_code: bool = False

    @property
    def local(self) -> Path | None:
        """The folder or file on this machine; `None` for a hub name."""
        path = Path(self.path).expanduser()
        return path if path.exists() else None

    @property
    def is_gguf(self) -> bool:
        """Whether the weights are a GGUF file."""
        return self.path.lower().endswith(".gguf")

    def check(self) -> None:
        """Faults that can be told without reading weights."""
        for library in ("torch", "transformers"):
            if importlib.util.find_spec(library) is None:
                raise MissingExtra(f"{library}, which local models need,", PIP)
        if self.is_gguf and importlib.util.find_spec("gguf") is None:
            raise MissingExtra("gguf, which reads GGUF files,", "gguf")
        if self.adapter is not None and importlib.util.find_spec("peft") is None:
            raise MissingExtra("peft, which applies adapters,", "peft")
        local = self.local
        if local is None and (self.is_gguf or self.path.startswith((".", "/", "~")) or self.path.count("/") > 1):
            raise UsageError("no such model folder or file", where=self.path, fix="check the path")
        if local is not None and local.is_dir() and not (local / "config.json").is_file():
            raise UsageError("the folder holds no config.json", where=self.path, fix="give a whole model folder")
        if local is not None and local.is_file() and not self.is_gguf:
            raise UsageError("not a model folder or a GGUF file", where=self.path)

    def config(self) -> Mapping[str, Any]:
        """The model's `config.json`; empty for a GGUF file, which always holds a text model."""
        if self.is_gguf:
            return {}
        local = self.local
        file = local / "config.json" if local is not None else Path(_hub_file(self, "config.json"))
        try:
            read: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"config.json cannot be read: {error}", where=self.path) from error
        return read

    def identity(self) -> Mapping[str, Any]:
        """Weights and configuration by digest; a hub model by its revision."""
        local = self.local
        if local is None:
            found: dict[str, Any] = {"hub": self.path, "revision": _hub_revision(self)}
        else:
            files = [local] if local.is_file() else sorted(f for f in local.iterdir() if f.suffix in HASHED)
            digests = {file.name: weights_digest(file) for file in files}
            found = {"name": local.resolve().name, "sha256": digest_of(digests)}
        if self.adapter is not None:
            folder = Path(self.adapter).expanduser()
            listed = sorted(f for f in folder.iterdir() if f.suffix in HASHED) if folder.is_dir() else []
            found["adapter"] = digest_of({f.name: weights_digest(f) for f in listed}) if listed else self.adapter
        return found

    def place(self) -> tuple[str, str]:
        """Device and dtype to load with: a GPU where there is one, full precision on a CPU."""
        import torch

        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        if self.dtype != "auto":
            if not isinstance(getattr(torch, self.dtype, None), torch.dtype):
                raise UsageError(f"unknown dtype {self.dtype!r}", where=self.path, fix="float32, bfloat16 or float16")
            return device, self.dtype
        # On a CPU half precision is several times slower, and its rounding depends on the size of the batch.
        return device, "float32" if device == "cpu" and self.device_map is None else "auto"

    def folder(self) -> str:
        """What `from_pretrained` is given: a folder or a hub name; a GGUF file is converted once."""
        if self.is_gguf:
            return str(converted(Path(self.path).expanduser()))
        local = self.local
        return self.path if local is None else str(local)


def kind_of(config: Mapping[str, Any]) -> Kind:
    """What a model is, by its configuration."""
    if not config:
        return "text"
    if can_speak(config):
        return "voice"
    if writes_and_speaks(config):
        return "omni"
    names = " ".join(config.get("architectures") or ())
    if "vision_config" in config or "ForImageTextToText" in names:
        return "vision"
    if "audio_config" in config or "audio_encoder_config" in config:
        return "audio"
    hears = bool(SPEECH_KEYS & set(config)) or "Speech" in names or "Moonshine" in names
    if config.get("is_encoder_decoder") and hears:
        return "speech"
    return "text"


def load_model(source: Source, kind: Kind) -> Any:
    """The weights, ready to be asked."""
    import transformers

    classes = {
        "text": "AutoModelForCausalLM",
        "vision": "AutoModelForImageTextToText",
        "audio": "AutoModelForMultimodalLM",
        "speech": "AutoModelForSpeechSeq2Seq",
        "voice": "AutoModelForTextToWaveform",
        "omni": "AutoModelForTextToWaveform",
    }
    maker = getattr(transformers, classes[kind], None) or transformers.AutoModelForImageTextToText
    device, dtype = source.place()
    options: dict[str, Any] = {"dtype": dtype, **_common(source)}
    if source.device_map is not None:
        options["device_map"] = source.device_map
    with _explained(source), quiet():
        model = maker.from_pretrained(source.folder(), **options)
        if source.device_map is None:
            model = model.to(device)
        if source.adapter is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, source.adapter).merge_and_unload()
    return model.eval()


def load_tokenizer(source: Source) -> Any:
    """The tokenizer."""
    from transformers import AutoTokenizer

    with _explained(source), quiet():
        return AutoTokenizer.from_pretrained(source.folder(), **_common(source))


def load_processor(source: Source) -> Any:
    """Tokenizer and media processors together; picture processors that need nothing beyond Pillow.

    A model whose film processor cannot be had without further libraries still takes pictures.
    """
    from transformers import AutoProcessor

    with _explained(source), quiet():
        try:
            return AutoProcessor.from_pretrained(source.folder(), **_common(source))
        except ImportError:
            from .pictures import PictureProcessor

            return PictureProcessor.load(source.folder(), _common(source))


def _common(source: Source) -> dict[str, Any]:
    options: dict[str, Any] = {"trust_remote_code": source.trust_remote_code}
    if source.revision is not None and source.local is None:
        options["revision"] = source.revision
    return options


class _explained:
    """What transformers raises while loading, as one line with its remedy."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, (AssayError, MemoryError)):
            return
        if "out of memory" in str(error):
            return
        text = str(error)
        where = self.source.path
        first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
        if "trust_remote_code" in text:
            raise UsageError(
                "the model brings code of its own", where=where, fix="read it, then add --trust_remote_code"
            ) from error
        if self.source.local is None:
            raise UsageError(
                f"cannot get the model: {first}",
                where=where,
                fix="check the name and the network, or give a local folder",
            ) from error
        raise ModelError(f"cannot load the model: {type(error).__name__}: {first}", where=where) from error


class quiet:
    """Keeps transformers' progress bars and advice off the terminal while loading."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self._bars, self._level = logging.is_progress_bar_enabled(), logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()

    def __exit__(self, *_: Any) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._level)
        if self._bars:
            logging.enable_progress_bar()


def _hub_file(source: Source, name: str) -> str:
    from huggingface_hub import hf_hub_download

    with _explained(source):
        path: str = hf_hub_download(source.path, name, revision=source.revision)
    return path


def _hub_revision(source: Source) -> str:
    """The commit a hub name stands for: as it lies in the cache, else as the hub says."""
    folder = Path(_hub_file(source, "config.json")).parent
    return folder.name
