"""`testbed.models.qwen2`."""

from .families import Qwen2
from .model_base import ModelBase

__all__ = ["Qwen2", "ModelBase"]
