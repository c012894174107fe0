"""Environments: what a task puts into a sample's workspace before its agent starts, and how it checks the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core import EMPTY
from ..sandbox.container_workspace import ContainerWorkspace
from ..sandbox.running import Stopper
from ..sandbox.workspace import Workspace, WorkspaceLimits

AgentWorkspace = Workspace | ContainerWorkspace
"""The workspace of an agent: a folder on this machine, or a container. Both classes have the same methods."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workspace that is ready for the agent to start."""

    folder: str = "."
    """The folder in which commands run."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)


class Environment(Protocol):
    """Prepares and checks the workspaces of a task's samples. Its methods are called in threads."""

    def digest(self, id: str) -> str:
        """Return a digest of everything that determines a sample's workspace and its checks."""

    def needs_machine(self) -> bool:
        """Return True if at least one sample runs in a workspace on this machine instead of a container."""

    def open_container(
        self,
        id: str,
        visible: Sequence[str],
        stopper: Stopper,
    ) -> AgentWorkspace | None:
        """Start the container of a sample. Return None if the sample runs in a workspace on this machine.

        `visible` lists the folders of this machine that the agent's program must be able to read.
        """

    def limits(self, id: str) -> WorkspaceLimits:
        """Return the limits of a sample's workspace."""

    def visible(self) -> Sequence[str]:
        """Return the folders of this machine that are mounted read-only in the workspaces."""

    def folders(self) -> Sequence[str]:
        """Return additional top-level folders that agents may write to."""

    def plan_lines(self) -> Sequence[str]:
        """Return lines for the plan that is printed before a run, such as which samples can run and how."""

    def agent_seconds(self, id: str) -> float | None:
        """Return the time limit of the agent; None if the task sets none."""

    def prepare(self, workspace: AgentWorkspace, id: str) -> Prepared:
        """Put the files of a sample into its workspace. Raise an `AssayError` if that is not possible."""

    def solution(self, workspace: AgentWorkspace, id: str) -> Sequence[str] | None:
        """Put the reference solution of the task into the workspace, and return the
        command that runs it.

        Return None if the task has no solution.
        """

    def check(self, workspace: AgentWorkspace, id: str) -> Mapping[str, Any]:
        """Check the agent's work after all its processes have ended. Return details for scorers."""
