"""`testbed.models.idefics2`."""

from .families import Idefics2
from .model_base import ModelBase

__all__ = ["Idefics2", "ModelBase"]
