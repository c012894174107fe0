"""`pipeline`: evaluations from Python, one or several."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import launch
from ..planning import registered_here, source_files
from ..reference import Reference
from .batch_engine import RWKVInferenceEngine
from .evaluators.evaluator_registry import EvaluatorRegistry
from .tasks.dataset_registry import DatasetRegistry

__all__ = ["DatasetRegistry", "EvaluationPipeline", "EvaluatorRegistry", "PipelineBuilder", "quick_eval"]


class EvaluationPipeline:
    """Runs evaluators on datasets with one model; the model loads when it is first asked."""

    def __init__(
        self,
        model_path: Any,
        vocab_path: str | None = None,
        seed: int = 42,
        output_dir: str = "./eval_results",
    ) -> None:
        self.model_path = model_path
        self.seed = seed
        self.output_dir = output_dir
        self.engine = RWKVInferenceEngine(model_path, vocab_path=vocab_path, seed=seed)

    def run(
        self,
        dataset_name: str,
        dataset_path: str,
        evaluator_name: str,
        batch_size: int | None = None,
        max_length: int | None = None,
        limit: int | None = None,
        save_results: bool = True,
        **eval_kwargs: Any,
    ) -> dict[str, Any]:
        """The result as a dictionary, also written to `output_dir`; the same call again asks nothing twice."""
        evaluation = launch.Evaluation(
            self.model_path,
            dataset_name,
            str(dataset_path),
            evaluator_name,
            batch_size,
            max_length,
            limit,
            self.seed,
            self.output_dir,
            eval_kwargs,
            source_files(Reference(None, dataset_name, evaluator_name)),
        )
        with registered_here():
            result = evaluation.run()
        document = launch.document_of(evaluation, result)
        if save_results:
            launch.save(document, self.output_dir, f"{dataset_name}_{evaluator_name}")
        return document

    def run_multiple(self, tasks: Sequence[Mapping[str, Any]], save_summary: bool = True) -> list[dict[str, Any]]:
        """The results of several, one after another, and a file that holds them all."""
        results = [self.run(**task) for task in tasks]
        if save_summary and results:
            summary = {"timestamp": results[-1]["timestamp"], "total_tasks": len(tasks), "results": results}
            launch.save(summary, Path(self.output_dir), "summary")
        return results


class PipelineBuilder:
    """Gathers tasks, then runs them."""

    def __init__(self, model_path: Any, output_dir: str = "./eval_results") -> None:
        self.model_path = model_path
        self.output_dir = output_dir
        self.tasks: list[dict[str, Any]] = []

    def add_task(self, dataset_name: str, dataset_path: str, evaluator_name: str, **kwargs: Any) -> "PipelineBuilder":
        """One more task; returns itself."""
        names = {"dataset_name": dataset_name, "dataset_path": dataset_path, "evaluator_name": evaluator_name}
        self.tasks.append({**names, **kwargs})
        return self

    def run(self) -> list[dict[str, Any]]:
        """The results of all."""
        return EvaluationPipeline(self.model_path, output_dir=self.output_dir).run_multiple(self.tasks)


def quick_eval(
    model_path: Any, dataset_name: str, dataset_path: str, evaluator_name: str, **kwargs: Any
) -> dict[str, Any]:
    """One evaluation in one call."""
    return EvaluationPipeline(model_path).run(dataset_name, dataset_path, evaluator_name, **kwargs)
