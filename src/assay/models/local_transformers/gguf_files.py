"""Convert GGUF weights to safetensors once, and keep them in the user's cache.

transformers takes tens of seconds to read a GGUF file each time. It also marks the
model as quantized and then refuses to save it, so the weights are copied into a new
model without that mark.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from ...core import ModelError
from ..weights import cache_folder, check_complete, weights_digest

REVISION = 2
"""Version of this conversion; cached results of other versions are ignored."""


def converted(file: Path) -> Path:
    """Return the folder with the weights of a GGUF file as float32 safetensors.

    They are converted on the first call.
    """
    folder = cache_folder() / "converted" / f"{weights_digest(file)[:32]}-{REVISION}"
    if (folder / "config.json").is_file():
        return folder
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        draft.mkdir(parents=True, exist_ok=True)
        _convert(file, draft)
        draft.replace(folder)
    except OSError as error:
        if (folder / "config.json").is_file():
            return folder  # another process was first
        raise ModelError(
            f"cannot convert the GGUF file: {error}", where=str(file)
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _convert(file: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        options: dict[str, Any] = {
            "gguf_file": file.name,
            "dtype": torch.float32,
            "output_loading_info": True,
        }
        read, info = AutoModelForCausalLM.from_pretrained(str(file.parent), **options)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise ModelError(
            f"transformers cannot read this GGUF file: {error}",
            where=str(file),
            fix="run it with gguf/FILE instead",
        ) from error
    check_complete(info["missing_keys"], str(file))
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.generation_config = read.generation_config
    plain.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
