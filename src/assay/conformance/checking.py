"""Run a scorer, or a user's metric, on the cases of a fixture and collect every difference."""

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from importlib import import_module
from typing import Any

from ..core import (
    EMPTY,
    AllOf,
    Candidate,
    Json,
    Likelihood,
    MissingExtra,
    Output,
    Sample,
    Score,
    ScoreRecord,
    ScorerError,
    SummaryContext,
    Text,
    as_score,
    blame,
)
from ..runner.tasks.components import build_scorer, build_summarizer
from .fixtures import Case, Fixture, as_argument

Scorer = Callable[[Sample, Output], Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs from the official one."""

    case: str
    """The number of the case, from 1; or `corpus` for the results over all cases."""
    number_name: str
    official: Any
    ours: Any

    def __str__(self) -> str:
        if self.number_name:
            name = f" {self.number_name}"
        else:
            name = ""
        return f"case {self.case}{name}: official {self.official}, here {self.ours}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one fixture."""

    fixture: Fixture
    equal: int = 0
    differences: tuple[Difference, ...] = ()
    not_run: str = ""
    """The reason why nothing was compared, such as a missing library."""

    @property
    def word(self) -> str:
        """The result in a word: `equal`, `differs` or `not run`."""
        if self.not_run:
            return "not run"
        return "differs" if self.differences else "equal"


def check(
    fixture: Fixture,
    metric: Scorer | None = None,
) -> Verdict:
    """Check a fixture with its scorer, or with the user's `metric`.

    With a `metric`, corpus results are not compared.
    """
    try:
        if metric is None and fixture.function:
            return _verdict(fixture, _function_differences(fixture))
        if metric is not None:
            name = fixture.subject
            scorer = metric
        else:
            name, scorer = build_scorer(fixture.scorer, fixture.name)
        records: list[ScoreRecord] = []
        differences = [*_scorer_differences(fixture, scorer, name, records)]
        if metric is None:
            differences += _corpus_differences(fixture, name, records)
        return _verdict(fixture, differences)
    except MissingExtra as missing:
        return Verdict(fixture, not_run=str(missing.fix or missing.what))


def _verdict(
    fixture: Fixture,
    found: "list[Difference] | Iterator[Difference]",
) -> Verdict:
    differences = tuple(found)
    wrong = {difference.case for difference in differences}
    return Verdict(
        fixture,
        len(fixture.cases) + len(fixture.corpus) - len(wrong),
        differences,
    )


def _scorer_differences(
    fixture: Fixture,
    scorer: Scorer,
    name: str,
    records: list[ScoreRecord],
) -> Iterator[Difference]:
    """Score the outputs of all cases, and compare outcomes and values with the official
    ones.

    Each score is added to `records`.
    """
    for number, case in enumerate(fixture.cases, 1):
        sample = sample_of(case, number)
        case_name = f"{fixture.name}, case {number}"
        with blame(ScorerError, f"scorer {name!r}", sample=case_name):
            output = output_of(case.output)
            score = _score(scorer, sample, output)
        record = _record(score, sample, name, number)
        records.append(record)
        outcome = str(score.outcome)
        if case.outcome is not None and outcome != case.outcome:
            yield Difference(str(number), "outcome", case.outcome, outcome)
        if case.score is not None:
            yield from _compare(str(number), case.score, score.value, fixture.tolerance)


def _function_differences(fixture: Fixture) -> Iterator[Difference]:
    """Call the function of a fixture with the arguments of each case, and compare the return values."""
    module_name, _, name = fixture.function.partition(":")
    package = __package__.partition(".")[0]
    module = import_module(f"{package}.{module_name}")
    function = getattr(module, name)
    for number, case in enumerate(fixture.cases, 1):
        arguments = map(as_argument, case.args)
        options = {}
        for option, value in case.options.items():
            options[option] = as_argument(value)
        result = function(*arguments, **options)
        if is_dataclass(result) and not isinstance(result, type):
            result = asdict(result)
        case_name = str(number)
        yield from _compare(case_name, case.score, result, fixture.tolerance)


def _corpus_differences(
    fixture: Fixture,
    name: str,
    records: list[ScoreRecord],
) -> Iterator[Difference]:
    for number, entry in enumerate(fixture.corpus, 1):
        _, summarizer = build_summarizer(entry["summarizer"], fixture.name)
        context = SummaryContext(
            "conformance",
            "official",
            "conformance",
            name,
            len(records),
            0,
            bounds=None,
        )
        values = {
            result.metric: result.value for result in summarizer(records, context)
        }
        yield from _compare(
            f"corpus {number}",
            entry["results"],
            values,
            fixture.tolerance,
        )


def _score(
    scorer: Scorer,
    sample: Sample,
    output: Output,
) -> Score:
    score = scorer(sample, output)
    return as_score(asyncio.run(score) if inspect.iscoroutine(score) else score)


def _compare(
    case: str,
    official: object,
    ours: object,
    tolerance: float,
) -> Iterator[Difference]:
    """Yield the values of a case that differ from the official ones.

    If one side is a plain number and the other has a single name, compare the numbers
    and ignore the name.
    """
    if (
        isinstance(official, Mapping)
        and not isinstance(ours, Mapping)
        and len(official) == 1
    ):
        ((_, official),) = official.items()
    if (
        not isinstance(official, Mapping)
        and isinstance(ours, Mapping)
        and len(ours) == 1
    ):
        ((_, ours),) = ours.items()
    if isinstance(official, Mapping):
        for name, value in official.items():
            if isinstance(ours, Mapping):
                mine = ours.get(name)
            else:
                mine = None
            if not same(value, mine, tolerance):
                yield Difference(case, name, value, mine)
    elif not same(official, ours, tolerance):
        yield Difference(case, "", official, ours)


def same(
    official: object,
    ours: object,
    tolerance: float,
) -> bool:
    """Return True if two values are equal: numbers within the tolerance (`"inf"` is infinity), others exactly."""
    if isinstance(official, str) and official == "inf":
        return bool(ours == math.inf)
    if isinstance(official, (bool, int, float)) and isinstance(
        ours, (bool, int, float)
    ):
        return math.isclose(
            official,
            ours,
            rel_tol=tolerance,
            abs_tol=tolerance,
        )
    return bool(official == ours)


def sample_of(case: Case, number: int) -> Sample:
    """Return the sample of a case."""
    plain = dict(case.sample)
    target = plain.pop("target", None)
    return Sample(
        id=str(plain.pop("id", number)),
        target=target_of(target),
        choices=tuple(plain.pop("choices", ())),
        **plain,
    )


def target_of(plain: object) -> Any:
    """Convert a case's target. Any item of a list is right; `{"all_of": […]}` requires all its items."""
    if isinstance(plain, list):
        return tuple(target_of(entry) for entry in plain)
    if isinstance(plain, Mapping) and plain.keys() == {"all_of"}:
        return AllOf(tuple(target_of(part) for part in plain["all_of"]))
    return plain


def output_of(plain: object) -> Output:
    """Return the output of a case."""
    if not isinstance(plain, Mapping):
        return Output.of(str(plain))
    if "likelihoods" in plain:
        weights = tuple(
            Likelihood(**w) if isinstance(w, Mapping) else Likelihood(w)
            for w in plain["likelihoods"]
        )
        return Output(
            likelihoods=weights,
            details=plain.get("details", EMPTY),
        )
    part: Json | Text = Text(str(plain.get("text", "")))
    if "json" in plain:
        part = Json(plain["json"])
    return Output(
        (Candidate((part,), plain.get("stop_reason")),),
        details=plain.get("details", EMPTY),
    )


def _record(
    score: Score,
    sample: Sample,
    name: str,
    number: int,
) -> ScoreRecord:
    """Convert a score to a record, with its values named as in a run."""
    value = score.value
    if isinstance(value, Mapping):
        values: dict[str, float | None] = {
            f"{name}.{key}": number_value for key, number_value in value.items()
        }
    else:
        values = {} if value is None else {name: float(value)}
    return ScoreRecord(
        "conformance",
        "official",
        sample.id,
        name,
        "",
        values,
        str(score.outcome),
        answer=score.answer,
        details=score.details,
        tags=sample.tags,
        group=sample.group,
        cluster=sample.cluster,
        order=number,
    )
