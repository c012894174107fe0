"""Outputs that exist already: a file of predictions in place of a model."""

from .model import Predictions

__all__ = ["Predictions"]
