"""Adapter for users' summarizers: `def summarize(records) -> dict`, and the records that they get.

If the function returns a number, it is one result. If it returns a dictionary, each
number in it is a result; the names of nested entries are joined by dots. Such results
have no interval.

Each record has all values by name. Names are `SCORER.NAME`; the short `NAME` also
works. A record that could not be read or that has no verdict gets the worst value for
every name, so that adding up the records never fails. `record.outcome` identifies these
records.
"""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

from ..core import (
    COUNTED_AS_ZERO,
    EMPTY,
    UNRESOLVED,
    Result,
    ScoreRecord,
    Summarizer,
    SummarizerError,
    SummaryContext,
    blame,
    shorten,
)
from ..core.score import ValueScale
from .units import is_outside, outside_flag, reducer_flags, result_names

FAILED = COUNTED_AS_ZERO | UNRESOLVED


class NamedValues(dict[str, float | None]):
    """The values of one record by name. An unknown name raises an error that lists the known names."""

    __slots__ = ("_failed", "_scorer")  # a summarizer may keep one for every record

    def __init__(
        self,
        values: Mapping[str, float | None],
        scorer: str,
        failed: ValueScale | None,
    ) -> None:
        super().__init__(values)
        self._scorer = scorer
        self._failed = failed

    def __missing__(self, name: str) -> float | None:
        whole = f"{self._scorer}.{name}"
        if whole in self:
            return self[whole]
        if self._failed is not None:
            return worst_of(self._failed, name.removeprefix(f"{self._scorer}."))
        names = ", ".join(map(repr, self)) or "none"
        raise KeyError(f"no value {name!r} in record.values; it has {names}")

    def get(
        self,
        name: str,
        default: object = None,
    ) -> Any:
        """Return the value of a metric, by its full name or its short name."""
        try:
            return self[name]
        except KeyError:
            return default


def worst_of(scale: ValueScale, name: str) -> float:
    """Return the value of a metric for a failed record: the worst value of its scale, or 0 if the scale is unknown."""
    worst = scale.of(name).worst
    return 0.0 if worst is None else worst


@dataclass(frozen=True)
class FilledRecords(Sequence[ScoreRecord]):
    """Records with a value for every metric. Each is created when it is read, to save memory."""

    records: Sequence[ScoreRecord]
    scorer: str
    scale: ValueScale

    @cached_property
    def _survey(self) -> tuple[Sequence[str], int]:
        """Return the names of the metrics and the number of records, found in one pass over the journal.

        The names are those that the scorer declares, and those in the scored records.
        """
        names = dict.fromkeys(f"{self.scorer}.{name}" for name in self.scale.names)
        length = 0
        for record in self.records:
            length += 1
            if record.outcome not in FAILED:
                names.update(dict.fromkeys(record.values))
        return tuple(names) or (self.scorer,), length

    def __iter__(self) -> Iterator[ScoreRecord]:
        return map(self._fill, self.records)

    def __len__(self) -> int:
        _, length = self._survey
        return length

    @overload
    def __getitem__(self, position: int) -> ScoreRecord: ...
    @overload
    def __getitem__(self, position: slice) -> list[ScoreRecord]: ...
    def __getitem__(self, position: int | slice) -> ScoreRecord | list[ScoreRecord]:
        if isinstance(position, slice):
            return [self._fill(record) for record in self.records[position]]
        return self._fill(self.records[position])

    def _fill(self, record: ScoreRecord) -> ScoreRecord:
        """Return the record with a value for every metric."""
        if record.outcome not in FAILED:
            return record.with_values(NamedValues(record.values, record.scorer, None))
        filled: dict[str, float | None] = {}
        names, _ = self._survey
        for name in names:
            value = record.values.get(name)
            short = name.removeprefix(f"{record.scorer}.")
            # A value other than 0 was read by a separate rule, even if the scorer could not read the answer.
            filled[name] = value or worst_of(self.scale, short)
        return record.with_values(NamedValues(filled, record.scorer, self.scale))


