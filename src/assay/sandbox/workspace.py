"""A workspace: a folder inside the sandbox in which commands run one after another, for one sample.

    with Workspace(workspace_tier()) as workspace:
        workspace.write("main.py", code)
        done = workspace.exec("python main.py > out.txt; wc -l out.txt", timeout=10)
        data = workspace.read("out.txt")

Files and background processes stay until the workspace is closed. It has a file system of limited size, a private
loopback interface, and no other network.
"""

import io
import json
import os
import selectors
import socket
import tarfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..core import AssayError, UsageError
from .box import Tier, as_bytes
from .bubblewrap import HOME, ROOT, Bubblewrap
from .container import Container
from .fork_server import forked
from .launch import Command, Ending, Execution, Limits
from .running import LOOK_SECONDS, Attended, Running, SandboxError, Stopper

PROGRAMS = "/tmp/bin"
ENVIRONMENT = {
    "PATH": f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PYTHONDONTWRITEBYTECODE": "1",
}
ENDINGS: Mapping[str, Ending] = {"wall_time": "wall_time", "stopped": "killed"}
"""How a command ended, by the status that the process inside the sandbox reports."""
STOP = b'{"operation":"stop","sizes":[]}\n'
_SECONDS_TO_ANSWER = 30.0
_SECONDS_AFTER_LIMIT = 10.0
"""Seconds to wait for the report on a command that has reached its time limit."""
_LONGEST_LINE = 1 << 16
_MOST_FILES_PUT = 20_000


class WorkspaceEndedError(AssayError):
    """Raised if the workspace no longer exists because a command ended it, or it exceeded a limit."""


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """Limits on what one workspace may use."""

    command_seconds: float = 120.0
    """Time limit of one command, unless the call sets another."""
    memory_mb: int = 2048
    """Limit of the memory that all processes of the workspace use together."""
    processes: int = 256
    disk_mb: int = 512
    """Size limit of the file system. It is in memory and uses only as much as its files need."""
    output_bytes: int = 1 << 20
    """Size limit of standard output and standard error each. Further output is dropped, and `truncated` is True."""
    file_bytes: int = 64 << 20
    """Size limit of a file or archive that is read from the workspace."""

    def for_sandbox(self) -> Limits:
        """Convert the limits to the `Limits` of a sandbox."""
        day = 24 * 3600
        return Limits(
            wall_seconds=day,
            cpu_seconds=day,
            memory_mb=self.memory_mb,
            processes=self.processes,
            file_mb=self.disk_mb,
            disk_mb=self.disk_mb,
            output_bytes=self.output_bytes,
        )


class _Reply(NamedTuple):
    """A reply of the process inside the sandbox to one request."""

    values: Mapping[str, Any]
    contents: list[bytes]


class Changes(NamedTuple):
    """Files that were added or changed since the last snapshot of the folder."""

    files: Mapping[str, bytes]
    left_out: Mapping[str, int]
    """Sizes of the files that were not read, because there were too many or they were too large, by path."""


