"""Runs inside a sandbox and stays: forks a process for every execution, which saves starting Python.

Called by `inside`. No code of a model or a benchmark runs in this process, and it never reads the content of an
execution: it receives descriptors, forks, and closes them. The fork starts in new namespaces. It waits until the host
has a descriptor to end it, makes a file system, drops all privileges and forks again: it becomes the parent of
orphans, and its child becomes the program. It reports to the host how the program ended, over a socket that the
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
"""Number above which descriptors are moved, so that the low numbers are free."""
_GO = b"go"


def serve(control: _socket.socket, settings: dict) -> dict:  # type: ignore[type-arg]
    """Fork on request until no more requests can come. Only a fork returns, with the settings of its execution."""
    while True:
        uid, numbers = _receive_request(control)
        if not numbers:
            posix._exit(0)  # the host has ended
        host = _socket.socket(fileno=numbers[1])
        first = namespaces.fork_apart(settings["clone"])
        if first == 0:
            control.close()
            return _execution(settings["calls"], host, numbers[0], numbers[2:])
        _send_pidfd(first, uid, host)
        host.close()
        for number in (numbers[0], *numbers[2:]):
            posix.close(number)
        _reap()


def _receive_request(control: _socket.socket) -> tuple:  # type: ignore[type-arg]
    """Receive the uid and the descriptors of an execution: settings, a socket to the host, its streams and links."""
    message, extra, _, _ = control.recvmsg(16, _socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
    data = b"".join(
        content for level, kind, content in extra if kind == _socket.SCM_RIGHTS
    )
    numbers = [
        int.from_bytes(data[offset : offset + 4], sys.byteorder)
        for offset in range(0, len(data), 4)
    ]
    if message:
        return (int(message), numbers)
    return (0, [])


def _send_pidfd(
    first: int,
    uid: int,
    host: _socket.socket,
) -> None:
    """Set the user of the fork, and send the host a descriptor with which it can end the fork.

    The pid is not reused meanwhile, because the fork has not been reaped.
    """
    try:
        namespaces.name_user(first, uid)
        number = posix.pidfd_open(first)
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
        _say(
            host, f"!{error}"
        )  # a fork that already exists gets no signal to continue, and ends


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


def _execution(calls: bytes, host: _socket.socket, memory: int, streams: list) -> dict:  # type: ignore[type-arg]
    """Become the first process of the namespaces, and fork the program. Return the settings, only in that fork."""
    try:
        posix.setsid()
        if host.recv(len(_GO)) != _GO:
            posix._exit(1)
        settings = _read_settings(memory)
        _confine(settings, calls)
        child = posix.fork()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the host is told
        _say(host, f"!{error}")
        posix._exit(1)
    if child:
        _reap_until(child, host)
    host.close()
    namespaces.set_dumpable(True)
    _arrange_descriptors(streams)
    return settings


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


def _read_settings(memory: int) -> dict:  # type: ignore[type-arg]
    """Read the settings of an execution from a file in memory."""
    data = b""
    while piece := posix.read(memory, 1 << 20):
        data += piece
    posix.close(memory)
    return dict(marshal.loads(data))  # noqa: S302 - written by the host


def _reap_until(
    child: int,
    host: _socket.socket,
) -> None:
    """Reap processes until the program has ended, then exit, which ends all remaining processes."""
    _signal.signal(
        _signal.SIGINT, _signal.SIG_DFL
    )  # which the first process of a namespace would not get
    posix.closerange(0, host.fileno())
    posix.closerange(host.fileno() + 1, steps.OPEN_FILES)
    while True:
        ended, status = posix.waitpid(-1, 0)
        if ended == child:
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


def run(settings: dict) -> None:  # type: ignore[type-arg]
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


def main(settings: dict) -> None:  # type: ignore[type-arg]
    """Serve until no process can send requests any more. In each fork, run the program of its execution."""
    for name in settings["imports"]:
        __import__(name)
    namespaces.stand_ready()
    harness.remember_modules()
    gc.freeze()
    run(serve(_socket.socket(fileno=settings["control"]), settings))
