"""Any OpenAI-compatible endpoint: `openai/NAME`."""

from .openai_model import OpenAI

__all__ = ["OpenAI"]
