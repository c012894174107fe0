"""Faster products of a few rows with a weight matrix on a CPU.

With plain weights, torch repacks the weights in every product, so seven rows take as
long as thirty-two. Each generation step is such a product in every layer. So a repacked
copy of the weights is kept next to the plain ones if memory allows. Otherwise a few
rows are padded to a full block, which is still faster than plain.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .cuda_kernels import fuse_norms
from .memory import free_of_machine

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

FEWEST, MOST = 4, 64
"""Smallest and largest number of rows for which repacked weights are faster."""
BLOCK, FEWEST_FILLED = 16, 7
"""Block size, and the smallest number of rows to pad to a block if weights are not repacked."""
PAYS_AFTER = 8
"""Number of rows in a full block, and the smallest number of rows to pad to one if weights are not repacked."""
SHARE = 0.5
"""Share of the free memory that repacked weights may use."""
APART = 1e-4
"""Largest allowed error of a repacked product, relative to the largest value in it."""


class FewRows:
    """Replaces the `forward` of one linear layer by a faster one for few rows."""

    def __init__(self, module: Any, is_kept: bool) -> None:
        from torch.nn.functional import linear, pad

        self.module, self.is_kept = module, is_kept
        self.laid_out: Any = None
        self.products = 0
        self._linear, self._pad = linear, pad

    def __call__(self, rows: Any) -> Any:
        """Return the layer's output, computed by the fastest method for this number of rows."""
        if rows.dim() > 1:
            count = rows.shape[-2]
        else:
            count = 1

        weight, bias = self.module.weight, self.module.bias
        is_one_matrix = rows.numel() == count * rows.shape[-1]
        is_faster = FEWEST <= count <= MOST
        if not is_one_matrix or not is_faster:
            return self._linear(rows, weight, bias)
        if self.laid_out is not None:
            return product(rows, self.laid_out, bias)
        self.products += 1
        if self.is_kept and self.products >= PAYS_AFTER:
            self.laid_out = lay_out_weight(weight)
        if not FEWEST_FILLED <= count < BLOCK:
            return self._linear(rows, weight, bias)
        return self._padded_product(rows, count)

    def _padded_product(self, rows: object, count: int) -> Any:
        """Return the products of a few rows, computed as a full block padded with zeros."""
        block = self._pad(rows, (0, 0, 0, BLOCK - count))
        products = self._linear(block, self.module.weight, self.module.bias)
        return products[..., :count, :]


def hasten(
    model: "PreTrainedModel",
    free: int | None = None,
) -> int:
    """Speed up generation: replace RMS norms on CUDA, and float32 linear layers on a CPU.

    Return the number of changed layers. `free` is the memory for repacked weights, in
    bytes; by default, the system's free memory is read.
    """
    import torch

    if torch.cuda.is_available():
        fuse_norms(model)
    layers = [module for module in model.modules() if _can_hasten(module)]
    weights = [layer.weight for layer in layers]
    size = sum(weight.numel() * weight.element_size() for weight in weights)
    if free is None:
        free = free_of_machine()
    is_kept = size <= SHARE * free and can_lay_out()
    for layer in layers:
        layer.forward = FewRows(layer, is_kept)
    return len(layers)


def _can_hasten(module: Any) -> bool:
    """Return True for an unmodified float32 linear layer on a CPU.

    A layer that another library changed has its own `forward`, which must stay.
    """
    import torch

    if type(module) is not torch.nn.Linear or "forward" in vars(module):
        return False
    weight = module.weight
    return bool(weight.device.type == "cpu" and weight.dtype == torch.float32)


def drop_laid_out(model: "PreTrainedModel") -> None:
    """Free the memory of repacked weights; the layers use their plain weights from now on."""
    for module in model.modules():
        forward: Callable[..., Any] | None = vars(module).get("forward")
        if isinstance(forward, FewRows):
            forward.is_kept, forward.laid_out = False, None


def lay_out_weight(weight: "Tensor") -> Any:
    """Return weights repacked into the layout that `product` needs."""
    import torch

    return torch.ops.mkldnn._reorder_linear_weight(weight, BLOCK)


def product(
    rows: object,
    laid_out: object,
    bias: object,
) -> Any:
    """Multiply rows by repacked weights, and add the bias."""
    import torch

    return torch.ops.mkldnn._linear_pointwise(rows, laid_out, bias, "none", [], "")


def can_lay_out() -> bool:
    """Return True if torch can multiply by repacked weights, tested on a small product."""
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
        # These functions are private: a torch version without them is only slower.
        return False
    return bool(apart <= APART * plain.abs().max())
