"""`testbed.models.idefics`."""

from .families import Idefics
from .model_base import ModelBase

__all__ = ["Idefics", "ModelBase"]
