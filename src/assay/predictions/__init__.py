"""Existing outputs: a file of predictions instead of a model."""

from .model import Predictions

__all__ = ["Predictions"]
