"""What scorers look at before a run: the words of an option, and libraries and programs that not everybody has."""

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..core import MissingExtra, Requirement, UsageError


def check_option(scorer: str, option: str, value: object, words: Iterable[str]) -> None:
    """Refuses a value that is none of an option's words."""
    allowed = tuple(words)
    if value not in allowed:
        fix = f"{option}: one of {', '.join(allowed)}"
        raise UsageError(f"scorer {scorer!r} does not know {option}={value!r}", fix=fix)


def package_folder(requirement: Requirement, where: str) -> Path:
    """Where the files of a package lie that is used for its data; `MissingExtra` where it is not installed."""
    found = importlib.util.find_spec(requirement.package)
    if found is None or not found.submodule_search_locations:
        raise MissingExtra(requirement.feature, requirement.pip, where=where)
    return Path(found.submodule_search_locations[0])


def java_command(scorer: str) -> str:
    """The `java` on the PATH."""
    java = shutil.which("java")
    if java is None:
        raise UsageError(
            f"scorer {scorer!r} needs Java, and there is no `java` on the PATH",
            fix="install a Java runtime; a headless one will do",
        )
    return java
