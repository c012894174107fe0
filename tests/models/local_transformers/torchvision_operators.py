"""Make torchvision importable with a torch that its compiled operators do not match.

On a machine without a GPU, torch may be the CPU build and torchvision the CUDA one.
torchvision's video functions are plain torch, but its import fails unless its compiled
operators are at least declared.
"""

import importlib.util

OPERATORS = ("nms", "qnms")
_libraries = []


def declare_operators():
    """Declare torchvision's operators, without code, if torch does not have them."""
    if importlib.util.find_spec("torchvision") is None:
        return
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in OPERATORS:
            library.define(f"{name}(Tensor values) -> Tensor")
        _libraries.append(library)
