"""`testbed.models`: the families the testbed brings."""

from .families import Idefics, Idefics2, LLaVa, Mistral

__all__ = ["Idefics", "Idefics2", "LLaVa", "Mistral"]
