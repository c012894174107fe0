"""Direction and bounds of the values that a scorer or a summarizer gives: once for all of them, or for each by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import SupportsFloat, TypeVar, cast

from .errors import UsageError, shorten
from .sample import EMPTY

T = TypeVar("T")

Bounds = tuple[float, float] | None
"""The lowest and the highest value; `None` if there is no such bound."""
SHARE: Bounds = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Which direction is better, and the bounds of values; `directions` and `ends` declare this by name."""

    higher_is_better: bool = True
    bounds: Bounds = SHARE
    directions: Mapping[str, bool] = field(default_factory=lambda: EMPTY)
    ends: Mapping[str, Bounds] = field(default_factory=lambda: EMPTY)

    @classmethod
    def declared_by(cls, thing: object, what: str) -> "ValueScale":
        """Read the attributes `higher_is_better` and `bounds`. Raise if one cannot be read."""
        better = getattr(thing, "higher_is_better", True)
        bounds = getattr(thing, "bounds", SHARE)
        directions = {}
        if isinstance(better, Mapping):
            for name, is_better in better.items():
                directions[str(name)] = bool(is_better)
            better = True
        ends = {}
        if isinstance(bounds, Mapping):
            for name, pair in bounds.items():
                ends[str(name)] = _checked(pair, f"{what}, bounds of {name!r}")
            bounds = SHARE
        return cls(bool(better), _checked(bounds, what), directions, ends)

    @property
    def names(self) -> tuple[str, ...]:
        """The values that have their own declaration."""
        return tuple(dict.fromkeys([*self.directions, *self.ends]))

    def of(self, name: str) -> "ValueScale":
        """Return the scale of one value. A derived name (`correct.majority`) has the same scale."""
        if not self.names:
            return self
        return ValueScale(
            _look_up(self.directions, name, self.higher_is_better),
            _look_up(self.ends, name, self.bounds),
        )

    @property
    def worst(self) -> float | None:
        """The worst possible value; 0 if higher is better and no bounds are known; else `None`."""
        if self.bounds is not None:
            return self.bounds[0] if self.higher_is_better else self.bounds[1]
        return 0.0 if self.higher_is_better else None


def _look_up(declared: Mapping[str, T], name: str, otherwise: T) -> T:
    while name:
        if name in declared:
            return declared[name]
        name = name.rpartition(".")[0]
    return otherwise


def _checked(pair: object, what: str) -> Bounds:
    if pair is None:
        return None
    try:
        low, high = map(float, cast("Iterable[SupportsFloat]", pair))
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not low < high:
        raise UsageError(
            f"bounds must be two numbers, the lower one first, got {shorten(pair)}",
            where=what,
            fix="write bounds = (0.0, 1.0), or None where there are none",
        )
    return low, high
