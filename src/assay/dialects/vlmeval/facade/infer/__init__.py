"""`vlmeval.infer`: how the documented revision asks a model, for code that drives it by itself."""

from .inference import infer_data, prefetch_acc

__all__ = ["infer_data", "prefetch_acc"]
