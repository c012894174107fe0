"""Run a pipeline task: call an evaluator with its rows and an engine that records every request."""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from ...core import (
    EMPTY,
    AssayError,
    BadSample,
    DataError,
    Result,
    Sample,
    ScorerError,
    UsageError,
    blamed,
)
from ...datasets.columns import CONVENTION
from ...datasets.faults import NamedFault
from ...runner.flow.drivers import Driven, RecordingEngine
from ...runner.summary.results import flatten
from ..parameters import accepted_by
from ..protocol import UPSTREAM, following
from ..returned import checked_metrics, plain
from ..shapes import Fields
from .dataset_registry import DatasetConfig
from .evaluator_registry import EvaluatorConfig
from .pipeline_engine import Engine
from .pipeline_rows import Unusable, read_rows


def as_upstream(enabled: bool) -> AbstractContextManager[None]:
    """Return a context that applies upstream's rules if `enabled` is True, and changes nothing otherwise."""
    return following("pipeline", UPSTREAM) if enabled else nullcontext()


@dataclass(
    frozen=True,
    slots=True,
    repr=False,
)
class Rows:
    """The rows of a registered dataset as samples, loaded on first use."""

    config: DatasetConfig
    path: str | None
    is_upstream: bool = False

    def __repr__(self) -> str:
        """Return a string that is the same in every process, and identifies rows that do not come from a file."""
        return f"{self.config.name} in {self.path}{'@upstream' if self.is_upstream else ''}"

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return f"dataset {self.config.name!r}"

    @property
    def file(self) -> Path | None:
        """The file that the loader reads; None if it does not read a file."""
        if self.path is None:
            return None
        file = Path(self.path).expanduser()
        return file if file.is_file() else None

    def __call__(self) -> list[Sample | DataError]:
        if self.path is None:
            raise UsageError(
                f"dataset {self.config.name!r} reads a file and none is given",
                fix="--data FILE",
            )
        config = self.config
        with as_upstream(self.is_upstream):
            rows = list(read_rows(config.loader, config.prompt_template, self.path))
        column = id_column([row.raw for row in rows if isinstance(row.raw, Mapping)])
        samples: list[Sample | DataError] = []
        for position, row in enumerate(rows):
            name = None
            if column is not None and isinstance(row.raw, Mapping):
                name = str(row.raw[column])
            if isinstance(row, Unusable):
                samples.append(self._fault(row, name))
            else:
                id = str(position) if name is None else name
                samples.append(Sample(id, row.prompt, row.reference, fields=row.raw))
        return samples

    def _fault(self, row: Unusable, name: str | None) -> DataError:
        function = getattr(self.config.prompt_template, "__name__", "prompt_template")
        error = NamedFault(
            f"{function} failed: {row.error}",
            file=Path(self.path or "").name,
            row=row.number,
        )
        if name is not None:
            error.sample_id = name
        error.add_note(row.traceback)
        return error


def id_column(rows: Sequence[Fields]) -> str | None:
    """Return the name of a column with a unique value in every row, such as `id`. None if there is none."""
    for name in CONVENTION["id"]:
        values = [row.get(name) for row in rows]
        are_names = all(
            isinstance(value, (str, int)) and value != "" for value in values
        )
        if are_names and len({str(value) for value in values}) == len(values):
            return name
    return None


