"""Runs programs that models wrote, confined so that they can do no harm."""

from .box import Sandbox, SandboxError, Tier
from .choice import Choice, Engine, best_tier, choose
from .launch import Execution, Limits
from .running import StoppedError, Stopper
from .verdict import FunctionTests, TestsError, Verdict, judge_functions
from .workspace import Workspace, WorkspaceEndedError, WorkspaceLimits
from .workspace_choice import workspace_tier

__all__ = [
    "Choice",
    "Engine",
    "Execution",
    "FunctionTests",
    "Limits",
    "Sandbox",
    "SandboxError",
    "StoppedError",
    "Stopper",
    "TestsError",
    "Tier",
    "Verdict",
    "Workspace",
    "WorkspaceEndedError",
    "WorkspaceLimits",
    "best_tier",
    "choose",
    "judge_functions",
    "workspace_tier",
]
