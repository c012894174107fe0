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
    """Return the factor and the unit of differences: those of shares are in points."""
    scale = tuple(row.get("scale") or ())
    test = str(row.get("test") or "")
    if scale == SHARE or test.startswith("McNemar"):
        return 100.0, " points"
    return 1.0, ""


def sentence(row: Plain, name: str = "The later run") -> str:
    """Return one number in words, with its direction. `name` is the run that is compared with the baseline."""
    if "refused" in row:
        return f"Not compared: {row['refused']}."
    factor, _ = points(row)
    digits = 1 if factor == 100 else 3
    amount = _amount(row, name, digits)
    interval = _interval(row, factor, digits)
    return f"{amount}{interval}; {changes(row)}; {_p(row)}."


def _amount(row: Plain, name: str, digits: int) -> str:
    """Return the verdict with the size of the difference."""
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
    """Return how many samples changed either way; if lower is better, say which way is the good one."""
    up = f"{row['wins']:,}"
    down = f"{row['losses']:,}"
    total = f"{row['n']:,}"
    if row["higher_is_better"]:
        return f"{up} up, {down} down of {total}"
    return f"{down} better (lower), {up} worse (higher) of {total}"


def overall(rows: Sequence[Plain], name: str = "The later run") -> str:
    """Return the whole comparison in one sentence."""
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
    first = _end_text(low * factor, digits)
    last = _end_text(high * factor, digits)
    return f", 95 % interval {first} to {last}"


def _end_text(end: float, digits: int) -> str:
    """Return an end of an interval with a true minus; adding 0.0 makes -0.0 positive."""
    text = f"{end + 0.0:.{digits}f}"
    return text.replace("-", "−")


def _p(row: Plain) -> str:
    """Return the p value, adjusted by Holm's method if there are several."""
    plain = row["p"]
    adjusted = row.get("p_adjusted")
    p = plain if adjusted is None else adjusted
    text = "p < 0.001" if p < 0.001 else f"p {p:.2g}"
    if adjusted in (None, plain):
        return text
    return f"{text} after Holm"
