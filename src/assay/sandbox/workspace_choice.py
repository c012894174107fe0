"""Chooses the sandbox tier for workspaces, after attacks between two workspaces that must be separated."""

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ..core import AssayError
from .box import Tier
from .bubblewrap import Bubblewrap
from .choice import TRIED, Engine, choose, succeeding_attacks
from .fork_server import has_forks
from .launch import Execution
from .running import SandboxError
from .workspace import Workspace, WorkspaceLimits

_TRIED = WorkspaceLimits(
    command_seconds=8,
    memory_mb=TRIED.memory_mb,
    processes=TRIED.processes,
    disk_mb=TRIED.disk_mb,
)
_ALLOWED = (
    "sends_udp",
    "sends_to_socket_file",
    "enlarges_socket_buffers",
    "takes_memory",
    "writes_large_file",
)
"""Attacks in `probes` that may succeed in a workspace.

A workspace has sockets on a private network, so a program can send; a test checks that nothing arrives on the host.
Its memory is counted from outside, and only the total size of its disk is limited.
"""
_FILL_DISK = "head -c 16M /dev/urandom > fill && echo filled"
_FILL_FILES = "mkdir many && cd many && seq 40000 | xargs touch && echo filled"
_FILL_MEMORY = 'python -c \'kept = bytearray(b"x" * (600 << 20)); print("held")\''

_SECONDS_TO_END = 5.0
_tested: dict[Tier, str] = {}
_testing = threading.Lock()


def workspace_tier(
    wanted: str = "auto",
    engine: Engine = Engine(),
) -> Tier:
    """Return the tier for workspaces, which is tested once per process. Raise `SandboxError` if none passes."""
    choice = choose("bubblewrap" if wanted == "auto" else wanted, engine)
    if choice.tier is None and wanted == "auto":
        container = choose("container", engine)
        refused = choice.refused + container.refused
        choice = replace(container, refused=refused)
    if choice.tier is None:
        raise SandboxError(
            f"no sandbox for workspaces passes its self-test on this machine ({choice.reasons})",
            fix=choice.fix,
        )
    tier = choice.tier
    with _testing:
        if tier not in _tested:
            _tested[tier] = why_no_workspace(tier)
    if _tested[tier]:
        raise SandboxError(
            f"the sandbox {tier.name} does not hold for workspaces: {_tested[tier]}",
            fix="`assay doctor` says what each tier lacks",
        )
    return tier


def with_folders(
    tier: Tier,
    visible: Sequence[str],
    folders: Sequence[str],
) -> Tier:
    """Return the tier with more host folders in its workspaces: `visible` is read-only, `folders` are writable."""
    if not isinstance(tier, Bubblewrap) or not (visible or folders):
        return tier
    wider = replace(
        tier,
        visible=tuple(dict.fromkeys(visible)),
        folders=tuple(folders),
    )
    if has_forks(wider) and not wider.can_fork:
        return replace(wider, forks=False)
    return wider


def why_no_workspace(tier: Tier) -> str:
    """Return one line with the reason why this tier cannot run workspaces; empty if it can."""
    tests: list[Callable[[Tier], str]] = [
        _try_escape,
        _try_other_workspace,
        _try_to_outlive,
        _try_limits,
    ]
    for test in tests:
        try:
            reason = test(tier)
        except AssayError as error:
            reason = str(error.what)
        if reason:
            return reason
    return ""


def _try_escape(tier: Tier) -> str:
    """Try the general sandbox attacks in a workspace. Return one line that names those that succeeded."""
    with Workspace(tier, _TRIED) as workspace:

        def run(code: str, facts: str) -> Execution:
            workspace.write("probes.py", code)
            return workspace.exec(["python", "-I", "-S", "probes.py", facts])

        return succeeding_attacks(run, _ALLOWED)


def _try_other_workspace(tier: Tier) -> str:
    """Try to read the files of another workspace, and to connect to its endpoint. Return which attempts succeeded."""
    secret = secrets.token_hex()
    with ExitStack() as stack:
        mine = stack.enter_context(Workspace(tier, _TRIED))
        other = stack.enter_context(Workspace(tier, _TRIED))
        for path in ("secret", "/tmp/secret", "/dev/shm/secret"):
            mine.write(path, secret)
        listing = other.exec(
            "cat secret /tmp/secret /dev/shm/secret; grep -rs . /proc/*/environ"
        )
        if secret.encode() in listing.stdout:
            return "code inside reads the files of another workspace"
        if not isinstance(tier, Bubblewrap):
            return ""
        listening = stack.enter_context(mine.listen())
        port = listening.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        if b"connected" in other.exec(connect).stdout:
            return "code inside connects to the endpoint of another workspace"
        if b"connected" not in mine.exec(connect).stdout:
            return "code inside does not reach the endpoint of its own workspace"
    return ""


def _try_to_outlive(tier: Tier) -> str:
    """Start a background process in a workspace, and close the workspace. Return an error if the process survives."""
    mark = f"assay-{secrets.token_hex(8)}"
    with Workspace(tier, _TRIED) as workspace:
        workspace.exec(f"setsid bash -c 'sleep 300; : {mark}' > /dev/null 2>&1 &")
    # The kernel ends the processes of a namespace one after another, which takes a moment on a busy machine.
    deadline = time.monotonic() + _SECONDS_TO_END
    while _has_process(mark):
        if time.monotonic() > deadline:
            return "processes outlive their workspace"
        time.sleep(0.01)
    return ""


def _has_process(mark: str) -> bool:
    """Return True if some process on this machine has `mark` in its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if mark.encode() in file.read():
                        return True
            except OSError:
                continue  # it has ended
    return False


def _try_limits(tier: Tier) -> str:
    """Try to use more disk, files and memory than allowed. Return which attempts succeeded."""
    with Workspace(tier, _TRIED) as workspace:
        if b"filled" in workspace.exec(_FILL_DISK).stdout:
            return "code inside fills the disk"
        workspace.exec("rm -f fill")
        if has_forks(tier) and b"filled" in workspace.exec(_FILL_FILES).stdout:
            return "code inside makes any number of files"
    with Workspace(tier, replace(_TRIED, memory_mb=64)) as workspace:
        if b"held" in workspace.exec(_FILL_MEMORY).stdout:
            return "code inside takes more memory than allowed"
    return ""
