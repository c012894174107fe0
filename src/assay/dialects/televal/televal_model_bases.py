"""`Model`, the base class of speech models, and how a large model is split over GPUs."""

import importlib
import sys
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from ...core import MissingExtra
from ..protocol import is_upstream
from ..shapes import Record


def without_gradients() -> AbstractContextManager[object]:
    """Return torch's inference mode, or a null context if torch has not been imported."""
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
    """True if it takes only one channel. A clip with more is mixed down before the call."""
    inputs_sr: int = 16000
    """The sampling rate it expects; other clips are resampled before the call."""

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
        user_history: list[Any],
        assistant_history: list[Any],
        **kwargs: object,
    ) -> Record:
        """Return the answer of one round of a dialogue."""
        raise NotImplementedError(
            f"{type(self).__name__} has no generate_multiturn, so it cannot do dialogues"
        )

    def inference(self, inputs: object, **kwargs: object) -> Any:
        """Answer a rendered template: one structure, or a list of them, each with its own options."""
        from .televal_calling import converse, converse_as_upstream

        ask = converse_as_upstream if is_upstream("televal") else converse
        with without_gradients():
            if not isinstance(inputs, list) or (
                _is_roles(inputs) and not is_upstream("televal")
            ):
                return ask(self, inputs, kwargs)
            return [
                ask(self, entry, self._split_kwargs(kwargs, index))
                for index, entry in enumerate(inputs)
            ]

    def _split_kwargs(self, kwargs: Record, idx: int) -> Record:
        """Return the options of one input of a batch: the entry of a list, or the value itself."""
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
        """Split a rendered template into arguments, and check each audio clip."""
        from .televal_calling import taken_apart

        return taken_apart(self, input_data)


def _is_roles(inputs: list[Any]) -> bool:
    """Return True if a list is one question with its roles, not a batch."""
    return any(
        not isinstance(entry, (list, dict)) or "role" in entry for entry in inputs
    )


def load_model_with_auto_device_map(
    model_name: str,
    max_memory: dict[Any, Any] | None = None,
    no_split_module_classes: list[str] | None = None,
    dtype: object = None,
    return_tokenizer: bool = False,
) -> Any:
    """Load a causal language model with its layers distributed over the devices; optionally with its tokenizer.

    `no_split_module_classes` names classes whose layers stay whole. A class that does not occur several times in
    the model is an error.
    """
    torch, accelerate, transformers = (
        _library(name) for name in ("torch", "accelerate", "transformers")
    )
    unsplit = list(no_split_module_classes or [])
    options: Record = {
        "torch_dtype": torch.float16 if dtype is None else dtype,
        # Naming a local folder is the consent to run its code; naming a hub repository is not.
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


def _library(name: str) -> Any:
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
