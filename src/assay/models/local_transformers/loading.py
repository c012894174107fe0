"""Load a model and its tokenizer or processor from a folder, a hub name or a GGUF file.

The kind of model is read from `config.json`, before any weights. Code that comes with
the weights runs only with the option `trust_remote_code`.
"""

import gc
import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, Literal

from ...core import AssayError, MissingExtra, ModelError, UsageError, digest_of
from ..answers import first_line, is_out_of_memory
from ..devices import cuda_devices, cuda_memory, missing_device
from ..weights import check_complete, not_computed, weights_digest
from .adapters import adapted
from .gguf_files import converted
from .speaking import can_speak, writes_and_speaks

Kind = Literal["text", "vision", "audio", "speech", "voice", "omni"]
PIP = "torch transformers accelerate"
HASHED = (".json", ".jinja", ".safetensors", ".bin", ".model", ".txt", ".gguf", ".py")
DTYPES = ("auto", "float32", "bfloat16", "float16", "float64")
TOKENIZER_FILES = ("vocab.", "spiece.", "sentencepiece", "merges.", "preprocessor")
"""Prefixes of file names, besides `tokenizer`, that identify tokenizer and processor files."""
CONTEXT_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_target_positions",
)
VIDEO_KEYS = ("video_token_id", "video_token_index")
FRAMES_AS_IMAGES = ("smolvlm", "internvl")
"""Types of models that read video frames as images, and so have no token for videos."""
SPEECH_KEYS = frozenset({"num_mel_bins", "input_feat_per_channel", "feat_extract_norm"})


