"""`src.prompt`: data templates."""

from .template import DataTemplate

__all__ = ["DataTemplate"]
