"""`vlmeval.api`: models behind an API, and the judge under the name by which code asks for it."""

from .base import BaseAPI
from .gpt import GPT4V, OpenAIWrapper

__all__ = ["GPT4V", "BaseAPI", "OpenAIWrapper"]
