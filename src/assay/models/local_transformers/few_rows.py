"""Matrix products over a few rows: on a CPU, from weights that are laid out for them once.

Given plain weights, the library takes as long for seven rows as for thirty-two: it lays the weights out again in every
product. A step of generation is such a product in every layer, so the laid-out weights are kept beside the plain ones,
where there is memory for them; else a few rows are filled up to a whole block, which costs less than their own number.
"""

from collections.abc import Callable
from typing import Any

from .memory import free_of_machine

FEWEST, MOST = 4, 64
"""Rows from which and up to which laid-out weights are the faster ones."""
BLOCK, FEWEST_FILLED = 16, 7
"""Without them: a full block, and the number of rows from which filling it up pays."""
PAYS_AFTER = 8
"""Products over a few rows before a layer's weights are laid out: a run that only weighs answers makes hardly any."""
SHARE = 0.5
"""Of the memory that is free, what laid-out weights may take."""
APART = 1e-4
"""How far, relative to the largest number, products of both kinds may lie apart."""


class FewRows:
    """The product of one linear layer, chosen by the number of rows."""

    def __init__(self, module: Any, is_kept: bool) -> None:
        from torch.nn.functional import linear, pad

        self.module, self.is_kept = module, is_kept
        self.laid_out: Any = None
        self.products = 0
        self._linear, self._pad = linear, pad

    def __call__(self, rows: Any) -> Any:
        weight, bias = self.module.weight, self.module.bias
        count = rows.shape[-2] if rows.dim() > 1 else 1
        if not FEWEST <= count <= MOST or rows.numel() != count * rows.shape[-1]:
            return self._linear(rows, weight, bias)
        if self.laid_out is not None:
            return product(rows, self.laid_out, bias)
        self.products += 1
        if self.is_kept and self.products >= PAYS_AFTER:
            self.laid_out = lay_out_weight(weight)
        if not FEWEST_FILLED <= count < BLOCK:
            return self._linear(rows, weight, bias)
        return self._linear(self._pad(rows, (0, 0, 0, BLOCK - count)), weight, bias)[
            ..., :count, :
        ]


def hasten(model: Any, free: int | None = None) -> int:
    """Makes the linear layers of a model in full precision on a CPU quick on a few rows; how many were changed.

    `free` is the memory there is, in bytes; by default what the machine says.
    """
    import torch

    found = [
        module
        for module in model.modules()
        # A layer that is placed or adapted by somebody else has a `forward` of its own, which stays.
        if type(module) is torch.nn.Linear
        and "forward" not in vars(module)
        and module.weight.device.type == "cpu"
        and module.weight.dtype == torch.float32
    ]
    size = sum(module.weight.numel() * module.weight.element_size() for module in found)
    is_kept = (
        size <= SHARE * (free_of_machine() if free is None else free) and can_lay_out()
    )
    for module in found:
        module.forward = FewRows(module, is_kept)
    return len(found)


def drop_laid_out(model: Any) -> None:
    """Gives the memory of laid-out weights back, for good."""
    for module in model.modules():
        forward: Callable[..., Any] | None = vars(module).get("forward")
        if isinstance(forward, FewRows):
            forward.is_kept, forward.laid_out = False, None


def lay_out_weight(weight: Any) -> Any:
    """A layer's weights as `product` reads them."""
    import torch

    return torch.ops.mkldnn._reorder_linear_weight(weight, BLOCK)


def product(rows: Any, laid_out: Any, bias: Any) -> Any:
    """Rows by a layer's laid-out weights, with its bias."""
    import torch

    return torch.ops.mkldnn._linear_pointwise(rows, laid_out, bias, "none", [], "")


def can_lay_out() -> bool:
    """Whether this build of torch has products from laid-out weights that are right; tried on a small one."""
    import torch

    if not torch.backends.mkldnn.is_available():
        return False
    weight = torch.linspace(-1, 1, 48 * 32).view(48, 32)
    rows = torch.linspace(-2, 2, 5 * 32).view(1, 5, 32)
    plain = torch.nn.functional.linear(rows, weight)
    try:
        with torch.inference_mode():
            apart = (product(rows, lay_out_weight(weight), None) - plain).abs().max()
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        # These products are torch's own business: a version without them is as good, only slower.
        return False
    return bool(apart <= APART * plain.abs().max())
