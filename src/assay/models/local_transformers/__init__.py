"""Transformers in this process: text, vision, audio and speech models, common prefixes computed once."""

from .model import LocalTransformers

__all__ = ["LocalTransformers"]
