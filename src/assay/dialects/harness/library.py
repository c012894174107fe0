"""Describe lm-eval or lmms-eval: the folder of its task files, and how its YAML rules differ."""

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ...core import MissingExtra


@dataclass(frozen=True, slots=True)
class Library:
    """The properties of lm-eval or of lmms-eval that assay's shared code needs."""

    module: str
    """Name of the library's package, which is also the prefix of its task names."""
    title: str
    """Name of the library in messages and documentation."""
    extra: str
    """The pip extra that installs the library, such as `assay[lm-eval]`."""
    groups_are_lists: bool = False
    """True if a group is a file whose `task` is a list, while `group` in a task's file is a tag."""
    first_include_wins: bool = False
    """True if the first included file overrides later ones; False if the last one overrides."""

    @property
    def prefixes(self) -> tuple[str, str]:
        """The two prefixes of the library's task names, such as `lm_eval/` and `lm-eval/`.

        The first one is the usual one.
        """
        return f"{self.module}/", f"{self.title}/"

    def claims_name(self, reference: str) -> str | None:
        """Return a reason if `reference` names a task of the library, otherwise None.

        None is also returned if a file or folder with this name exists.
        """
        if Path(reference).exists():
            return None
        if reference.startswith(self.prefixes) or f"{reference}/" in self.prefixes:
            return f"it begins with {self.prefixes[0]}"
        return None

    def knows(self, name: str) -> str | None:
        """Return `lm_eval/NAME` if the installed library has a task called NAME, otherwise None."""
        from .task_index import installed_index

        if name in installed_index(self):
            return f"{self.module}/{name}"
        return None

    def files_named(self, name: str, folder: Path) -> list[str]:
        """Return the files of a folder that define the task, group or tag called `name`."""
        from .index_building import files_named

        return files_named(name, folder, self)

    def name_of(self, reference: str) -> str:
        """Return a task reference without the library's prefix; empty if it does not have the prefix."""
        for prefix in self.prefixes:
            if reference.startswith(prefix):
                return reference.removeprefix(prefix)
        return ""

    def tasks_folder(self) -> Path | None:
        """Return the folder with the installed package's task files; None if the package is not installed."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(next(iter(spec.submodule_search_locations))) / "tasks"
        if folder.is_dir():
            return folder
        return None

    def need_tasks_folder(self) -> Path:
        """Return the folder with the package's task files. If it is missing, raise with the command to install it."""
        folder = self.tasks_folder()
        if folder is None:
            raise MissingExtra(self.module, self.extra)
        return folder

    def version(self) -> str:
        """Return the version of the installed package."""
        return importlib.metadata.version(self.module)


def top_level_keys(text: str) -> set[str]:
    """Return the top-level keys in YAML source, without parsing the YAML."""
    keys = set()
    for line in text.removeprefix("\ufeff").splitlines():
        name, colon, _ = line.partition(":")
        if colon and name and not name[0].isspace():
            keys.add(name.strip().strip("\"'"))
    return keys
