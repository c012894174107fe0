"""Adapter for users' summarizers: `def summarize(records) -> dict` becomes one that returns results.

A number is a result. A dictionary is one result for each number in it, with inner names joined by dots. Such
results have no interval.
"""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import (
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
from .record_values import FilledRecords
from .units import reducer_flags, result_names


@dataclass(frozen=True, slots=True)
class Adapted:
    """A user's summarizer, called with the arguments that it accepts. Its errors name it."""

    name: str
    function: Callable[..., Any]
    takes_context: bool
    scale: ValueScale
    """Direction and bounds of its numbers, from the attributes of the function."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterable[Result]:
        """Return the user's results, or its numbers as results."""
        records = FilledRecords.of(records, context)
        with blame(SummarizerError, f"summarizer {self.name!r}"):
            if self.takes_context:
                value = self.function(records, context)
            else:
                value = self.function(records)
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
        outcomes = Counter(record.outcome for record in records)
        judged = len(
            {record.id for record in records if record.outcome not in UNRESOLVED}
        )
        reducer = str(context.options.get("reducer", "mean"))
        repeated = not self.takes_context and len(
            {record.id for record in records}
        ) < len(records)
        reducers = reducer_flags(reducer, repeated=repeated)
        unheard = [
            f"{flag} not applied: the summarizer was given every answer"
            for flag in reducers
        ]
        results = (
            self._result(metric, number, judged, outcomes, context)
            for metric, number in numbers.items()
        )
        return [replace(result, flags=(*result.flags, *unheard)) for result in results]

    def _numbers(self, value: Any, path: str) -> Iterator[tuple[str, float]]:
        """Yield name and number of each number in the user's value."""
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield from self._numbers(inner, f"{path}.{key}" if path else str(key))
            return
        # numpy and torch numbers have `item`, which returns a Python number.
        if callable(getattr(value, "item", None)) and getattr(value, "size", 1) == 1:
            number = value.item()
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
        """Return the result of one number."""
        scale = self.scale.of(metric)
        flags = []
        if not math.isfinite(number):
            flags.append(f"the summarizer gave {number}")
        elif scale.bounds and not scale.bounds[0] <= number <= scale.bounds[1]:
            low, high = scale.bounds
            flags.append(f"outside its bounds {low:g} … {high:g}")
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
    """Return a user's object as a summarizer: a function of the records, or of the records and the context.

    assay's own summarizers are returned unchanged: they have two parameters and return results.
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
    """Return the scale that a user's summarizer declares. Without `bounds`, no bounds are known."""
    scale = ValueScale.declared_by(thing, f"summarizer {name!r}")
    has_bounds = isinstance(getattr(thing, "bounds", None), (tuple, list))
    return scale if has_bounds else replace(scale, bounds=None)


def _takes_context(summarizer: Callable[..., Any], name: str) -> bool:
    """Return True if the summarizer takes a context.

    A second parameter with a default is the function's own option, unless it is called `context`.
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
