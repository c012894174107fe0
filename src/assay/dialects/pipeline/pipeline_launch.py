"""Run the evaluation of one dataset, and write its result file in rwkv-benchmark's format.

A caller makes an `Evaluation` and calls these in turn:

    result = evaluation.run()                        a run of assay with `evaluation.options()`
    document = result_document(evaluation, result)   the contents of the result file
    save(document, folder, "mmlu_choice")            writes mmlu_choice_20250131_120000.json
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import EMPTY, ModelError, UsageError
from ...runner.events import Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run
from ...store import RunReader, write_json
from ..file_names import file_name
from ..protocol import is_upstream
from ..shapes import Fields, Record
from . import pipeline_checkout as checkout
from .pipeline_planning import Reference, dataset_named

SPEED = ("forward_tps", "full_tps", "step_forward_ms_p50", "step_full_ms_p50")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The settings of one evaluation: a dataset, an evaluator and a model."""

    model: Any
    """A model's name, a path, or a model itself."""
    dataset: str
    path: str
    evaluator: str
    batch_size: int | None = None
    max_length: int | None = None
    limit: int | None = None
    seed: int = 42
    output_dir: str = "./eval_results"
    settings: Fields = field(default_factory=lambda: EMPTY)
    """Keyword arguments of the evaluator other than `batch_size` and `max_length`."""
    register: tuple[str, ...] = ()
    base: RunOptions = field(default_factory=RunOptions)
    """Options of assay's run that the other fields do not set."""

    @property
    def reference(self) -> Reference:
        """The task reference in the manifest of the run: dataset, evaluator and settings."""
        return Reference(None, self.dataset, self.evaluator, self.settings)

    def run(self, watcher: Watcher | None = None) -> RunResult:
        """Run the evaluation, or resume it."""
        return run(
            model=None if isinstance(self.model, str) else self.model,
            options=self.options(),
            watcher=watcher,
        )

    def options(self) -> RunOptions:
        """Return the options of assay's run."""
        generation = dict(self.base.generation)
        if self.max_length is not None:
            generation["max_tokens"] = self.max_length
        options = self.base.but(
            tasks=(str(self.reference),),
            data=self.path,
            generation=generation,
            batch_size=self.batch_size,
            limit=self.limit or None,
            seed=self.seed,
            dialect="pipeline",
            register=self.register,
        )
        if isinstance(self.model, str):
            options = options.but(models=(model_name(self.model),))
        if options.output is not None:
            return options
        return options.but(output=str(self._run_folder(options)))

    def _run_folder(self, options: RunOptions) -> Path:
        """Return the folder of the run, such as `eval_results/mmlu_choice--qwen-1a2b3c4d`.

        Its name depends neither on how many requests run in parallel, nor on where answers are copied, nor on the
        evaluator's settings and the files that register it.
        """
        bare = options.but(
            tasks=(str(Reference(None, self.dataset, self.evaluator)),),
            register=(),
        )
        if isinstance(self.model, str):
            label = Path(options.models[0].partition(":")[0]).stem
        else:
            label = (
                getattr(self.model, "name", None)
                or getattr(self.model, "__name__", None)
                or type(self.model).__name__
            )
        task = file_name(f"{self.dataset}_{self.evaluator}", 40)
        model = file_name(str(label), 24)
        return Path(self.output_dir) / f"{task}--{model}-{bare.folder_digest()}"


