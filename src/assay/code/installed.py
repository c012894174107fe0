"""Installed libraries: the files that pip put somewhere, in `site-packages` or in a folder of `pip install --target`.

Such files are not the user's own. They are identified by the name and the version of their library.
"""

import os
import re
import sys
from functools import lru_cache
from pathlib import Path

_SITE_PACKAGES = re.compile(r".*/(?:site|dist)-packages/([^/.]*)", re.DOTALL)


def library_of(file: str | Path) -> str | None:
    """Return the top-level name of the installed library that a file belongs to; None for every other file."""
    path = str(file)
    if match := _SITE_PACKAGES.match(path):
        return match[1]
    for beginning, names in _target_folders(tuple(sys.path)):
        if path.startswith(beginning):
            first_part = path[len(beginning) :].partition(os.sep)[0]
            if first_part in names:
                return first_part.partition(".")[0]
    return None


@lru_cache(maxsize=16)
def _target_folders(
    search_path: tuple[str, ...],
) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the folders in Python's path into which pip installed packages, each with the names it put there."""
    targets = []
    for folder in dict.fromkeys(search_path):
        if not folder:
            continue
        names = _installed_in(Path(folder))
        if names:
            for path in (folder, os.path.realpath(folder)):
                targets.append((os.path.join(path, ""), names))
    return tuple(targets)


def _installed_in(folder: Path) -> frozenset[str]:
    """Return the files and folders that pip installed into a folder, by the `RECORD` of each package."""
    names = set()
    for record in folder.glob("*.dist-info/RECORD"):
        for line in record.read_text("utf-8", "replace").splitlines():
            path = line.partition(",")[0].strip('"')
            names.add(path.partition("/")[0])
    return frozenset(names)
