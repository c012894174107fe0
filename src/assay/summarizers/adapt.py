"""Summarizers people write: `def summarize(records) -> dict` becomes one that gives results.

A number is a result; a dictionary is one for each number in it, inner names joined by dots. No interval is invented.
"""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import (
    UNRESOLVED,
    Result,
    ScoreRecord,
    Summarizer,
    SummarizerError,
    SummaryContext,
    blame,
    shorten,
)
from .units import reducer_flags, result_names


@dataclass(frozen=True, slots=True)
class Adapted:
    """A user's summarizer, called with what it asks for; whatever it raises names it."""

    name: str
    function: Callable[..., Any]
    takes_context: bool

    def __call__(
        self, records: Sequence[ScoreRecord], context: SummaryContext
    ) -> Iterable[Result]:
        """The results it gave, or its numbers as results."""
        with blame(SummarizerError, f"summarizer {self.name!r}"):
            value = (
                self.function(records, context)
                if self.takes_context
                else self.function(records)
            )
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
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield from self._numbers(inner, f"{path}.{key}" if path else str(key))
            return
        # Numbers of numpy and torch know how to become Python's.
        number = (
            value.item()
            if callable(getattr(value, "item", None)) and getattr(value, "size", 1) == 1
            else value
        )
        if not isinstance(number, (int, float)):
            place = (
                f"gave {shorten(value)} for {path!r}"
                if path
                else f"returned {shorten(value)}"
            )
            raise SummarizerError(
                f"{place}, which is not a number",
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
        finite = math.isfinite(number)
        return Result(
            **result_names(context, metric),
            value=number if finite else None,
            n=n,
            n_expected=context.n_expected,
            interval="none: user summarizer",
            outcomes=dict(outcomes),
            flags=() if finite else (f"the summarizer gave {number}",),
        )


def adapt_summarizer(thing: Any, name: str) -> Summarizer:
    """`thing` as a summarizer: a function of the records, or of the records and the context.

    What ships with assay passes through: it has two parameters and gives results.
    """
    if not callable(thing) or inspect.isclass(thing):
        raise SummarizerError(
            f"{shorten(thing)} cannot be called",
            where=f"summarizer {name!r}",
            fix="give a function `summarize(records)` or an object with `__call__`",
        )
    if type(thing).__module__.startswith(f"{__package__}.") or getattr(
        thing, "__module__", ""
    ).startswith(f"{__package__}."):
        return thing  # type: ignore[no-any-return]
    return Adapted(name, thing, _takes_context(thing, name))


def _takes_context(thing: Callable[..., Any], name: str) -> bool:
    """Whether a second argument can be given; one that has a default is the function's own option."""
    parameters = list(inspect.signature(thing).parameters.values())
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    required = [p for p in positional if p.default is p.empty]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    demanded = [
        p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty
    ]
    if len(required) > 2 or demanded or not (positional or several):
        raise SummarizerError(
            f"takes ({', '.join(p.name for p in parameters)})",
            where=f"summarizer {name!r}",
            fix="write `def summarize(records)` or `def summarize(records, context)`",
        )
    return len(required) == 2 or any(p.name == "context" for p in positional[1:2])
