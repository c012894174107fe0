"""Evaluators of TELEVAL as scorers: users' own (`Evaluation`), and those that assay replaces (`BuiltIn`).

A user's evaluator judges each prediction line as soon as its answer arrives:

    Evaluation.__call__    makes a prediction line of the answer, or one for each round of a dialogue
    Worker.ask             calls the evaluator in a thread, with one line or with a batch
    read_result            makes a score of the dictionary that the evaluator returns
    combine_rounds         makes one score of the scores of all rounds

An evaluator that takes one prediction (`@parallel_batch`) runs in `max_workers` threads. One that takes lists gets
the batches of the prediction file: with `batch_size` 8, the line with index 19 is judged together with 16 to 23.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from ...core import Outcome, Output, Sample, Score, ScorerError, as_score, blamed
from ...runner.ask.threads import Threads
from ...scorers.answers import no_verdict
from ...scorers.asked import LikeInner
from ...scorers.given_models import GivenModels
from ..returned import plain
from ..shapes import MAPPINGS, Fields, Function, Record
from .eras import PLAIN_RULE, Era, Rule
from .facade.utils import workers_of
from .structures import as_target, encoded
from .televal_rows import LINE, Columns, info_of, prediction_lines, spoken_output
from .televal_secrets import without_secrets

COUNTS = {"ref_len": "N", "subs": "S", "dele": "D", "inse": "I"}
"""The counts that an error rate is made of: TELEVAL's name -> the name in assay's scorers."""
Line = tuple[str, Fields]
"""The id of a sample, and its prediction line."""


@dataclass(frozen=True)
class Evaluation:
    """A user's evaluator as a scorer of one task."""

    name: str
    kind: object
    """The evaluator's class. Changing its code invalidates stored scores."""
    args: Fields
    build: Callable[[], object] = field(compare=False)
    """Creates the evaluator when the first answer arrives."""
    columns: Columns = field(compare=False)
    summarizers: tuple[object, ...] = field(default=("mean",), compare=False)
    batch_size: int = 1
    """Number of lines in one call to an evaluator that takes lists; 1 for an evaluator that takes one prediction."""
    batches_of: str = ""
    """Digest of the prediction file. Used only if the evaluator takes lists.

    A changed line may change the scores of its whole batch.
    """
    rule: Rule = PLAIN_RULE
    secrets: tuple[str, ...] = field(default=(), compare=False, repr=False)
    lines: Callable[[], Sequence[Line]] | None = field(
        default=None,
        compare=False,
        repr=False,
    )
    """Function that returns all lines of the prediction file in order, to form batches; None if they are unknown."""
    bounds: ClassVar[tuple[float, float] | None] = None

    async def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        """Judge all prediction lines of a sample, and combine the verdicts into one score.

        The score's details contain each verdict.
        """
        lines = prediction_lines(sample, output, self.columns, self.rule.era)
        if len(lines) == 1:
            # Most samples are one question, which needs no asyncio task of its own.
            return await self._judge(lines[0], sample.id)
        verdicts = [self._judge(line, sample.id) for line in lines]
        return combine_rounds(await asyncio.gather(*verdicts))

    async def _judge(
        self,
        line: Fields,
        id: str,
    ) -> Score:
        """Judge one prediction line. A fault of the evaluator becomes a score without a verdict."""
        try:
            result = await self._worker.ask(line, id)
            result = without_secrets(result, self.secrets)
            is_dict = isinstance(result, MAPPINGS)
            if self.rule.is_upstream and "score" in line and is_dict:
                # In upstream's result lines, the prediction's fields overwrite the verdict's.
                result = {**result, "score": line["score"]}
            return read_result(result, line, self.name)
        except Exception as error:  # noqa: BLE001 - a user's evaluator: its fault is counted, no score is made of it
            fault = blamed(ScorerError, error, f"evaluator {self.name!r}", id)
            return no_verdict(without_secrets(str(fault), self.secrets))

    @cached_property
    def _worker(self) -> "Worker":
        """The worker that calls the evaluator. Not a field, because it does not identify the scorer."""
        return Worker(self.build(), self.batch_size, self.rule, self.lines)


