"""`Model`, the base class of speech models, and functions to split a large model over GPUs."""

import importlib
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import AssayError, Audio, MissingExtra
from ...media import Facts, check_media
from ..protocol import is_upstream
from ..shapes import Fields, Record
from .audio_clips import AudioFolder, fitted
from .eras import SEED, era_here
from .structures import (
    Question,
    Turn,
    content_of,
    read_dialogue,
    read_question,
    read_structure,
    script_of,
)
from .televal_calling import FLAGS, Dialogue, checked


def without_gradients() -> AbstractContextManager[object]:
    """Return torch's inference mode, or a context without effect if torch is not imported."""
    torch = sys.modules.get("torch")
    mode: AbstractContextManager[object] = (
        torch.inference_mode() if torch is not None else nullcontext()
    )
    return mode


class Model:
    """A model with `generate_once` for single questions and `generate_multiturn` for dialogues.

    Both return `{"pred": text, "pred_audio": path, "cache": state, "his": history}`, of which only `pred` is required.
    """

    mono_only: bool = True
    """True if the model takes only mono. A clip with more channels is mixed down before the call."""
    inputs_sr: int = 16000
    """The sampling rate in Hz that the model expects. Other clips are resampled before the call."""

    def __init__(self, sample_params: Record | None = None) -> None:
        self.sample_params = {} if sample_params is None else sample_params
        self.mono_only = True
        self.inputs_sr = 16000

    def generate_once(
        self,
        audio: str | None,
        **kwargs: object,
    ) -> Record:
        """Return the answer to one question."""
        raise NotImplementedError(
            f"{type(self).__name__} has no generate_once, so it cannot do single-turn tasks"
        )

    def generate_multiturn(
        self,
        audio: str | None,
        user_history: Sequence[object],
        assistant_history: Sequence[object],
        **kwargs: object,
    ) -> Record:
        """Return the answer of one round of a dialogue."""
        raise NotImplementedError(
            f"{type(self).__name__} has no generate_multiturn, so it cannot do dialogues"
        )

    def inference(self, inputs: object, **kwargs: object) -> object:
        """Answer rendered templates: a single one, or a list of them.

        An option may be a list with one value for each template.
        """
        as_upstream = is_upstream("televal")
        ask = _ask_as_upstream if as_upstream else _ask
        with without_gradients():
            if not isinstance(inputs, list) or (_is_roles(inputs) and not as_upstream):
                return ask(self, inputs, kwargs)
            return [
                ask(self, entry, self._split_kwargs(kwargs, index))
                for index, entry in enumerate(inputs)
            ]

    def _split_kwargs(
        self,
        kwargs: Record,
        idx: int,
    ) -> Record:
        """Return the options for input `idx` of a batch. An option that is a list has one value for each input."""
        for name, value in kwargs.items():
            if isinstance(value, list) and idx >= len(value):
                raise IndexError(
                    f"{name!r} has {len(value)} entries, fewer than there are inputs"
                )
        return {
            name: value[idx] if isinstance(value, list) else value
            for name, value in kwargs.items()
        }

    def _process_inputs(self, input_data: object) -> Record:
        """Split a rendered template into keyword arguments for the model, and check its audio clips."""
        if isinstance(input_data, list):
            for turn in input_data:
                _check_clip(self, content_of(turn).get("audio") or None)
            return read_question(input_data, as_upstream=True).keywords()
        turns, instruct = read_dialogue(input_data)
        for turn in turns:
            _check_clip(self, turn.audio)
        fields: Record = {
            "type": "multi_turn",
            "nrounds": input_data.get("nrounds"),  # type: ignore[attr-defined]
            "audio": [turn.audio for turn in turns],
            "query": [turn.text for turn in turns],
            "instruct": instruct,
        }
        if era_here() != SEED:
            fields["meta_info"] = [dict(turn.meta) for turn in turns]
        return fields


def _is_roles(inputs: list[object]) -> bool:
    """Return True if a list is a single question, given as roles, rather than a batch of questions."""
    return any(
        not isinstance(entry, (list, dict)) or "role" in entry for entry in inputs
    )


def _ask(
    model: Model,
    structure: object,
    options: Fields,
) -> object:
    """Return the answer to a question, or one record for each round of a dialogue.

    Audio clips are converted if needed.
    """
    flags = {**FLAGS, **options}
    spoken = read_structure(structure, reverse=bool(flags["reverse_spkr"]))
    if isinstance(spoken, Question):
        heard = _heard(model, spoken.audio)
        answer = model.generate_once(**{**spoken.keywords(), "audio": heard, **options})
        return checked(answer, model, "generate_once")
    clips = [_heard(model, user.audio) for user in spoken.users]
    own_history = bool(flags["use_model_history"])
    return Dialogue(spoken, own_history, era_here(), clips).records(model, flags)


