"""MM-Vet's table: means in percent by capability, by combination of capabilities, and overall."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .mean import Mean

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")


@summarizers.register("mmvet")
@dataclass(frozen=True)
class MmVet:
    """The overall mean in percent, with one line for each capability and one for each combination of several."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        (overall, *_) = Mean()(
            [replace(record, tags={}) for record in records], context
        )
        groups: dict[str, dict[str, Result]] = {"capability": {}, "combination": {}}
        for capability in CAPABILITIES:
            members = [
                record
                for record in records
                if capability in record.tags.get("category", "")
            ]
            if members:
                groups["capability"][capability] = _mean_of(members, context)
        combinations = sorted({record.tags.get("category", "") for record in records})
        for combination in combinations:
            members = [
                record
                for record in records
                if record.tags.get("category", "") == combination
            ]
            groups["combination"][combination] = _mean_of(members, context)
        yield replace(_percent(overall), metric="mmvet", groups=groups)


def _mean_of(records: Sequence[ScoreRecord], context: SummaryContext) -> Result:
    (result, *_) = Mean()([replace(record, tags={}) for record in records], context)
    return replace(_percent(result), n_expected=len(records))


def _percent(result: Result) -> Result:
    def times(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(100 * end for end in value)
        return None if value is None else 100 * value

    numbers = ("value", "stderr", "ci", "bounds", "parsed_value")
    return replace(result, **{name: times(getattr(result, name)) for name in numbers})
