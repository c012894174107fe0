"""What an error says about the rows that led to it: paths it names, and the lines of a checkout's code it passed."""

import linecache
import re
import traceback
from pathlib import Path

_PATH = re.compile(r"(/[^\s'\":]+)")


def paths_in(error: BaseException) -> list[Path]:
    """Return the paths that an error names."""
    named = [str(getattr(error, "filename", None) or ""), *_PATH.findall(str(error))]
    return [Path(text.rstrip(".,;)")) for text in named if text]


def lines_of(error: BaseException, root: Path) -> list[str]:
    """Return the lines of files below a folder that an error passed, the innermost first."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if root in Path(frame.filename).parents
    ]
    found = []
    for frame in reversed(frames):
        last = getattr(frame, "end_lineno", None) or frame.lineno or 0
        first = frame.lineno or 0
        found += [
            linecache.getline(frame.filename, number)
            for number in range(first, min(last, first + 6) + 1)
        ]
    return found
