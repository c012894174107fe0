"""IFEval: does a response follow verifiable instructions, decided by code alone."""

from .checks import CHECKS
from .verdict import Verdict, follows, loose_versions

__all__ = ["CHECKS", "Verdict", "follows", "loose_versions"]
