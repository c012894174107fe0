"""Data files: what users' modules read from other files while they were imported, as settings beside them.

While a file is loaded, an audit hook notes which files its modules open for reading; their contents count as its own.
A function that was not loaded here, as one of a script that imports assay, is known by the plain data it names instead.
Keys do not count: another key is the same model. Nor does the place where a file lies.
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
from types import FunctionType
from typing import Any

from ..core.secrets import SHORTEST, is_secret_name, without_keys
from .sources import behind, is_users, until_changed
from .typed_code import digest_of_globals

LARGEST = 1 << 26
"""Bytes of a file that is read whole; of a larger one, as of weights, size and samples count."""
LONGEST_TEXT = 1 << 20
"""Of a file that is searched for keys."""
_SAMPLES, _SAMPLE = 64, 1 << 16
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/usr/share/", "/usr/lib/")
_CODE = (".py", ".pyc", ".so", ".pyd")  # see `sources`
_MEMBER = re.compile(
    r"""(?<![\w.-])([\w.-]++["']?)[ \t]*+[:=][ \t]*+("(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[^\s,;}\]]++)"""
)

_watching = 0
"""Loads under way."""
_opened: dict[str, dict[str, str | None]] = {}
"""By the file of each module that ran while watched, the files it opened for reading, with digests of what they held.

`None` stands for one that was not looked at yet, an empty digest for one that does not count.
"""
_outputs: set[str] = set()


@contextmanager
def watching() -> Iterator[None]:
    """While this holds, files that users' modules read when they are run are noted."""
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


def digest_of_data(thing: Any) -> str:
    """Digest of the data behind a user's function or class that are not in its code; empty for none."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    members = [
        getattr(one, "__func__", None) or getattr(one, "fget", None) or one
        for one in members
    ]
    functions = [
        one
        for one in members
        if isinstance(one, FunctionType) and is_users(one.__code__.co_filename)
    ]
    files = {one.__code__.co_filename for one in functions}
    files = {
        file for file in files if Path(file).is_file()
    }  # not "<string>", nor one that is gone
    watched = files & _opened.keys()
    modules = {
        str(path) for file in watched for path in behind(Path(file))[0]
    } | watched
    found = sorted(
        {
            digest
            for module in modules
            for digest in _opened.get(module, {}).values()
            if digest
        }
    )
    found += [
        digest_of_globals(one)
        for one in functions
        if one.__code__.co_filename in files - watched
    ]
    found = [digest for digest in found if digest]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest() if found else ""


@cache
def _add_hook() -> None:
    sys.addaudithook(_hook)  # for good: Python takes no hook away


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watching or event not in ("open", "exec"):
        return
    try:
        if event == "exec":
            _note_module(args[0])
        else:
            _note_file(*args)
    except Exception:  # noqa: BLE001 - what is raised here would be raised in the user's `open`
        return


def _note_module(code: Any) -> None:
    """A user's module is about to be run; again, if its file has changed."""
    if code.co_name == "<module>" and is_users(code.co_filename):
        _opened[code.co_filename] = {}


def _note_file(path: Any, mode: Any, flags: int) -> None:
    """Some code opens a file: it counts for the innermost module that is being run, if that is a user's."""
    if isinstance(path, int):
        return
    place = os.path.abspath(os.fsdecode(path))
    if flags & _WRITES:
        _outputs.add(place)
    elif (
        is_users(place) and not place.startswith(_SYSTEM) and not place.endswith(_CODE)
    ):
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None and frame.f_code.co_filename in _opened:
            _opened[frame.f_code.co_filename].setdefault(place, None)


def _secrets_in(module: str) -> tuple[str, ...]:
    """Texts that a module keeps under the name of a secret."""
    spaces = [getattr(one, "__dict__", {}) for one in list(sys.modules.values())]
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
    )  # OPENAI_KEY


def _content_digest(path: Path, secrets: tuple[str, ...]) -> str:
    """Digest of what a file holds but for keys; empty where it holds nothing else, or is gone."""
    try:
        return (
            ""
            if is_secret_name(path.stem) or not path.is_file()
            else _digest_of(path, secrets)
        )
    except OSError:
        return ""


@until_changed(8192)
def _digest_of(path: Path, secrets: tuple[str, ...]) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size > LARGEST:
            places = [size * number // _SAMPLES for number in range(_SAMPLES)]
            content = b"".join(
                (file.seek(place), file.read(_SAMPLE))[1]
                for place in (*places, size - _SAMPLE)
            )
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
    return (
        member[1]
        if _is_secret(member[1].strip("\"'"), member[2].strip("\"'"))
        else member[0]
    )
