"""Use existing answers: a file of predictions instead of a model."""

from .predictions_model import Predictions

__all__ = ["Predictions"]
