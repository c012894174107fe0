"""Choose the sandbox tier of this machine: the best one that passes a self-test.

Before a tier is used, the attacks in `probes` are tried in it. A tier that cannot start, or in which an attack
succeeds, is refused with the reason. The targets are real: a file, a folder and a secret made for the test, listening
services, and the process that runs the test.
"""

import json
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import UsageError
from .box import Sandbox, Tier
from .bubblewrap import Bubblewrap, find_bubblewraps
from .container import Container, find_containers
from .fork_server import has_forks, why_no_fork
from .landlock import Landlock, Unconfined
from .launch import FOLDER, Execution, Limits, last_line, own_python
from .running import SandboxError

TRIED = Limits(
    wall_seconds=8,
    cpu_seconds=2,
    memory_mb=256,
    processes=12,
    file_mb=1,
    disk_mb=4,
)
_LATE = Limits(
    wall_seconds=0.6,
    cpu_seconds=10,
    memory_mb=256,
    processes=12,
)
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


_BUFFERS = """
import os, socket, time
kept = []
def fill():
    try:
        while True:
            for end in kept.append(socket.socketpair()) or kept[-1]:
                end.setblocking(False)
                try:
                    while True: end.send(b"x" * 65536)
                except BlockingIOError: pass
    except OSError: pass
for _ in range(6):
    if not os.fork():
        fill()
        time.sleep(30)
        os._exit(0)
fill()
time.sleep(3)
print("buffered", flush=True)
"""


def why_not(tier: Tier) -> str:
    """Return one line with the reason why the tier cannot be used; empty if it passes its self-test."""
    if why := why_no_fork(tier):
        return why
    try:
        with ThreadPoolExecutor(4) as threads:
            tests = (
                _try_attacks,
                _try_time_limit,
                _try_large_output,
                _try_full_disk,
                _try_kernel_buffers,
            )
            reasons = list(threads.map(lambda test: test(tier), tests))
    except SandboxError as error:
        return str(error.what)
    except OSError as error:
        return f"no temporary folder can be written: {error.strerror}"
    return next(filter(None, reasons), "")


def _run(
    tier: Tier,
    limits: Limits,
    code: str,
    *words: str,
) -> Execution:
    """Run Python code in the tier: in a fork if the tier supports forks, otherwise in a new interpreter."""
    flags = () if has_forks(tier) else ("-I", "-S")
    with Sandbox(tier, limits) as box:
        box.write("main.py", code)
        return box.exec(["python", *flags, "main.py", *words])


def _try_attacks(tier: Tier) -> str:
    """Attack the tier. Return one line that names the attacks that succeeded; empty if none did."""
    return succeeding_attacks(lambda code, facts: _run(tier, TRIED, code, facts))


def succeeding_attacks(
    run: Callable[[str, str], Execution],
    left_out: Sequence[str] = (),
) -> str:
    """Run the attacks, and return one line that names those that succeeded; empty if none did.

    `run(code, argument)` executes Python code in the sandbox. Attacks in `left_out` are not tried.
    """
    with _attack_targets() as (facts, heard):
        facts["left_out"] = list(left_out)
        done = run((FOLDER / "probes.py").read_text("utf-8"), json.dumps(facts))
        try:
            succeeded = json.loads(done.stdout)
        except ValueError:
            return f"it does not start: {last_line(done.stderr) or done.ending}"
        if heard():
            succeeded.append("reaches the network")
    if not succeeded:
        return ""
    return f"code inside {', '.join(name.replace('_', ' ') for name in succeeded)}"


def _try_time_limit(tier: Tier) -> str:
    """Return an error text if the tier does not stop code at its time limit."""
    started = time.monotonic()
    done = _run(tier, _LATE, "while True: pass")
    orphan = _run(tier, replace(_LATE, wall_seconds=5), _ORPHAN)
    if done.ending != "wall_time" or time.monotonic() - started > 20:
        return (
            f"code past its time is not ended ({done.ending}, {last_line(done.stderr)})"
        )
    if orphan.ending == "exited":
        return ""
    return "code that continues in the background is not ended"


def _try_large_output(tier: Tier) -> str:
    """Return an error text if the tier does not truncate large output."""
    done = _run(
        tier,
        Limits(
            wall_seconds=8,
            memory_mb=256,
            output_bytes=1000,
        ),
        "print('x' * 3_000_000)",
    )
    if done.truncated and len(done.stdout) == 1000:
        return ""
    return "a flood of output is not cut"


