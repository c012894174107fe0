"""Runs what a model wrote where it can do no harm."""

from .box import Sandbox, SandboxError
from .limits import Execution, Limits

__all__ = ["Execution", "Limits", "Sandbox", "SandboxError"]
