"""`testbed.models`: the families the testbed brings."""

from .idefics import Idefics
from .idefics2 import Idefics2
from .llava import LLaVa
from .mistral import Mistral

__all__ = ["Idefics", "Idefics2", "LLaVa", "Mistral"]