class Workspace:
    """A folder in a sandbox that keeps running and runs commands one after another."""

    def __init__(
        self,
        tier: Tier,
        limits: WorkspaceLimits = WorkspaceLimits(),
        *,
        env: Mapping[str, str] | None = None,
        stopper: Stopper | None = None,
    ) -> None:
        if not isinstance(tier, Bubblewrap | Container):
            raise SandboxError(
                f"a workspace needs its own namespaces, which the sandbox tier {tier.name} does not have",
                fix="pip install 'assay[sandbox]'",
            )
        self.limits = limits
        self.env = {**ENVIRONMENT, **(env or {})}
        self._lock = threading.Lock()
        self._stopper = stopper or Stopper()
        self._open = ExitStack()
        self._link: socket.socket | None = None
        self._why_ended = ""
        self._received = bytearray()
        self._unsent = b""
        """Bytes that must be sent to the process inside before the first request."""
        self._must_stop = False
        """True if the running command should be ended."""
        self._skipped_replies = 0
        """Number of replies to stop requests that must be skipped before the reply to the next request."""
        self._running = self._open.enter_context(self._start(tier))
        self._open.enter_context(self._stopper.attached(self._running))
        self._output = next(iter(self._running.outputs))

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_ended(self) -> bool:
        """True if no further command can run in the workspace."""
        return bool(self._why_ended)

    def exec(
        self,
        command: str | Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        folder: str = "",
    ) -> Execution:
        """Run a command: a line for `bash`, or a program and its arguments.

        If the command reaches its time limit, all processes of the workspace are ended.
        """
        started = time.monotonic()
        if timeout is None:
            seconds = self.limits.command_seconds
        else:
            seconds = timeout
        if isinstance(command, str):
            argv = ["bash", "-c", command]
        else:
            argv = list(command)
        ending: Ending
        self._must_stop = False
        try:
            reply = self._ask(
                "execute",
                [as_bytes(stdin)],
                seconds=seconds + _SECONDS_AFTER_LIMIT,
                values={
                    "argv": argv,
                    # A folder behind a link is addressed by the link's name.
                    "env": {
                        **self.env,
                        **({"PWD": folder} if folder else {}),
                        **(env or {}),
                    },
                    "folder": folder,
                    "seconds": seconds,
                    "most_output": self.limits.output_bytes,
                },
            )
        except _LimitError as error:
            elapsed = time.monotonic() - started
            return Execution(error.ending, None, b"", b"", elapsed)
        ending = ENDINGS.get(str(reply.values["ending"]), "exited")
        code = reply.values["code"]
        if isinstance(code, int):
            returncode = code
        else:
            returncode = None
        stdout, stderr = reply.contents
        return Execution(
            ending,
            returncode,
            stdout,
            stderr,
            time.monotonic() - started,
            truncated=bool(reply.values["truncated"]),
        )

    def stop_command(self) -> None:
        """End the command that another thread is running, and all its processes. Files are kept."""
        self._must_stop = True

    def end_processes(self) -> None:
        """End all processes that commands left in the background."""
        self._ask("end_processes")

    def kill(self) -> None:
        """End the workspace. Any thread may call this. The running command fails, and
        `close` must still be called.
        """
        self._end(self._why_ended or "it was stopped")

    def read(self, path: str) -> bytes:
        """Return the content of a file. Relative paths start at the workspace's folder."""
        values = {"path": path, "most_bytes": self.limits.file_bytes}
        return self._ask("read", values=values).contents[0]

    def write(
        self,
        path: str,
        data: str | bytes,
        mode: int = 0o644,
    ) -> None:
        """Write a file, and the folders above it."""
        self._ask("write", [as_bytes(data)], values={"path": path, "mode": mode})

    def remove(self, path: str) -> None:
        """Remove a file or folder, if it exists."""
        self._ask("remove", values={"path": path})

    def put(
        self,
        source: Path,
        path: str = ".",
    ) -> None:
        """Copy a file or folder of the host into the workspace. Links are copied as links."""
        if source.is_file():
            self.write(path, source.read_bytes(), source.stat().st_mode & 0o777)
            return
        self.unpack(_archive_of(source), path)

    def pack(self, path: str = ".") -> bytes:
        """Return a folder as a tar archive."""
        values = {"path": path, "most_bytes": self.limits.file_bytes}
        return self._ask("pack", values=values).contents[0]

    def unpack(
        self,
        archive: bytes,
        path: str = ".",
    ) -> None:
        """Write the files of a tar archive into a folder of the workspace."""
        self._ask("unpack", [archive], values={"path": path})

    def mark(self, path: str = ".") -> None:
        """Take a snapshot of the files in a folder, with which `changes` compares it later."""
        self._ask("mark", values={"path": path})

    def changes(
        self,
        path: str = ".",
        most_bytes: int = 16 << 20,
        most_files: int = 1000,
    ) -> "Changes":
        """Return the files that were added or changed since the last snapshot of the folder (`mark`)."""
        values = {"path": path, "most_bytes": most_bytes, "most_files": most_files}
        reply = self._ask("changes", values=values)
        files: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(reply.contents[0])) as archive:
            for entry in archive:
                if entry.isreg():
                    content = archive.extractfile(entry)
                else:
                    content = None
                if content is not None:
                    files[entry.name] = content.read()
        left_out = {str(name): int(size) for name, size in reply.values["left_out"]}
        return Changes(files, left_out)

    def listen(self) -> socket.socket:
        """Return a socket that listens on a port of 127.0.0.1 inside the workspace.

        Connections are accepted on the host. Nothing outside this workspace can connect to the port.
        """
        if self._link is None:
            raise SandboxError(
                "a workspace in a container cannot reach a server of this process",
                fix="use the sandbox tier bubblewrap: pip install 'assay[sandbox]'",
            )
        self._ask("listen")
        with self._lock:
            self._link.settimeout(_SECONDS_TO_ANSWER)
            _, numbers, _, _ = socket.recv_fds(self._link, 16, 1)
        return socket.socket(fileno=numbers[0])

    def close(self) -> None:
        """End all processes and remove all files."""
        self._why_ended = self._why_ended or "it was closed"
        self._open.close()

    def _start(self, tier: Bubblewrap | Container) -> Attended:
        """Start the process that runs commands inside the sandbox."""
        limits = self.limits.for_sandbox()
        if isinstance(tier, Container):
            launch = tier.launch(Command((), "workspace", env=self.env), limits)
            self._unsent = launch.first
            return Running(launch, b"", limits)
        tier = replace(tier, workspace=True)
        folders = [f"{ROOT}{name}" for name in tier.writable_folders]
        facts: dict[str, Any] = {"programs": PROGRAMS, "folders": folders}
        self._link, theirs = socket.socketpair()
        self._open.callback(self._link.close)
        with theirs:
            command = Command((), "workspace", facts)
            fork = forked(tier, command, limits, links={"link": theirs.fileno()})
            if fork is not None:
                return fork
            linked = {**facts, "link": theirs.fileno()}
            launch = tier.launch(replace(command, facts=linked), limits)
            return Running(launch, b"", limits, inherits=(theirs.fileno(),))

    def _ask(
        self,
        operation: str,
        contents: Sequence[bytes] = (),
        *,
        values: Mapping[str, Any] | None = None,
        seconds: float = _SECONDS_TO_ANSWER,
    ) -> _Reply:
        """Send a request to the process inside, and return its reply."""
        sizes = [len(content) for content in contents]
        request = {"operation": operation, "sizes": sizes, **(values or {})}
        line = json.dumps(request).encode() + b"\n"
        with self._lock:
            if self._why_ended:
                raise WorkspaceEndedError(
                    f"the workspace has ended: {self._why_ended}",
                    fix="open another one",
                )
            try:
                reply = self._exchange(line + b"".join(contents), seconds)
            except _LimitError as error:
                self._end(f"it reached its limit of {error.ending}")
                raise
            except (OSError, ValueError, EOFError) as error:
                self._end("a command ended it")
                self._stopper.raise_if_stopped()
                raise WorkspaceEndedError(
                    "the workspace has ended: a command ended it",
                    fix="see the command before",
                ) from error
        if "error" in reply.values:
            raise UsageError(
                str(reply.values["error"]), fix="check the path and the command"
            )
        return reply

    def _end(self, why: str) -> None:
        self._why_ended = why
        self._running.end()

    def _exchange(self, request: bytes, seconds: float) -> _Reply:
        """Write a request and read the reply, and meanwhile check the limits of the workspace."""
        deadline = time.monotonic() + seconds
        unsent = memoryview(self._unsent + request)
        self._unsent = b""
        input_number = self._running.input
        assert input_number is not None
        os.set_blocking(input_number, False)
        os.set_blocking(self._output, False)
        look = time.monotonic() + LOOK_SECONDS
        is_stopped = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(input_number, selectors.EVENT_WRITE)
            while (reply := self._next_reply()) is None:
                if self._must_stop and not unsent:
                    self._must_stop = False
                    is_stopped = True
                    os.write(input_number, STOP)
                now = time.monotonic()
                if now >= deadline:
                    raise _LimitError("wall_time")
                if now >= look:
                    look = now + LOOK_SECONDS
                    exceeded = self._running.holds_too_much()
                    if exceeded is not None:
                        raise _LimitError(exceeded)
                for key, _ in selector.select(min(deadline, look) - now):
                    if key.fd == input_number:
                        sent = os.write(input_number, unsent[: 1 << 16])
                        unsent = unsent[sent:]
                        if not unsent:
                            selector.unregister(input_number)
                    else:
                        self._receive()
        self._skipped_replies += is_stopped
        return reply

    def _receive(self) -> None:
        """Receive the available output of the process inside."""
        chunk = os.read(self._output, 1 << 16)
        if not chunk:
            raise EOFError
        self._received += chunk

    def _next_reply(self) -> _Reply | None:
        """Return the reply to the current request, or None if there is none yet. Skip replies to stop requests."""
        reply = self._complete_reply()
        if reply is not None and self._skipped_replies:
            self._skipped_replies -= 1
            return self._next_reply()
        return reply

    def _complete_reply(self) -> _Reply | None:
        """Return the reply if all of it has arrived. It is validated, because it comes from the sandbox."""
        end = self._received.find(b"\n")
        if end < 0:
            if len(self._received) > _LONGEST_LINE:
                raise ValueError("the line of a reply does not end")
            return None
        values = json.loads(self._received[:end])
        sizes = values.pop("sizes")
        most = 2 * max(self.limits.output_bytes, self.limits.file_bytes) + (1 << 20)
        if not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError("the sizes of a reply are not numbers")
        if len(sizes) > 2 or sum(sizes) > most:
            raise ValueError("a reply is too large")
        start = end + 1
        if len(self._received) < start + sum(sizes):
            return None
        contents: list[bytes] = []
        for size in sizes:
            contents.append(bytes(self._received[start : start + size]))
            start += size
        del self._received[:start]
        return _Reply(values, contents)


class _LimitError(Exception):
    """Raised if the workspace exceeded a limit."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending: Ending = ending


def _archive_of(folder: Path) -> bytes:
    """Pack a folder of the host as a tar archive, with files and links but without owners."""
    archive = io.BytesIO()
    count = 0

    def without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal count
        count += 1
        if count > _MOST_FILES_PUT:
            raise UsageError(
                f"{folder} holds more than {_MOST_FILES_PUT:,} files",
                fix="name a smaller folder",
            )
        if not (entry.isfile() or entry.isdir() or entry.issym()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(
            folder,
            arcname=".",
            filter=without_owner,
        )
    return archive.getvalue()