@dataclass(frozen=True)
class Drive:
    """Runs one evaluator on one dataset. The complete dictionary that it returns is stored with the results."""

    dataset: DatasetConfig
    evaluator: EvaluatorConfig
    settings: Fields
    """Keyword arguments of the evaluator other than `batch_size` and `max_length`."""
    max_length: int
    batch_size: int = field(default=64, compare=False)
    is_upstream: bool = False

    def __call__(self, recording: RecordingEngine) -> Driven:
        samples: list[Sample] = []
        rejected: list[str] = []
        expected = 0
        for order, item in enumerate(recording.planned.view()):
            expected += 1
            if isinstance(item, BadSample):
                trace = "\n".join(getattr(item.error, "__notes__", ()))
                recording.count_bad(item.id, str(item.error), order, traceback=trace)
            else:
                samples.append(item)

        def reject(sample_id: str, why: str) -> None:
            rejected.append(sample_id)
            recording.count_bad(sample_id, why, expected)

        recording.expect(len(samples))
        planned = recording.planned
        engine = Engine(
            recording,
            options=planned.options,
            render=planned.template,
            samples=samples,
            reject=reject,
        )
        metrics = self._evaluate(engine, samples, recording)
        usable = len(samples) - len(rejected)
        if usable and not engine.answers:
            return _without_numbers(metrics, recording, expected)
        # A prompt built by the evaluator belongs to an unknown row, and to only one.
        rows_asked = len(engine.rows_asked - set(rejected))
        mode = metrics.get("mode")
        is_named = isinstance(mode, str) and mode
        return Driven(
            values=metrics,
            n=min(usable, rows_asked + engine.other_calls),
            n_expected=expected,
            protocol=f"{planned.task.protocol}@{mode}" if is_named else "",
            details={"metrics": plain(metrics), "speed": engine.speed},
            lower_is_better=frozenset(filter(is_cost, flatten(metrics))),
        )

    def _evaluate(
        self,
        engine: Engine,
        samples: list[Sample],
        recording: RecordingEngine,
    ) -> Fields:
        where = f"evaluator {self.evaluator.name!r}"
        items = [
            {"prompt": s.input, "reference": s.target, "raw": s.fields} for s in samples
        ]
        function = self.evaluator.evaluator
        arguments = {
            "batch_size": self.batch_size,
            "max_length": self.max_length,
            **self.settings,
        }
        try:
            with as_upstream(self.is_upstream):
                metrics = function(
                    engine,
                    items,
                    **{**accepted_by(function, arguments), **self.settings},
                )
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            # The model's error is more informative than the evaluator's reaction to it.
            raise recording.failure or blamed(ScorerError, error, where) from error
        return checked_metrics(metrics, function, where)


def _without_numbers(
    metrics: Fields,
    recording: RecordingEngine,
    expected: int,
) -> Driven:
    """Return results without values, for an evaluation in which the model answered no request."""
    planned = recording.planned
    progress = recording.asking.progress
    flag = "no model call was answered"
    if not recording.calls:
        flag = "the evaluator asked the model nothing"
        progress.first_errors.setdefault("data_error", flag)
    outcomes = {str(name): count for name, count in progress.outcomes.items()}
    rows = [
        Result(
            task=planned.task.name,
            model=planned.model_name,
            metric=name,
            value=None,
            n=0,
            n_expected=expected,
            protocol=planned.task.protocol,
            interval="none: a set-level metric",
            higher_is_better=not is_cost(name),
            outcomes=outcomes,
            flags=(flag,),
            details={"metrics": plain(metrics)} if not position else EMPTY,
        )
        for position, name in enumerate(flatten(metrics))
    ]
    return Driven(results=rows, n=0, n_expected=expected)


_LOSSES = "perplexity|ppl|loss|nll"
_ERRORS = "wer|cer|ter|mae|mse|rmse"
_DURATIONS = "latency|time|seconds|ms"
LESS_IS_BETTER = re.compile(
    r"(.*[_ -])?"  # "word_ppl"
    rf"({_LOSSES}|{_ERRORS}|{_DURATIONS}|errors?|error_rate)"
    r"(_p\d+)?",  # "latency_p95"
    re.IGNORECASE,
)


def is_cost(name: str) -> bool:
    """Return True if the name of a metric suggests that lower is better. Evaluators do not declare a direction."""
    # The name of a group (`by_subject.time management`) is unrelated to the number in it.
    return "." not in name and LESS_IS_BETTER.fullmatch(name) is not None
