"""`src.models.model_utils`: a model spread over several GPUs, layer by layer."""

from collections import Counter
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
    try:
        import torch
        from accelerate import infer_auto_device_map
        from accelerate.utils import get_balanced_memory
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtra("load_model_with_auto_device_map needs what", "assay[hf]") from error
    whole = list(no_split_module_classes or [])
    chosen = torch.float16 if dtype is None else dtype
    model = AutoModelForCausalLM.from_pretrained(model_name, torch_dtype=chosen, trust_remote_code=True, device_map=None)
    repeated = get_no_split_module_candidates(model)
    unknown = [name for name in whole if name not in repeated]
    if unknown:
        raise ValueError(f"{unknown} not in allowed no_split_module_classes: {sorted(repeated)}")
    memory = get_balanced_memory(model, dtype=chosen) if max_memory is None else max_memory
    places = infer_auto_device_map(model, max_memory=memory, no_split_module_classes=whole)
    model = AutoModelForCausalLM.from_pretrained(
        model_name, torch_dtype=chosen, trust_remote_code=True, device_map=places
    )
    if not return_tokenizer:
        return model
    return model, AutoTokenizer.from_pretrained(model_name, use_fast=False)


def get_no_split_module_candidates(model: Any) -> set[str]:
    """Classes of which the model has more than one: its repeated layers."""
    counts = Counter(type(module).__name__ for module in model.modules() if module is not model)
    return {name for name, count in counts.items() if count > 1}
