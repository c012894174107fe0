"""Models: adapters for endpoints, local weights and user functions, which receive prompts and return outputs."""

from .resolve import adapt_model, build_model

__all__ = ["adapt_model", "build_model"]
