"""Which files are written for the pipeline dialect, and the names such files import."""

from pathlib import Path

_FACADE = "assay.dialects.pipeline.facade"

NAMES: dict[str, str] = {
    "dataset_registry": f"{_FACADE}.tasks.dataset_registry",
    "evaluator_registry": f"{_FACADE}.evaluators.evaluator_registry",
    "tasks": f"{_FACADE}.tasks",
    "evaluators": f"{_FACADE}.evaluators",
    "pipeline": f"{_FACADE}.pipeline",
    "batch_engine": f"{_FACADE}.batch_engine",
}
"""Flat and packaged spellings lead to the same modules, so there is one registry of each kind."""

_TELLING = (
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
"""Names that no other system has; `pipeline` or `tasks` alone would claim too much."""

_RELATIVE = (
    ".dataset_registry.DatasetRegistry",
    ".evaluator_registry.EvaluatorRegistry",
)


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """The reason why a file is ours: the first telling name it imports, as a module of upstream's folders does too."""
    found = next((name for name in (*_TELLING, *_RELATIVE) if name in imports), None)
    return f"it imports {found}" if found is not None else None
