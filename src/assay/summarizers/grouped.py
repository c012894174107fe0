"""Samples judged in groups: a group is right only if all of its samples are right.

Examples of a group are the rotations of one question, or both questions about an image.
If a verdict or an expected sample is missing, the group is unresolved and flagged; it
is not treated as a smaller group.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..core import Outcome, Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .mean import Derived, mean_of, mean_of_units, number_of, reducer_of
from .score_table import Table, read_table

INCOMPLETE = "incomplete"


@dataclass(slots=True)
class _Group:
    """The samples of one group in one epoch, with their values."""

    first: ScoreRecord
    size: int = 0
    expected: int | None = None
    """The expected number of samples in the group."""
    numbers: dict[str, float] = field(default_factory=dict)
    """The worst value in the group, for each metric."""
    judged: Counter[str] = field(default_factory=Counter)
    """The number of samples with a value, for each metric."""


@summarizers.register("grouped")
@dataclass(frozen=True, slots=True)
class Grouped:
    """The share of groups whose samples are all right. The mean over samples is reported as well.

    The task names the column that identifies the groups: `columns: {group: pair}`.
    """

    expected_size: int | str | None = None
    """The number of samples in a complete group: a fixed number, or the key of `details` that has it.

    For example, `options` is the number of rotations if a question is asked once for
    each rotation of its options. By default a group may have any size.
    """
    label: str = "grouped"
    """The suffix of the metric's name: `grouped` in `exact_match.grouped`."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield `metric.grouped` over the groups, then `metric` over the samples, clustered by group."""
        reducer = reducer_of(context)
        samples = read_table(Derived(lambda: _clustered_by_group(records)))
        metrics = samples.names(context.scorer)
        groups = _read_groups(records, metrics, context, self.expected_size)
        for metric in metrics:
            name = f"{metric}.{self.label}"
            table = read_table(Derived(self._verdicts(groups, metric, name)))
            # The first answers of all members form one verdict, then the second ones: groups are reduced, not samples.
            yield _with_sizes(
                mean_of_units(table, name, context, reducer),
                table,
                groups,
            )
            yield mean_of(samples, metric, context, reducer)

    def _verdicts(
        self,
        groups: dict[tuple[str, int], _Group],
        metric: str,
        name: str,
    ) -> Callable[[], Iterator[ScoreRecord]]:
        """Return a function that yields one record for each group. The record's value
        is the worst value in the group.
        """

        def make() -> Iterator[ScoreRecord]:
            for (key, epoch), group in groups.items():
                whole = group.judged[metric] == group.size and group.expected in (
                    None,
                    group.size,
                )
                yield replace(
                    group.first,
                    id=key,
                    epoch=epoch,
                    values={name: group.numbers[metric] if whole else None},
                    outcome=Outcome.SCORED.value if whole else INCOMPLETE,
                )

        return make


def _read_groups(
    records: Sequence[ScoreRecord],
    metrics: Sequence[str],
    context: SummaryContext,
    expected: int | str | None,
) -> dict[tuple[str, int], _Group]:
    """Return the groups by their name and epoch."""
    groups: dict[tuple[str, int], _Group] = {}
    for record in records:
        # A sample without a group is a group of one. The prefixes keep its id apart from the groups' names.
        key = (
            f"group {record.group}"
            if record.group is not None
            else f"sample {record.id}",
            record.epoch,
        )
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(
                replace(
                    record,
                    details={},
                    candidates=(),
                    answer=None,
                )
            )
        group.size += 1
        if isinstance(expected, str):
            size = record.details.get(expected)
        else:
            size = expected
        group.expected = group.expected if size is None else int(size)
        for metric in metrics:
            number = number_of(record, metric, context)
            if number is not None:
                group.judged[metric] += 1
                worst = group.numbers.get(metric)
                if context.of(metric).higher_is_better:
                    worse = min
                else:
                    worse = max
                if worst is None:
                    group.numbers[metric] = number
                else:
                    group.numbers[metric] = worse(worst, number)
    return groups


def _clustered_by_group(records: Sequence[ScoreRecord]) -> Iterator[ScoreRecord]:
    """Yield the records, with the group as cluster of samples without a cluster.

    The samples of a group depend on each other.
    """
    for record in records:
        if record.cluster is None and record.group is not None:
            yield replace(record, cluster=record.group)
        else:
            yield record


def _with_sizes(
    result: Result,
    table: Table,
    groups: dict[tuple[str, int], _Group],
) -> Result:
    """Return the result with the sizes of the groups, and a flag for incomplete ones."""
    sizes = [group.size for group in groups.values()]
    if not sizes:
        return result
    details = {**result.details, "group_size": [min(sizes), max(sizes)]}
    lacking = sum(group.expected not in (None, group.size) for group in groups.values())
    flag: tuple[str, ...] = ()
    if lacking:
        flag = (f"{lacking} of {len(groups)} groups lack some of their samples",)
    return replace(
        result,
        details=details,
        n_expected=table.n_samples,
        flags=(*result.flags, *flag),
    )
