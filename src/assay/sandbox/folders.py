"""Folders of the host in which executions of `landlock` and `none` work: created, measured, removed.

A program may nest folders deeper than Python can recurse or a path can name, and remove its owner's permissions.
"""

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "assay-sandbox-"
_MOST_FILES = 4096
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_folder() -> Path:
    """Make a folder whose name contains the id of this process."""
    return Path(tempfile.mkdtemp(prefix=f"{_own_prefix()}{os.getpid()}-"))


def _own_prefix() -> str:
    """Return the name prefix of folders made by processes visible here. Containers may share the temporary folder."""
    return f"{PREFIX}{os.stat('/proc/self/ns/pid').st_ino}-"


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
    """Remove a folder with everything in it. Entries that cannot be removed are left."""
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

    Folders inside the entry are moved up into `top`, so that no path grows long. The next pass removes them.
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
    """Remove folders of processes that ended without removing them."""
    prefix = _own_prefix()
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        pid = path.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            remove_folder(path)
