"""Runs inside a sandbox to test it: each probe is an attack and returns True if it succeeded.

`probes.py FACTS`: FACTS is JSON with the targets on the host. Prints the attacks that succeeded, as JSON.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER_NAMESPACE = 0x10000000


def reads_host_file(facts: dict) -> bool:  # type: ignore[type-arg]
    """Read a file of the host that does not belong to an interpreter."""
    return any(_can_read(path) for path in facts["files"])


def lists_host_folder(facts: dict) -> bool:  # type: ignore[type-arg]
    """List a folder of the host that does not belong to an interpreter."""
    return any(_lists(path, names) for path, names in facts["folders"].items())


def reads_environment(facts: dict) -> bool:  # type: ignore[type-arg]
    """Read a secret of the host's environment."""
    return facts["secret"] in os.environ.values() or _can_read(
        f"/proc/{facts['parent']}/environ"
    )


def writes_host(facts: dict) -> bool:  # type: ignore[type-arg]
    """Write a file into a folder of the host."""
    for folder in ("/usr/lib", "/", "/etc", "/root", "/var/tmp", facts["own"]):
        try:
            with open(f"{folder}/assay-probe-{os.getpid()}", "w") as file:
                file.write("x")
            os.unlink(file.name)
        except OSError:
            continue
        return True
    return False


def connects_tcp(facts: dict) -> bool:  # type: ignore[type-arg]
    """Connect to a TCP service on the host."""
    return _does(lambda: socket.create_connection(("127.0.0.1", facts["tcp"]), 0.5))


def sends_udp(facts: dict) -> bool:  # type: ignore[type-arg]
    """Send a UDP datagram to the host. The self-test on the host checks whether it arrived."""
    return _does(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            b"probe", ("127.0.0.1", facts["udp"])
        )
    )


def connects_abstract(facts: dict) -> bool:  # type: ignore[type-arg]
    """Connect to an abstract socket of the host."""
    return _does(
        lambda: socket.socket(socket.AF_UNIX).connect("\0" + facts["abstract"])
    )


def sends_to_socket_file(facts: dict) -> bool:  # type: ignore[type-arg]
    """Send data to a socket file of the host from one end of a socket pair. The host checks whether it arrived."""
    path = facts["unix"]
    reached = False
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        try:
            end, _other = socket.socketpair(socket.AF_UNIX, kind)
        except OSError:
            continue
        reached = _does(end.sendto, b"probe", path) or reached
        reached = _does(end.sendmsg, [b"probe"], [], 0, path) or reached
        reached = _does(end.connect, path) or reached
    return reached


def enlarges_socket_buffers(facts: dict) -> bool:  # type: ignore[type-arg]
    """Enlarge socket buffers. They are kernel memory that does not count towards any limit."""
    end, _other = socket.socketpair()
    return _does(lambda: end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22))


def opens_mounts(facts: dict) -> bool:  # type: ignore[type-arg]
    """Open a mount as a file descriptor."""
    return any(LIBC.syscall(number, -100, b"/", 0, 0, 0) >= 0 for number in (428, 467))


def starts_io_uring(facts: dict) -> bool:  # type: ignore[type-arg]
    """Use io_uring, whose operations a system-call filter cannot see."""
    return bool(LIBC.syscall(425, 4, ctypes.create_string_buffer(256)) >= 0)


def becomes_root(facts: dict) -> bool:  # type: ignore[type-arg]
    """Become another user."""
    return _does(lambda: os.setuid(0)) and os.geteuid() == 0


def mounts(facts: dict) -> bool:  # type: ignore[type-arg]
    """Mount a file system."""
    return bool(
        LIBC.mount(b"none", tempfile.gettempdir().encode(), b"tmpfs", 0, None) == 0
    )


def makes_namespace(facts: dict) -> bool:  # type: ignore[type-arg]
    """Create namespaces in which this process would be root."""
    return bool(LIBC.unshare(NEW_USER_NAMESPACE) == 0)


def traces(facts: dict) -> bool:  # type: ignore[type-arg]
    """Read the memory of the process that started this one."""
    return bool(LIBC.ptrace(16, facts["parent"], None, None) == 0)


def signals_parent(facts: dict) -> bool:  # type: ignore[type-arg]
    """Signal the process that started this one. In a new pid namespace, this process has no parent."""
    return _does(lambda: os.kill(facts["parent"], 0))


def limits_parent(facts: dict) -> bool:  # type: ignore[type-arg]
    """Change the limits of the process that started this one."""
    same = resource.getrlimit(resource.RLIMIT_CORE)
    return _does(lambda: resource.prlimit(facts["parent"], resource.RLIMIT_CORE, same))


def takes_memory(facts: dict) -> bool:  # type: ignore[type-arg]
    """Use three times the allowed memory."""
    return _does(lambda: bytearray(3 * facts["memory"]))


def writes_large_file(facts: dict) -> bool:  # type: ignore[type-arg]
    """Write a file larger than the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile(buffering=0) as file:
        return _does(lambda: file.write(b"x" * facts["file"])) and _does(
            lambda: file.write(b"x")
        )


def forks_on(facts: dict) -> bool:  # type: ignore[type-arg]
    """Start many more processes than allowed.

    The limit is approximate, because it also counts other processes of the same user.
    """
    children = []
    most = 4 * facts["processes"]
    try:
        for _ in range(most + 1):
            child = os.fork()
            if not child:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return bool(len(children) > most)


def _can_read(path: str) -> bool:
    def read() -> None:
        with open(path, "rb") as file:
            file.read(1)

    return _does(read)


def _lists(path: str, names: list) -> bool:  # type: ignore[type-arg]
    try:
        return not set(names).isdisjoint(os.listdir(path))
    except OSError:
        return False


def _does(attack: object, *values: object) -> bool:
    try:
        attack(*values)  # type: ignore[operator]
    except (OSError, MemoryError, ValueError):
        return False
    return True


PROBES = (
    reads_host_file, lists_host_folder, reads_environment, writes_host, connects_tcp, sends_udp, connects_abstract,
    sends_to_socket_file, enlarges_socket_buffers, opens_mounts, starts_io_uring, becomes_root, mounts, makes_namespace,
    traces, signals_parent, limits_parent, takes_memory, writes_large_file, forks_on,
)  # fmt: skip

if __name__ == "__main__":
    facts = json.loads(sys.argv[1])
    probes = [probe for probe in PROBES if probe.__name__ not in facts["left_out"]]
    print(json.dumps([probe.__name__ for probe in probes if probe(facts)]))
