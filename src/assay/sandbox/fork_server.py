"""Runs executions in forks of a process that is already in a sandbox, which saves starting Python and bubblewrap.

That process (`serving`) runs no foreign code, never reads the content of an execution,
and ends together with assay. A fork enters separate namespaces and a separate file
system, and drops all privileges, before foreign code runs. If forking is impossible,
the caller starts a separate sandbox for the execution.
"""

import atexit
import marshal
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TypeGuard

from .bubblewrap import Bubblewrap
from .launch import Command, Limits, Role, last_line, write_all
from .running import Attended, SandboxError, watch_group

_ROLES: Sequence[Role] = ("script", "verdict", "workspace")
_SECONDS_TO_ANSWER = 30
_SECONDS_TO_END = 0.3
_MOST_STARTS = 5
"""Maximum number of times that an ended forking process is restarted."""


class _NotForkedError(Exception):
    """Raised if no fork is possible. The message gives the reason."""


class _ServerEndedError(_NotForkedError):
    """Raised if the forking process has ended."""


def forked(
    tier: object,
    command: Command,
    limits: Limits,
    stdin: bytes = b"",
    links: Mapping[str, int] | None = None,
) -> "Forked | None":
    """Start an execution in a fork. Return None if no fork is possible.

    `links` are descriptors that the execution inherits, by name. Their numbers inside
    the execution are written into the `facts` of its settings.
    """
    if not has_forks(tier) or command.role not in _ROLES or command.keep.names:
        return None
    try:
        return _fork(tier, command, limits, stdin, links or {})
    except _NotForkedError:
        return None


def has_forks(tier: object) -> TypeGuard[Bubblewrap]:
    """Return True if this tier can fork executions instead of starting a new sandbox for each."""
    return isinstance(tier, Bubblewrap) and tier.forks


def why_no_fork(tier: object) -> str:
    """Return the reason why executions of a tier cannot be forked; empty if they can, or if the tier never forks."""
    if not has_forks(tier):
        return ""
    if not tier.can_fork:
        return "the interpreter is in /tmp, or the system calls of this machine are not known"
    try:
        with _fork(
            tier,
            Command(["main.py"], "script", files={"main.py": b""}),
            Limits(),
            b"",
            {},
        ) as fork:
            return "" if fork.exit_code() == 0 else "a fork does not end well"
    except (_NotForkedError, SandboxError) as error:
        return str(error)


def _fork(
    tier: Bubblewrap,
    command: Command,
    limits: Limits,
    stdin: bytes,
    links: Mapping[str, int],
) -> "Forked":
    """Start an execution in a fork. Raise `_NotForkedError` if no fork is possible."""
    server = server_for(tier)
    try:
        return Forked(server, tier, command, limits, stdin, links)
    except _ServerEndedError as error:
        raise _NotForkedError(server.last_words() or str(error)) from error


