"""Estimate how many answers fit into memory at once.

The estimate is the free memory divided by the memory of one answer: keys and values of
each token in every layer, and the logits of one step. If memory still runs out, the
number of answers is halved, so an estimate that is too high only costs time.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

SPARED = 0.25
"""Fraction of the free memory to leave for computation and other programs."""
MOST_SLOTS = 512
"""Maximum number of answers at once on CUDA; more are not faster."""
USUAL_ROWS = 32
"""Default number of answers at once on a CPU."""
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Files with a container's memory limit and usage, for cgroups v2 and v1."""


def bytes_of_answer(model: "PreTrainedModel", length: int) -> int:
    """Return the memory that an answer of `length` tokens needs, in bytes; the prompt is included."""
    config = getattr(model.config, "thinker_config", model.config)
    config = getattr(config, "text_config", None) or config
    heads = _number(config, "num_attention_heads", "n_head")
    groups = _number(config, "num_key_value_heads", default=heads)
    head = _number(
        config,
        "head_dim",
        default=max(1, _number(config, "hidden_size", "n_embd") // heads),
    )
    layers = _number(config, "num_hidden_layers", "n_layer")
    size = int(model.get_input_embeddings().weight.element_size())
    keys_and_values = 2 * layers * groups * head * size * length
    logits = 4 * 2 * _number(config, "vocab_size")
    return max(1, keys_and_values + logits)


def _number(
    config: "PretrainedConfig",
    *names: str,
    default: int = 1,
) -> int:
    """Return the first of these configuration values that is set. If none is, return `default`."""
    for name in names:
        value = getattr(config, name, None)
        if value:
            return int(value)
    return default


def free_bytes(device: object) -> int:
    """Return the free memory of a device in bytes; for a CPU, of the machine or container."""
    import torch

    kind = str(device).partition(":")[0]
    if kind == "cuda":
        # Memory that torch reserved but does not use is also free.
        reserved = torch.cuda.memory_reserved(device)
        unused = reserved - torch.cuda.memory_allocated(device)
        free, _ = torch.cuda.mem_get_info(device)
        return int(free) + int(unused)
    if kind == "mps":
        limit = torch.mps.recommended_max_memory()
        return int(limit - torch.mps.driver_allocated_memory())
    return free_of_machine()


def free_of_machine(meminfo: str = "/proc/meminfo") -> int:
    """Return the available memory of this machine in bytes, within the container's limit."""
    free = _available(Path(meminfo))
    if free is None:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for limit, usage in CGROUPS:
        free_here = _free_of_container(Path(limit), Path(usage))
        if free_here is not None:
            free = min(free, free_here)
    return max(0, free)


def _available(meminfo: Path) -> int | None:
    """Return the value of `MemAvailable` in bytes; None if it cannot be read."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # not Linux
    return None


def _free_of_container(limit: Path, usage: Path) -> int | None:
    """Return a container's memory limit minus its usage; None if it has no limit."""
    try:
        total = int(limit.read_text(encoding="ascii"))
        return total - int(usage.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
