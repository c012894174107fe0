"""`vlmeval.api`: the base class of models behind an API."""

from .base import BaseAPI

__all__ = ["BaseAPI"]
