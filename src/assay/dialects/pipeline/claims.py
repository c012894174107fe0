"""Recognise files written for rwkv-benchmark, and the names that they import."""

from pathlib import Path

from ..placing import facade_names

NAMES = facade_names("pipeline")
"""Modules that files of rwkv-benchmark import, each with the module of assay that provides it.

Different import paths lead to the same module, so there is only one registry of each
kind.
"""

_UNIQUE_IMPORTS = (
    "dataset_registry",
    "evaluator_registry",
    "tasks.dataset_registry",
    "tasks.DatasetRegistry",
    "evaluators.evaluator_registry",
    "evaluators.EvaluatorRegistry",
    "pipeline.quick_eval",
    "pipeline.EvaluationPipeline",
    "pipeline.PipelineBuilder",
    "batch_engine.RWKVInferenceEngine",
)
"""Imports that identify files for rwkv-benchmark. `pipeline` or `tasks` alone would match too many files."""

_RELATIVE = (
    ".dataset_registry.DatasetRegistry",
    ".evaluator_registry.EvaluatorRegistry",
)


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return a reason if a file belongs to rwkv-benchmark, such as an import that only it has, otherwise None."""
    telling_name = next(
        (name for name in (*_UNIQUE_IMPORTS, *_RELATIVE) if name in imports), None
    )
    return f"it imports {telling_name}" if telling_name is not None else None
