"""How many answers fit into memory at once: what is free beside the weights, divided by what one answer keeps.

An answer keeps keys and values for each of its tokens in every layer, twice for a moment when its room grows, and a
line of logits for each step. What does not fit after all is halved when memory runs out: the choice can only cost time.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .text import Limits

SPARED = 0.2
"""Of the free memory, for what a pass computes on the way and for other programs."""
MOST = {"cuda": 1024, "cpu": 64, "mps": 64}
"""Beyond so many answers at once a kind of device is no faster."""
USUAL_PROMPT = 2048
"""Tokens of a prompt, where nobody has seen the prompts yet."""
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Where a container's limit and what it uses of it stand, in both versions of control groups."""


def choose_rows(model: Any, limits: "Limits") -> tuple[int, str]:
    """As many answers as the free memory of the model's device has room for, and why."""
    free = free_bytes(model.device)
    length = min(limits.context, USUAL_PROMPT + limits.max_tokens)
    each = bytes_of_answer(model, length)
    most = MOST.get(str(model.device).partition(":")[0], MOST["cpu"])
    rows = max(1, min(most, int(free * (1 - SPARED)) // each))
    return (
        rows,
        f"{free / 1e9:.1f} GB free, {each / 1e6:.1f} MB an answer of {length:,} tokens, at most {most}",
    )


def bytes_of_answer(model: Any, length: int) -> int:
    """What one answer of so many tokens, prompt included, keeps in memory while it is written."""
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
    return max(1, 2 * keys_and_values + logits)


def _number(config: Any, *names: str, default: int = 1) -> int:
    """What a configuration says under the first of these names that it has."""
    return next(
        (int(found) for name in names if (found := getattr(config, name, None))),
        default,
    )


def free_bytes(device: Any) -> int:
    """Memory that is free on a device; on a CPU, in this machine or container."""
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
    """What programs can still take of this machine's memory, and of the container's where there is a limit."""
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
