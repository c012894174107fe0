"""Matrix products over a few rows: on a CPU, sixteen rows of full precision cost less than seven.

Below a full block the library falls back to a kernel that reads the weights once for every other row. A few rows are
therefore filled up to a block, and the filling is cut off again; what a row gets does not depend on how many there are.
"""

from collections.abc import Callable
from typing import Any

BLOCK = 16
FEWEST = 7
"""From so many rows on a full block is the faster one."""


def fill_blocks(model: Any) -> int:
    """Makes the linear layers of a model in full precision on a CPU compute whole blocks; how many there are."""
    import torch

    changed = 0
    for module in model.modules():
        # A layer that is placed or adapted by somebody else has a `forward` of its own, which stays.
        if type(module) is not torch.nn.Linear or "forward" in vars(module):
            continue
        if module.weight.device.type == "cpu" and module.weight.dtype == torch.float32:
            module.forward = _filled(module)
            changed += 1
    return changed


def _filled(module: Any) -> Callable[[Any], Any]:
    from torch.nn.functional import linear, pad

    def forward(rows: Any) -> Any:
        count = rows.shape[-2] if rows.dim() > 1 else 1
        if not FEWEST <= count < BLOCK or rows.numel() != count * rows.shape[-1]:
            return linear(rows, module.weight, module.bias)
        return linear(pad(rows, (0, 0, 0, BLOCK - count)), module.weight, module.bias)[..., :count, :]

    return forward
