"""A user's evaluators as scorers: each prediction line is judged as soon as it arrives, by a pool of workers.

An evaluator written for one prediction (`@parallel_batch`) runs in its own pool of `max_workers`; one written for
lists receives the batches of the prediction file. Built-in evaluators are assay's scorers, extended here to rounds.
"""

import asyncio
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import Outcome, Output, Sample, Score, ScorerError, as_score, blamed
from ...runner.ask.threads import Threads
from ...scorers.answers import no_verdict
from ...scorers.asked import LikeInner
from ...scorers.given_models import GivenModels
from ..returned import LEAVES, plain
from ..shapes import Fields, Function, Record
from .eras import PLAIN_RULE, Era, Rule
from .facade.utils import workers_of
from .structures import as_target, encoded
from .televal_lines import LINE, info_of, prediction_lines, spoken_output
from .televal_secrets import without_secrets

Line = tuple[str, Fields]
"""A prediction line and the id of its sample."""


@dataclass(frozen=True)
class Evaluation:
    """A user's evaluator on one task."""

    name: str
    kind: Any
    """The evaluator's class. Its code is part of the digest of scores."""
    args: Fields
    build: Any = field(compare=False)
    """Creates the evaluator when the first answer arrives."""
    loader: Any = field(compare=False)
    summarizers: tuple[Any, ...] = field(default=("mean",), compare=False)
    batch_size: int = 1
    """Number of lines in a call of an evaluator of lists; 1 for an evaluator of single predictions."""
    batches_of: str = ""
    """The digest of the file with the batches, because a changed line affects the other lines of its batch."""
    era: Era = "newest"
    secrets: tuple[str, ...] = field(
        default=(),
        compare=False,
        repr=False,
    )
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = None
    rule: Rule = PLAIN_RULE
    lines: Callable[[], Sequence[Line]] | None = field(
        default=None,
        compare=False,
        repr=False,
    )
    """All predictions in the order of their file, if known, so that an evaluator of lists gets the file's batches."""

    async def __call__(self, sample: Sample, output: Output) -> Score:
        """Return the verdicts on all lines of a sample as one score. Its details have the single verdicts."""
        lines = prediction_lines(sample, output, self.loader, self.era)
        if len(lines) == 1:
            return await self._judge(lines[0], sample.id)
        return joined(
            await asyncio.gather(*(self._judge(line, sample.id) for line in lines))
        )

    async def _judge(self, line: Fields, id: str) -> Score:
        try:
            verdict = without_secrets(await self._worker.ask(line, id), self.secrets)
            if (
                self.rule.is_upstream
                and "score" in line
                and isinstance(verdict, Mapping)
            ):
                # In upstream's result lines, the prediction's fields overwrite the verdict's.
                verdict = {**verdict, "score": line["score"]}
            return read_result(verdict, line, self.name)
        except Exception as error:  # noqa: BLE001 - a user's evaluator: its fault is counted, no score is made of it
            described = str(blamed(ScorerError, error, f"evaluator {self.name!r}", id))
            return no_verdict(without_secrets(described, self.secrets))

    @property
    def _worker(self) -> "Worker":
        """Return the worker, which is not a field because it is not an option of the scorer."""
        worker: Worker | None = self.__dict__.get("_made")
        if worker is None:
            worker = Worker(self.build(), self.batch_size, self.rule, self.lines)
            object.__setattr__(self, "_made", worker)
        return worker


