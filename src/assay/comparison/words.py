"""A comparison in words: one sentence for a number, one for all of them.

The sentence says which run is better, by how much and with which interval, how many samples changed either way, and p.
The interval is that of the amount in the sentence: "worse by 2.0 points, 95 % interval 0.5 to 3.5".
"""

from collections.abc import Mapping, Sequence
from typing import Any

SHARE = (0.0, 1.0)
Plain = Mapping[str, Any]
"""A row of a comparison as JSON: `Row.to_plain`."""


def points(row: Plain) -> tuple[float, str]:
    """Return the factor and the unit of differences: points for shares."""
    is_share = tuple(row.get("scale") or ()) == SHARE or str(
        row.get("test") or ""
    ).startswith("McNemar")
    return (100.0, " points") if is_share else (1.0, "")


def sentence(row: Plain, name: str = "The later run") -> str:
    """Return one number in words, with its direction. `name` is the run that is compared with the baseline."""
    if "refused" in row:
        return f"Not compared: {row['refused']}."
    factor, unit = points(row)
    difference = row["difference"] * factor
    digits = 1 if factor == 100 else 3
    size = f"{abs(difference):.{digits}f}{unit}"
    is_low = not row["higher_is_better"]
    lower = " (lower is better)" if is_low else ""
    way = "higher" if difference > 0 else "lower"
    if not difference:
        begin = f"No difference{lower}"
    elif row["verdict"] == "not distinguishable":
        begin = f"The two cannot be distinguished: {_within(name)} is {way} by {size}{lower}"
    elif is_low:
        begin = f"{name} is {row['verdict']}: {way} by {size}{lower}"
    else:
        begin = f"{name} is {row['verdict']} by {size}"
    return f"{begin}{_interval(row, factor, digits)}; {changes(row)}; {_p(row)}."


def changes(row: Plain) -> str:
    """Return how many samples changed in each direction; if lower is better, say which direction is the good one."""
    if row["higher_is_better"]:
        return f"{row['wins']:,} up, {row['losses']:,} down of {row['n']:,}"
    return f"{row['losses']:,} better (lower), {row['wins']:,} worse (higher) of {row['n']:,}"


def overall(rows: Sequence[Plain], name: str = "The later run") -> str:
    """Return the whole comparison in one sentence."""
    compared = [row for row in rows if "refused" not in row]
    if not compared:
        return "Nothing could be compared."
    if len(compared) == 1:
        return sentence(compared[0], name)
    counts = {
        verdict: sum(row["verdict"] == verdict for row in compared)
        for verdict in ("better", "worse")
    }
    rest = len(compared) - sum(counts.values())
    parts = [f"{verdict} in {count}" for verdict, count in counts.items() if count]
    parts += [f"not distinguishable in {rest}"] if rest else []
    return f"Of {len(compared)} numbers {_within(name)} is {', '.join(parts)} (p values after Holm)."


def signed(value: float, digits: int) -> str:
    """Return a number with its sign, with a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def _within(name: str) -> str:
    """Return a name in the form for the middle of a sentence."""
    return "the later run" if name == "The later run" else name


def _interval(row: Plain, factor: float, digits: int) -> str:
    """Return the interval of the amount in the sentence."""
    if row["ci"] is None:
        return ", no interval"
    low, high = row["ci"]
    if row["difference"] < 0:
        low, high = -high, -low
    ends = []
    for end in (low, high):
        number = end * factor + 0.0
        text = f"{number:.{digits}f}"
        ends.append(text.replace("-", "−"))
    return f", 95 % interval {ends[0]} to {ends[1]}"


def _p(row: Plain) -> str:
    """Return the p value, adjusted by Holm's method if there are several."""
    plain = row["p"]
    adjusted = row.get("p_adjusted")
    p = plain if adjusted is None else adjusted
    text = "p < 0.001" if p < 0.001 else f"p {p:.2g}"
    if adjusted in (None, plain):
        return text
    return f"{text} after Holm"
