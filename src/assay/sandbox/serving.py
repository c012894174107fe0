"""Runs inside a sandbox and stays: forks a process for every execution, which saves starting Python.

`inside` calls `main`. It makes three kinds of process, which all begin with the same memory:

    the server                       loops in `serve` until the host has ended
      the parent of an execution     forked in new namespaces: `_start_execution` confines it, then it reaps orphans
        the program                  its child: returns from `serve` to `main`, which calls `_become_program`

No code of a model or a benchmark runs in the server, and it never reads the content of an execution: it receives
descriptors, forks, and closes them. The parent waits until the host has a descriptor to end it, makes a file system and
drops all privileges before it forks the program. It reports to the host how the program ended, over a socket that the
program does not have.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import marshal
import posix
import sys

import confine  # type: ignore[import-not-found]
import harness  # type: ignore[import-not-found]
import namespaces  # type: ignore[import-not-found]
import steps  # type: ignore[import-not-found]
import workspace_inside  # type: ignore[import-not-found]

MOST_DESCRIPTORS = 8
_ABOVE_ALL = 64
"""Descriptors are moved above this number, so that the low numbers can be assigned again."""
_GO = b"go"


def main(settings: dict) -> None:  # type: ignore[type-arg]
    """Serve until no process can send requests any more. In each fork, run the program of its execution."""
    for name in settings["imports"]:
        __import__(name)
    namespaces.stand_ready()
    harness.remember_modules()
    gc.freeze()
    control = _socket.socket(fileno=settings["control"])
    settings_of_execution = serve(control, settings)
    # Only a program comes here. The server and the parents of executions exit by themselves.
    _become_program(settings_of_execution)


def serve(control: _socket.socket, settings: dict) -> dict:  # type: ignore[type-arg]
    """Fork on request until no more requests can come. Return only in a program, with the settings of its execution."""
    while True:
        uid, descriptors = _receive_request(control)
        if not descriptors:
            posix._exit(0)  # the host has ended
        memory, host_number, *streams = descriptors
        host = _socket.socket(fileno=host_number)
        pid = namespaces.fork_apart(settings["clone"])
        if pid == 0:
            control.close()
            return _start_execution(settings["calls"], host, memory, streams)
        _send_pidfd(pid, uid, host)
        host.close()
        for number in (memory, *streams):
            posix.close(number)
        _reap()


def _receive_request(control: _socket.socket) -> tuple:  # type: ignore[type-arg]
    """Return the uid and the descriptors of the next execution; no descriptors if the host has ended.

    The descriptors are a file in memory with the settings, a socket to the host, the program's streams, and its links.
    """
    message, extra, _, _ = control.recvmsg(16, _socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
    data = b"".join(
        content for level, kind, content in extra if kind == _socket.SCM_RIGHTS
    )
    numbers = [
        int.from_bytes(data[offset : offset + 4], sys.byteorder)
        for offset in range(0, len(data), 4)
    ]
    if not message:
        return 0, []
    return int(message), numbers


def _send_pidfd(
    pid: int,
    uid: int,
    host: _socket.socket,
) -> None:
    """Set the user of the fork, and send the host a descriptor that can end the fork.

    The kernel cannot reuse the pid in between, because the fork has not been reaped
    yet.
    """
    try:
        namespaces.name_user(pid, uid)
        number = posix.pidfd_open(pid)
        host.sendmsg(
            [b"pidfd"],
            [
                (
                    _socket.SOL_SOCKET,
                    _socket.SCM_RIGHTS,
                    number.to_bytes(4, sys.byteorder),
                )
            ],
        )
        posix.close(number)
    except OSError as error:
        # Without the signal to continue, the fork ends by itself.
        _say(host, f"!{error}")


def _say(
    host: _socket.socket,
    text: str,
) -> None:
    """Send a line to the host."""
    try:
        host.send(text.encode("utf-8", "replace")[:1000])
    except OSError:
        pass  # the host does not listen any more


def _reap() -> None:
    """Reap all children that have ended."""
    try:
        while posix.waitpid(-1, posix.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _start_execution(
    calls: bytes,
    host: _socket.socket,
    memory: int,
    streams: "list[int]",
) -> dict:  # type: ignore[type-arg]
    """Become the parent of an execution, and fork its program. Return only in the program, with its settings."""
    try:
        posix.setsid()
        if host.recv(len(_GO)) != _GO:
            posix._exit(1)
        settings = _read_settings(memory)
        _confine(settings, calls)
        program = posix.fork()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the host is told
        _say(host, f"!{error}")
        posix._exit(1)
    if program != 0:
        _reap_until(program, host)
    host.close()
    namespaces.set_dumpable(True)
    _arrange_descriptors(streams)
    return settings


def _read_settings(memory: int) -> dict:  # type: ignore[type-arg]
    """Read the settings of an execution from a file in memory."""
    data = b""
    while piece := posix.read(memory, 1 << 20):
        data += piece
    posix.close(memory)
    return dict(marshal.loads(data))  # noqa: S302 - written by the host


def _confine(settings: dict, calls: bytes) -> None:  # type: ignore[type-arg]
    """Mount an empty file system, set limits and become an unprivileged user."""
    steps.become_user(namespaces.NOBODY)
    namespaces.furnish(settings["disk"], settings["shared"])
    if settings["role"] == "workspace":
        namespaces.start_loopback()
    steps.write_files(settings["home"], settings["files"])
    steps.set_limits(settings, others=1)
    namespaces.set_dumpable(False)
    namespaces.give_up_rights()
    namespaces.end_with_parent()
    confine.confine(None, None, calls)


def _reap_until(
    program: int,
    host: _socket.socket,
) -> None:
    """Reap processes until the program has ended, then exit, which ends all remaining processes."""
    # The first process of a namespace does not receive a signal whose action is the default one.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    posix.closerange(0, host.fileno())
    posix.closerange(host.fileno() + 1, steps.OPEN_FILES)
    while True:
        ended, status = posix.waitpid(-1, 0)
        if ended == program:
            code = posix.waitstatus_to_exitcode(status)
            host.send(b"%d" % (code if code >= 0 else 128 - code))
            posix._exit(0)


def _arrange_descriptors(streams: list) -> None:  # type: ignore[type-arg]
    """Move the streams to descriptors 0, 1 and 2, the links to 3 and up, and close everything else."""
    for index, number in enumerate(streams):
        posix.dup2(number, _ABOVE_ALL + index)
    posix.closerange(0, _ABOVE_ALL)
    for index in range(len(streams)):
        posix.dup2(_ABOVE_ALL + index, index, inheritable=index < 3)
    posix.closerange(len(streams), steps.OPEN_FILES)


def _become_program(settings: dict) -> None:  # type: ignore[type-arg]
    """Become the program that the settings request: a script, the verdict harness, or a workspace process."""
    import os

    if os.environ != settings["env"]:
        os.environ.clear()
        os.environ.update(settings["env"])
    if settings["role"] == "script":
        steps.become_script(settings["argv"])
        return
    for index, name in enumerate(settings["links"]):
        settings["facts"][name] = 3 + index
    if settings["role"] == "workspace":
        workspace_inside.main(settings)
        return
    steps.add_exit()
    harness.main(settings)
