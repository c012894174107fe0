"""`testbed.models.llava`."""

from .families import LLaVa
from .model_base import ModelBase

__all__ = ["LLaVa", "ModelBase"]
