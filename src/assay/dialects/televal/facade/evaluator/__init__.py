"""`src.evaluator`: evaluators that judge predictions; users write their own beside these."""

from .base import Evaluator, ExistMatch, SingleOptionMatch

__all__ = ["Evaluator", "ExistMatch", "SingleOptionMatch"]
