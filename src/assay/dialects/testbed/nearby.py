"""Dataset folders near a script: `testbed/data/<name>/__init__.py` registers a name on first use.

Upstream imports every folder of its tree at once. Here an unregistered name is looked up in the tree around the
script: on the module path, in the working folder and above it. As in upstream, a folder's own retriever and
post-process take precedence over shipped ones, if their imports are installed.
"""

import sys
from pathlib import Path

from ...core import UsageError
from ..protocol import is_upstream

_registered: set[tuple[Path, bool]] = set()
"""The files that were run, each with whether upstream's rules applied."""


def register_nearby(name: str, is_known: bool) -> None:
    """Run the `__init__.py` of a dataset's folder once, if the folder exists and one of its names is needed."""
    if not name.isidentifier() or (is_known and not is_upstream("testbed")):
        return
    for base in bases():
        folder = base / "testbed" / "data" / name
        if (folder / "__init__.py").is_file():
            register_folder(folder, is_known)
            return


def register_folder(folder: Path, is_known: bool) -> None:
    """Run the `__init__.py` of a dataset's folder. Keep the shipped functions if a package it imports is missing."""
    from .testbed_loading import guest_for

    start = (folder / "__init__.py").resolve()
    key = (start, is_upstream("testbed"))
    if not start.is_file() or key in _registered:
        return
    _registered.add(key)
    try:
        guest_for(folder).load(start)
    except UsageError as error:
        if not is_known or not isinstance(error.__cause__, ImportError):
            raise


def bases() -> list[Path]:
    """Return the folders in which a script's tree may be: the working folder, its parents, and the module path."""
    here = Path.cwd()
    return [here, *here.parents, *(Path(entry) for entry in sys.path if entry)]