def _try_full_disk(tier: Tier) -> str:
    """Return an error text if code can fill the disk."""
    if b"filled" in _run(tier, TRIED, _FILL).stdout:
        return "code inside fills the disk"
    return ""


def _try_kernel_buffers(tier: Tier) -> str:
    """Return an error text if code can fill kernel buffers."""
    done = _run(tier, replace(TRIED, memory_mb=64), _BUFFERS)
    is_held = b"buffered" in done.stdout and os.stat("/proc/self/fd").st_size > 0
    return "code inside fills buffers of the kernel" if is_held else ""


@contextmanager
def _attack_targets() -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the targets of the attacks, and a function that returns True once a target has received a datagram."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-probe-"))
        os.chmod(folder, 0o755)  # only the sandbox, not permissions, should deny access
        secret = Path(folder) / "secret"
        secret.write_text(secrets.token_hex())
        tcp, udp, abstract, unix = (
            stack.enter_context(socket.socket(*kind))
            for kind in (
                (socket.AF_INET,),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX,),
                (socket.AF_UNIX, socket.SOCK_DGRAM),
            )
        )
        path = str(Path(folder) / "socket")
        unix.bind(path)
        os.chmod(path, 0o777)
        unix.setblocking(False)
        name = f"assay-{secrets.token_hex(8)}"
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        abstract.bind("\0" + name)
        tcp.listen()
        abstract.listen()
        udp.setblocking(False)
        values = [value for value in os.environ.values() if len(value) > 20]
        facts = {
            "files": [str(secret), "/etc/shadow", "/etc/machine-id", "/etc/hostname"],
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
            "unix": path,
            "memory": TRIED.memory_mb << 20,
            "file": TRIED.file_mb << 20,
            "processes": TRIED.processes,
        }
        yield facts, lambda: _has_arrived(udp) or _has_arrived(unix)


def _names(folder: str) -> list[str]:
    """Return names in a host folder that must be invisible inside a sandbox.

    Names on the path to the interpreter or to the sandbox's own folders are left out,
    because they are visible.
    """
    allowed_paths = {
        allowed_path
        for path in (own_python(), FOLDER, Path("/tmp/work"))
        for allowed_path in (path, *path.parents)
    }
    try:
        return [
            name
            for name in os.listdir(folder)
            if Path(folder, name) not in allowed_paths
        ][:1000]
    except OSError:
        return []


def _has_arrived(listening: socket.socket) -> bool:
    """Return True if a datagram has arrived."""
    try:
        return bool(listening.recv(16))
    except BlockingIOError:
        return False


TIERS = ("bubblewrap", "landlock", "container", "none")
_FIXES = (
    ("bwrap is not installed", "pip install 'assay[sandbox]'"),
    (
        "Unknown option",
        "pip install 'assay[sandbox]' brings a bubblewrap that is new enough",
    ),
    (
        "namespace",
        "sysctl user.max_user_namespaces=999 kernel.unprivileged_userns_clone=1, or Linux 6.12 for landlock",
    ),
    (
        "uid map",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or Linux 6.12 for landlock",
    ),
    (
        "no Landlock",
        "Linux 6.12 or newer with Landlock on, or bubblewrap: pip install 'assay[sandbox]'",
    ),
    ("of Landlock", "Linux 6.12 or newer, or bubblewrap: pip install 'assay[sandbox]'"),
    ("temporary folder", "set TMPDIR to a folder that can be written"),
    (
        "does not answer",
        "start the engine's service, or name another: --judge_args sandbox.engine=podman",
    ),
    ("has no image", "pull it, or name another: --judge_args sandbox.image=NAME"),
    (
        "may not enter",
        "run assay as another user, or use bubblewrap: pip install 'assay[sandbox]'",
    ),
)
"""Advice for refused tiers. The key is text in the reason for the refusal; the first match is shown."""
_ELSE = "`assay doctor` says what each tier lacks"


@dataclass(frozen=True)
class Engine:
    """The container engine and image of the tier `container`. Empty fields are determined automatically."""

    program: str = ""
    image: str = ""
    template: str = ""