class Worker:
    """Calls one evaluator with the parallelism that it declares.

    If the evaluator takes lists, it gets the batches of the prediction file. These are
    the same in every run, so a score that depends on its batch can be reproduced. While
    some lines are not known yet, the evaluator gets one line at a time.
    """

    def __init__(
        self,
        evaluator: Any,
        batch_size: int,
        rule: Rule = PLAIN_RULE,
        lines: Callable[[], Sequence[Line]] | None = None,
    ) -> None:
        self._evaluator = evaluator
        evaluate = type(evaluator).evaluate
        self._evaluate_single: Function | None = getattr(evaluate, "single", None)
        """The function that judges one prediction; None if the evaluator is written for lists."""
        if self._evaluate_single is None:
            workers = 1
        else:
            workers = workers_of(evaluator, evaluate.default_workers)
        self._threads = Threads(workers, "evaluator")
        weakref.finalize(self, self._threads.close)
        self._batch_size = max(1, batch_size)
        self._rule = rule
        self._read_lines = lines
        self._batches: dict[int, asyncio.Future[Sequence[object]]] = {}
        """The results of each batch whose evaluation has begun, by the index of the batch."""

    def ask(
        self,
        line: Fields,
        id: str,
    ) -> Awaitable[object]:
        """Start judging a prediction line, and return the evaluator's result as an awaitable.

        `id` is the id of the line's sample.
        """
        if self._evaluate_single is not None:
            return self._threads.submit(self._judge_line, self._evaluate_single, line)
        return self._ask_for_batch(line, id)

    async def _ask_for_batch(
        self,
        line: Fields,
        id: str,
    ) -> object:
        """Return the result for a line from an evaluator that takes lists, which gets the line's whole batch."""
        if self._read_lines is None or self._batch_size == 1:
            results = await self._threads.submit(self._judge_lines, [line])
            return results[0]
        batch, index = divmod(self._line_numbers[id], self._batch_size)
        if batch not in self._batches:
            self._batches[batch] = self._start(batch)
        # The batch also serves other lines, and continues if this one is cancelled.
        results = await asyncio.shield(self._batches[batch])
        return results[index]

    def _start(self, batch: int) -> asyncio.Future[Sequence[object]]:
        """Start judging one batch of the file, given by its index, and return a future with the results."""
        start = batch * self._batch_size
        end = start + self._batch_size
        lines = [line for _, line in self._file_lines[start:end]]
        call = self._threads.submit(self._judge_lines, lines)
        return asyncio.ensure_future(call)

    @cached_property
    def _file_lines(self) -> Sequence[Line]:
        """All lines of the prediction file, read when the first batch starts."""
        return self._read_lines() if self._read_lines is not None else ()

    @cached_property
    def _line_numbers(self) -> dict[str, int]:
        """The index of each line in the prediction file, by the id of its sample."""
        return {id: number for number, (id, _) in enumerate(self._file_lines)}

    def _judge_line(
        self,
        evaluate: Function,
        line: Fields,
    ) -> object:
        """Call an evaluator that takes one prediction."""
        with self._rule.kept():
            return evaluate(
                self._evaluator,
                line.get("pred"),
                line.get("ref"),
                info_of(line),
            )

    def _judge_lines(self, lines: Sequence[Fields]) -> Sequence[object]:
        """Call an evaluator that takes lists. Raise unless it returns one result for each line."""
        preds = [line.get("pred") for line in lines]
        refs = [line.get("ref") for line in lines]
        infos = [info_of(line) for line in lines]
        with self._rule.kept():
            results = self._evaluator.evaluate(preds, refs, infos)
        is_list = isinstance(results, (list, tuple))
        if is_list and len(results) == len(lines):
            return list(results)
        returned = (
            f"{len(results)} results" if is_list else f"a {type(results).__name__}"
        )
        name = type(self._evaluator).__name__
        raise TypeError(
            f"{name}.evaluate returned {returned} for {len(lines)} predictions"
        )


def read_result(
    result: object,
    line: Fields,
    name: str,
) -> Score:
    """Convert an evaluator's dictionary to a score: `score` is the value, the whole dictionary becomes the details."""
    if not isinstance(result, MAPPINGS) or "score" not in result:
        if isinstance(result, Mapping):
            returned = ", ".join(map(str, result))
        else:
            returned = f"a {type(result).__name__}"
        raise TypeError(
            f"evaluator {name!r} must return a dict with `key` and `score`, it returned {returned}"
        )
    raw = plain(result["score"])
    verdict = {"key": line.get("key"), **result, "score": raw}
    details: Record = {"result": encoded(verdict)}
    if raw is None:
        return no_verdict(f"evaluator {name!r} gave no score", **details)
    return Score(number_of(raw), details=details)


