"""Environments: what a task puts into the workspace of a sample before its agent starts, and checks afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core import EMPTY
from ..sandbox.workspace import Workspace, WorkspaceLimits


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workspace in which an agent can start."""

    folder: str = "."
    """The folder in which commands run."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)


class Environment(Protocol):
    """The environment of every sample of a task. Its methods are called in threads."""

    def digest(self, id: str) -> str:
        """Return a digest of everything the workspace of a sample is made of, and of its checks."""

    def limits(self, id: str) -> WorkspaceLimits:
        """Return what the workspace of a sample may use."""

    def visible(self) -> Sequence[str]:
        """Return folders of this machine that the workspaces see, read-only."""

    def folders(self) -> Sequence[str]:
        """Return folders at the top that the workspaces can write to, besides the usual ones."""

    def plan_lines(self) -> Sequence[str]:
        """Return what the plan says before work, such as which samples can run how."""

    def agent_seconds(self, id: str) -> float | None:
        """Return the time limit of the agent; None if the task sets none."""

    def prepare(self, workspace: Workspace, id: str) -> Prepared:
        """Put the files of a sample into its workspace. Raise an `AssayError` if that is not possible."""

    def solution(self, workspace: Workspace, id: str) -> Sequence[str] | None:
        """Put the task's own solution into the workspace, and return the command that runs it; None without one."""

    def check(self, workspace: Workspace, id: str) -> Mapping[str, Any]:
        """Check what the agent did, after all its processes were ended. Return details for scorers."""
