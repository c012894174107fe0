"""Transformers in this process: text, vision-language, audio-language and speech models, common prefixes computed once."""

from .model import LocalTransformers

__all__ = ["LocalTransformers"]
