"""`testbed.models.idefics2`."""

from .families import HF_IDEFICS2, Idefics2
from .model_base import ModelBase

__all__ = ["HF_IDEFICS2", "Idefics2", "ModelBase"]
