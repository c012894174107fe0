"""Loading: from a folder, a hub name or a GGUF file to a model and its tokenizer or processor.

What a model is can be told from its `config.json` alone, before a weight is read. Code that comes with weights runs
only when the run's own flag says so.
"""

import gc
import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from ...core import AssayError, MissingExtra, ModelError, UsageError, digest_of
from ..answers import first_line, is_out_of_memory
from ..weights import check_complete, not_computed, weights_digest
from .adapters import adapted
from .gguf_files import converted
from .speaking import can_speak, writes_and_speaks

Kind = Literal["text", "vision", "audio", "speech", "voice", "omni"]
PIP = "torch transformers accelerate"
HASHED = (".json", ".jinja", ".safetensors", ".bin", ".model", ".txt", ".gguf", ".py")
SPEECH_KEYS = frozenset({"num_mel_bins", "input_feat_per_channel", "feat_extract_norm"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from."""

    index: ClassVar[str] = "config.json"
    """The file that says what it is."""
    what: ClassVar[str] = "model"

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
        if local is None and (self.is_gguf or is_path(self.path)):
            raise UsageError(
                "no such model folder or file", where=self.path, fix="check the path"
            )
        if self.adapter is not None:
            folder = Path(self.adapter).expanduser()
            if not folder.exists() and is_path(self.adapter):
                raise UsageError(
                    f"no such adapter folder: {self.adapter}",
                    where=self.path,
                    fix="check the path",
                )
            if folder.exists() and not (folder / "adapter_config.json").is_file():
                what = f"the adapter folder {self.adapter} holds no adapter_config.json"
                raise UsageError(
                    what, where=self.path, fix="give the folder that PEFT saved"
                )
        if (
            local is not None
            and local.is_dir()
            and not (local / "config.json").is_file()
        ):
            raise UsageError(
                "the folder holds no config.json",
                where=self.path,
                fix="give a whole model folder",
            )
        if local is not None and local.is_file() and not self.is_gguf:
            raise UsageError("not a model folder or a GGUF file", where=self.path)

    def config(self) -> Mapping[str, Any]:
        """The model's `config.json`; empty for a GGUF file, which always holds a text model."""
        if self.is_gguf:
            return {}
        local = self.local
        file = local / self.index if local is not None else self._hub_index()
        try:
            read: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(
                f"{self.index} cannot be read: {error}", where=self.path
            ) from error
        return read

    def identity(self) -> Mapping[str, Any]:
        """Weights and configuration by digest; a hub model by its revision."""
        local = self.local
        if local is None:
            found: dict[str, Any] = {
                "hub": self.path,
                "revision": self._hub_index().parent.name,
            }
        else:
            found = {
                "name": local.resolve().name,
                "sha256": digest_of(self.digests(local)),
            }
        if self.adapter is not None:
            folder = Path(self.adapter).expanduser()
            digests = self.digests(folder) if folder.is_dir() else {}
            found["adapter"] = digest_of(digests) if digests else self.adapter
        return found

    def digests(self, place: Path) -> dict[str, str]:
        """The files of a folder, or the one file, by digest."""
        files = (
            [place]
            if place.is_file()
            else sorted(f for f in place.iterdir() if f.suffix in HASHED)
        )
        return {file.name: weights_digest(file) for file in files}

    def _hub_index(self) -> Path:
        with _explained(self):
            return _hub_file(self.path, self.index, self.revision)

    def place(self) -> tuple[str, str]:
        """Device and dtype to load with: a GPU where there is one, full precision on a CPU."""
        import torch

        device = self._device()
        _check_device(device, self.path)
        if self.dtype != "auto":
            if not isinstance(getattr(torch, self.dtype, None), torch.dtype):
                raise UsageError(
                    f"unknown dtype {self.dtype!r}",
                    where=self.path,
                    fix="float32, bfloat16 or float16",
                )
            return device, self.dtype
        return device, "float32" if self._is_full(device) else "auto"

    def computed_in(self) -> str:
        """The dtype answers are computed in: as `place` has it, and as the weights were saved where that is `auto`."""
        if self.dtype != "auto":
            return self.dtype
        # Where layers are spread it does not matter which device is there: torch need not be asked.
        if self.device_map is None and self._is_full(self._device()):
            return "float32"
        config = self.config()
        inner = config.get("text_config") or config.get("thinker_config") or {}
        saved = (
            part.get(name)
            for part in (config, inner)
            for name in ("dtype", "torch_dtype")
        )
        return next((str(found) for found in saved if found), "as saved")

    def _device(self) -> str:
        if self.device is not None:
            return self.device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    def _is_full(self, device: str) -> bool:
        # On a CPU half precision is several times slower, and its rounding depends on the size of the batch.
        return self.device_map is None and device.partition(":")[0] == "cpu"

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
    maker = (
        getattr(transformers, classes[kind], None)
        or transformers.AutoModelForImageTextToText
    )
    device, dtype = source.place()
    options: dict[str, Any] = {"dtype": dtype, **_common(source)}
    if source.device_map is not None:
        options["device_map"] = source.device_map
    with _explained(source), quiet():
        model = _whole(maker, source, options)
        if source.device_map is None:
            model = model.to(device)
    if source.adapter is not None:
        with quiet():
            model = adapted(model, source.adapter, source.path)
    return model.eval()


def _whole(maker: Any, source: Source, options: Mapping[str, Any]) -> Any:
    """The model with all its weights: transformers itself fills what a checkpoint lacks with random numbers."""
    folder = source.folder()
    try:
        return _checked(
            maker.from_pretrained(folder, output_loading_info=True, **options),
            source.path,
        )
    except AttributeError as error:
        if not isinstance(error.obj, tuple):
            raise
        # A few classes do more after loading, and take what they loaded for the model alone.
        _checked(error.obj, source.path)
    # Outside of `except`, whose error keeps the first model: there may be no memory for two.
    gc.collect()
    return maker.from_pretrained(folder, **options)


def _checked(loaded: tuple[Any, Mapping[str, Any]], where: str) -> Any:
    model, info = loaded
    check_complete(not_computed(info["missing_keys"], model), where)
    return model


def load_tokenizer(source: Source) -> Any:
    """The tokenizer."""
    from transformers import AutoTokenizer

    with _explained(source), quiet():
        return AutoTokenizer.from_pretrained(source.folder(), **_common(source))


def load_processor(source: Source) -> Any:
    """Tokenizer and media processors together; image processors that need nothing beyond Pillow.

    A model whose video processor cannot be had without further libraries still takes images.
    """
    from transformers import AutoProcessor

    with _explained(source), quiet():
        try:
            return AutoProcessor.from_pretrained(source.folder(), **_common(source))
        except ImportError:
            from .images import PlainImageProcessor

            return PlainImageProcessor.load(source.folder(), _common(source))


def is_path(name: str) -> bool:
    """Whether a name can only be a place on this machine: the hub's have one slash."""
    return name.startswith((".", "/", "~")) or name.count("/") > 1


def _check_device(name: str, where: str) -> None:
    import torch

    fix = "device=cpu, or cuda, cuda:1, … where there are such"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"unknown device {name!r}", where=where, fix=fix) from error
    count = getattr(getattr(torch, device.type, None), "device_count", None)
    there = 1 if device.type == "cpu" else count() if count is not None else 0
    if (device.index or 0) >= there:
        what = f"device={name}, but torch finds {there or 'no'} {device.type} device{'s' * (there > 1)} here"
        raise UsageError(what, where=where, fix=fix)


def _common(source: Source) -> dict[str, Any]:
    options: dict[str, Any] = {"trust_remote_code": source.trust_remote_code}
    if source.revision is not None and source.local is None:
        options["revision"] = source.revision
    return options


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """What transformers raises while loading, as one line with its remedy."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        where, first = source.path, first_line(error)
        if "trust_remote_code" in str(error):
            what, fix = (
                "the model brings code of its own",
                "read it, then add --trust_remote_code",
            )
            raise UsageError(what, where=where, fix=fix) from error
        if source.local is None:
            fix = "check the name and the network, or give a local folder"
            raise UsageError(
                f"cannot get the {source.what}: {first}", where=where, fix=fix
            ) from error
        raise ModelError(
            f"cannot load the model: {type(error).__name__}: {first}", where=where
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps transformers' progress bars and advice off the terminal while loading."""
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _hub_file(name: str, file: str, revision: str | None = None) -> Path:
    """A file as it lies in the cache, fetched if it does not; its folder is named after the commit.

    Asked for once before: where no hub can be reached, its own library goes on for half a minute, aloud.
    """
    from huggingface_hub import (
        get_hf_file_metadata,
        hf_hub_download,
        hf_hub_url,
        try_to_load_from_cache,
    )

    if not isinstance(try_to_load_from_cache(name, file, revision=revision), str):
        get_hf_file_metadata(hf_hub_url(name, file, revision=revision))
    return Path(hf_hub_download(name, file, revision=revision))