@dataclass(frozen=True, slots=True)
class Source:
    """The location of a model (folder, hub name or GGUF file), and the options for loading it."""

    index: ClassVar[str] = "config.json"
    """Name of the configuration file."""
    noun: ClassVar[str] = "model"
    """What error messages call the model."""

    path: str
    revision: str | None = None
    dtype: str = "auto"
    device: str | None = None
    device_map: str | Mapping[str, Any] | None = None
    adapter: str | None = None
    trust_remote_code: bool = False

    @property
    def local(self) -> Path | None:
        """The local folder or file of the model; `None` for a hub name."""
        path = Path(self.path).expanduser()
        return path if path.exists() else None

    @property
    def is_gguf(self) -> bool:
        """True if the weights are a GGUF file."""
        return self.path.lower().endswith(".gguf")

    def check(self) -> None:
        """Raise for missing libraries, missing files and invalid options, before reading weights."""
        self._check_libraries()
        self._check_folder()
        self._check_adapter()
        self._check_dtype()
        self._check_tokenizer()

    def _check_libraries(self) -> None:
        for library in ("torch", "transformers"):
            if importlib.util.find_spec(library) is None:
                raise MissingExtra(f"{library}, which local models need,", PIP)
        if self.is_gguf and importlib.util.find_spec("gguf") is None:
            raise MissingExtra("gguf, which reads GGUF files,", "gguf")
        if self.adapter is not None and importlib.util.find_spec("peft") is None:
            raise MissingExtra("peft, which applies adapters,", "peft")

    def _check_folder(self) -> None:
        """Raise if the path is neither a model folder nor a GGUF file."""
        local = self.local
        if local is None and (self.is_gguf or is_path(self.path)):
            raise UsageError(
                "no such model folder or file",
                where=self.path,
                fix="check the path",
            )
        if local is None:
            return
        if local.is_dir() and not (local / "config.json").is_file():
            raise UsageError(
                "the folder has no config.json",
                where=self.path,
                fix="give a whole model folder",
            )
        if local.is_file() and not self.is_gguf:
            raise UsageError("not a model folder or a GGUF file", where=self.path)

    def _check_adapter(self) -> None:
        """Raise if the option `adapter` is a path without an adapter."""
        if self.adapter is None:
            return
        folder = Path(self.adapter).expanduser()
        if not folder.exists() and is_path(self.adapter):
            raise UsageError(
                f"no such adapter folder: {self.adapter}",
                where=self.path,
                fix="check the path",
            )
        if folder.exists() and not (folder / "adapter_config.json").is_file():
            raise UsageError(
                f"the adapter folder {self.adapter} has no adapter_config.json",
                where=self.path,
                fix="give the folder that PEFT saved",
            )

    def _check_dtype(self) -> None:
        if self.dtype not in DTYPES:
            raise UsageError(
                f"unknown dtype {self.dtype!r}",
                where=self.path,
                fix="float32, bfloat16 or float16",
            )

    def _check_tokenizer(self) -> None:
        """Raise if a model folder has no tokenizer or processor files."""
        local = self.local
        if self.index != "config.json" or local is None or not local.is_dir():
            return
        names = ("tokenizer", *TOKENIZER_FILES)
        if not any(file.name.startswith(names) for file in local.iterdir()):
            fix = "copy tokenizer.json and tokenizer_config.json of the model into it"
            raise UsageError(
                "the folder has no tokenizer",
                where=self.path,
                fix=fix,
            )

    def config(self) -> Mapping[str, Any]:
        """Return the model's `config.json`; empty for a GGUF file, which is always a text model."""
        if self.is_gguf:
            return {}
        local = self.local
        if local is not None:
            file = local / self.index
        else:
            file = self._hub_index()
        try:
            read: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(
                f"{self.index} cannot be read: {error}", where=self.path
            ) from error
        return read

    def has_chat_template(self) -> bool | None:
        """Return True if the tokenizer's files have a chat template; `None` if they cannot be read."""
        if self.is_gguf:
            return None
        for name in ("chat_template.jinja", "chat_template.json"):
            if self._side_file(name) is not None:
                return True
        file = self._side_file("tokenizer_config.json")
        if file is None:
            return False if self.local is not None else None
        try:
            return bool(json.loads(file.read_text("utf-8")).get("chat_template"))
        except (OSError, ValueError):
            return None

    def _side_file(self, name: str) -> Path | None:
        """Return another file of the model's folder or hub repository; `None` if it does not exist."""
        if self.local is not None:
            file = self.local / name
            return file if file.is_file() else None
        try:
            return _hub_file(self.path, name, self.revision)
        except Exception:  # noqa: BLE001 - many types: the file does not exist, or the hub cannot be reached
            return None

    def takes_videos(self) -> bool:
        """Return True if the model's configuration or other files show that it takes videos."""
        config = self.config()
        if config.get("model_type") in FRAMES_AS_IMAGES:
            return True
        config = config.get("thinker_config") or config
        if any(config.get(key) is not None for key in VIDEO_KEYS):
            return True
        return self._side_file("video_preprocessor_config.json") is not None

    def is_seq2seq(self) -> bool:
        """Return True if the model has an encoder and a decoder, like T5."""
        return bool(self.config().get("is_encoder_decoder"))

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of the weights: digests of the files, or a hub name and revision."""
        local = self.local
        identity: dict[str, Any] = {}
        if local is None:
            identity["hub"] = self.path
            identity["revision"] = self._hub_index().parent.name
        else:
            identity["name"] = local.resolve().name
            identity["sha256"] = digest_of(self.digests(local))
        if self.adapter is not None:
            folder = Path(self.adapter).expanduser()
            if folder.is_dir():
                digests = self.digests(folder)
            else:
                digests = {}
            identity["adapter"] = digest_of(digests) if digests else self.adapter
        return identity

    def digests(self, path: Path) -> dict[str, str]:
        """Return the digests of a single file, or of all model files in a folder, by file name."""
        if path.is_file():
            return {path.name: weights_digest(path)}
        digests = {}
        for file in sorted(path.iterdir()):
            if file.suffix in HASHED:
                digests[file.name] = weights_digest(file)
        return digests

    def _hub_index(self) -> Path:
        with _explained(self):
            return _hub_file(self.path, self.index, self.revision)

    def place(self) -> tuple[str, str]:
        """Return the device and the dtype to load the model with.

        The default is a GPU if there is one, otherwise the CPU with float32.
        """
        device = self._device()
        _check_device(device, self.path)
        if self.dtype != "auto":
            return device, self.dtype
        return device, "float32" if self._is_full(device) else "auto"

    def computed_in(self) -> str:
        """Return the dtype of computation: the user's choice; float32 on a CPU;
        otherwise the dtype of the saved weights.
        """
        if self.dtype != "auto":
            return self.dtype
        # If layers are spread, the device does not matter, and torch is not imported.
        if self.device_map is None and self._is_full(self._device()):
            return "float32"
        config = self.config()
        inner = config.get("text_config") or config.get("thinker_config") or {}
        for part in (config, inner):
            dtype = part.get("dtype") or part.get("torch_dtype")
            if dtype:
                return str(dtype)
        return "as saved"

    def is_on_cuda(self) -> bool:
        """Return True if the model runs on CUDA, determined without importing torch."""
        if self.device is not None:
            return self.device.startswith("cuda")
        return missing_device("cuda") is None

    def fits_one_gpu(self) -> bool:
        """Return True if the weights leave a fifth of the smallest GPU's memory free.

        If either size is unknown, return True as well.
        """
        size = cuda_memory()
        local = self.local
        if size is None or local is None or not local.is_dir():
            return True
        weights = 0
        for file in local.iterdir():
            if file.suffix in (".safetensors", ".bin"):
                weights += file.stat().st_size
        return weights <= 0.8 * size

    def spread(self) -> str | Mapping[str, Any] | None:
        """Return the `device_map`: the user's choice, or `auto` if the model does not fit on one of several GPUs."""
        is_chosen = self.device_map is not None or self.device is not None
        if is_chosen or cuda_devices() < 2 or self.fits_one_gpu():
            return self.device_map
        return "auto"

    def _device(self) -> str:
        if self.device is not None:
            return self.device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    def _is_full(self, device: str) -> bool:
        # On a CPU half precision is several times slower, and its rounding depends on the size of the batch.
        return self.device_map is None and device.partition(":")[0] == "cpu"

    def folder(self) -> str:
        """Return the folder or hub name for `from_pretrained`; a GGUF file is converted first."""
        if self.is_gguf:
            return str(converted(Path(self.path).expanduser()))
        local = self.local
        if local is None:
            return self.path
        return str(local)


