"""Merge PEFT adapters into a model before its first request.

PEFT only warns if an adapter does not fit the model, and leaves random numbers where
weights are missing. Here such an adapter is an error.
"""

import warnings
from typing import TYPE_CHECKING, Any

from ...core import AssayError, ModelError
from ..answers import first_line, is_out_of_memory
from ..weights import some_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FIX = "check its name and the network, and that it was made for this model"
_SHARED = ("vblora_vector_bank", "prompt_encoder")
"""Substrings of weight names that PEFT wrongly reports as missing. PEFT loads these weights under other names."""


def adapted(
    model: "PreTrainedModel",
    adapter: str,
    where: str,
) -> Any:
    """Merge an adapter into a model's weights and return the model."""
    try:
        return _merged(model, adapter, where)
    except AssayError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise ModelError(
            f"cannot apply the adapter {adapter}: {first_line(error)}",
            where=where,
            fix=FIX,
        ) from error


def _merged(
    model: "PreTrainedModel",
    adapter: str,
    where: str,
) -> Any:
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft_model: Any = PeftModel.from_pretrained(model, adapter)
        if not hasattr(peft_model, "merge_and_unload"):
            kind = peft_model.peft_config["default"].peft_type.value
            raise ModelError(
                f"the adapter {adapter} is of the kind {kind}, which cannot be merged into the weights",
                where=where,
                fix="LoRA, IA3 and others that change weights can be merged",
            )
        # PEFT reports missing and unexpected weights only when an adapter is loaded into a PEFT model.
        loaded = peft_model.load_adapter(adapter, "default")
        missing = []
        for name in loaded.missing_keys:
            if not any(part in name for part in _SHARED):
                missing.append(name)
        if missing:
            fault = f"lacks {some_of(missing)}"
        elif loaded.unexpected_keys:
            names = some_of(loaded.unexpected_keys)
            fault = f"has what the model has no place for: {names}"
        else:
            _untie(peft_model)
            return peft_model.merge_and_unload()
    raise ModelError(
        f"the adapter {adapter} {fault}",
        where=where,
        fix=FIX,
    )


def _untie(peft_model: Any) -> None:
    """Copy weights that an adapted layer shares with other layers.

    Otherwise merging the adapter would also change the other layers, or would change
    the shared weights twice.
    """
    import torch
    from peft.tuners.tuners_utils import BaseTunerLayer

    merged: set[int] = set()
    for layer in peft_model.modules():
        if isinstance(layer, BaseTunerLayer):
            weights = layer.get_base_layer().parameters(recurse=False)
            merged.update(id(weight) for weight in weights)
    owned: set[int] = set()
    for layer in peft_model.modules():
        for name, weight in list(layer.named_parameters(recurse=False)):
            if id(weight) in owned:
                copy = weight.detach().clone()
                setattr(layer, name, torch.nn.Parameter(copy, requires_grad=False))
            elif id(weight) in merged:
                owned.add(id(weight))
