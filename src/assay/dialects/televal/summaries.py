"""A guest summarizer as a summarizer of assay: its own dictionary beside numbers with intervals.

`statistic` gets the raw scores in the order of the file, one for each prediction line: each round of a dialogue
counts, and the dialogue is the unit of the interval.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core import UNRESOLVED, AssayError, Result, ScoreRecord, SummaryContext
from ...summarizers.mean import Mean
from .eras import PLAIN_RULE, Rule
from .evaluation import counts_in
from .references import decoded

STATISTIC = "statistic"
"""Under this name the details of a result hold what the guest's summarizer returned."""
OURS = "assay.dialects.televal."
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Statistic:
    """One summarizer entry of a registry."""

    name: str
    kind: Any
    args: Mapping[str, Any]
    summarizer: Any
    rule: Rule = PLAIN_RULE

    def __call__(
        self, records: Sequence[ScoreRecord], context: SummaryContext
    ) -> Iterable[Result]:
        """Numbers with intervals where the scores are numbers, and the numbers of the guest's own dictionary."""
        lines = by_line(records)
        statistic = self.statistic(lines)
        wanted = self.summarizer.results if self._is_ours else None
        numbers = wanted if wanted is not None else (Mean(),)
        expected = len(lines) if len(lines) != len(records) else context.n_expected
        counted = replace(context, n_expected=expected)  # lines instead of samples
        counted_lines = [_with_counts(line) for line in lines]
        try:
            results = [
                result for one in numbers for result in one(counted_lines, counted)
            ]
        except (AssayError, ValueError):
            if not statistic:
                raise
            results, wanted = (
                [],
                None,
            )  # scores outside the scale of the rescaling: the guest's own numbers stand alone
        results = [
            result for result in results if result.value is not None or not statistic
        ]
        if wanted is None:
            results = [*self._own(statistic, lines, counted), *results]
        if not results:
            results = [_result("statistic", None, lines, counted)]
        first = results[0]
        return [
            replace(first, details={**first.details, STATISTIC: dict(statistic)}),
            *results[1:],
        ]

    @property
    def _is_ours(self) -> bool:
        """Whether `statistic` is one of the dialect's own, whose numbers are known; a subclass may say anything."""
        return str(
            getattr(type(self.summarizer).statistic, "__module__", "")
        ).startswith(OURS)

    def statistic(self, lines: Sequence[ScoreRecord]) -> Mapping[str, Any]:
        """What the guest's summarizer returns; lines without a score are not shown to it."""
        scores = [raw_score(line) for line in lines if line.outcome not in UNRESOLVED]
        with self.rule.applied():
            statistic = self.summarizer.statistic(scores)
        if not isinstance(statistic, Mapping):
            name = f"{type(self.summarizer).__name__}.statistic"
            raise TypeError(f"{name} returned a {type(statistic).__name__}, not a dict")
        return statistic

    def _own(
        self,
        statistic: Mapping[str, Any],
        lines: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> list[Result]:
        """The entries that are numbers, or texts with exactly one number in them."""
        numbers = {
            f"{self.name}.{name}": as_number(value) for name, value in statistic.items()
        }
        return [
            _result(name, number, lines, context)
            for name, number in numbers.items()
            if number is not None
        ]


def _result(
    name: str,
    number: float | None,
    lines: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Result:
    return Result(
        task=context.task,
        model=context.model,
        metric=name,
        value=number,
        n=sum(line.outcome not in UNRESOLVED for line in lines),
        n_expected=context.n_expected,
        protocol=context.protocol,
        interval="none: user summarizer",
        outcomes=Counter(str(line.outcome) for line in lines),
        higher_is_better=context.higher_is_better,
    )


def by_line(records: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    """One record for each prediction line: the rounds of a dialogue apart, under the dialogue as their cluster."""
    lines: list[ScoreRecord] = []
    for record in records:
        rounds = record.details.get("rounds")
        if (
            not isinstance(rounds, (list, tuple))
            or not rounds
            or not isinstance(rounds[0], Mapping)
        ):
            lines.append(record)
            continue
        for place, verdict in enumerate(rounds, 1):
            value = verdict.get("value")
            named = (
                value
                if isinstance(value, Mapping)
                else {"": value}
                if value is not None
                else {}
            )
            lines.append(
                replace(
                    record,
                    id=f"{record.id}#{place}",
                    cluster=record.cluster or record.id,
                    outcome=verdict["outcome"],
                    details={
                        k: v
                        for k, v in verdict.items()
                        if k not in ("outcome", "value")
                    },
                    values={
                        f"{record.scorer}.{key}" if key else record.scorer: n
                        for key, n in named.items()
                    },
                )
            )
    return lines


def raw_score(line: ScoreRecord) -> Any:
    """The `score` an evaluator gave; of ours, the value or the named values."""
    if "result" in line.details:
        return decoded(line.details["result"]["score"])
    if counts := counts_in(line.details):
        return counts
    prefix = f"{line.scorer}."
    if line.scorer in line.values:
        return line.values[line.scorer]
    return {name.removeprefix(prefix): value for name, value in line.values.items()}


def _with_counts(line: ScoreRecord) -> ScoreRecord:
    """A line whose score is a set of counts, with those counts where a summarizer pools them."""
    raw = raw_score(line)
    if not isinstance(raw, Mapping) or "ref_len" not in raw:
        return line
    return replace(line, details={**line.details, **raw})


def as_number(value: Any) -> float | None:
    """A number, or the only number in a text such as `AVG: 63.25%`."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str):
        found = _NUMBER.findall(value)
        return float(found[0]) if len(found) == 1 else None
    item = getattr(value, "item", None)
    return float(item()) if callable(item) else None
