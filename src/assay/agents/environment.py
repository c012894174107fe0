"""Environments: what a task puts into a sample's workspace before its agent starts, and how it checks the result."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..core import EMPTY
from ..sandbox.launch import Execution
from ..sandbox.running import Stopper
from ..sandbox.workspace import Changes, WorkspaceLimits


class AgentWorkspace(Protocol):
    """The workspace of an agent: a `Workspace` of this machine, or a container."""

    @property
    def has_ended(self) -> bool:
        """True if no further command can run in the workspace."""

    def exec(
        self,
        command: str | Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        folder: str = "",
    ) -> Execution:
        """Run a command: a line for the shell, or a program and its arguments."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def write(
        self,
        path: str,
        data: str | bytes,
        mode: int = 0o644,
    ) -> None:
        """Write a file, and the folders above it."""

    def remove(self, path: str) -> None:
        """Remove a file or folder, if it exists."""

    def put(self, source: Path, path: str) -> None:
        """Copy a file or folder of the host into the workspace."""

    def mark(self, path: str = ".") -> None:
        """Record the files of a folder, so that `changes` can compare with them."""

    def changes(
        self,
        path: str = ".",
        most_bytes: int = 16 << 20,
        most_files: int = 1000,
    ) -> Changes:
        """Return the files that are new or different since the folder was marked."""

    def listen(self) -> socket.socket:
        """Return a socket that listens on a port of 127.0.0.1 inside the workspace."""

    def stop_command(self) -> None:
        """End the command that another thread is running, with all its processes."""

    def end_processes(self) -> None:
        """End all processes that commands left in the background."""

    def kill(self) -> None:
        """End the workspace from any thread."""

    def close(self) -> None:
        """End all processes and remove all files."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workspace in which an agent can start."""

    folder: str = "."
    """The folder in which commands run."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)


class Environment(Protocol):
    """Prepares and checks the workspaces of a task's samples. Its methods are called in threads."""

    def digest(self, id: str) -> str:
        """Return a digest of everything that determines a sample's workspace and its checks."""

    def needs_machine(self) -> bool:
        """Return True if samples run in workspaces of this machine."""

    def open_container(
        self,
        id: str,
        visible: Sequence[str],
        stopper: Stopper,
    ) -> AgentWorkspace | None:
        """Start the container of a sample. Return None if the sample runs in a workspace of this machine.

        `visible` are folders of this machine that the agent's program reads.
        """

    def limits(self, id: str) -> WorkspaceLimits:
        """Return the limits of a sample's workspace."""

    def visible(self) -> Sequence[str]:
        """Return folders of this machine that the workspaces see, read-only."""

    def folders(self) -> Sequence[str]:
        """Return top-level folders to which the workspaces can write, besides the usual ones."""

    def plan_lines(self) -> Sequence[str]:
        """Return lines for the plan, such as which samples can run and how."""

    def agent_seconds(self, id: str) -> float | None:
        """Return the time limit of the agent; None if the task sets none."""

    def prepare(self, workspace: AgentWorkspace, id: str) -> Prepared:
        """Put the files of a sample into its workspace. Raise an `AssayError` if that is not possible."""

    def solution(self, workspace: AgentWorkspace, id: str) -> Sequence[str] | None:
        """Put the task's own solution into the workspace. Return the command that runs it, or None if there is none."""

    def check(self, workspace: AgentWorkspace, id: str) -> Mapping[str, Any]:
        """Check the agent's work after all its processes have ended. Return details for scorers."""
