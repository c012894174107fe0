"""A process that outlives assay for a moment: it ends executions and removes their folders if assay was killed.

Only the tiers `landlock` and `none` need it, because bubblewrap ends the processes it started. It reads lines `+PID
FOLDER` and `-PID` from its standard input. When that ends, it kills the remaining process groups and removes their
folders.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_TRIES = 100
_lock = threading.Lock()
_process: "subprocess.Popen[bytes] | None" = None


def watch(pid: int, folder: Path) -> None:
    """End the process group of an execution and remove its folder if this process is killed."""
    _write(f"+{pid} {folder}\n")


def forget(pid: int) -> None:
    """Stop watching an execution that has ended."""
    _write(f"-{pid}\n")


def _write(line: str) -> None:
    global _process
    with _lock:
        if _process is None or _process.poll() is not None:
            _process = _start()
        assert _process.stdin is not None
        try:
            _process.stdin.write(os.fsencode(line))
        except BrokenPipeError:
            return  # it was killed; the next line starts another


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-E", "-s", "-S", str(Path(__file__).resolve())],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _forget_process() -> None:
    """Close the pipe in a forked copy of assay. Otherwise the sweeper would wait for the copy to end, too."""
    global _lock, _process
    _lock = threading.Lock()
    if _process is not None and _process.stdin is not None:
        _process.stdin.close()
        _process.returncode = 0  # the original process waits for its end
    _process = None


def sweep() -> None:
    """Read the watched executions until standard input ends, then kill the remaining ones and remove their folders."""
    watched: dict[str, str] = {}
    for line in sys.stdin.buffer:
        text = os.fsdecode(line).rstrip("\n")
        pid, _, folder = text[1:].partition(" ")
        if text.startswith("+"):
            watched[pid] = folder
        else:
            watched.pop(pid, None)
    for pid, folder in watched.items():
        _end(int(pid), Path(folder))


def _end(pid: int, folder: Path) -> None:
    from folders import remove_folder  # type: ignore[import-not-found]

    for _ in range(_TRIES):
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass  # all of them have ended
        remove_folder(folder)
        if not folder.exists():
            return
        time.sleep(0.02)


if __name__ == "__main__":
    sweep()
else:
    os.register_at_fork(after_in_child=_forget_process)
