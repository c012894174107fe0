"""`ulmeval.api`: models behind an endpoint."""

from .base import BaseAPI
from .gpt import OpenAIWrapper

__all__ = ["BaseAPI", "OpenAIWrapper"]
