"""A comparison in words: one sentence for a number, one for all of them.

The sentence says which run is better, by how much and with which interval, how many samples changed either way, and p.
The interval is that of the amount the sentence names: "worse by 2.0 points, 95 % interval 0.5 to 3.5".
"""

from collections.abc import Mapping, Sequence
from typing import Any

SHARE = (0.0, 1.0)
Plain = Mapping[str, Any]
"""A row of a comparison as JSON: `Row.to_plain`."""


def points(row: Plain) -> tuple[float, str]:
    """By what differences are multiplied, and what they are called: shares are spoken of in points."""
    is_share = tuple(row.get("scale") or ()) == SHARE or str(
        row.get("test") or ""
    ).startswith("McNemar")
    return (100.0, " points") if is_share else (1.0, "")


def sentence(row: Plain, name: str = "The later run") -> str:
    """One number in words, its direction said; `name` is the run that is compared with the baseline."""
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
        begin = (
            f"The two cannot be told apart: {_within(name)} is {way} by {size}{lower}"
        )
    elif is_low:
        begin = f"{name} is {row['verdict']}: {way} by {size}{lower}"
    else:
        begin = f"{name} is {row['verdict']} by {size}"
    return f"{begin}{_interval(row, factor, digits)}; {changes(row)}; {_p(row)}."


def changes(row: Plain) -> str:
    """How many samples changed either way; where lower is better, which way is the good one."""
    if row["higher_is_better"]:
        return f"{row['wins']:,} up, {row['losses']:,} down of {row['n']:,}"
    return f"{row['losses']:,} better (lower), {row['wins']:,} worse (higher) of {row['n']:,}"


def overall(rows: Sequence[Plain], name: str = "The later run") -> str:
    """The whole comparison in one sentence."""
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
    parts += [f"not to be told apart in {rest}"] if rest else []
    return f"Of {len(compared)} numbers {_within(name)} is {', '.join(parts)} (p values after Holm)."


def signed(value: float, digits: int) -> str:
    """A number with its sign, a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def _within(name: str) -> str:
    """A name in the middle of a sentence."""
    return "the later run" if name == "The later run" else name


def _interval(row: Plain, factor: float, digits: int) -> str:
    if row["ci"] is None:
        return ", no interval"
    ends = [end * factor for end in row["ci"]]
    if row["difference"] < 0:
        ends = [-ends[1], -ends[0]]
    low, high = (f"{end + 0.0:.{digits}f}".replace("-", "−") for end in ends)
    return f", 95 % interval {low} to {high}"


def _p(row: Plain) -> str:
    adjusted = row["p_adjusted"] if row.get("p_adjusted") is not None else row["p"]
    holm = " after Holm" if row.get("p_adjusted") not in (None, row["p"]) else ""
    return ("p < 0.001" if adjusted < 0.001 else f"p {adjusted:.2g}") + holm