@dataclass(frozen=True)
class BuiltIn(GivenModels, LikeInner):
    """One of assay's scorers behind a TELEVAL evaluator, applied to each round of a dialogue."""

    name: str
    scorer: Any
    loader: Any = field(compare=False)
    summarizers: tuple[Any, ...] = field(default=("mean",), compare=False)
    era: Era = "newest"
    results: Callable[..., Record] | None = field(
        default=None,
        compare=False,
        repr=False,
    )
    """Builds the result of upstream's evaluator for a score, if its result lines are needed."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Helper models of the scorer."""
        return tuple(getattr(self.scorer, "needs", ()))

    @property
    def blocking(self) -> bool:
        """True if the scorer blocks its thread while it works."""
        return bool(getattr(self.scorer, "blocking", False))

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.turns:
            return self._shown(sample, output, self.scorer(sample, output))
        return joined(
            [as_score(self.scorer(*pair)) for pair in self._rounds(sample, output)]
        )

    def _shown(
        self,
        sample: Sample,
        output: Output,
        verdict: Any,
    ) -> Score:
        """Return the score with the dictionary that upstream's evaluator would return for it."""
        if self.results is None or LINE not in sample.fields:
            return verdict  # type: ignore[no-any-return]
        score = as_score(verdict)
        if score.value is None:
            return score
        raw = counts_in(score.details) or score.value
        result = encoded(self.results(sample.fields[LINE], raw, score.details))
        return replace(score, details={**score.details, "result": result})

    def _rounds(self, sample: Sample, output: Output) -> list[tuple[Sample, Output]]:
        return [
            (
                replace(
                    sample,
                    target=as_target(line["ref"]),
                    turns=(),
                    fields={**sample.fields, **info_of(line)},
                ),
                spoken_output(line["pred"], line.get("pred_audio")),
            )
            for line in prediction_lines(sample, output, self.loader, self.era)
        ]


@dataclass(frozen=True)
class AwaitedBuiltIn(BuiltIn):
    """A `BuiltIn` for an asynchronous scorer, such as a judge."""

    async def __call__(self, sample: Sample, output: Output) -> Score:  # type: ignore[override]
        if self.needs:
            scorer = replace(self.scorer, models=self.models)
        else:
            scorer = self.scorer
        if not sample.turns:
            return self._shown(sample, output, await scorer(sample, output))
        return joined(
            await asyncio.gather(
                *(scorer(*pair) for pair in self._rounds(sample, output))
            )
        )


def built_in(
    name: str,
    scorer: object,
    loader: object,
    summarizers: tuple[Any, ...],
    era: Era,
    results: Callable[..., Record] | None = None,
) -> BuiltIn:
    """Wrap one of assay's scorers; the wrapper is asynchronous if the scorer is."""
    kind = (
        AwaitedBuiltIn
        if inspect.iscoroutinefunction(type(scorer).__call__)
        else BuiltIn
    )
    return kind(name, scorer, loader, summarizers, era, results)


def counts_in(details: Fields) -> Record | None:
    """Return the counts of an error rate under TELEVAL's names, or None if there are none."""
    if not {"S", "D", "I", "N"} <= details.keys():
        return None
    return dict(
        zip(
            ("ref_len", "subs", "dele", "inse"),
            (details[k] for k in "NSDI"),
            strict=True,
        )
    )


