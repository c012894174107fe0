"""Local transformers models: text, vision, audio and speech, with common prefixes computed once."""

from .transformers_model import LocalTransformers

__all__ = ["LocalTransformers"]