@dataclass(frozen=True)
class Choice:
    """The selected tier, or None, with the reasons why better tiers were refused."""

    tier: Tier | None
    refused: tuple[tuple[str, str], ...] = ()
    no_forks: str = ""
    """Reason why every execution starts a new sandbox. Empty if executions are forked from a running one."""

    @property
    def reasons(self) -> str:
        """The reasons why better tiers were refused, on one line."""
        return "; ".join(f"{name}: {why}" for name, why in self.refused)

    @property
    def fix(self) -> str:
        """Advice for using a better tier, from the first refused tier that has any. Empty if there is none."""
        fixes = [
            fix for _, why in self.refused for words, fix in _FIXES if words in why
        ]
        return "; ".join([*fixes[:1], _ELSE])


_choices: dict[tuple[str, Engine], Choice] = {}
_choosing = threading.Lock()


def choose(
    wanted: str = "auto",
    engine: Engine = Engine(),
) -> Choice:
    """Return the best tier that passes its self-test (`wanted="auto"`), or the named one.

    The tier is tested once per process. `auto` never chooses the tier `none`.
    """
    with _choosing:
        return _choose_once(wanted, engine)


def _choose_once(wanted: str, engine: Engine) -> Choice:
    """Return the cached choice. Only the first call tests the tiers."""
    if (wanted, engine) not in _choices:
        _choices[wanted, engine] = (
            _choose_best(engine) if wanted == "auto" else _choose(wanted, engine)
        )
    return _choices[wanted, engine]


def best_tier(
    wanted: str = "auto",
    engine: Engine = Engine(),
) -> Tier:
    """Return the best tier, or the named one. Raise `SandboxError` if none passes the self-test."""
    choice = choose(wanted, engine)
    if choice.tier is None:
        if wanted == "auto":
            problem = "no sandbox passes its self-test on this machine"
        else:
            problem = f"the sandbox {wanted} does not hold here"
        raise SandboxError(f"{problem} ({choice.reasons})", fix=choice.fix)
    return choice.tier


def _choose_best(engine: Engine) -> Choice:
    """Return the best tier that passes. Test results are cached for a later choice by name."""
    refused: tuple[tuple[str, str], ...] = ()
    for name in TIERS[:-1]:
        choice = _choose_once(name, engine)
        refused += choice.refused
        if choice.tier is not None:
            return replace(choice, refused=refused)
    return Choice(None, refused)


def _choose(name: str, engine: Engine) -> Choice:
    """Return the first variant of the named tier that passes its self-test."""
    if name not in TIERS:
        raise UsageError(
            f"there is no sandbox tier {name!r}", fix=f"auto, {', '.join(TIERS)}"
        )
    if name == "none":
        return Choice(Unconfined())
    tiers = list(_candidates(name, engine))
    refused: list[tuple[str, str]] = [] if tiers else [(name, _MISSING[name])]
    for tier in tiers:
        why, choice = _test_tier(tier)
        if choice is not None:
            return replace(choice, refused=tuple(refused))
        refused.append((name, why))
    return Choice(None, tuple(refused))


def _test_tier(tier: Tier) -> tuple[str, Choice | None]:
    """Test a tier. If it supports forks, test it with and without them at the same time.

    Return the reason for the failure and None. If the tier passes, return an empty
    string and the choice.
    """
    forking = replace(tier, forks=True) if isinstance(tier, Bubblewrap) else tier
    with ThreadPoolExecutor(1) as beside:
        if forking is not tier:
            of_forks = beside.submit(why_not, forking)
        else:
            of_forks = None
        why = (tier.why_not_there() if isinstance(tier, Container) else "") or why_not(
            tier
        )
    if why:
        return why, None
    if of_forks is not None:
        no_forks = of_forks.result()
    else:
        no_forks = ""
    return "", Choice(tier if no_forks else forking, no_forks=no_forks)


_MISSING = {
    "bubblewrap": "bwrap is not installed",
    "container": "neither docker nor podman nor apptainer is installed",
}


def _candidates(name: str, engine: Engine) -> Iterator[Tier]:
    """Yield the variants of the tier with this name that this machine may support."""
    if name == "bubblewrap":
        yield from map(Bubblewrap, find_bubblewraps())
    elif name == "landlock":
        yield Landlock()
    else:
        yield from find_containers(engine.program, engine.image, engine.template)
