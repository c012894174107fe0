"""`src.models.model_utils`: a model spread over several GPUs, layer by layer."""

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

from .....core import MissingExtra


def load_model_with_auto_device_map(
    model_name: str,
    max_memory: dict[Any, Any] | None = None,
    no_split_module_classes: list[str] | None = None,
    dtype: Any = None,
    return_tokenizer: bool = False,
) -> Any:
    """A causal language model whose layers are placed on the devices there are; with its tokenizer when asked.

    `no_split_module_classes` names classes whose layers stay whole; a class the model does not repeat is an error.
    """
    torch, accelerate, transformers = (
        _library(name) for name in ("torch", "accelerate", "transformers")
    )
    whole = list(no_split_module_classes or [])
    options: dict[str, Any] = {
        "torch_dtype": torch.float16 if dtype is None else dtype,
        # Pointing at a folder is the consent to run the code in it; a name on the hub is not.
        "trust_remote_code": Path(model_name).expanduser().is_dir(),
    }
    load = transformers.AutoModelForCausalLM.from_pretrained
    model = load(model_name, device_map=None, **options)
    repeated = get_no_split_module_candidates(model)
    unknown = [name for name in whole if name not in repeated]
    if unknown:
        raise ValueError(
            f"{unknown} not in allowed no_split_module_classes: {sorted(repeated)}"
        )
    memory = max_memory or accelerate.utils.get_balanced_memory(
        model, dtype=options["torch_dtype"]
    )
    places = accelerate.infer_auto_device_map(
        model, max_memory=memory, no_split_module_classes=whole
    )
    model = load(model_name, device_map=places, **options)
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
    """Classes of which the model has more than one: its repeated layers."""
    counts = Counter(
        type(module).__name__ for module in model.modules() if module is not model
    )
    return {name for name, count in counts.items() if count > 1}
