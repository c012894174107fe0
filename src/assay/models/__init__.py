"""Models: places prompts go and outputs come from."""

from .resolve import build_model

__all__ = ["build_model"]
