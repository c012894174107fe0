"""`evaluators`: ways to judge a model, by name."""

from .evaluator_registry import EvaluatorConfig, EvaluatorRegistry

__all__ = ["EvaluatorConfig", "EvaluatorRegistry"]
