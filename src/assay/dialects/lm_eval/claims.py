"""Recognise references and files that are tasks of lm-eval. No file is run."""

from pathlib import Path

from ..harness.library import Library, top_level_keys

NAMES: dict[str, str] = {}
"""Modules that assay provides to files of lm-eval. There are none, because its own package is used."""
LIBRARY = Library("lm_eval", "lm-eval", "assay[lm-eval]")
_NAMING = frozenset({"task", "group"})
_OTHER_KEYS = frozenset(
    {
        "aggregate_metric_list",
        "class",
        "custom_dataset",
        "dataset_path",
        "doc_to_choice",
        "doc_to_target",
        "doc_to_text",
        "fewshot_split",
        "generation_kwargs",
        "group",
        "include",
        "metric_list",
        "output_type",
        "process_docs",
        "process_results",
        "tag",
        "task_list",
        "test_split",
        "training_split",
        "validation_split",
    }
)
"""Keys that occur in files of lm-eval and never in a task file of assay."""


def claims_name(reference: str) -> str | None:
    """Say why a name is a task of lm-eval; None if it is not. An existing file or folder takes precedence."""
    return LIBRARY.claims_name(reference)


def knows(name: str) -> str | None:
    """Return `lm_eval/NAME` for a name without prefix if the installed package has such a task; else None."""
    from ..harness.task_index import installed_index

    if name in installed_index(LIBRARY):
        return f"lm_eval/{name}"
    return None


def files_named(name: str, folder: Path) -> list[str]:
    """Return the files of a folder that define the task, group or tag called `name`."""
    from ..harness.index_building import files_named as find_files

    return find_files(name, folder, LIBRARY)


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Say why a file is a task or a group of lm-eval; None if it is not."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    if not any(f"{key}:" in text for key in _NAMING):
        return None
    keys = top_level_keys(text)
    named = sorted(keys & _OTHER_KEYS)
    if not keys & _NAMING or not named:
        return None
    return f"it has the key {named[0]!r} of lm-eval"
