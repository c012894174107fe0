"""Data files that users' modules read while they are imported, such as settings next to
them.

While a file is loaded, an audit hook records the files that its modules open for
reading. Their contents become part of the file's digest. Some functions were not loaded
here, such as those of a script that imports assay. Their digest contains the data that
they name instead. API keys and paths are left out, because they do not change a
component's behaviour.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ..core.secrets import SHORTEST, is_secret_name, without_keys
from .sources import behind, is_users, until_changed
from .typed_code import digest_of_globals

LARGEST = 1 << 26
"""Maximum size in bytes of a file that is hashed completely.

For a larger file, such as model weights, the size and parts of the content are hashed.
"""
LONGEST_TEXT = 1 << 20
"""Maximum size in bytes of a file whose secrets are removed before it is hashed."""
_SAMPLES, _SAMPLE = 64, 1 << 16
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/usr/share/", "/usr/lib/")
_CODE = (".py", ".pyc", ".so", ".pyd")  # see `sources`
_MEMBER = re.compile(
    r"""
    (?<![\w.-]) ([\w.-]++ ["']?)      # a name, perhaps with its closing quote
    [ \t]*+ [:=] [ \t]*+
    (
        " (?: [^"\\\n] | \\. )*+ "     # "a value"
      | ' [^'\n]*+ '                  # 'a value'
      | [^\s,;}\]]++                  # a value
    )
    """,
    re.VERBOSE,
)
"""Matches a setting in a data file: `key: value`, `key = "value"` or `"key": "value"`."""

_watching = 0
"""The number of user files that are currently being loaded. Reads are recorded while it is above 0."""
_opened: dict[str, dict[str, str | None]] = {}
"""The files that each watched module opened for reading, with the digests of their content.

`None` means not hashed yet; an empty digest means that the file is ignored.
"""
_outputs: set[str] = set()


@contextmanager
def watching() -> Iterator[None]:
    """Record the files that users' modules read while this context is active."""
    global _watching
    _add_hook()
    _watching += 1
    try:
        yield
    finally:
        _watching -= 1
        for module, files in list(_opened.items()):
            for path, digest in list(files.items()):
                if digest is None and path not in _outputs:
                    files[path] = _content_digest(Path(path), _secrets_in(module))


def digest_of_data(thing: object) -> str:
    """Return the digest of the data files that a user's function or class uses. Empty if it uses none."""
    functions = _users_functions(thing)
    files = {function.__code__.co_filename for function in functions}
    # The file is not "<string>", and was not deleted.
    files = {file for file in files if Path(file).is_file()}
    watched = files & _opened.keys()
    modules = set(watched)
    for file in watched:
        imported, _ = behind(Path(file))
        modules.update(map(str, imported))
    content_digests: set[str] = set()
    for module in modules:
        content_digests.update(filter(None, _opened.get(module, {}).values()))
    digests = sorted(content_digests)
    for function in functions:
        if function.__code__.co_filename in files - watched:
            digests.append(digest_of_globals(function))
    digests = [digest for digest in digests if digest]
    if not digests:
        return ""
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _users_functions(thing: object) -> list[FunctionType]:
    """Return the functions defined in a user's class. For a function, return a list with only that function."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    functions = []
    for member in members:
        function = getattr(member, "__func__", None) or getattr(member, "fget", None)
        function = function or member
        if not isinstance(function, FunctionType):
            continue
        if is_users(function.__code__.co_filename):
            functions.append(function)
    return functions


@cache
def _add_hook() -> None:
    sys.addaudithook(_hook)  # Permanent, because Python cannot remove an audit hook.


def _hook(
    event: str,
    args: tuple[Any, ...],
) -> None:
    if not _watching or event not in ("open", "exec"):
        return
    try:
        if event == "exec":
            _note_module(args[0])
        else:
            _note_file(*args)
    except Exception:  # noqa: BLE001 - what is raised here would be raised in the user's `open`
        return


def _note_module(code: CodeType) -> None:
    """Start recording the files that a user's module opens while it runs.

    Earlier records of the module are removed, because a changed module runs again.
    """
    if code.co_name == "<module>" and is_users(code.co_filename):
        _opened[code.co_filename] = {}


def _note_file(
    path: int | str | bytes,
    mode: object,
    flags: int,
) -> None:
    """Record an opened file for the innermost module that is running, if it is a user's module."""
    if isinstance(path, int):
        return
    full_path = os.path.abspath(os.fsdecode(path))
    if flags & _WRITES:
        _outputs.add(full_path)
    elif (
        is_users(full_path)
        and not full_path.startswith(_SYSTEM)
        and not full_path.endswith(_CODE)
    ):
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None and frame.f_code.co_filename in _opened:
            _opened[frame.f_code.co_filename].setdefault(full_path, None)


def _secrets_in(module: str) -> tuple[str, ...]:
    """Return the values of a module's variables whose names suggest a secret, such as an API key."""
    spaces = [
        getattr(module_object, "__dict__", {})
        for module_object in list(sys.modules.values())
    ]
    named = [
        pair
        for space in spaces
        if space.get("__file__") == module
        for pair in list(space.items())
    ]
    return tuple(
        value
        for name, value in named
        if isinstance(value, str) and _is_secret(name, value)
    )


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or (
        len(value) >= SHORTEST and is_secret_name(name.rpartition("_")[2])
    )  # Such as OPENAI_KEY.


def _content_digest(
    path: Path,
    secrets: tuple[str, ...],
) -> str:
    """Return the digest of a file without its secrets; empty if it has only secrets or no longer exists."""
    try:
        if is_secret_name(path.stem) or not path.is_file():
            return ""
        return _digest_of(path, secrets)
    except OSError:
        return ""


@until_changed(8192)
def _digest_of(
    path: Path,
    secrets: tuple[str, ...],
) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size > LARGEST:
            offsets = [size * number // _SAMPLES for number in range(_SAMPLES)]
            content = b""
            for offset in (*offsets, size - _SAMPLE):
                file.seek(offset)
                content += file.read(_SAMPLE)
            return hashlib.sha256(str(size).encode() + content).hexdigest()
        content = file.read()
    if size <= LONGEST_TEXT:
        text = content.decode("utf-8", "surrogateescape")
        for secret in filter(None, map(str.strip, secrets)):
            text = text.replace(secret, "")
        content = without_keys(_MEMBER.sub(_without_value, text)).encode(
            "utf-8", "surrogateescape"
        )
    return hashlib.sha256(content).hexdigest()


def _without_value(member: re.Match[str]) -> str:
    if _is_secret(member[1].strip("\"'"), member[2].strip("\"'")):
        return member[1]
    return member[0]