def trained_context(config: Mapping[str, Any]) -> int | None:
    """Return the context length that a model was trained with; None if the configuration has none."""
    for name in CONTEXT_KEYS:
        value = config.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return None


def kind_of(config: Mapping[str, Any]) -> Kind:
    """Return the kind of model, such as `text` or `vision`, that a configuration describes."""
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


def start_device(source: Source) -> None:
    """Create the CUDA context in the background, while the caller imports transformers."""
    if source.is_on_cuda() and source.device_map is None:
        Thread(
            target=_start_cuda,
            args=(source.device or "cuda",),
            daemon=True,
        ).start()


def _start_cuda(device: str) -> None:
    with suppress(Exception):  # loading the weights raises the same error
        import torch

        numbers = torch.zeros(16, 16, device=device)
        torch.mm(numbers, numbers)  # loads CUDA's library for matrix products


def import_transformers() -> None:
    """Import transformers without SciPy and scikit-learn, to save time.

    transformers uses them only in losses of detectors and in assisted generation, but
    imports them with every model. That takes a tenth of the time to load a small model.
    """
    from transformers import utils

    usual = {}
    for name in ("is_scipy_available", "is_sklearn_available"):
        if hasattr(utils, name):
            usual[name] = getattr(utils, name)
            setattr(utils, name, _is_unavailable)
    try:
        importlib.import_module("transformers.modeling_utils")
        importlib.import_module("transformers.generation.candidate_generator")
    finally:
        for name, function in usual.items():
            setattr(utils, name, function)


def _is_unavailable() -> bool:
    return False


def load_model(source: Source, kind: Kind) -> Any:
    """Load the model, merge its adapter, and switch to evaluation mode."""
    start_device(source)
    import_transformers()
    import transformers

    classes = {
        "text": "AutoModelForCausalLM",
        "seq2seq": "AutoModelForSeq2SeqLM",
        "vision": "AutoModelForImageTextToText",
        "audio": "AutoModelForMultimodalLM",
        "speech": "AutoModelForSpeechSeq2Seq",
        "voice": "AutoModelForTextToWaveform",
        "omni": "AutoModelForTextToWaveform",
    }
    name = kind if kind != "text" or not source.is_seq2seq() else "seq2seq"
    maker = (
        getattr(transformers, classes[name], None)
        or transformers.AutoModelForImageTextToText
    )
    device, dtype = source.place()
    options: dict[str, Any] = {"dtype": dtype, **_common(source)}
    # Weights go to the device one by one, so they never need memory twice.
    is_direct = device != "cpu" and importlib.util.find_spec("accelerate") is not None
    spread = source.spread()
    if spread is not None:
        options["device_map"] = spread
    elif is_direct:
        options["device_map"] = {"": device}
    with _explained(source), quiet():
        model = _load_complete(maker, source, options)
        if spread is None and not is_direct:
            model = model.to(device)
    if source.adapter is not None:
        with quiet():
            model = adapted(model, source.adapter, source.path)
    return model.eval()


