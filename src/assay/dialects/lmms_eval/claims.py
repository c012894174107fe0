"""Recognise task references and files that belong to lmms-eval. No file is run."""

from pathlib import Path

from ..harness.library import Library, top_level_keys

NAMES: dict[str, str] = {}
"""Modules that assay provides to files of lmms-eval. There are none, because its own package is used."""
LIBRARY = Library(
    "lmms_eval",
    "lmms-eval",
    # The package's requirements include libraries that only its models need.
    "assay[lmms-eval] && pip install --no-deps lmms_eval==0.7.3",
    groups_are_lists=True,
    first_include_wins=True,
)
OWN_KEYS = frozenset(
    {
        "doc_to_messages",
        "doc_to_visual",
        "lmms_eval_specific_kwargs",
        "model_specific_generation_kwargs",
        "process_results_use_image",
    }
)
"""Keys that occur only in files of lmms-eval, which distinguish them from files of lm-eval."""
claims_name = LIBRARY.claims_name
knows = LIBRARY.knows
files_named = LIBRARY.files_named


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return the reason for treating a file as a task or a group of lmms-eval, or None.

    Also read the files that it includes.
    """
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    folder = LIBRARY.tasks_folder()
    if folder is not None and path.resolve().is_relative_to(folder):
        return "it belongs to the package lmms_eval"
    keys = top_level_keys(path.read_text(encoding="utf-8", errors="replace"))
    if not keys & {"task", "group"}:
        return None
    if "aggregate_metric_list" in keys:
        return _claim_of_group(path)
    named = _own_keys(path, keys)
    if named:
        return f"it has the key {named[0]!r} of lmms-eval"
    return None


def _claim_of_group(path: Path) -> str | None:
    """Return a reason if a group belongs to lmms-eval, otherwise None.

    Groups of lm-eval and lmms-eval look the same, so the task files in the group's
    folder decide.
    """
    for file in sorted(path.parent.glob("*.y*ml")):
        keys = top_level_keys(file.read_text(encoding="utf-8", errors="replace"))
        if "task" in keys and file != path and _own_keys(file, keys):
            return f"{file.name} beside it is a task of lmms-eval"
    return None


def _own_keys(
    path: Path,
    keys: set[str],
) -> list[str]:
    """Return the keys of a file and its includes that occur only in files of lmms-eval."""
    if "include" in keys and not keys & OWN_KEYS:
        keys = _keys_with_includes(path)
    return sorted(keys & OWN_KEYS)


def _keys_with_includes(path: Path) -> set[str]:
    from ...core import UsageError
    from ..harness.task_yaml import merged_yaml

    try:
        return set(merged_yaml(path, LIBRARY))
    except UsageError:
        return set()  # Loading the file as a task reports the error.
