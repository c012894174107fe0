"""Any OpenAI-compatible endpoint: `openai/NAME`."""

from .model import OpenAI

__all__ = ["OpenAI"]
