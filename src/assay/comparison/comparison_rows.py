"""The rows of a comparison: one metric of a run and of its baseline, with a sentence
about the difference.

The sentence states which run is better, by how much and with which interval, how many
samples changed in each direction, and the p value. The interval has the same sign as
the difference: "worse by 2.0 points, 95 % interval 0.5 to 3.5". Another sentence
summarizes all rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core import EMPTY
from ..datasets.files import natural_key
from ..report import format_value
from ..summarizers.statistics import Comparison as Paired

SHARE = (0.0, 1.0)
Plain = Mapping[str, Any]
"""A row of a comparison as JSON: `Row.to_plain`."""


def points(row: Plain) -> tuple[float, str]:
    """Return the factor and the unit for printing a difference.

    They are 100 and ` points` for values between 0 and 1, otherwise 1 and no unit.
    """
    scale = tuple(row.get("scale") or ())
    test = str(row.get("test") or "")
    if scale == SHARE or test.startswith("McNemar"):
        return 100.0, " points"
    return 1.0, ""


def sentence(row: Plain, name: str = "The later run") -> str:
    """Return a sentence about the difference in one metric. `name` is its subject, such as "The later run"."""
    if "refused" in row:
        return f"Not compared: {row['refused']}."
    factor, _ = points(row)
    digits = 1 if factor == 100 else 3
    amount = _amount(row, name, digits)
    interval = _interval(row, factor, digits)
    return f"{amount}{interval}; {changes(row)}; {_p(row)}."


def _amount(
    row: Plain,
    name: str,
    digits: int,
) -> str:
    """Return the verdict and the size of the difference: "The later run is worse by 2.0 points"."""
    factor, unit = points(row)
    difference = row["difference"] * factor
    verdict = row["verdict"]
    is_low = not row["higher_is_better"]
    lower = " (lower is better)" if is_low else ""
    if not difference:
        return f"No difference{lower}"

    way = "higher" if difference > 0 else "lower"
    size = f"{abs(difference):.{digits}f}{unit}"
    if verdict == "not distinguishable":
        return f"The two cannot be distinguished: {_within(name)} is {way} by {size}{lower}"
    if is_low:
        return f"{name} is {verdict}: {way} by {size}{lower}"
    return f"{name} is {verdict} by {size}"


def changes(row: Plain) -> str:
    """Return how many samples went up and down: "3 up, 5 down of 100".

    If lower is better, the text says which of the two is better.
    """
    up = f"{row['wins']:,}"
    down = f"{row['losses']:,}"
    total = f"{row['n']:,}"
    if row["higher_is_better"]:
        return f"{up} up, {down} down of {total}"
    return f"{down} better (lower), {up} worse (higher) of {total}"


def overall(
    rows: Sequence[Plain],
    name: str = "The later run",
) -> str:
    """Return one sentence about all rows: in how many of them the run is better, worse or not distinguishable."""
    compared = [row for row in rows if "refused" not in row]
    if not compared:
        return "Nothing could be compared."
    if len(compared) == 1:
        return sentence(compared[0], name)
    parts = []
    rest = len(compared)
    for verdict in ("better", "worse"):
        count = sum(row["verdict"] == verdict for row in compared)
        rest -= count
        if count:
            parts.append(f"{verdict} in {count}")
    if rest:
        parts.append(f"not distinguishable in {rest}")
    verdicts = ", ".join(parts)
    return f"Of {len(compared)} numbers {_within(name)} is {verdicts} (p values after Holm)."


def signed(value: float, digits: int) -> str:
    """Return a number with its sign, using the minus character (U+2212)."""
    return f"{value:+.{digits}f}".replace("-", "−")


def _within(name: str) -> str:
    """Return the run's name as written inside a sentence: "The later run" -> "the later run"."""
    return "the later run" if name == "The later run" else name


def _interval(
    row: Plain,
    factor: float,
    digits: int,
) -> str:
    """Return the interval of the difference as text. For a negative difference, print
    the interval without its minus signs.
    """
    if row["ci"] is None:
        return ", no interval"
    low, high = row["ci"]
    if row["difference"] < 0:
        low, high = -high, -low
    first = _end_text(low * factor, digits)
    last = _end_text(high * factor, digits)
    return f", 95 % interval {first} to {last}"


def _end_text(end: float, digits: int) -> str:
    """Return an end of an interval as text, with the minus character (U+2212). Adding 0.0 turns -0.0 into 0.0."""
    text = f"{end + 0.0:.{digits}f}"
    return text.replace("-", "−")


def _p(row: Plain) -> str:
    """Return the p value in words. If several rows were compared, add the value adjusted by Holm's method."""
    plain = row["p"]
    adjusted = row.get("p_adjusted")
    p = plain if adjusted is None else adjusted
    text = "p < 0.001" if p < 0.001 else f"p {p:.2g}"
    if adjusted in (None, plain):
        return text
    return f"{text} after Holm"


SIGNIFICANCE = 0.05


class Flip(NamedTuple):
    """A sample whose value differs between the runs."""

    id: str
    before: float
    after: float