def model_name(name: str) -> str:
    """Return the name that assay uses for a model: `hf/…` for a folder of weights, `gguf/…` for a `.gguf` file.

    Other names stay unchanged.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return f"hf/{path}"
    if path.suffix == ".gguf" and "/" in name and not name.startswith("gguf/"):
        return f"gguf/{path}"
    if path.suffix == ".pth":
        raise UsageError(
            "assay has no engine for RWKV .pth weights",
            where=name,
            fix="convert them to GGUF, or serve them and name the endpoint: --model openai/NAME --base_url URL",
        )
    return name


def result_document(evaluation: Evaluation, result: RunResult) -> Record:
    """Return the contents of the result file of a run.

    Besides upstream's keys it has the model, the seed, the run folder and the failed rows; under upstream's rules
    it has only upstream's keys.
    """
    if not result.results:
        raise ModelError(
            result.notes[-1] if result.notes else "the run gave no numbers",
            where=str(result.folder),
        )
    first = result[0]
    metrics = dict(first.details.get("metrics", {}))
    if checkout.measures_speed():
        metrics.update(round_speeds(first.details.get("speed", {})))
    size = first.n_expected or 0
    contents = upstream_document(evaluation, size, metrics)
    if is_upstream("pipeline"):
        return contents
    return {
        **contents,
        "model": first.model,
        "seed": evaluation.seed,
        "status": result.status,
        "run": str(result.folder),
        "failed": failed_rows(result),
    }


def upstream_document(
    evaluation: Evaluation,
    size: int,
    metrics: Fields,
) -> Record:
    """Return the contents of a result file, with only the keys that upstream writes."""
    return {
        "timestamp": time.strftime("%Y%m%d_%H%M%S"),
        "dataset": {
            "name": evaluation.dataset,
            "path": evaluation.path,
            "size": size,
            "limit": evaluation.limit,
        },
        "evaluator": evaluation.evaluator,
        "config": config_of(evaluation),
        "metrics": dict(metrics),
    }


def config_of(evaluation: Evaluation) -> Record:
    """Return the evaluator's keyword arguments. If a size was not given, use the dataset's default."""
    config = dataset_named(evaluation.dataset)
    batch_size = evaluation.batch_size
    if batch_size is None:
        batch_size = config.default_batch_size
    max_length = evaluation.max_length
    if max_length is None:
        max_length = config.default_max_length
    return {
        "batch_size": batch_size,
        "max_length": max_length,
        **evaluation.settings,
    }


def round_speeds(speed: Mapping[str, float]) -> dict[str, float]:
    """Return the four speeds with as many decimals as in result files."""
    speeds = {}
    for name in SPEED:
        if name in speed:
            digits = 2 if name.endswith("tps") else 3
            speeds[name] = round(speed[name], digits)
    return speeds


def failed_rows(result: RunResult) -> list[Record]:
    """Return the rows for which no prompt could be built, each with its reason and its traceback."""
    if not any(row.outcomes.get("data_error") for row in result.results):
        return []
    first = result[0]
    rows = []
    for record in RunReader(result.folder).scores(first.task, first.model, first.task):
        if record.outcome == "data_error":
            rows.append({"id": record.id, **record.details})
    return rows


def save(
    contents: Fields,
    folder: str | Path,
    name: str,
) -> Path:
    """Write a result file. A file written in the same second is not overwritten."""
    stem = f"{file_name(name, 80)}_{contents['timestamp']}"
    file = Path(folder) / f"{stem}.json"
    number = 2
    while file.exists():
        file = file.with_name(f"{stem}_{number}.json")
        number += 1
    file.parent.mkdir(parents=True, exist_ok=True)
    # Values without a JSON type, such as paths, are written as strings.
    text = json.dumps(contents, default=str)
    write_json(file, json.loads(text))
    return file


def shortfall(result: RunResult) -> str:
    """Return one line that explains why rows are missing from a run's metrics."""
    if not result.results:
        reason = result.notes[-1] if result.notes else "no numbers"
        return f"{result.status}: {reason}"
    first = result[0]
    expected = first.n_expected or 0
    lost = expected - first.n
    if lost:
        summary = f"{lost} of {expected} rows are not in the numbers"
    else:
        summary = f"the numbers of {expected} rows are {result.status}"
    reasons = [f"{count} {outcome}" for outcome, count in first.outcomes.items()]
    reasons.reverse()
    reasons += first.flags
    explained = ", ".join(reasons)
    return f"{first.task}: {summary} ({explained}); see assay show {result.folder}"
