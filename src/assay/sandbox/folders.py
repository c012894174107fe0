"""Folders of the host in which executions of `landlock` and `none` work: created, measured, removed.

A program may nest folders deeper than Python can recurse or a path can express, and
remove its owner's permissions.

This file is also a program, the sweeper. It runs for a moment longer than assay. If
assay is killed, the sweeper ends the executions and removes their folders. Only these
two tiers need it, because bubblewrap ends the processes it started. The sweeper reads
lines `+PID FOLDER` and `-PID` from its standard input. When the input ends, it kills
the remaining process groups and removes their folders.
"""

import os
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "assay-sandbox-"
_MOST_FILES = 4096
_TRIES = 100
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_lock = threading.Lock()
_sweeper: "subprocess.Popen[bytes] | None" = None


def make_folder() -> Path:
    """Make a folder whose name contains the id of this process."""
    return Path(tempfile.mkdtemp(prefix=f"{visible_prefix(PREFIX)}{os.getpid()}-"))


def visible_prefix(prefix: str) -> str:
    """Append the id of this pid namespace to `prefix`. Containers that share a folder thus use different names."""
    return f"{prefix}{os.stat('/proc/self/ns/pid').st_ino}-"


def is_stale(name: str, prefix: str) -> bool:
    """Return True if `name` is `prefix` and a process id, and that process has ended."""
    pid = name.removeprefix(prefix).partition("-")[0]
    is_ours = name.startswith(prefix) and pid.isdigit()
    return is_ours and not os.path.exists(f"/proc/{pid}")


def is_full(folder: str, most: int) -> bool:
    """Return True if a folder has more than `most` bytes, too many files, or files nested too deeply to count."""
    size = count = 0
    waiting = [folder]
    while waiting:
        try:
            for entry in _entries(waiting.pop()):
                count += 1
                if count > _MOST_FILES:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
        except FileNotFoundError:
            continue  # removed meanwhile
        except OSError:
            return True
    return size > most


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder, even if the program removed its permissions."""
    try:
        listed = os.scandir(folder)
    except PermissionError:
        os.chmod(folder, 0o700)
        listed = os.scandir(folder)
    with listed:
        yield from listed


def remove_folder(folder: Path) -> None:
    """Remove a folder and its contents. Entries that cannot be removed are left."""
    try:
        top = os.open(folder, _OPEN)
    except OSError:
        return
    try:
        removed = [True]
        while any(removed):
            removed = [_remove_entry(name, top) for name in os.listdir(top)]
        os.rmdir(folder)
    except OSError:
        return
    finally:
        os.close(top)


def _remove_entry(name: str, top: int) -> bool:
    """Remove one entry of the folder `top`. Return True if it existed and could be removed.

    Folders inside the entry are first moved up into `top`, so that paths stay short.
    The caller then removes them in its next pass.
    """
    try:
        if not _is_folder(name, top):
            os.unlink(name, dir_fd=top)
            return True
        folder = _open_folder(name, top)
        try:
            for child in os.listdir(folder):
                if _is_folder(child, folder):
                    os.chmod(child, 0o700, dir_fd=folder)
                    moved = f".{secrets.token_hex(8)}"
                    os.rename(
                        child,
                        moved,
                        src_dir_fd=folder,
                        dst_dir_fd=top,
                    )
                else:
                    os.unlink(child, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
    except OSError:
        return False
    return True


def _is_folder(name: str, parent: int) -> bool:
    mode = os.stat(
        name,
        dir_fd=parent,
        follow_symlinks=False,
    ).st_mode
    return stat.S_ISDIR(mode)


def _open_folder(name: str, parent: int) -> int:
    """Open a folder, even if the program removed its owner's permissions."""
    os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, _OPEN, dir_fd=parent)


def remove_stale_folders() -> None:
    """Remove the folders of processes that ended without removing them."""
    prefix = visible_prefix(PREFIX)
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        if is_stale(path.name, prefix):
            remove_folder(path)


def watch(pid: int, folder: Path) -> None:
    """Register an execution with the sweeper, which ends it and removes its folder if this process is killed."""
    _write(f"+{pid} {folder}\n")


def unwatch(pid: int) -> None:
    """Tell the sweeper that an execution has ended."""
    _write(f"-{pid}\n")


def _write(line: str) -> None:
    global _sweeper
    with _lock:
        if _sweeper is None or _sweeper.poll() is not None:
            _sweeper = _start()
        assert _sweeper.stdin is not None
        try:
            _sweeper.stdin.write(os.fsencode(line))
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


def _forget_sweeper() -> None:
    """Close the pipe to the sweeper in a forked copy of assay. Otherwise the sweeper would wait for the copy to end."""
    global _lock, _sweeper
    _lock = threading.Lock()
    if _sweeper is not None and _sweeper.stdin is not None:
        _sweeper.stdin.close()
        _sweeper.returncode = 0  # the original process waits for its end
    _sweeper = None


def sweep() -> None:
    """Read the watched executions until standard input ends, then kill those that remain and remove their folders."""
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
    os.register_at_fork(after_in_child=_forget_sweeper)