class ForkServer:
    """The process that forks executions, and the socket that sends it requests."""

    def __init__(self, tier: Bubblewrap) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_SECONDS_TO_ANSWER)
        with theirs, tier.launch_server(theirs.fileno()) as launch:
            # Pipes, as executions have them: Python inspects its streams once, at the start.
            self._process = subprocess.Popen(
                launch.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(*launch.descriptors, theirs.fileno()),
                start_new_session=True,
                env=launch.env,
            )

    @property
    def pid(self) -> int:
        """The pid of bubblewrap, inside which the forking process runs."""
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """True if the process can receive requests."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    def ask(
        self,
        uid: int,
        descriptors: Sequence[int],
    ) -> None:
        """Request a fork with this uid and these descriptors."""
        try:
            socket.send_fds(self._control, [b"%d" % uid], list(descriptors))
        except OSError as error:
            raise _ServerEndedError(str(error)) from error

    def last_words(self) -> str:
        """Return the reason why the process has ended; empty if it is still running."""
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return ""
        assert self._process.stderr is not None
        return last_line(self._process.stderr.read())

    def close(self) -> None:
        """End the server and all its forks."""
        self._control.close()
        self._process.kill()
        with self._process:
            pass

    def forget(self) -> None:
        """Close the socket in a forked copy of assay, so that the copy does not keep the server running."""
        self._control.close()


class Forked(Attended):
    """An execution that runs in a fork."""

    def __init__(
        self,
        server: ForkServer,
        tier: Bubblewrap,
        command: Command,
        limits: Limits,
        stdin: bytes,
        links: Mapping[str, int],
    ) -> None:
        super().__init__(limits, stdin)
        self._said: bytes | None = None
        settings = marshal.dumps(tier.fork_settings(command, limits, tuple(links)))
        with ExitStack() as failing, ExitStack() as theirs:
            self._reply, reply = socket.socketpair(
                socket.AF_UNIX, socket.SOCK_SEQPACKET
            )
            theirs.callback(reply.close)
            failing.callback(self._close_descriptors)
            memory = os.memfd_create("assay")
            theirs.callback(os.close, memory)
            write_all(memory, settings)
            os.lseek(memory, 0, os.SEEK_SET)
            stdin_end, self.input = os.pipe()
            theirs.callback(os.close, stdin_end)
            ends = [stdin_end]
            for output in (self.stdout, self.stderr):
                reading, writing = os.pipe()
                theirs.callback(os.close, writing)
                self.outputs = {**self.outputs, reading: output}
                ends.append(writing)
            server.ask(
                tier.fork_uid(), (memory, reply.fileno(), *ends, *links.values())
            )
            theirs.close()
            self._receive_handles()
            failing.pop_all()
        self.started = time.monotonic()

    def _receive_handles(self) -> None:
        """Receive the execution's process group, and a descriptor with which to end it, before foreign code runs."""
        self._reply.settimeout(_SECONDS_TO_ANSWER)
        try:
            message, numbers, _, _ = socket.recv_fds(self._reply, 2000, 1)
            if not message:
                raise _ServerEndedError("the process that forks has ended")
            if not numbers:
                raise _NotForkedError(
                    message.removeprefix(b"!").decode("utf-8", "replace")
                )
            self.pidfd = numbers[0]
            self.pid = _pid_of(self.pidfd)
            watch_group(self.pid)
            self._reply.send(b"go")
        except OSError as error:
            raise _NotForkedError(str(error)) from error

    def end(self) -> None:
        """Kill the first process of the execution's namespace. The kernel then ends all others in it."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self) -> None:
        """Wait until the namespace is empty."""
        self._wait()
        self._close_descriptors()

    def close_input(self) -> None:
        """Close the execution's standard input."""
        if self.input is not None:
            os.close(self.input)
        self.input = None

    def exit_code(self) -> int | None:
        """Return the program's exit code, or None if none was reported. Raise `SandboxError` if it was not started."""
        self._wait()
        status = self._status(0)
        if status is not None and status.startswith(b"!"):
            raise SandboxError(
                f"the sandbox could not be started: {status[1:].decode('utf-8', 'replace')}"
            )
        if status is not None and status.isdigit():
            return int(status)
        return None

    def was_lost(self) -> bool:
        """Return True if the execution's first process ended without reporting how the program ended."""
        return self._status(_SECONDS_TO_END) == b""

    def _status(self, seconds: float) -> bytes | None:
        """Return what the first process reported: None if nothing yet, empty if it ended without a report."""
        if self._said is None and _is_ready(self._reply.fileno(), seconds):
            try:
                self._said = self._reply.recv(2000)
            except OSError:
                self._said = b""
        return self._said

    def _wait(self) -> None:
        """Wait until the first process of the namespace has ended."""
        _is_ready(self.pidfd, None)

    def _close_descriptors(self) -> None:
        """Close all descriptors of the execution."""
        self.close_input()
        for number in (*self.outputs, *((self.pidfd,) if self.pidfd >= 0 else ())):
            os.close(number)
        self._reply.close()


def _is_ready(
    number: int,
    seconds: float | None,
) -> bool:
    """Return True if a descriptor becomes readable within `seconds`; None waits without limit."""
    ready = select.poll()
    ready.register(number, select.POLLIN)
    return bool(ready.poll(None if seconds is None else seconds * 1000))


def _pid_of(pidfd: int) -> int:
    """Return the pid of a pidfd's process in the pid namespace of this process."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        pid = next(
            (int(line.split()[1]) for line in file if line.startswith("Pid:")), -1
        )
    if pid <= 0:
        raise _NotForkedError("it has ended already")
    return pid


_servers: dict[Bubblewrap, ForkServer] = {}
_starts: dict[Bubblewrap, int] = {}
_starting = threading.Lock()
_of_another: list[ForkServer] = []
"""The parent's fork servers, if this process is a forked copy of assay. This process must not end them."""


def server_for(tier: Bubblewrap) -> ForkServer:
    """Return the process that forks executions of this tier. Start the process if it is not running."""
    with _starting:
        if tier in _servers:
            if _servers[tier].is_up:
                return _servers[tier]
            _servers[tier].close()
        if _starts.get(tier, 0) >= _MOST_STARTS:
            raise _NotForkedError(
                f"the process that forks has ended {_MOST_STARTS} times"
            )
        _starts[tier] = _starts.get(tier, 0) + 1
        try:
            _servers[tier] = ForkServer(tier)
        except OSError as error:
            raise _NotForkedError(str(error)) from error
        return _servers[tier]


def close_servers() -> None:
    """End all forking processes. The next execution starts a new one."""
    with _starting:
        for server in _servers.values():
            server.close()
        _servers.clear()
        _starts.clear()


def _forget() -> None:
    """Drop the fork servers in a forked copy of assay. They belong to the original process, which ends them."""
    global _starting
    _starting = threading.Lock()
    for server in _servers.values():
        server.forget()
    _of_another.extend(_servers.values())
    _servers.clear()


atexit.register(close_servers)
os.register_at_fork(after_in_child=_forget)
