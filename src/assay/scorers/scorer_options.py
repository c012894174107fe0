"""Checks before a run: the values of a scorer's option, and the packages and programs that it needs."""

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..core import MissingExtra, Requirement, UsageError


def check_option(
    scorer: str,
    option: str,
    value: object,
    words: Iterable[str],
) -> None:
    """Raise `UsageError` if the value of an option is not one of the allowed `words`."""
    allowed = tuple(words)
    if value not in allowed:
        fix = f"{option}: one of {', '.join(allowed)}"
        raise UsageError(f"scorer {scorer!r} does not know {option}={value!r}", fix=fix)


def package_folder(requirement: Requirement, where: str) -> Path:
    """Return the folder of an installed package, for its data files. Raise `MissingExtra` if it is not installed."""
    spec = importlib.util.find_spec(requirement.package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(requirement.feature, requirement.pip, where=where)
    return Path(spec.submodule_search_locations[0])


def java_command(scorer: str) -> str:
    """Return the path of `java`. Raise `UsageError` if it is not on the PATH."""
    java = shutil.which("java")
    if java is None:
        raise UsageError(
            f"scorer {scorer!r} needs Java, and there is no `java` on the PATH",
            fix="install a Java runtime; a headless one will do",
        )
    return java
