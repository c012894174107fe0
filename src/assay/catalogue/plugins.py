"""Components of other installed packages, found through entry points.

A package names its components in the groups `assay.tasks`, `assay.models`, `assay.scorers`, `assay.templates` and
`assay.exporters`. The names are read from the packages' metadata; nothing is imported until a component is used.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

PLUGIN_NAME = re.compile(r"\w[\w-]*")
"""A pattern for a component's name. A path, a URL or `file.py:name` is never a plugin."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A component of an installed package."""

    name: str
    target: str
    """The definition of the component, as `module:attribute`."""
    package: str
    version: str

    @property
    def summary(self) -> str:
        """The description that `assay ls` prints. It needs no import of the package."""
        return f"from the package {self.package} {self.version}".rstrip()


@cache
def installed_plugins(group: str) -> Mapping[str, tuple[Plugin, ...]]:
    """Return the plugins of a group such as `assay.scorers` by name. Several packages may use the same name."""
    plugins: dict[str, list[Plugin]] = {}
    for entry in entry_points(group=group):
        if not PLUGIN_NAME.fullmatch(entry.name):
            continue  # It could never be asked for.
        plugin = _plugin_of(entry)
        same_name = plugins.setdefault(plugin.name, [])
        # A package that is on the path twice, for example after an editable install, is listed twice.
        if plugin not in same_name:
            same_name.append(plugin)
    return {name: tuple(sharing) for name, sharing in sorted(plugins.items())}


def _plugin_of(entry: EntryPoint) -> Plugin:
    if entry.dist is not None:
        package = entry.dist.name
    else:
        package = "?"
    if entry.dist is not None:
        version = entry.dist.version
    else:
        version = ""
    return Plugin(entry.name, entry.value, package, version)
