"""IFEval: whether a response follows verifiable instructions. Code decides, without a model."""

from .checks import CHECKS
from .verdict import Verdict, follows, loose_versions

__all__ = ["CHECKS", "Verdict", "follows", "loose_versions"]
