"""Environments: the content that a task puts into a sample's workspace before its agent starts, and its checks."""

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
    """The place where an agent works: a `Workspace` of this machine, or a container."""

    @property
    def has_ended(self) -> bool:
        """True if no further command can run in it."""

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
        """Remove a file or folder, if it is there."""

    def put(self, source: Path, path: str) -> None:
        """Copy a file or folder of the host."""

    def mark(self, path: str = ".") -> None:
        """Remember the files of a folder, for `changes`."""

    def changes(
        self,
        path: str = ".",
        most_bytes: int = 16 << 20,
        most_files: int = 1000,
    ) -> Changes:
        """Return the files that are new or different since the folder was marked."""

    def listen(self) -> socket.socket:
        """Return a socket that listens on a port of 127.0.0.1 inside."""

    def stop_command(self) -> None:
        """End the command that runs in another thread, with all its processes."""

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
    """The environment of every sample of a task. Its methods are called in threads."""

    def digest(self, id: str) -> str:
        """Return a digest of everything from which the workspace of a sample is made, and of its checks."""

    def needs_machine(self) -> bool:
        """Return True if samples run in workspaces of this machine."""

    def open_container(
        self,
        id: str,
        visible: Sequence[str],
        stopper: Stopper,
    ) -> AgentWorkspace | None:
        """Start the container of a sample. Return None if it runs in a workspace of this machine.

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
        """Put the task's own solution into the workspace, and return the command that runs it; None without one."""

    def check(self, workspace: AgentWorkspace, id: str) -> Mapping[str, Any]:
        """Check the agent's work after all its processes have ended. Return details for scorers."""