def number_of(raw: Any) -> float | dict[str, float] | None:
    """Convert a raw score to a number or to named numbers. Return None if it is neither."""
    try:
        return float(raw)
    except (TypeError, ValueError):
        if not isinstance(raw, Mapping):
            return None
    named = {str(key): number_of(value) for key, value in raw.items()}
    numbers = {k: value for k, value in named.items() if isinstance(value, float)}
    return numbers or None


def combine_rounds(scores: Sequence[Score]) -> Score:
    """Combine the scores of a dialogue's rounds into their mean, with the score of each round in the details."""
    if len(scores) == 1:
        return scores[0]
    rounds = []
    for score in scores:
        entry: Record = {"outcome": str(score.outcome), "value": score.value}
        if score.answer:
            entry["answer"] = score.answer
        rounds.append({**entry, **score.details})
    details: Record = {"rounds": rounds}
    outcome = Outcome.SCORED
    values = [score.value for score in scores]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    failures = [score for score in scores if score.outcome is not Outcome.SCORED]
    if failures:
        if not numbers:
            outcome = failures[0].outcome
        if "reason" in failures[0].details:
            details["reason"] = failures[0].details["reason"]
    mean = sum(numbers) / len(numbers) if numbers else None
    return Score(mean, outcome, details=details)


@dataclass(frozen=True)
class BuiltIn(GivenModels, LikeInner):
    """A scorer of assay that replaces a TELEVAL evaluator. It scores each round of a dialogue."""

    name: str
    scorer: Any
    columns: Columns = field(compare=False)
    summarizers: tuple[object, ...] = field(default=("mean",), compare=False)
    era: Era = "newest"
    results: Callable[..., Record] | None = field(
        default=None,
        compare=False,
        repr=False,
    )
    """Makes the dictionary of TELEVAL's evaluator from a score. None if result lines do not include it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Roles of the helper models that the scorer calls."""
        return tuple(getattr(self.scorer, "needs", ()))

    @property
    def blocking(self) -> bool:
        """True if the scorer blocks its thread while it works."""
        return bool(getattr(self.scorer, "blocking", False))

    def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        scores = [as_score(self.scorer(*pair)) for pair in self._rounds(sample, output)]
        return self._with_result(sample, combine_rounds(scores))

    def _with_result(
        self,
        sample: Sample,
        score: Score,
    ) -> Score:
        """Add the dictionary of upstream's evaluator to the details of a score, if result lines need it."""
        line = sample.fields.get(LINE)
        if self.results is None or line is None:
            return score
        if sample.turns or score.value is None:
            return score
        raw = counts_in(score.details) or score.value
        result = encoded(self.results(line, raw, score.details))
        return replace(score, details={**score.details, "result": result})

    def _rounds(
        self,
        sample: Sample,
        output: Output,
    ) -> list[tuple[Sample, Output]]:
        """Return a sample and an output for each round of a dialogue; a single question is returned unchanged."""
        if not sample.turns:
            return [(sample, output)]
        rounds = []
        for line in prediction_lines(sample, output, self.columns, self.era):
            of_round = replace(
                sample,
                target=as_target(line["ref"]),
                turns=(),
                fields={**sample.fields, **info_of(line)},
            )
            answer = spoken_output(line["pred"], line.get("pred_audio"))
            rounds.append((of_round, answer))
        return rounds


@dataclass(frozen=True)
class AwaitedBuiltIn(BuiltIn):
    """A `BuiltIn` for an asynchronous scorer, such as a judge."""

    async def __call__(  # type: ignore[override]
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        scorer = self.scorer
        if self.needs:
            scorer = replace(scorer, models=self.models)
        rounds = [scorer(*pair) for pair in self._rounds(sample, output)]
        scores = [as_score(score) for score in await asyncio.gather(*rounds)]
        return self._with_result(sample, combine_rounds(scores))


def counts_in(details: Fields) -> Record | None:
    """Return the counts of an error rate in a score's details, under TELEVAL's names; None if there are none."""
    if not set(COUNTS.values()) <= details.keys():
        return None
    return {name: details[key] for name, key in COUNTS.items()}