def _heard(
    model: object,
    path: str | None,
) -> str | None:
    """Return the path of an audio file, converted if needed to the rate and channels that the model declares."""
    if path is None:
        return None
    audio, _ = _read_clip(path)
    file, _ = fitted(audio, model, _converted)
    return path if file == audio.source else str(file)


_converted = AudioFolder()
"""Audio files that were converted for models called outside of a run. They are removed when the process ends."""


def _ask_as_upstream(
    model: Model,
    structure: object,
    options: Fields,
) -> object:
    """Return the answer to a question, or one record for each round of a dialogue, by TELEVAL's own rules."""
    fields = model._process_inputs(structure)
    if fields["type"] == "single_turn":
        return model.generate_once(**fields, **options)
    metas = fields.get("meta_info") or [{}] * len(fields["query"])
    parts = zip(fields["audio"], fields["query"], metas, strict=False)
    era = era_here()
    script = script_of(
        [Turn(*part) for part in parts],
        fields.get("instruct"),
        reverse=bool(options.get("reverse_spkr", False)),
        as_upstream=True,
    )
    own_history = options.get("use_model_history", era != SEED)
    return Dialogue(script, own_history, era).records(model, options)


def _check_clip(
    model: Model,
    path: str | None,
) -> None:
    """Raise for an audio clip that cannot be read.

    Under TELEVAL's own rules, also raise if its rate or channels are not those that the
    model expects.
    """
    if path is None:
        return
    _, facts = _read_clip(path)
    if not is_upstream("televal"):
        return  # converted when the model is called
    if model.mono_only and facts.channels != 1:
        raise ValueError(
            f"{path} has {facts.channels} channels, and the model hears one"
        )
    if facts.rate != model.inputs_sr:
        raise ValueError(
            f"{path} has {facts.rate} samples a second, and the model expects {model.inputs_sr}"
        )


def _read_clip(path: str) -> tuple[Audio, Facts]:
    """Open an audio file, and return it with its rate and channels."""
    audio = Audio(Path(path).resolve())
    try:
        return audio, check_media(audio)
    except (AssayError, OSError) as error:
        raise FileNotFoundError(f"cannot read the audio {path}") from error


def load_model_with_auto_device_map(
    model_name: str,
    max_memory: dict[object, object] | None = None,
    no_split_module_classes: list[str] | None = None,
    dtype: object = None,
    return_tokenizer: bool = False,
) -> Any:
    """Load a causal language model with its layers distributed over the devices; optionally with its tokenizer.

    `no_split_module_classes` lists classes whose layers stay whole. Each must occur
    several times in the model.
    """
    torch, accelerate, transformers = (
        _library(name) for name in ("torch", "accelerate", "transformers")
    )
    unsplit = list(no_split_module_classes or [])
    options: Record = {
        "torch_dtype": torch.float16 if dtype is None else dtype,
        # A user who gives a local folder agrees to run its code. For a hub repository, that is not so.
        "trust_remote_code": Path(model_name).expanduser().is_dir(),
    }
    load = transformers.AutoModelForCausalLM.from_pretrained
    model = load(model_name, device_map=None, **options)
    repeated = get_no_split_module_candidates(model)
    unknown = [name for name in unsplit if name not in repeated]
    if unknown:
        raise ValueError(
            f"{unknown} not in allowed no_split_module_classes: {sorted(repeated)}"
        )
    memory = max_memory or accelerate.utils.get_balanced_memory(
        model, dtype=options["torch_dtype"]
    )
    device_map = accelerate.infer_auto_device_map(
        model,
        max_memory=memory,
        no_split_module_classes=unsplit,
    )
    model = load(model_name, device_map=device_map, **options)
    if not return_tokenizer:
        return model
    return model, transformers.AutoTokenizer.from_pretrained(model_name, use_fast=False)


def _library(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"{name}, which load_model_with_auto_device_map needs,",
            "assay[hf] accelerate",
        ) from error


def get_no_split_module_candidates(model: Any) -> set[str]:
    """Return the classes that occur more than once among the model's modules: its repeated layers."""
    counts = Counter(
        type(module).__name__ for module in model.modules() if module is not model
    )
    return {name for name, count in counts.items() if count > 1}