def _load_complete(
    maker: Any,
    source: Source,
    options: Mapping[str, Any],
) -> Any:
    """Load a model, and raise if weights are missing.

    transformers would fill them with random numbers.
    """
    folder = source.folder()
    try:
        return _checked(
            maker.from_pretrained(
                folder,
                output_loading_info=True,
                **options,
            ),
            source.path,
        )
    except AttributeError as error:
        if not isinstance(error.obj, tuple):
            raise
        # A few classes post-process the loaded model, and fail on the returned tuple.
        _checked(error.obj, source.path)
    # Outside of `except`: the exception keeps the first model in memory.
    gc.collect()
    return maker.from_pretrained(folder, **options)


def _checked(
    loaded: tuple[Any, Mapping[str, Any]],
    where: str,
) -> Any:
    model, info = loaded
    check_complete(not_computed(info["missing_keys"], model), where)
    return model


def load_tokenizer(source: Source) -> Any:
    """Load the tokenizer from a model's folder, hub repository or GGUF file."""
    from transformers import AutoTokenizer

    with _explained(source), quiet():
        return AutoTokenizer.from_pretrained(source.folder(), **_common(source))


def load_processor(source: Source) -> Any:
    """Load a model's processor: its tokenizer, and the preprocessors of its media.

    If the video processor needs a missing library, it is left out, and the model still
    takes images.
    """
    from transformers import AutoProcessor

    with _explained(source), quiet():
        try:
            return AutoProcessor.from_pretrained(source.folder(), **_common(source))
        except ImportError:
            from .image_inputs import load_without_video

            return load_without_video(source.folder(), _common(source))


def is_path(name: str) -> bool:
    """Return True if a name must be a path: it starts with `.`, `/` or `~`, or has two slashes."""
    return name.startswith((".", "/", "~")) or name.count("/") > 1


def _check_device(name: str, where: str) -> None:
    """Raise if a device name is invalid, or torch finds no such device."""
    import torch

    fix = "device=cpu, or cuda, cuda:1, … where there are such"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(
            f"unknown device {name!r}",
            where=where,
            fix=fix,
        ) from error
    backend = getattr(torch, device.type, None)
    device_count = getattr(backend, "device_count", None)
    count = device_count() if device_count is not None else 0
    if device.type == "cpu":
        count = 1
    if (device.index or 0) < count:
        return
    noun = "devices" if count > 1 else "device"
    raise UsageError(
        f"device={name}, but torch finds {count or 'no'} {device.type} {noun} here",
        where=where,
        fix=fix,
    )


def _common(source: Source) -> dict[str, Any]:
    options: dict[str, Any] = {"trust_remote_code": source.trust_remote_code}
    if source.revision is not None and source.local is None:
        options["revision"] = source.revision
    return options


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Convert errors that transformers raises inside the block to one line with a fix."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        where, first = source.path, first_line(error)
        if "trust_remote_code" in str(error):
            raise UsageError(
                "the model has its own code",
                where=where,
                fix="read it, then add --trust_remote_code",
            ) from error
        if source.local is None:
            fix = "check the name and the network, or give a local folder"
            raise UsageError(
                f"cannot get the {source.noun}: {first}",
                where=where,
                fix=fix,
            ) from error
        raise ModelError(
            f"cannot load the model: {type(error).__name__}: {first}", where=where
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Hide transformers' progress bars and warnings inside the block."""
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


def _hub_file(
    name: str,
    file: str,
    revision: str | None = None,
) -> Path:
    """Return a file of a hub repository from the cache, downloading it if necessary.

    Its folder is named after the commit. If the hub cannot be reached, this raises at
    once; the hub's own library would retry for half a minute.
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
