"""`diffusers/PATH_OR_ID`: a diffusers pipeline in this process that draws or edits images.

Each image has a seed made from the sample and the candidate's number. The third image
of a sample is therefore the same in any batch, whether two or ten images are requested.

A checkpoint with missing tensors is rejected. The libraries would fill them with random
numbers or leave them empty, and mention this only in their logs.
"""

import importlib.metadata
import importlib.util
import inspect
import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..core import (
    Abilities,
    Candidate,
    Image,
    Meter,
    MissingExtra,
    ModelError,
    Output,
    Request,
    UsageError,
)
from ..core.request import OPTION_NAMES
from ..media import decode_image, image_from
from .answers import failure
from .draws import generator_for
from .http_model import refuse_options
from .local_transformers.loading import Source, is_path
from .prompting.local_model import check_counts
from .specialists.base import only_text
from .weights import check_complete, weights_digest

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

LIBRARIES = ("diffusers", "transformers")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LISTED = re.compile(r"newly initialized: \[([^\]]*)\]")
_TABLED = re.compile(r"^(\S+) *\|[^|\n]*MISSING", re.MULTILINE)


class _Kept(logging.Handler):
    """Log handler that stores messages instead of showing them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(_COLOURS.sub("", record.getMessage()))


def load_complete(
    kind: "type[DiffusionPipeline]",
    source: str,
    options: dict[str, Any],
    where: str,
) -> "DiffusionPipeline":
    """Load a pipeline with all its weights. Raise a `ModelError` that names the first missing tensors."""
    with quietly() as messages:
        pipe = kind.from_pretrained(source, **options)
    check_complete({*_reported(messages), *_empty(pipe)}, where)
    return pipe


@contextmanager
def quietly() -> Iterator[list[str]]:
    """Keep logs and progress bars of diffusers and transformers off the terminal, and yield the logged messages."""
    from diffusers.utils import logging as diffusers
    from transformers.utils import logging as transformers

    handler = _Kept()
    loggers = [logging.getLogger(name) for name in LIBRARIES]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    bars = [
        library
        for library in (diffusers, transformers)
        if library.is_progress_bar_enabled()
    ]
    for logger in loggers:
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
    for library in bars:
        library.disable_progress_bar()
    try:
        yield handler.said
    finally:
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers = handlers
            logger.propagate = propagate
            logger.setLevel(level)
        for library in bars:
            library.enable_progress_bar()


def _reported(messages: list[str]) -> Iterator[str]:
    for text in messages:
        for match in _LISTED.finditer(text):
            for name in match[1].split(","):
                if name.strip():
                    yield name.strip(" '\"")
        if "LOAD REPORT" in text:
            yield from _TABLED.findall(text)


def _empty(pipe: "DiffusionPipeline") -> Iterator[str]:
    """Yield the names of tensors that have no data."""
    for part in pipe.components.values():
        if hasattr(part, "named_parameters"):
            yield from (
                name for name, tensor in part.named_parameters() if tensor.is_meta
            )


PIP = "diffusers torch transformers accelerate"
HASHED = (".json", ".safetensors", ".bin", ".txt", ".model", ".py")
AT_ONCE = {"cpu": 4, "cuda": 16}
"""Maximum number of images drawn at the same time, by type of device."""
UNKNOWN = tuple(name for name in OPTION_NAMES if name not in ("seed", "n"))
"""Generation options that only text models have, so that image pipelines reject them."""
PLANNED = ("height", "width", "negative_prompt", "strength")


class Pipeline(Source):
    """The source of a diffusers pipeline: a hub name, or a folder with one subfolder per component."""

    index = "model_index.json"
    noun = "pipeline"

    def digests(self, place: Path) -> dict[str, str]:
        """Return the digest of each weights and configuration file in a folder, by relative path."""
        files = sorted(
            file
            for file in place.rglob("*")
            if file.suffix in HASHED and file.is_file()
        )
        return {str(file.relative_to(place)): weights_digest(file) for file in files}


@dataclass
class LocalDiffusers:
    """A text-to-image or image-editing pipeline from a folder or the hub."""

    reference: ClassVar[str] = "path"

    path: str
    """Folder of a pipeline (with `model_index.json`), or a hub name."""
    pipeline: str | None = None
    """Pipeline class to use instead of that in `model_index.json`: `StableDiffusionImg2ImgPipeline`."""
    dtype: str = "auto"
    """float32, bfloat16 or float16; by default float32 on a CPU, bfloat16 on a GPU."""
    device: str | None = None
    """cpu, cuda or cuda:1; by default a GPU if there is one."""
    revision: str | None = None
    variant: str | None = None
    """Variant of the weights, such as `fp16`."""
    steps: int | None = None
    """Number of denoising steps."""
    guidance: float | None = None
    """Guidance scale of the prompt."""
    height: int | None = None
    """Height of the image in pixels."""
    width: int | None = None
    """Width of the image in pixels."""
    negative_prompt: str | None = None
    """Text that describes what the image should not show."""
    strength: float | None = None
    """How much an input image may change, from 0 to 1."""
    call_args: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of each pipeline call."""
    batch_size: int = 16
    """Maximum number of requests in one batch."""
    pictures: int = 0
    """Number of images generated at once; 0 means 4 on a CPU and 16 on a GPU."""
    trust_remote_code: bool = False
    _meter: Meter = field(
        default_factory=Meter,
        init=False,
        repr=False,
        compare=False,
    )
    _pipe: Any = field(
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
        for library in ("diffusers", "torch"):
            if importlib.util.find_spec(library) is None:
                raise MissingExtra(f"{library}, which diffusion pipelines need,", PIP)
        self.source = Pipeline(self.path, self.revision)
        folder = self.source.local
        if folder is None and is_path(self.path):
            raise UsageError(
                "no such pipeline folder",
                where=self.path,
                fix="check the path",
            )
        if folder is not None and not (folder / self.source.index).is_file():
            raise UsageError(
                "the folder has no model_index.json",
                where=self.path,
                fix="give a pipeline's folder",
            )
        check_counts(
            self,
            {"steps": 1, "height": 1, "width": 1, "batch_size": 1, "pictures": 0},
            self.path,
        )

    @property
    def abilities(self) -> Abilities:
        """Abilities: text, and images if the pipeline's call accepts them, as its class
        shows without loading weights.
        """
        takes_images = "image" in self._parameters()
        return Abilities(
            accepts=frozenset({"text", "image"} if takes_images else {"text"}),
            produces=frozenset({"image"}),
        )

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self._class().__call__).parameters

    def _class(self) -> "type[DiffusionPipeline]":
        name = self.pipeline or str(self.source.config().get("_class_name", ""))
        import diffusers

        with (
            quietly()
        ):  # a pipeline's imports warn about libraries that it does not need
            pipeline_class: type[DiffusionPipeline] | None = getattr(
                diffusers, name, None
            )
        if pipeline_class is None:
            raise UsageError(
                f"diffusers knows no pipeline {name!r}",
                where=self.path,
                fix="-a pipeline=CLASS",
            )
        return pipeline_class

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: digests of weights and configuration,
        and settings that can change an image.
        """
        settings = {
            name: getattr(self, name)
            for name in ("pipeline", "variant", "steps", "guidance", *PLANNED)
        }
        options = {name: value for name, value in settings.items() if value is not None}
        if self.call_args:
            call = {"call": dict(self.call_args)}
        else:
            call = {}
        return {
            "diffusers": self.source.identity(),
            "dtype": self._dtype(),
            **options,
            **call,
        }

    def load(self) -> None:
        """Load the weights, if they are not loaded yet."""
        import torch

        with self._lock:
            if self._pipe is not None:
                return
            device = self._device()
            dtype = self._dtype()
            if not isinstance(getattr(torch, dtype, None), torch.dtype):
                raise UsageError(
                    f"unknown dtype {dtype!r}",
                    where=self.path,
                    fix="float32, bfloat16 or float16",
                )
            options = {
                "revision": self.revision,
                "variant": self.variant,
                "trust_remote_code": self.trust_remote_code,
            }
            arguments: dict[str, Any] = {
                name: value for name, value in options.items() if value
            }
            self._settings()  # report an unknown setting before the weights are read
            try:
                arguments[_dtype_argument()] = getattr(torch, dtype)
                pipe = load_complete(
                    self._class(),
                    self.source.folder(),
                    arguments,
                    self.path,
                )
            except (OSError, ValueError, TypeError) as error:
                raise ModelError(
                    f"cannot be loaded: {error}", where=self.path
                ) from error
            pipe.set_progress_bar_config(disable=True)
            self._pipe = pipe.to(device)

    def _dtype(self) -> str:
        if self.dtype != "auto":
            return self.dtype
        return "float32" if self._device() == "cpu" else "bfloat16"

    def _device(self) -> str:
        import torch

        return self.device or ("cuda" if torch.cuda.is_available() else "cpu")

    def report_to(self, meter: Meter) -> None:
        """Set the progress meter that counts each drawing step."""
        self._meter = meter

    def _reporting(self, count: int) -> dict[str, Any]:
        """Return a callback argument that makes the pipeline report every step to the progress meter.

        `count` is the number of requests in the call. The result is empty if the
        pipeline supports no callback.
        """
        if "callback_on_step_end" not in self._parameters():
            return {}

        def step(
            pipe: object,
            number: int,
            timestep: object,
            tensors: dict[str, Any],
        ) -> dict[str, Any]:
            steps = getattr(pipe, "num_timesteps", 0)
            self._meter.ended += count / steps if steps else 0.0
            return tensors

        return {"callback_on_step_end": step}

    def close(self) -> None:
        """Release the weights."""
        with self._lock:
            self._pipe = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Draw `n` images for each request; requests without input images are drawn together."""
        name = f"diffusers/{self.path}, which draws,"
        for request in requests:
            refuse_options(request, UNKNOWN, name)
        self.load()
        answers: dict[int, Output] = {}
        with self._lock, self._meter.batch(len(requests)):
            for numbers in self._batches(requests):
                answers.update(self._draw(numbers, requests))
        return [answers[number] for number in range(len(requests))]

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[int]]:
        """Yield the indices of requests to draw in one call: those with the same number
        of images and no input images.
        """
        at_once = self.pictures or AT_ONCE["cpu" if self._device() == "cpu" else "cuda"]
        waiting: dict[int, list[int]] = {}
        for number, request in enumerate(requests):
            if request.prompt.media:
                yield [number]
                continue
            batch = waiting.setdefault(request.options.n, [])
            batch.append(number)
            if len(batch) * request.options.n >= at_once:
                yield waiting.pop(request.options.n)
        yield from waiting.values()

    def _draw(
        self,
        numbers: Sequence[int],
        requests: Sequence[Request],
    ) -> dict[int, Output]:
        """Draw the images of several requests in one call, and return the outputs by index.

        If the call fails for several requests, raise, so that the caller can retry in
        halves.
        """
        try:
            return dict(
                zip(
                    numbers,
                    self._call([requests[number] for number in numbers]),
                    strict=True,
                )
            )
        except Exception as error:
            if len(requests) > 1:
                raise
            return {numbers[0]: failure(error, self.path)}

    def _call(self, requests: Sequence[Request]) -> list[Output]:
        import torch

        started = time.perf_counter()
        count = requests[0].options.n
        seeds = [
            [generator_for(request, index).getrandbits(63) for index in range(count)]
            for request in requests
        ]
        generators = [
            torch.Generator("cpu").manual_seed(seed) for row in seeds for seed in row
        ]
        arguments = {**self._settings(), **self.call_args}
        texts = [only_text(request) for request in requests]
        images = [
            medium
            for request in requests
            for medium in request.prompt.media
            if isinstance(medium, Image)
        ]
        if images:
            decoded = [decode_image(image) for image in images]
            arguments["image"] = decoded[0] if len(decoded) == 1 else decoded
        if "num_images_per_prompt" in self._parameters():
            arguments["num_images_per_prompt"] = count
        else:
            texts = [text for text in texts for _ in range(count)]
        if "output_type" in self._parameters():
            # Converted to bytes, values that are not finite would become black pixels and be scored.
            arguments.setdefault("output_type", "np")
        with torch.inference_mode():
            reporting = self._reporting(len(requests))
            result = self._pipe(
                prompt=texts,
                generator=generators,
                **{**reporting, **arguments},
            )
        blocked = getattr(result, "nsfw_content_detected", None) or [False] * len(
            result.images
        )
        if len(result.images) != len(requests) * count:
            raise ModelError(
                f"drew {len(result.images)} images for {len(requests) * count} that were asked for"
            )
        seconds = (time.perf_counter() - started) / len(requests)
        outputs = []
        for number, row in enumerate(seeds):
            span = slice(number * count, (number + 1) * count)
            if not all(map(_is_finite, result.images[span])):
                problem = "the pipeline computed an image that is not finite"
                outputs.append(
                    Output.failed(
                        "non_finite",
                        f"{self.path}: {problem}",
                        retryable=False,
                    )
                )
                continue
            candidates = tuple(
                Candidate(
                    (image_from(image),), "content_filter" if is_blocked else "stop"
                )
                for image, is_blocked in zip(
                    result.images[span],
                    blocked[span],
                    strict=True,
                )
            )
            outputs.append(
                replace(Output(candidates, seconds=seconds), details={"seeds": row})
            )
        return outputs

    def _settings(self) -> dict[str, Any]:
        """Return the settings of every call. Raise for a setting that the pipeline does not have."""
        candidates = {
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance,
        }
        candidates |= {name: getattr(self, name) for name in PLANNED}
        settings = {
            name: value for name, value in candidates.items() if value is not None
        }
        parameters = self._parameters()
        for name in (*settings, *self.call_args):
            # Many calls accept and ignore any further argument, for compatibility with old names.
            if name not in parameters:
                raise UsageError(
                    f"{self._class().__name__} has no setting {name!r}", where=self.path
                )
        return settings


def _is_finite(image: object) -> bool:
    """Return True if every value of an image is finite. Bytes always are."""
    import numpy as np

    return not isinstance(image, np.ndarray) or bool(np.isfinite(image).all())


def _dtype_argument() -> str:
    """Return the name of diffusers' precision option, which depends on the version."""
    numbers = importlib.metadata.version("diffusers").split(".")[:2]
    if tuple(int(number) for number in numbers) >= (0, 42):
        return "dtype"
    return "torch_dtype"
