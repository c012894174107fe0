"""How many answers fit into memory at once: free memory divided by what one answer needs.

An answer keeps keys and values of each token in every layer, twice for a moment when slots grow, and a row of
logits for each step. If memory runs out nevertheless, the number is halved: an estimate that is too high only
costs time.
"""

import os
from pathlib import Path
from typing import Any

SPARED = 0.25
"""Share of the free memory left for computation and other programs."""
MOST_SLOTS = 512
"""Maximum number of answers at once on CUDA. More are not faster."""
USUAL_ROWS = 32
"""Number of answers at once on a CPU."""
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Files with a container's memory limit and usage, in both versions of control groups."""


def bytes_of_answer(model: Any, length: int) -> int:
    """Return the memory in bytes that an answer of so many tokens, prompt included, needs."""
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


def _number(config: Any, *names: str, default: int = 1) -> int:
    """Return the first of these numbers that the configuration has."""
    return next(
        (int(found) for name in names if (found := getattr(config, name, None))),
        default,
    )


def free_bytes(device: Any) -> int:
    """Return the free memory of a device; for a CPU, of this machine or container."""
    import torch

    kind = str(device).partition(":")[0]
    if kind == "cuda":
        # What torch holds in case is free for it, too.
        reserve = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(
            device
        )
        return int(torch.cuda.mem_get_info(device)[0]) + int(reserve)
    if kind == "mps":
        return int(
            torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
        )
    return free_of_machine()


def free_of_machine(meminfo: str = "/proc/meminfo") -> int:
    """Return the memory that programs can still use on this machine, within the container's limit."""
    try:
        lines = Path(meminfo).read_text(encoding="ascii").splitlines()
        free = next(
            int(line.split()[1]) * 1024
            for line in lines
            if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    limits = [
        limit for files in CGROUPS if (limit := _free_of_container(*files)) is not None
    ]
    return max(0, min([free, *limits]))


def _free_of_container(limit: str, usage: str) -> int | None:
    try:
        return int(Path(limit).read_text(encoding="ascii")) - int(
            Path(usage).read_text(encoding="ascii")
        )
    except (OSError, ValueError):
        return None  # no such file, or no limit
