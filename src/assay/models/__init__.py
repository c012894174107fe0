"""Models: places prompts go and outputs come from."""

from .resolve import adapt_model, build_model

__all__ = ["adapt_model", "build_model"]
