"""Runs inside a sandbox and stays: forks a process for every execution, so that none pays for starting Python.

Called by `inside`. No code of a model or a benchmark runs in this process, and it never reads what an execution is
told: it takes descriptors, forks, and closes them. The fork stands in namespaces of its own from its first moment. It
waits until the host has a descriptor to end it by, makes a file system, gives up all rights and forks again: it becomes
the process in which orphans end, its child becomes the program. Over a socket that the program does not have, the host
hears how the program ended.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import marshal
import posix
import sys

import confine  # type: ignore[import-not-found]
import namespaces  # type: ignore[import-not-found]
import steps  # type: ignore[import-not-found]

MOST_DESCRIPTORS = 8
_ABOVE_ALL = 128
"""Descriptors are put here while their places are cleared."""
_GO = b"go"


def serve(control: _socket.socket, settings: dict) -> dict:  # type: ignore[type-arg]
    """Forks as it is asked to; returns only in the process of an execution, with what that is told."""
    while True:
        uid, numbers = _received(control)
        if not numbers:
            posix._exit(0)  # the host has gone
        host = _socket.socket(fileno=numbers[1])
        first = namespaces.fork_apart(settings["clone"])
        if first == 0:
            control.close()
            return _execution(settings["calls"], host, numbers[0], numbers[2:])
        _hand_over(first, uid, host)
        host.close()
        for number in (numbers[0], *numbers[2:]):
            posix.close(number)
        _reap()


def _received(control: _socket.socket) -> tuple:  # type: ignore[type-arg]
    """Whose an execution is, and its descriptors: what it is told, a socket to the host, its streams and links."""
    message, extra, _, _ = control.recvmsg(16, _socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
    data = b"".join(
        content for level, kind, content in extra if kind == _socket.SCM_RIGHTS
    )
    numbers = [
        int.from_bytes(data[at : at + 4], sys.byteorder)
        for at in range(0, len(data), 4)
    ]
    return (int(message), numbers) if message else (0, [])


def _hand_over(first: int, uid: int, host: _socket.socket) -> None:
    """Gives the fork its user, and the host a descriptor to end it by: it is not reaped, so its number is its own."""
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
        )  # what was forked, if anything, hears no word to go on, and ends


def _say(host: _socket.socket, text: str) -> None:
    try:
        host.send(text.encode("utf-8", "replace")[:1000])
    except OSError:
        pass  # the host wants to hear no more


def _reap() -> None:
    try:
        while posix.waitpid(-1, posix.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _execution(calls: bytes, host: _socket.socket, memory: int, streams: list) -> dict:  # type: ignore[type-arg]
    """The first process of the namespaces; returns in its child only."""
    try:
        posix.setsid()
        if host.recv(len(_GO)) != _GO:
            posix._exit(1)
        settings = _asked(memory)
        _settle(settings, calls)
        child = posix.fork()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the host is told
        _say(host, f"!{error}")
        posix._exit(1)
    if child:
        _end_with(child, host)
    host.close()
    namespaces.set_dumpable(True)
    _arrange(streams)
    return settings


def _settle(settings: dict, calls: bytes) -> None:  # type: ignore[type-arg]
    """Becomes nobody, in an empty file system, within limits and without rights."""
    steps.become_user(namespaces.NOBODY)
    namespaces.furnish(settings["disk"], settings["shared"])
    steps.write_files(settings["home"], settings["files"])
    steps.set_limits(settings, others=1)
    namespaces.set_dumpable(False)
    namespaces.give_up_rights()
    namespaces.end_with_parent()
    confine.confine(None, None, calls)


def _asked(memory: int) -> dict:  # type: ignore[type-arg]
    data = b""
    while piece := posix.read(memory, 1 << 20):
        data += piece
    posix.close(memory)
    return dict(marshal.loads(data))  # noqa: S302 - written by the host


def _end_with(child: int, host: _socket.socket) -> None:
    """Waits for all that ends here, until it is the program; whatever is left then ends with this process."""
    _signal.signal(
        _signal.SIGINT, _signal.SIG_DFL
    )  # which the first process of a namespace does not hear
    posix.closerange(0, host.fileno())
    posix.closerange(host.fileno() + 1, steps.OPEN_FILES)
    while True:
        ended, status = posix.waitpid(-1, 0)
        if ended == child:
            code = posix.waitstatus_to_exitcode(status)
            host.send(b"%d" % (code if code >= 0 else 128 - code))
            posix._exit(0)


def _arrange(streams: list) -> None:  # type: ignore[type-arg]
    """Its streams as 0, 1 and 2, its links from 3 on, and nothing else."""
    for place, number in enumerate(streams):
        posix.dup2(number, _ABOVE_ALL + place)
    posix.closerange(0, _ABOVE_ALL)
    for place in range(len(streams)):
        posix.dup2(_ABOVE_ALL + place, place, inheritable=place < 3)
    posix.closerange(len(streams), steps.OPEN_FILES)


def run(settings: dict) -> None:  # type: ignore[type-arg]
    """Becomes the program."""
    import os

    if os.environ != settings["env"]:
        os.environ.clear()
        os.environ.update(settings["env"])
    if settings["role"] == "script":
        steps.become_script(settings["argv"])
        return
    facts = {
        **settings["facts"],
        **{name: 3 + place for place, name in enumerate(settings["links"])},
    }
    try:
        sys.modules[settings["role"]].main(facts)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
    posix._exit(0)  # taking an interpreter down costs more than a verdict


def main(settings: dict) -> None:  # type: ignore[type-arg]
    """Stays until nobody can ask any more; goes on, in each fork, with what that is to become."""
    for name in settings["imports"]:
        __import__(name)
    namespaces.stand_ready()
    gc.freeze()
    run(serve(_socket.socket(fileno=settings["control"]), settings))
