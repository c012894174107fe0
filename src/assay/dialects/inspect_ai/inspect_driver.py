"""Run a task of inspect_ai: its solver and scorers, with the recording engine as the model."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import (
    BadSample,
    Outcome,
    Output,
    Prompt,
    Result,
    ScoreRecord,
    ScorerError,
    SummaryContext,
)
from ...imports.inspect_logs import sample_of, stated_numbers
from ...runner.flow.drivers import Driven, DriverStopped, RecordingEngine
from ...store.converting import with_stated
from ...summarizers.attempts import Attempts
from ...summarizers.mean import Mean
from . import inspect_package as package

if TYPE_CHECKING:
    from inspect_ai.dataset import Dataset
    from inspect_ai.log import EvalLog

    from .inspect_planning import InspectReference

MOST_AT_ONCE = 64
"""Maximum number of samples that inspect_ai evaluates in parallel, unless `--concurrency` sets it."""


@dataclass(frozen=True)
class InspectDriver:
    """Lets inspect_ai evaluate one task, and returns its metrics. assay adds the intervals."""

    reference: "InspectReference"
    digest: str
    """Digest of the task and the version of inspect_ai. If it changes, stored answers and scores are outdated."""
    takes_arguments: ClassVar[bool] = True
    """True, because the function that creates a task takes the arguments of `-T`."""

    def __call__(self, recording: RecordingEngine) -> Driven:
        orders = self._choose_samples(recording)
        if not orders:
            return Driven(values={"samples": 0}, n=0)
        with tempfile.TemporaryDirectory() as folder:
            log = self._evaluate(recording, list(orders), folder)
            if recording.failure is not None:
                raise recording.failure
            if recording.stopped:
                raise DriverStopped
            if log.status == "error" or log.samples is None:
                if log.error:
                    reason = log.error.message
                else:
                    reason = "it returned no samples"
                raise ScorerError(str(reason), where=f"task {self.reference.name!r}")
            plain = log.model_dump(
                mode="json",
                exclude_none=True,
                exclude={"samples"},
            )
            # inspect_ai reads the samples from its file while they are iterated.
            records = list(self._records(recording, log.samples, plain, orders))
        for record in records:
            recording.write_score(record)
        results = self._results(recording, records, plain, len(orders))
        return Driven(
            results=results,
            n=len(orders),
            n_expected=len(orders),
        )

    def _choose_samples(self, recording: RecordingEngine) -> dict[str, int]:
        """Return the index in the run of each selected sample, by sample id.

        Record a data error for each unusable sample.
        """
        orders: dict[str, int] = {}
        for order, item in enumerate(recording.planned.view()):
            if isinstance(item, BadSample):
                recording.count_bad(item.id, str(item.error), order)
            else:
                orders[item.id] = order
        return orders

    def _evaluate(
        self,
        recording: RecordingEngine,
        ids: Sequence[str],
        folder: str,
    ) -> "EvalLog":
        """Evaluate the samples with these ids in inspect_ai, and return its log.

        A failed sample does not stop the others.
        """
        from .inspect_planning import load
        from .provider import AssayModel

        task = load(self.reference)
        known_ids = {str(id): id for id in _ids_of(task.dataset)}
        count = recording.options.concurrency or MOST_AT_ONCE

        def ask(
            prompts: Sequence[Prompt],
            samples: Sequence[str],
        ) -> list[Output]:
            return recording.generate(prompts, ids=samples)

        models = package.module("model")
        api = AssayModel(
            recording.planned.model_name,
            ask=ask,
            usual=recording.planned.options,
            chosen=recording.options.generation,
            connections=count,
        )
        model = models.Model(api, models.GenerateConfig())
        (log,) = package.module("").eval(
            task,
            model=model,
            sample_id=[known_ids[id] for id in ids],
            log_dir=folder,
            display="none",
            max_samples=count,
            fail_on_error=False,
            log_realtime=False,
        )
        return log

    def _records(
        self,
        recording: RecordingEngine,
        samples: Sequence[Any],
        plain: Mapping[str, Any],
        orders: Mapping[str, int],
    ) -> Iterator[ScoreRecord]:
        """Yield a score record for each scorer, sample and epoch in inspect_ai's log."""
        cell = recording.planned
        scorers = [s["name"] for s in plain["eval"].get("scorers") or ()]
        for logged in samples:
            dumped = logged.model_dump(mode="json", exclude_none=True)
            sample = sample_of(dumped, scorers or [cell.task.name])
            for score in sample.scores:
                yield ScoreRecord(
                    cell.task.name,
                    cell.model_name,
                    sample.id,
                    score.scorer,
                    self.digest,
                    dict(score.values),
                    score.outcome.value,
                    sample.epoch,
                    score.answer,
                    dict(score.details),
                    order=orders.get(sample.id, len(orders)),
                )

    def _results(
        self,
        recording: RecordingEngine,
        records: Sequence[ScoreRecord],
        plain: Mapping[str, Any],
        expected: int,
    ) -> list[Result]:
        """Return results for each scorer: its mean with an interval, and the other metrics that inspect_ai computed."""
        cell = recording.planned
        by_scorer: dict[str, list[ScoreRecord]] = {}
        for record in records:
            by_scorer.setdefault(record.scorer, []).append(record)
        rows: list[Result] = []
        for scorer, own_records in by_scorer.items():
            context = SummaryContext(
                task=cell.task.name,
                model=cell.model_name,
                protocol=cell.task.protocol,
                scorer=scorer,
                n_expected=expected,
                seed=0,
                bounds=None,
            )
            rows += Mean()(Attempts(own_records), context)
        blank = Result(
            cell.task.name,
            cell.model_name,
            "",
            None,
            expected,
            expected,
            cell.task.protocol,
            outcomes=_outcomes(records),
        )
        return with_stated(rows, stated_numbers(plain), blank, "inspect_ai")


def _ids_of(dataset: "Dataset") -> Iterator[str | int]:
    """Yield the ids of a dataset's samples. Samples without an id are numbered from 1, as in inspect_ai."""
    for number, sample in enumerate(dataset, 1):
        yield number if sample.id is None else sample.id


def _outcomes(records: Sequence[ScoreRecord]) -> dict[str, int]:
    """Return how many samples the first scorer gave each outcome."""
    first = records[0].scorer if records else ""
    counts = Counter(r.outcome for r in records if r.scorer == first)
    return {str(Outcome(outcome)): count for outcome, count in counts.items()}