@dataclass(slots=True)
class Row:
    """The comparison of one metric of a run with the same metric of the baseline."""

    task: str
    model: str
    baseline_model: str | None
    metric: str
    higher_is_better: bool
    paired: Paired | None = None
    p_adjusted: float | None = None
    """The p value adjusted by Holm's method over all compared rows."""
    refused: str = ""
    """The reason why the metric cannot be compared; empty if it was compared."""
    reducers: tuple[str, str] | None = None
    """The reducers of the baseline and the run, if they differ. A reducer combines several answers to one value."""
    scale: tuple[float, float] | None = None
    """The lowest and the highest possible value of the metric, if they are known."""
    baseline_task: str | None = None
    """The name of the task in the baseline, if it differs."""
    baseline_ids: Mapping[str, str] = field(default_factory=lambda: EMPTY, repr=False)
    """Maps a sample's id in the run to its id in the baseline. Contains only samples whose ids differ."""
    before: Mapping[str, float] = field(default_factory=lambda: EMPTY, repr=False)
    """The values of the baseline by sample id; `after` has those of the run."""
    after: Mapping[str, float] = field(default_factory=lambda: EMPTY, repr=False)

    @property
    def verdict(self) -> str:
        """The verdict: `better`, `worse`, `not distinguishable` or `not compared`."""
        if self.paired is None or self.p_adjusted is None:
            return "not compared"
        difference = self.paired.difference.value
        if self.p_adjusted >= SIGNIFICANCE or difference == 0:
            return "not distinguishable"
        if (difference > 0) == self.higher_is_better:
            return "better"
        return "worse"

    def flips(self) -> list[Flip]:
        """Return the samples that changed, the largest changes first."""
        before = self.before
        after = self.after
        changed = []
        for id in before.keys() & after.keys():
            if before[id] != after[id]:
                changed.append(Flip(id, before[id], after[id]))
        return sorted(
            changed,
            key=lambda flip: (
                -abs(flip.after - flip.before),
                (natural_key(flip.id), flip.id),
            ),
        )

    def line(self) -> str:
        """Return the comparison in one line."""
        name = f"{self.task}.{self.metric}"
        if self.model != self.baseline_model and self.baseline_model is not None:
            name += f" ({self.model} against {self.baseline_model})"
        if self.paired is None:
            return f"{name}: not compared: {self.refused}"
        paired = self.paired
        low = paired.difference.low
        high = paired.difference.high
        if low is None or high is None:
            interval = ""
        else:
            interval = f" [{low:+.3f}, {high:+.3f}]"
        if self.p_adjusted == paired.p:
            adjusted = ""
        else:
            adjusted = f", Holm {format_p(self.p_adjusted)}"
        return (
            f"{name}: {format_value(paired.mean_b)} → {format_value(paired.mean_a)}, "
            f"difference {paired.difference.value:+.3f}{interval}, p {format_p(paired.p)} ({paired.test}){adjusted}, "
            f"{changes(self.to_plain())} common ({paired.overlap:.0%}): {self.verdict}"
            + (
                f" ⚑ {paired.difference.unreliable}"
                if paired.difference.unreliable
                else ""
            )
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the row as JSON."""
        plain: dict[str, Any] = {
            "task": self.task,
            "model": self.model,
            "baseline_model": self.baseline_model,
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "scale": None if self.scale is None else list(self.scale),
            "verdict": self.verdict,
        }
        if self.paired is None:
            return {**plain, "refused": self.refused}
        paired = self.paired
        difference = paired.difference
        plain |= {
            "value": paired.mean_a,
            "baseline_value": paired.mean_b,
            "difference": difference.value,
            "stderr": difference.stderr,
            "ci": None if difference.low is None else [difference.low, difference.high],
            "p": paired.p,
            "p_adjusted": self.p_adjusted,
            "test": paired.test,
            "wins": paired.wins,
            "losses": paired.losses,
            "n": paired.n,
            "overlap": paired.overlap,
        }
        if difference.unreliable:
            plain["unreliable"] = difference.unreliable
        bootstrap = paired.bootstrap
        if bootstrap is not None:
            plain["bootstrap"] = {
                "ci": [bootstrap.low, bootstrap.high],
                "p": bootstrap.p,
                "resamples": bootstrap.resamples,
            }
        return plain


@dataclass(slots=True)
class Comparison:
    """The comparison of all results of a run with those of its baseline."""

    folder: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    """Damage to a run, and differences in data, template, options or scorers."""
    settings: list[list[str]] = field(default_factory=list)
    """Settings that differ (options, versions, platform): the name, the value in the
    baseline, and the value in the run.
    """
    run: str = ""
    """The folder of the run."""
    is_damaged: bool = False
    """True if the baseline was changed after its run. The notes describe the change."""

    def sentence(self, name: str = "The later run") -> str:
        """Return one sentence about the comparison. `name` is used for the run."""
        return overall([row.to_plain() for row in self.rows], name)

    @property
    def compared(self) -> int:
        """The number of results that were compared."""
        return sum(row.paired is not None for row in self.rows)

    def lines(self) -> list[str]:
        """Return the lines to print below the results table on a terminal."""
        nothing = [] if self.compared else ["  nothing was compared"]
        rows = [f"  {row.line()}" for row in self.rows]
        notes = [f"  {note}" for note in self.notes]
        return [f"against {self.folder}:", *rows, *nothing, *notes]

    def to_plain(self) -> dict[str, Any]:
        """Return the comparison as JSON, for the member `baseline` of `--json`."""
        rows = [row.to_plain() for row in self.rows]
        return {
            "run": self.folder,
            "compared": self.compared,
            "rows": rows,
            "notes": self.notes,
        }


def format_p(p: float | None) -> str:
    """Return a p value as text; very small values become an upper bound such as `< 0.0001`."""
    if p is None:
        return "n/a"
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}"
