"""`vlmeval.vlm`: the base class of models."""

from .base import BaseModel

__all__ = ["BaseModel"]
