"""No gradients while a guest's model is asked: TELEVAL asks it in torch's inference mode."""

import sys
from contextlib import AbstractContextManager, nullcontext


def without_gradients() -> AbstractContextManager[object]:
    """torch's inference mode; a model that has not imported torch has no use for it, and torch is not imported here."""
    torch = sys.modules.get("torch")
    mode: AbstractContextManager[object] = (
        torch.inference_mode() if torch is not None else nullcontext()
    )
    return mode
