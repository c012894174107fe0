"""A command of the host that runs in a workspace: the files and folders it needs, and how to call it.

`host_command` handles each word of the command in one of these ways:

    {instruction}                   names no file: unchanged
    /usr/bin/git                    is visible in every workspace: unchanged
    venv/bin/agent                  belongs to an environment, which becomes visible: the full path
    data/rows.csv                   is in a folder that the user shows: the full path
    notes.txt                       is any other file, which is copied: /tmp/agent/notes.txt
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core import UsageError
from .bubblewrap import PROGRAM_FOLDERS
from .launch import PYTHON, SYSTEM_LIBRARIES, readable_for

AGENT_FOLDER = "/tmp/agent"
"""The folder in a workspace to which the files of a command are copied."""
_LARGEST_FILE = 4 << 20


@dataclass(frozen=True, slots=True)
class HostCommand:
    """A command of the host, prepared to run in a workspace."""

    words: tuple[str, ...]
    files: Mapping[str, Path]
    """Files to copy into the folder of the command, by their names in that folder."""
    visible: tuple[str, ...]
    """Local folders that the command reads, such as the environment it is installed in."""


def host_command(
    words: Sequence[str],
    visible: Sequence[str],
    where: str,
    fix: str,
) -> HostCommand:
    """Prepare a command for a workspace, with everything it needs. Raise `UsageError` if its program does not exist.

    `visible` has the folders that the user shows to the command. `where` and `fix` are for errors.
    """
    folders = list(visible)
    files: dict[str, Path] = {}
    inside: list[str] = []
    program = _find_program(words[0], where, fix)
    for index, word in enumerate([program, *words[1:]]):
        path = Path(word)
        is_file = index == 0 or _names_file(word)
        if not is_file or _is_visible(path):
            inside.append(word)
            continue
        environment = environment_of(path)
        if environment is not None:
            folders += environment
            inside.append(str(path.absolute()))
        elif any(path.resolve().is_relative_to(folder) for folder in visible):
            inside.append(str(path.resolve()))
        else:
            _check_size(path, where)
            name = path.name
            if name in files:
                name = f"{len(files)}/{name}"
            files[name] = path.resolve()
            inside.append(f"{AGENT_FOLDER}/{name}")
    return HostCommand(tuple(inside), files, tuple(dict.fromkeys(folders)))


def _find_program(
    name: str,
    where: str,
    fix: str,
) -> str:
    """Return the path of a program on this machine. `python` is this interpreter. Raise if it does not exist."""
    program = sys.executable if name in PYTHON else shutil.which(name)
    if program is None:
        raise UsageError(
            f"{where} {name}: there is no such program on this machine", fix=fix
        )
    return str(Path(program))


def _names_file(word: str) -> bool:
    """Return True if a word of the command is the path of a file on the host."""
    if "{" in word or len(word) > 4096 or word.startswith("-"):
        return False
    return Path(word).is_file()


def _is_visible(path: Path) -> bool:
    """Return True if a file is visible in every workspace without further settings."""
    inside = tuple(f"{folder}/" for folder in (*PROGRAM_FOLDERS, *SYSTEM_LIBRARIES))
    link = str(path.absolute())
    real = str(path.resolve())
    return link.startswith(inside) and real.startswith(inside)


def environment_of(path: Path) -> tuple[str, ...] | None:
    """Return the folders that a program is installed in. None if it is a single file.

    For Python these are the virtual environment and the base interpreter; for node, the
    folder with the packages.
    """
    folders: list[str] = []
    for entry in (path.absolute(), path.resolve()):
        folder = entry.parent
        prefix = folder.parent
        if folder.name not in ("bin", "sbin") or prefix in _too_wide():
            continue
        if (prefix / "pyvenv.cfg").is_file():
            folders += [str(prefix), *_base_of(prefix)]
        elif any((prefix / name).exists() for name in ("lib", "lib64", "conda-meta")):
            folders.append(str(prefix))
    parts = path.resolve().parts
    if "node_modules" in parts:
        depth = parts.index("node_modules") + 1
        folders.append(str(Path(*parts[:depth])))
    return tuple(dict.fromkeys(folders)) or None


def _base_of(environment: Path) -> list[str]:
    """Return the folders of the base interpreter of a virtual environment."""
    python = environment / "bin" / "python"
    real = Path(os.path.realpath(python))
    if real == Path(os.path.realpath(sys.executable)):
        return [str(path) for path in readable_for(real)]
    base = real.parent.parent
    if base in _too_wide():
        return []
    return [str(base / "lib"), str(base / "bin")]


def _too_wide() -> tuple[Path, ...]:
    """Return the folders, such as the home folder, that are never mounted whole,
    because they hold more than one program.
    """
    home = Path.home()
    return (Path("/"), Path("/usr"), Path("/usr/local"), home, home / ".local")


def _check_size(path: Path, where: str) -> None:
    """Raise if a file is too large to be copied into workspaces."""
    size = path.stat().st_size
    if size > _LARGEST_FILE:
        raise UsageError(
            f"{where}: {path} has {size:,} bytes, too many to be copied for each sample",
            fix=f"--agent_args show={path.resolve().parent}",
        )
