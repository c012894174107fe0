"""Recognise task references and files that belong to lm-eval. No file is run."""

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
claims_name = LIBRARY.claims_name
knows = LIBRARY.knows
files_named = LIBRARY.files_named


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a file is a task or a group of lm-eval; None if it is not."""
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
