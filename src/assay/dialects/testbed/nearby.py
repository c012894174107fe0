"""Dataset folders near a script: `testbed/data/<name>/__init__.py` registers a name on first use.

Upstream imports every folder of its tree at once. Here an unregistered name is looked up in the tree around the
script: on the module path, in the working folder and above it. As in upstream, a folder's own retriever and
post-process take precedence over shipped ones, if their imports are installed.
"""

import sys
from pathlib import Path

from ...core import UsageError
from ..protocol import is_upstream

_replies: dict[tuple[str, bool], bool] = {}


def register_nearby(name: str, is_known: bool) -> None:
    """Run the `__init__.py` of a dataset's folder once, if the folder exists and one of its names is needed."""
    theirs_first = is_upstream("testbed")
    if (
        not name.isidentifier()
        or (is_known and not theirs_first)
        or _replies.get((name, theirs_first))
    ):
        return
    folders = (base / "testbed" / "data" / name for base in bases())
    folder = next(
        (folder for folder in folders if (folder / "__init__.py").is_file()), None
    )
    if folder is not None:
        _replies[name, theirs_first] = True
        register_folder(folder, is_known)


def register_folder(folder: Path, is_known: bool) -> None:
    """Run the `__init__.py` of a dataset's folder. Keep the shipped functions if a package it imports is missing."""
    from .testbed_loading import guest_for

    start = folder / "__init__.py"
    if not start.is_file() or _replies.get(
        (str(start.resolve()), is_upstream("testbed"))
    ):
        return
    _replies[str(start.resolve()), is_upstream("testbed")] = True
    try:
        guest_for(folder).load(start)
    except UsageError as error:
        if not is_known or not isinstance(error.__cause__, ImportError):
            raise


def bases() -> list[Path]:
    """Return the folders in which a script's tree may be: the working folder, its parents, and the module path."""
    here = Path.cwd()
    return [here, *here.parents, *(Path(entry) for entry in sys.path if entry)]
