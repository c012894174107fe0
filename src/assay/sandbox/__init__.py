"""Runs what a model wrote where it can do no harm."""

from .box import Sandbox, SandboxError, Tier
from .choice import Choice, Engine, best_tier, choose
from .limits import Execution, Limits
from .verdict import FunctionTests, TestsError, Verdict, judge_functions

__all__ = [
    "Choice",
    "Engine",
    "Execution",
    "FunctionTests",
    "Limits",
    "Sandbox",
    "SandboxError",
    "TestsError",
    "Tier",
    "Verdict",
    "best_tier",
    "choose",
    "judge_functions",
]
