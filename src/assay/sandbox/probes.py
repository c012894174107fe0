"""Runs inside a sandbox, to try whether it holds: each probe is an attack, true where it succeeded.

`probes.py FACTS`: FACTS is JSON with what of the host is to be reached for. Prints which attacks succeeded, as JSON.
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
    """A file of the host that has nothing to do with an interpreter."""
    return any(_can_read(path) for path in facts["files"])


def lists_host_folder(facts: dict) -> bool:  # type: ignore[type-arg]
    """What lies in a folder that has nothing to do with an interpreter."""
    return any(_lists(path, names) for path, names in facts["folders"].items())


def reads_environment(facts: dict) -> bool:  # type: ignore[type-arg]
    """A secret of the host's environment."""
    return facts["secret"] in os.environ.values() or _can_read(
        f"/proc/{facts['parent']}/environ"
    )


def writes_host(facts: dict) -> bool:  # type: ignore[type-arg]
    """A file in a folder of the host."""
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
    """A service of this machine."""
    return _does(lambda: socket.create_connection(("127.0.0.1", facts["tcp"]), 0.5))


def sends_udp(facts: dict) -> bool:  # type: ignore[type-arg]
    """A datagram to this machine; whether it came is for the other side to say."""
    return _does(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            b"probe", ("127.0.0.1", facts["udp"])
        )
    )


def connects_abstract(facts: dict) -> bool:  # type: ignore[type-arg]
    """A socket of the host without a file."""
    return _does(
        lambda: socket.socket(socket.AF_UNIX).connect("\0" + facts["abstract"])
    )


def starts_io_uring(facts: dict) -> bool:  # type: ignore[type-arg]
    """The calls that no filter sees."""
    return bool(LIBC.syscall(425, 4, ctypes.create_string_buffer(256)) >= 0)


def becomes_root(facts: dict) -> bool:  # type: ignore[type-arg]
    """Another uid."""
    return _does(lambda: os.setuid(0)) and os.geteuid() == 0


def mounts(facts: dict) -> bool:  # type: ignore[type-arg]
    """A file system of its own."""
    return bool(
        LIBC.mount(b"none", tempfile.gettempdir().encode(), b"tmpfs", 0, None) == 0
    )


def makes_namespace(facts: dict) -> bool:  # type: ignore[type-arg]
    """Namespaces in which it would be root."""
    return bool(LIBC.unshare(NEW_USER_NAMESPACE) == 0)


def traces(facts: dict) -> bool:  # type: ignore[type-arg]
    """The memory of the process that started it."""
    return bool(LIBC.ptrace(16, facts["parent"], None, None) == 0)


def signals_parent(facts: dict) -> bool:  # type: ignore[type-arg]
    """Who started it; inside a namespace, where numbers begin at 1, there is no such process."""
    return _does(lambda: os.kill(facts["parent"], 0))


def limits_parent(facts: dict) -> bool:  # type: ignore[type-arg]
    """The limits of who started it."""
    same = resource.getrlimit(resource.RLIMIT_CORE)
    return _does(lambda: resource.prlimit(facts["parent"], resource.RLIMIT_CORE, same))


def takes_memory(facts: dict) -> bool:  # type: ignore[type-arg]
    """Three times what it may have."""
    return _does(lambda: bytearray(3 * facts["memory"]))


def writes_large_file(facts: dict) -> bool:  # type: ignore[type-arg]
    """A file larger than its limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile(buffering=0) as file:
        return _does(lambda: file.write(b"x" * facts["file"])) and _does(
            lambda: file.write(b"x")
        )


def forks_on(facts: dict) -> bool:  # type: ignore[type-arg]
    """Many more processes than it may have: where others run as the same user, the limit is not exact."""
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


def _does(attack: object) -> bool:
    try:
        attack()  # type: ignore[operator]
    except (OSError, MemoryError, ValueError):
        return False
    return True


PROBES = (
    reads_host_file,
    lists_host_folder,
    reads_environment,
    writes_host,
    connects_tcp,
    sends_udp,
    connects_abstract,
    starts_io_uring,
    becomes_root,
    mounts,
    makes_namespace,
    traces,
    signals_parent,
    limits_parent,
    takes_memory,
    writes_large_file,
    forks_on,
)

if __name__ == "__main__":
    facts = json.loads(sys.argv[1])
    print(json.dumps([probe.__name__ for probe in PROBES if probe(facts)]))
