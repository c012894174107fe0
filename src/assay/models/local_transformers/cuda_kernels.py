"""Faster decode steps on CUDA: a Triton attention kernel, and fused RMS norms.

In a small model, the time of a decode step depends more on the number of kernel
launches than on arithmetic. Both parts are tested on the machine first, and not used if
their results are wrong.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .attention import Style

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

BLOCK = 64
"""Number of cached keys that the kernel processes per loop iteration."""
ROWS = 16
"""Smallest number of rows in a matrix product of the kernel."""


def attend_slots(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    keys: "Tensor",
    values: "Tensor",
    positions: "Tensor",
    lengths: "Tensor",
    style: Style,
) -> Any:
    """Store each slot's new key and value, and return its new token's attention.

    The new token attends to all tokens of its slot. Queries have the shape (heads,
    slots, head size), the result has the shape (slots, heads, head size).
    """
    import torch

    from .triton_attention import attend

    heads, width, size = query.shape
    key_heads = key.shape[0]
    out = torch.empty(
        width,
        heads,
        size,
        dtype=query.dtype,
        device=query.device,
    )
    attend[(width, key_heads)](
        query,
        key,
        value,
        keys,
        values,
        positions,
        lengths,
        out,
        *query.stride()[:2],
        *key.stride()[:2],
        *value.stride()[:2],
        *keys.stride()[:3],
        *out.stride()[:2],
        style.scale,
        style.window or 0,
        GROUPS=heads // key_heads,
        ROWS=max(ROWS, _power_of_two(heads // key_heads)),
        SIZE=size,
        BLOCK=BLOCK,
        HAS_WINDOW=style.window is not None,
        num_warps=4,
    )
    return out


@lru_cache(maxsize=1)
def can_attend() -> bool:
    """Return True if Triton is installed and its attention kernel gives correct results on this machine."""
    import torch

    try:
        return _is_right(torch.device("cuda"))
    except Exception:  # noqa: BLE001 - without a compiler, other kernels are used
        return False


def fits_kernel(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
) -> bool:
    """Return True if the kernel supports these tensors.

    The head size must be a power of two, and at least 16.
    """
    size = query.shape[-1]
    is_usual = size == value.shape[-1] and size >= ROWS and size == _power_of_two(size)
    return is_usual and all(x.stride(-1) == 1 for x in (query, key, value))


def _power_of_two(count: int) -> int:
    """Return the smallest power of two that is not less than `count`."""
    return 1 << (count - 1).bit_length()


def _is_right(device: object) -> bool:
    """Return True if the kernel and plain attention agree on a small example."""
    import torch

    generator = torch.Generator(device).manual_seed(0)

    def make(*shape: int) -> Any:
        return torch.randn(
            shape,
            generator=generator,
            device=device,
        ).bfloat16()

    width, heads, groups, size, length = 3, 2, 4, 64, 160
    query = make(heads * groups, width, size)
    key, value = make(heads, width, size), make(heads, width, size)
    keys, values = make(width, length, heads, size), make(width, length, heads, size)
    positions = torch.tensor([0, 77, 158], device=device)
    lengths = (positions + 1).int()
    style = Style(size**-0.5)
    out = attend_slots(query, key, value, keys, values, positions, lengths, style)
    for slot in range(width):
        stop = int(lengths[slot])
        if not torch.equal(keys[slot, stop - 1], key[:, slot]):
            return False
        expected = _plain_attention(
            query[:, slot],
            keys[slot, :stop],
            values[slot, :stop],
            style.scale,
        )
        differences = (out[slot].float() - expected).abs()
        if float(differences.max()) > 0.03:
            return False
    return True


def _plain_attention(
    query: "Tensor",
    keys: "Tensor",
    values: "Tensor",
    scale: float,
) -> Any:
    """Return the attention output of one token, computed in float32 for comparison.

    Keys and values have the shape (tokens, key heads, head size), the result has the
    shape (heads, head size).
    """
    import torch

    groups = query.shape[0] // keys.shape[1]
    key_lines = keys.transpose(0, 1).repeat_interleave(groups, 0).float()
    value_lines = values.transpose(0, 1).repeat_interleave(groups, 0).float()
    scores = (query[:, None].float() @ key_lines.transpose(1, 2)) * scale
    weights = torch.softmax(scores, -1)
    return (weights @ value_lines)[:, 0]


def fuse_norms(model: "PreTrainedModel") -> int:
    """Replace each RMS norm of a half-precision CUDA model by one fused kernel; return how many."""
    import torch
    from torch.nn.functional import rms_norm

    count = 0
    for module in model.modules():
        weight = getattr(module, "weight", None)
        epsilon = getattr(module, "variance_epsilon", None)
        is_norm = type(module).__name__.endswith("RMSNorm") and epsilon is not None
        if not is_norm or weight is None or "forward" in vars(module):
            continue
        if not weight.is_cuda or weight.element_size() != 2:
            continue
        shape = tuple(weight.shape)

        def forward(
            states: "Tensor",
            shape: Any = shape,
            weight: "Tensor" = weight,
            eps: Any = epsilon,
        ) -> Any:
            return rms_norm(states, shape, weight, eps)

        sample = torch.linspace(-2, 3, 4 * shape[-1], device=weight.device)
        sample = sample.view(4, -1).to(weight.dtype)
        with torch.inference_mode():
            expected = module(sample).float()
            difference = (forward(sample).float() - expected).abs().max()
        if float(difference) <= 0.02 * float(expected.abs().max()):
            module.forward = forward
            count += 1
    return count
