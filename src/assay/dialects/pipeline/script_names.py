"""The names that users' scripts import: the functions of `pipeline`, and the engine of `batch_engine`."""

import asyncio
import errno
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...core import (
    DEFAULT_OPTIONS,
    GenerateOptions,
    KeyMaker,
    Model,
    Output,
    Prompt,
    Request,
    Sample,
)
from ...core.request import repeated
from ...models import adapt_model, build_model
from ...runner.ask.calls import call_model
from ...runner.ask.schedule import Scheduler
from ...runner.ask.standing import Standing, Unkept
from ...runner.ask.work import Job
from ...templates import as_prompt
from ..protocol import error_of_rule, is_upstream
from ..shapes import Fields, Record
from . import pipeline_checkout as checkout
from . import pipeline_launch as launch
from .dataset_registry import DatasetRegistry, is_shipped
from .evaluator_registry import EvaluatorRegistry
from .pipeline_engine import Engine, as_turn
from .pipeline_planning import (
    Reference,
    UnknownRegistered,
    dataset_named,
    evaluator_named,
    registered_here,
    source_files,
)


class Direct:
    """Sends prompts to a model without recording them in a run."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.calls = 0
        self._keys = KeyMaker(model.identity)
        self._repeats: Counter[str] = Counter()

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]:
        """Call the model, and return its answers in the order of the prompts."""
        requests = [
            self._request(prompt, options or DEFAULT_OPTIONS) for prompt in prompts
        ]
        if not requests:
            return []
        scheduler = Scheduler(self.model)
        if not scheduler.is_async:
            return call_model(self.model, requests)

        async def ask() -> list[Output]:
            jobs = [Job(Sample(""), request) for request in requests]
            return await Standing(scheduler).ask(jobs, Unkept())

        # Use a separate thread: a notebook's thread already has a running loop.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(ask())).result()

    def _request(self, prompt: Prompt, options: GenerateOptions) -> Request:
        key = self._keys.key_of(prompt, options, options.seed)
        repeat = self._repeats[key]
        self._repeats[key] += 1
        self.calls += 1
        seed = None if options.seed is None else repeated(options.seed, repeat)
        return Request(prompt, options, seed, repeat)


class RWKVInferenceEngine(Engine):
    """The engine that scripts create. It works with any model of assay, which is loaded on first use."""

    def __init__(
        self,
        model_path: object,
        vocab_path: str | None = None,
        vocab_size: int = 65536,
        head_size: int = 64,
        seed: int = 42,
    ) -> None:
        if isinstance(model_path, str):
            model = build_model(launch.model_name(model_path))
        else:
            model = adapt_model(model_path)
        super().__init__(
            Direct(model),
            options=GenerateOptions(seed=seed),
            render=_render,
        )


def _render(sample: Sample) -> Prompt:
    return as_prompt(as_turn(sample))


_OURS = RWKVInferenceEngine


class EvaluationPipeline:
    """Evaluates one model. Results are written to `output_dir`."""

    def __init__(
        self,
        model_path: object,
        vocab_path: str | None = None,
        seed: int = 42,
        output_dir: str = "./eval_results",
    ) -> None:
        self.model_path = model_path
        self.seed = seed
        self.output_dir = output_dir
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        self._engine: Any = None
        self._is_own = RWKVInferenceEngine is not _OURS
        if self._is_own:
            self._engine = RWKVInferenceEngine(
                model_path=model_path,
                vocab_path=vocab_path,
                seed=seed,
            )

    @property
    def engine(self) -> object:
        """The engine with the model, for code that calls it directly. It is built on first use."""
        if self._engine is None:
            self._engine = RWKVInferenceEngine(self.model_path, seed=self.seed)
        return self._engine

    @engine.setter
    def engine(self, engine: object) -> None:
        self._engine, self._is_own = engine, True

    def run(
        self,
        dataset_name: str,
        dataset_path: str,
        evaluator_name: str,
        batch_size: int | None = None,
        max_length: int | None = None,
        limit: int | None = None,
        save_results: bool = True,
        **eval_kwargs: object,
    ) -> Record:
        """Evaluate a dataset, return the result as a dictionary, and write it to `output_dir`.

        A repeated call uses the stored answers.
        """
        _check(dataset_name, str(dataset_path), evaluator_name)
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
        run = self._driven if self._is_own else self._recorded
        document = run(evaluation)
        if save_results:
            launch.save(document, self.output_dir, f"{dataset_name}_{evaluator_name}")
        return document

    def _recorded(self, evaluation: launch.Evaluation) -> Record:
        with registered_here():
            result = evaluation.run()
        if result.status != "complete":
            sys.stderr.write(f"warning: {launch.shortfall(result)}\n")
        return launch.result_document(evaluation, result)

    def _driven(self, evaluation: launch.Evaluation) -> Record:
        """Run the evaluator with the user's own engine, and return the result. assay's runner is not used."""
        data = DatasetRegistry.load_dataset(
            evaluation.dataset,
            evaluation.path,
            evaluation.limit,
        )
        config = launch.config_of(evaluation)
        metrics = EvaluatorRegistry.evaluate(
            evaluation.evaluator,
            self._engine,
            data,
            **config,
        )
        if checkout.measures_speed() and hasattr(self._engine, "measure_decode_speed"):
            speed = self._engine.measure_decode_speed(
                batch_size=config["batch_size"],
                length=32,
            )
            metrics = {**metrics, **launch.round_speeds(speed)}
        size = len(data) + getattr(data, "left_out", 0)
        return launch.upstream_document(evaluation, size, metrics)

    def run_multiple(
        self,
        tasks: Sequence[Fields],
        save_summary: bool = True,
    ) -> list[Record]:
        """Run several tasks one after another, return their results, and write a file with all of them."""
        results = [self.run(**task) for task in tasks]
        if save_summary and (results or is_upstream("pipeline")):
            stamp = time.strftime("%Y%m%d_%H%M%S")
            summary = {
                "timestamp": stamp,
                "total_tasks": len(tasks),
                "results": results,
            }
            launch.save(summary, Path(self.output_dir), "summary")
        return results


def _check(dataset: str, path: str, evaluator: str) -> None:
    """Raise for unregistered names and a missing file, with the errors that scripts expect."""
    try:
        dataset_named(dataset)
        evaluator_named(evaluator)
    except UnknownRegistered as error:
        raise error_of_rule("pipeline", error, ValueError) from None
    if is_shipped(dataset) and not Path(path).expanduser().exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class PipelineBuilder:
    """Collects tasks, and runs them one after another."""

    def __init__(
        self,
        model_path: object,
        output_dir: str = "./eval_results",
    ) -> None:
        self.model_path = model_path
        self.output_dir = output_dir
        self.tasks: list[Record] = []

    def add_task(
        self,
        dataset_name: str,
        dataset_path: str,
        evaluator_name: str,
        **kwargs: object,
    ) -> "PipelineBuilder":
        """Add a task, and return self."""
        self.tasks.append(
            {
                "dataset_name": dataset_name,
                "dataset_path": dataset_path,
                "evaluator_name": evaluator_name,
                **kwargs,
            }
        )
        return self

    def run(self) -> list[Record]:
        """Run all tasks, and return their results."""
        return EvaluationPipeline(
            self.model_path, output_dir=self.output_dir
        ).run_multiple(self.tasks)


def quick_eval(
    model_path: object,
    dataset_name: str,
    dataset_path: str,
    evaluator_name: str,
    **kwargs: Any,
) -> Record:
    """Evaluate one dataset in a single call, and return the result."""
    return EvaluationPipeline(model_path).run(
        dataset_name,
        dataset_path,
        evaluator_name,
        **kwargs,
    )
