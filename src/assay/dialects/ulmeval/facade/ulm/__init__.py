"""`ulmeval.ulm`: the base class of models that draw."""

from .base import BaseModel

__all__ = ["BaseModel"]
