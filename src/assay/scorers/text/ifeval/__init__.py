"""IFEval: does a response follow verifiable instructions? Code alone decides."""

from .checks import CHECKS
from .verdict import Verdict, follows, loose_versions

__all__ = ["CHECKS", "Verdict", "follows", "loose_versions"]
