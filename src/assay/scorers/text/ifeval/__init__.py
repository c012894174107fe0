"""IFEval: whether a response follows verifiable instructions. Code decides, without a model."""

from .ifeval_verdict import CHECKS, Verdict, follows, loose_versions

__all__ = ["CHECKS", "Verdict", "follows", "loose_versions"]