@dataclass(frozen=True, slots=True)
class Adapted:
    """A user's summarizer, called with the arguments that it accepts.

    Error messages contain the name of the function.
    """

    name: str
    function: Callable[..., Any]
    takes_context: bool
    scale: ValueScale
    """Direction and bounds of the user's metrics, read from the attributes of the user's function."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterable[Result]:
        """Call the user's function and return its results. A number that it returns becomes a result."""
        scale = context.scale or ValueScale(context.higher_is_better, context.bounds)
        filled = FilledRecords(records, context.scorer, scale)
        with blame(SummarizerError, f"summarizer {self.name!r}"):
            if self.takes_context:
                value = self.function(filled, context)
            else:
                value = self.function(filled)
            if isinstance(value, Result):
                return [value]
            if (
                not isinstance(value, Mapping)
                and isinstance(value, Iterable)
                and not isinstance(value, (str, bytes))
            ):
                value = list(value)
        if isinstance(value, list) and all(
            isinstance(result, Result) for result in value
        ):
            return value
        numbers = dict(self._numbers(value, ""))
        outcomes: Counter[str] = Counter()
        ids = set()
        judged_ids = set()
        for record in records:
            outcomes[record.outcome] += 1
            ids.add(record.id)
            if record.outcome not in UNRESOLVED:
                judged_ids.add(record.id)
        reducer = str(context.options.get("reducer", "mean"))
        repeated = not self.takes_context and len(ids) < outcomes.total()
        reducers = reducer_flags(reducer, repeated=repeated)
        unheard = [
            f"{flag} not applied: the summarizer was given every answer"
            for flag in reducers
        ]
        results = (
            self._result(metric, number, len(judged_ids), outcomes, context)
            for metric, number in numbers.items()
        )
        return [replace(result, flags=(*result.flags, *unheard)) for result in results]

    def _numbers(self, value: object, path: str) -> Iterator[tuple[str, float]]:
        """Yield the dotted name and the value of each number in the return value of the user's function."""
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield from self._numbers(inner, f"{path}.{key}" if path else str(key))
            return
        # numpy and torch numbers have `item`, which returns a Python number.
        to_number = getattr(value, "item", None)
        number: object
        if callable(to_number) and getattr(value, "size", 1) == 1:
            number = to_number()
        else:
            number = value
        if not isinstance(number, (int, float)):
            if path:
                what_happened = f"gave {shorten(value)} for {path!r}"
            else:
                what_happened = f"returned {shorten(value)}"
            raise SummarizerError(
                f"{what_happened}, which is not a number",
                where=f"summarizer {self.name!r}",
                fix="return a number, a dict of numbers (it may be nested), or Results",
            )
        yield path or self.name, float(number)

    def _result(
        self,
        metric: str,
        number: float,
        n: int,
        outcomes: Mapping[str, int],
        context: SummaryContext,
    ) -> Result:
        """Return a result without an interval for one number from the user's function."""
        scale = self.scale.of(metric)
        flags = []
        if not math.isfinite(number):
            flags.append(f"the summarizer gave {number}")
        elif scale.bounds and is_outside(number, scale.bounds):
            flags.append(outside_flag(scale.bounds))
        names = result_names(context, metric, higher_is_better=scale.higher_is_better)
        details: Mapping[str, Any] = EMPTY
        if scale.bounds:
            details = {"scale": list(scale.bounds)}
        return Result(
            **names,
            value=number if math.isfinite(number) else None,
            n=n,
            n_expected=context.n_expected,
            interval="none: user summarizer",
            outcomes=dict(outcomes),
            flags=tuple(flags),
            details=details,
        )


def adapt_summarizer(thing: object, name: str) -> Summarizer:
    """Return a user's function or object as a summarizer, which takes the records and the context.

    assay's own summarizers are returned unchanged: they have two parameters and return
    results.
    """
    if not callable(thing) or inspect.isclass(thing):
        raise SummarizerError(
            f"{shorten(thing)} cannot be called",
            where=f"summarizer {name!r}",
            fix="give a function `summarize(records)` or an object with `__call__`",
        )
    if type(thing).__module__.startswith(f"{__package__}.") or getattr(
        thing,
        "__module__",
        "",
    ).startswith(f"{__package__}."):
        return thing  # type: ignore[no-any-return]
    return Adapted(name, thing, _takes_context(thing, name), _scale_of(thing, name))


def _scale_of(thing: object, name: str) -> ValueScale:
    """Return direction and bounds from the attributes of a user's summarizer.

    Without the attribute `bounds` there are none.
    """
    scale = ValueScale.declared_by(thing, f"summarizer {name!r}")
    has_bounds = isinstance(getattr(thing, "bounds", None), (tuple, list))
    return scale if has_bounds else replace(scale, bounds=None)


def _takes_context(
    summarizer: Callable[..., Any],
    name: str,
) -> bool:
    """Return True if the summarizer takes a context as its second parameter.

    A second parameter with a default is an option of the function, unless it is called
    `context`.
    """
    parameters = list(inspect.signature(summarizer).parameters.values())
    positional = []
    required = []
    takes_any_number = False
    has_required_keyword = False
    for parameter in parameters:
        is_required = parameter.default is parameter.empty
        if parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        ):
            positional.append(parameter)
            if is_required:
                required.append(parameter)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            takes_any_number = True
        elif parameter.kind is parameter.KEYWORD_ONLY and is_required:
            has_required_keyword = True
    takes_records = bool(positional) or takes_any_number
    if len(required) > 2 or has_required_keyword or not takes_records:
        names = ", ".join(parameter.name for parameter in parameters)
        raise SummarizerError(
            f"takes ({names})",
            where=f"summarizer {name!r}",
            fix="write `def summarize(records)` or `def summarize(records, context)`",
        )
    if len(required) == 2:
        return True
    return len(positional) > 1 and positional[1].name == "context"
