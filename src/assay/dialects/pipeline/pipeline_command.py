"""`assay pipeline`: rwkv-benchmark's command line, executed by assay's runner."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ...core import AssayError, UsageError
from ...runner.events import Watcher
from ...runner.options import DEFAULT_MODEL, RunOptions
from ...runner.result import RunResult
from ..protocol import is_upstream
from ..shapes import Fields, Record
from .dataset_registry import DatasetRegistry
from .evaluator_registry import EvaluatorRegistry
from .pipeline_launch import Evaluation, result_document, save
from .pipeline_planning import (
    dataset_named,
    discover,
    evaluator_named,
    load,
    registered_here,
)


def register_all(
    files: Sequence[str],
    folder: Path,
) -> tuple[str, ...]:
    """Load the `register_*.py` files of a folder and the given files. Return the paths of the loaded files.

    Raise if one cannot be loaded. If files are given, errors in other files of the folder are only printed as notes.
    """
    named = [str(Path(file).expanduser().resolve()) for file in files]
    recognised, broken_files = discover(folder)
    beside = [str(file.resolve()) for file in recognised]
    loaded = []
    for path in dict.fromkeys([*beside, *named]):
        try:
            load(path)
        except AssayError as error:
            if not named or path in named:
                raise
            # The user gave other files. The names that this one registers may not be needed.
            print(f"note: not registered: {error}", file=sys.stderr)
            continue
        loaded.append(path)
    for broken in broken_files:
        print(
            f"note: {broken.name} is not valid Python and registers nothing; "
            f"fix: `python -m py_compile {broken.name}` shows the line",
            file=sys.stderr,
        )
    return tuple(loaded)


def listing() -> list[str]:
    """Return one line for each registered dataset and evaluator. Under upstream's rules, add sizes and metrics."""
    names_of_datasets = DatasetRegistry.list_datasets()
    names_of_evaluators = EvaluatorRegistry.list_evaluators()
    datasets = [dataset_named(name) for name in names_of_datasets]
    evaluators = [evaluator_named(name) for name in names_of_evaluators]
    if is_upstream("pipeline"):
        lines = ["", "=" * 80, "Available Components", "=" * 80, "", "Datasets:"]
        for d in datasets:
            lines.append(f"  • {d.name:15s} - {d.description}")
            sizes = (
                f"batch_size={d.default_batch_size}, max_length={d.default_max_length}"
            )
            lines.append(f"{'':22s}({sizes})")
        lines += ["", "Evaluators:"]
        for e in evaluators:
            lines.append(f"  • {e.name:15s} - {e.description}")
            lines.append(f"{'':22s}metrics: {', '.join(e.metrics)}")
        return [*lines, ""]
    names = [*names_of_datasets, *names_of_evaluators]
    width = max(len(name) for name in names)
    lines = ["datasets:"]
    for d in datasets:
        lines.append(f"  {d.name:<{width}}  {d.description}".rstrip())
    lines.append("evaluators:")
    for e in evaluators:
        lines.append(f"  {e.name:<{width}}  {e.description}".rstrip())
    return lines


def final_lines(document: Fields) -> list[str]:
    """Return the metrics of a result, one per line, as `run_pipeline.py` prints them at the end."""
    lines = ["", "📊 Final Results:"]
    for name, value in document["metrics"].items():
        if isinstance(value, float):
            value = f"{value:.4f}"
        lines.append(f"  {name}: {value}")
    return [*lines, ""]


def evaluation_of(
    options: argparse.Namespace,
    register: tuple[str, ...],
    base: RunOptions,
) -> Evaluation:
    """Build the evaluation from command-line options.

    If required options are missing, raise one error for all of them.
    """
    dataset, evaluator = options.dataset, options.evaluator
    if options.name is not None:
        evaluator = evaluator or options.name
        usual_dataset = options.name
        if options.cot:
            usual_dataset = f"{options.name}_cot"
        dataset = dataset or usual_dataset
    required = {
        "--dataset": dataset,
        "--dataset-path": options.dataset_path,
        "--evaluator": evaluator,
    }
    missing = []
    for option, value in required.items():
        if value is None:
            missing.append(option)
    if missing:
        raise UsageError(
            f"{', '.join(missing)} missing",
            fix="`assay pipeline --list` prints what is registered",
        )
    settings: Record = {}
    if options.inferoutput is not None:
        settings["inferoutput"] = options.inferoutput
    if options.cot:
        settings["use_cot"] = True
    return Evaluation(
        model=options.model or os.environ.get("MODEL_PATH") or DEFAULT_MODEL,
        dataset=dataset,
        path=options.dataset_path,
        evaluator=evaluator,
        batch_size=options.batch_size,
        max_length=options.max_length,
        limit=options.limit,
        seed=options.seed,
        output_dir=options.output_dir,
        settings=settings,
        register=register,
        base=base,
    )


def run_evaluation(
    evaluation: Evaluation,
    watcher: Watcher | None = None,
) -> tuple[RunResult, Path | None]:
    """Run an evaluation and write its result file. Return the path of that file, or None if the run has no results."""
    with registered_here():
        result = evaluation.run(watcher)
    if not result.results:
        return result, None
    return result, save(
        result_document(evaluation, result),
        evaluation.output_dir,
        f"{evaluation.dataset}_{evaluation.evaluator}",
    )