class Worker:
    """Calls one evaluator with the parallelism that it declares.

    An evaluator written for lists gets the batches of the file, whichever line is needed first, so that a score
    that depends on its batch is reproducible. If not all lines are known yet, it gets one line at a time.
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
        self._single = getattr(evaluate, "single", None)
        default = getattr(evaluate, "default_workers", 1)
        self._threads = Threads(
            workers_of(evaluator, default) if self._single else 1, "evaluator"
        )
        weakref.finalize(self, self._threads.close)
        self._batch_size = max(1, batch_size)
        self._rule, self._lines = rule, lines
        self._batches: dict[int, asyncio.Future[Sequence[Any]]] | None = None
        self._known: list[Line] = []
        self._places: dict[str, tuple[int, int]] = {}

    async def ask(self, line: Fields, id: str) -> Any:
        """Return the evaluator's result for one line; `id` is the sample's."""
        if self._single is not None:
            return await self._threads.submit(self._judge, self._single, line)
        if self._lines is None or self._batch_size == 1:
            return (await self._threads.submit(self._evaluate, [line]))[0]
        return await self._of_batch(line, id)

    async def _of_batch(self, line: Fields, id: str) -> Any:
        if self._batches is None:
            self._known = list(self._lines()) if self._lines is not None else []
            self._places = {
                line_id: divmod(n, self._batch_size)
                for n, (line_id, _) in enumerate(self._known)
            }
            self._batches = {}
        batch, index = self._places[id]
        if batch not in self._batches:
            start = batch * self._batch_size
            members = [
                member for _, member in self._known[start : start + self._batch_size]
            ]
            self._batches[batch] = asyncio.ensure_future(
                self._threads.submit(self._evaluate, members)
            )
        return (await asyncio.shield(self._batches[batch]))[index]

    def _judge(self, evaluate: Function, line: Fields) -> Any:
        with self._rule.kept():
            return evaluate(
                self._evaluator,
                line.get("pred"),
                line.get("ref"),
                info_of(line),
            )

    def _evaluate(self, lines: Sequence[Fields]) -> Sequence[Any]:
        preds, refs = (
            [line.get("pred") for line in lines],
            [line.get("ref") for line in lines],
        )
        with self._rule.kept():
            results = self._evaluator.evaluate(
                preds,
                refs,
                [info_of(line) for line in lines],
            )
        if not isinstance(results, (list, tuple)) or len(results) != len(lines):
            if isinstance(results, (list, tuple)):
                got = f"{len(results)} results"
            else:
                got = f"a {type(results).__name__}"
            raise TypeError(
                f"{type(self._evaluator).__name__}.evaluate returned {got} for {len(lines)} predictions"
            )
        return results


def read_result(
    result: object,
    line: Fields,
    name: str,
) -> Score:
    """Turn an evaluator's dictionary into a score: `score` is the value, the whole dictionary is the details."""
    if not isinstance(result, Mapping) or "score" not in result:
        if isinstance(result, Mapping):
            has = ", ".join(map(str, result))
        else:
            has = f"a {type(result).__name__}"
        raise TypeError(
            f"evaluator {name!r} must return a dict with `key` and `score`, it returned {has}"
        )
    raw = plain(result["score"])
    if "key" in result:
        verdict = {**result, "score": raw}
    else:
        verdict = {"key": line.get("key"), **result, "score": raw}
    # Most verdicts are plain numbers and texts; only others have tuples to mark.
    is_plain = all(type(value) in LEAVES for value in verdict.values())
    details: Record = {"result": verdict if is_plain else encoded(verdict)}
    if raw is None:
        return no_verdict(f"evaluator {name!r} gave no score", **details)
    return Score(number_of(raw), details=details)


def number_of(raw: Any) -> float | dict[str, float] | None:
    """Return a raw score as a number or named numbers, or None if only the user's own summarizer understands it."""
    if isinstance(raw, Mapping):
        named = {str(key): number_of(value) for key, value in raw.items()}
        return {
            key: value for key, value in named.items() if isinstance(value, float)
        } or None
    try:
        return float(raw)
    except (TypeError, ValueError):
        return None


def joined(scores: Sequence[Score]) -> Score:
    """Combine the scores of a dialogue's rounds: their mean, with the single scores in the details."""
    if len(scores) == 1:
        return scores[0]
    rounds = [
        {
            "outcome": str(score.outcome),
            "value": score.value,
            **({"answer": score.answer} if score.answer else {}),
            **score.details,
        }
        for score in scores
    ]
    numbers = [
        float(score.value) for score in scores if isinstance(score.value, (int, float))
    ]
    failed = next(
        (score for score in scores if score.outcome is not Outcome.SCORED), None
    )
    if failed is not None and not numbers:
        outcome = failed.outcome
    else:
        outcome = Outcome.SCORED
    details: Record = {"rounds": rounds}
    if failed is not None and "reason" in failed.details:
        details["reason"] = failed.details["reason"]
    return Score(
        sum(numbers) / len(numbers) if numbers else None,
        outcome,
        details=details,
    )
