"""`testbed.models.mistral`."""

from .families import Mistral
from .model_base import ModelBase

__all__ = ["Mistral", "ModelBase"]
