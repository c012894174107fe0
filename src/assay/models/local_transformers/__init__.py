"""Transformers models in this process: text, vision, audio and speech. Common prefixes are computed once."""

from .transformers_model import LocalTransformers

__all__ = ["LocalTransformers"]
