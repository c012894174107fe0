"""`testbed.models.llava`."""

from .families import HF_LLAVA, LLaVa
from .model_base import ModelBase

__all__ = ["HF_LLAVA", "LLaVa", "ModelBase"]
