"""Executions forked off a process that stays up in a sandbox: none pays for starting Python and bubblewrap.

The process (`serving`) runs nothing foreign, never sees what an execution is told, and ends when this one does. A fork
is put into namespaces and a file system of its own, and gives up all rights, before foreign code runs. Programs and
tests are forked off two different processes, so that they have neither hash seed nor addresses in common. Where no fork
can be had, the caller starts a sandbox for the execution alone.
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
from .held import watch_group
from .launch import Command, Role, write_all
from .limits import Limits, last_line
from .running import Attended, SandboxError

_ROLES: Sequence[Role] = ("script", "candidate", "tester")
_SECONDS_TO_ANSWER = 30
_SECONDS_TO_END = 0.3
_MOST_STARTS = 5
"""A process that forks and ends is started again, but not for ever."""


class _NotForkedError(Exception):
    """There is no fork to be had, and why."""


class _ServerEndedError(_NotForkedError):
    """The process that forks has ended."""


def forked(
    tier: object,
    command: Command,
    limits: Limits,
    stdin: bytes = b"",
    links: Mapping[str, int] | None = None,
) -> "Forked | None":
    """The execution in a fork, where the tier has forks and this can be one; else it is to be started by itself.

    `links` are descriptors for it; the names under which it is told their numbers are the keys.
    """
    if not has_forks(tier) or command.role not in _ROLES or command.keep.names:
        return None
    try:
        return _fork(tier, command, limits, stdin, links or {})
    except _NotForkedError:
        return None


def has_forks(tier: object) -> TypeGuard[Bubblewrap]:
    """Whether executions by this tier are forked where they can be."""
    return isinstance(tier, Bubblewrap) and tier.forks


def why_no_fork(tier: object) -> str:
    """Why a tier that is to have forks has none; empty where it has one, or is to have none."""
    if not has_forks(tier):
        return ""
    if not tier.can_fork:
        return "the interpreter lies in /tmp, or the system calls of this machine are not known"
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
    server = server_for(tier, command.role)
    try:
        return Forked(server, tier, command, limits, stdin, links)
    except _ServerEndedError as error:
        raise _NotForkedError(server.last_words() or str(error)) from error


class ForkServer:
    """The process that forks, and the socket over which it is asked to."""

    def __init__(self, tier: Bubblewrap, side: Role) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_SECONDS_TO_ANSWER)
        with theirs, tier.launch_server(theirs.fileno(), side) as launch:
            # Pipes, as executions have them: what Python knows of its streams it finds out once, at the start.
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
        """The process that was started: bubblewrap, in which the forks are made."""
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Whether it can be asked."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    def ask(self, uid: int, descriptors: Sequence[int]) -> None:
        """A fork of this user that has these."""
        try:
            socket.send_fds(self._control, [b"%d" % uid], list(descriptors))
        except OSError as error:
            raise _ServerEndedError(str(error)) from error

    def last_words(self) -> str:
        """Why it has ended, where it has."""
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return ""
        assert self._process.stderr is not None
        return last_line(self._process.stderr.read())

    def close(self) -> None:
        """Ends it, and with it every fork that is still there."""
        self._control.close()
        self._process.kill()
        with self._process:
            pass

    def forget(self) -> None:
        """For a copy of this process, which must not keep it up."""
        self._control.close()


class Forked(Attended):
    """An execution in a fork."""

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
            self._take_hold()
            failing.pop_all()
        self.started = time.monotonic()

    def _take_hold(self) -> None:
        """Learns how to end it and whose memory to count, before anything foreign runs in it."""
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
        """Kills the first process of its namespace, which nothing in there outlives."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self) -> None:
        """Waits until the namespace is empty."""
        self._wait()
        self._close_descriptors()

    def close_input(self) -> None:
        """There is no more for it to read."""
        if self.input is not None:
            os.close(self.input)
        self.input = None

    def exit_code(self) -> int | None:
        """What the first process said of the program's end; `SandboxError` where the program did not begin."""
        self._wait()
        status = self._status(0)
        if status is not None and status.startswith(b"!"):
            raise SandboxError(
                f"the sandbox could not be started: {status[1:].decode('utf-8', 'replace')}"
            )
        return int(status) if status is not None and status.isdigit() else None

    def was_lost(self) -> bool:
        """Whether its first process is gone and has not said how the program ended."""
        return self._status(_SECONDS_TO_END) == b""

    def _status(self, seconds: float) -> bytes | None:
        """What the first process has said by then: nothing yet (`None`), the end, or nothing for ever (empty)."""
        if self._said is None and _is_ready(self._reply.fileno(), seconds):
            try:
                self._said = self._reply.recv(2000)
            except OSError:
                self._said = b""
        return self._said

    def _wait(self) -> None:
        _is_ready(self.pidfd, None)

    def _close_descriptors(self) -> None:
        self.close_input()
        for number in (*self.outputs, *((self.pidfd,) if self.pidfd >= 0 else ())):
            os.close(number)
        self._reply.close()


def _is_ready(number: int, seconds: float | None) -> bool:
    """Whether there is something to read by then."""
    ready = select.poll()
    ready.register(number, select.POLLIN)
    return bool(ready.poll(None if seconds is None else seconds * 1000))


def _pid_of(pidfd: int) -> int:
    """The number of a process behind a descriptor, as this process knows it."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        pid = next(
            (int(line.split()[1]) for line in file if line.startswith("Pid:")), -1
        )
    if pid <= 0:
        raise _NotForkedError("it has ended already")
    return pid


_servers: dict[tuple[Bubblewrap, Role], ForkServer] = {}
_starts: dict[tuple[Bubblewrap, Role], int] = {}
_starting = threading.Lock()
_of_another: list[ForkServer] = []
"""Those of the process that this one is a copy of."""


def server_for(tier: Bubblewrap, role: Role) -> ForkServer:
    """The process that forks executions of this role, started where it is not up."""
    side: Role = "tester" if role == "tester" else "candidate"
    key = tier, side
    with _starting:
        if key in _servers:
            if _servers[key].is_up:
                return _servers[key]
            _servers[key].close()
        if _starts.get(key, 0) >= _MOST_STARTS:
            raise _NotForkedError(
                f"the process that forks has ended {_MOST_STARTS} times"
            )
        _starts[key] = _starts.get(key, 0) + 1
        try:
            _servers[key] = ForkServer(tier, side)
        except OSError as error:
            raise _NotForkedError(str(error)) from error
        return _servers[key]


def close_servers() -> None:
    """Ends all processes that fork; the next execution starts them again."""
    with _starting:
        for server in _servers.values():
            server.close()
        _servers.clear()
        _starts.clear()


def _forget() -> None:
    """In a copy of this process: the servers are the other's, who also waits for their end."""
    global _starting
    _starting = threading.Lock()
    for server in _servers.values():
        server.forget()
    _of_another.extend(_servers.values())
    _servers.clear()


atexit.register(close_servers)
os.register_at_fork(after_in_child=_forget)
