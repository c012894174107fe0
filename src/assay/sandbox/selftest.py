"""Whether a tier holds on this machine: the attacks of `probes` are tried in it before anything else is.

A tier that cannot start, or lets one attack through, is refused with the reason. The attacks reach for things that are
there: a file, a folder and a secret made for it, services that listen, the process that asks.
"""

import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .box import Sandbox, Tier
from .fork_server import has_forks, why_no_fork
from .interpreters import own_python
from .launch import FOLDER
from .limits import Execution, Limits, last_line
from .running import SandboxError

TRIED = Limits(
    wall_seconds=8, cpu_seconds=2, memory_mb=256, processes=12, file_mb=1, disk_mb=4
)
_LATE = Limits(wall_seconds=0.6, cpu_seconds=10, memory_mb=256, processes=12)
_ORPHAN = "import os, time\nif os.fork():\n    os._exit(0)\ntime.sleep(60)"
_FILL = """
import os
kept = []
try:
    for number in range(64):
        with open(f"fill{number}", "wb") as file:
            file.write(os.urandom(1 << 19))
    import time
    time.sleep(3)
    print("filled")
except OSError:
    pass
"""


def why_not(tier: Tier) -> str:
    """Empty where the tier holds; else what is wrong with it, in one line."""
    if why := why_no_fork(tier):
        return why
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(
                threads.map(
                    lambda test: test(tier), (_attacked, _late, _flooded, _filled)
                )
            )
    except SandboxError as error:
        return str(error.what)
    except OSError as error:
        return f"no temporary folder can be written: {error.strerror}"
    return next(filter(None, found), "")


def _run(tier: Tier, limits: Limits, code: str, *words: str) -> Execution:
    """A Python file: by an interpreter of its own, or in a fork where the tier has them, for that is to be tried."""
    flags = () if has_forks(tier) else ("-I", "-S")
    with Sandbox(tier, limits) as box:
        box.write("main.py", code)
        return box.exec(["python", *flags, "main.py", *words])


def _attacked(tier: Tier) -> str:
    with _facts() as (facts, heard):
        done = _run(
            tier, TRIED, (FOLDER / "probes.py").read_text("utf-8"), json.dumps(facts)
        )
        try:
            succeeded = json.loads(done.stdout)
        except ValueError:
            return f"it does not start: {last_line(done.stderr) or done.ending}"
        if heard():
            succeeded.append("reaches the network")
    return (
        f"code inside {', '.join(name.replace('_', ' ') for name in succeeded)}"
        if succeeded
        else ""
    )


def _late(tier: Tier) -> str:
    started = time.monotonic()
    done = _run(tier, _LATE, "while True: pass")
    orphan = _run(tier, replace(_LATE, wall_seconds=5), _ORPHAN)
    if done.ending != "wall_time" or time.monotonic() - started > 20:
        return (
            f"code past its time is not ended ({done.ending}, {last_line(done.stderr)})"
        )
    return (
        ""
        if orphan.ending == "exited"
        else "code that goes on in the background is not ended"
    )


def _flooded(tier: Tier) -> str:
    done = _run(
        tier,
        Limits(wall_seconds=8, memory_mb=256, output_bytes=1000),
        "print('x' * 3_000_000)",
    )
    return (
        ""
        if done.truncated and len(done.stdout) == 1000
        else "a flood of output is not cut"
    )


def _filled(tier: Tier) -> str:
    return (
        "code inside fills the disk"
        if b"filled" in _run(tier, TRIED, _FILL).stdout
        else ""
    )


@contextmanager
def _facts() -> Iterator[tuple[dict[str, Any], Any]]:
    """What of the host the attacks reach for; and whether a datagram came."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-probe-"))
        os.chmod(folder, 0o755)  # only the sandbox is to keep others out
        secret = Path(folder) / "secret"
        secret.write_text(secrets.token_hex())
        tcp, udp, abstract = (
            stack.enter_context(socket.socket(*kind))
            for kind in (
                (socket.AF_INET,),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX,),
            )
        )
        name = f"assay-{secrets.token_hex(8)}"
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        abstract.bind("\0" + name)
        tcp.listen()
        abstract.listen()
        udp.setblocking(False)
        values = [value for value in os.environ.values() if len(value) > 20]
        facts = {
            "files": [str(secret), "/etc/passwd", "/etc/hostname"],
            "own": folder,
            "folders": {
                path: _names(path)
                for path in (folder, str(Path.home()), f"/proc/{os.getpid()}/fd")
            },
            "secret": values[0] if values else "",
            "parent": os.getpid() if os.getpid() > 8 else 1 << 22,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "abstract": name,
            "memory": TRIED.memory_mb << 20,
            "file": TRIED.file_mb << 20,
            "processes": TRIED.processes,
        }
        yield facts, lambda: _has_arrived(udp)


def _names(folder: str) -> list[str]:
    """What lies in a folder, but for what leads to the interpreter and to the sandbox's own place."""
    ways = {
        way
        for place in (own_python(), FOLDER, Path("/tmp/work"))
        for way in (place, *place.parents)
    }
    try:
        return [name for name in os.listdir(folder) if Path(folder, name) not in ways][
            :1000
        ]
    except OSError:
        return []


def _has_arrived(udp: socket.socket) -> bool:
    try:
        return bool(udp.recv(16))
    except BlockingIOError:
        return False
