"""Drawings: from numbers to SVG, the same shapes as in the viewer's `charts.js`, for notebooks and files.

Each function gives the drawing that the function of the same name gives in the app; a test holds them together.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .grid import Markup
from .svg import drawing, element, tick, titled
from .table import format_value

Ends = tuple[float, float]
Numbers = Sequence[float | None]
OUTCOME_LOOKS = {
    "scored": "o-scored",
    "unparsed": "o-unparsed",
    "truncated": "o-unparsed",
    "refused": "o-refused",
    "": "o-none",
}
BINS = 24


class Bar(NamedTuple):
    """A count with its name."""

    name: str
    n: int
    look: str = "col"


class Point(NamedTuple):
    """A group in two runs."""

    name: str
    before: float
    after: float
    n: int


def outcome_look(name: str) -> str:
    """The look that colours an outcome."""
    return OUTCOME_LOOKS.get(name, "o-error")


def outcome_words(name: str) -> str:
    """An outcome as people say it."""
    return name.replace("_", " ") or "not judged"


def domain_of(
    values: Sequence[float | None],
    intervals: Sequence[Ends | None] = (),
    scale: Ends | None = None,
) -> Ends:
    """The range that numbers are drawn to: a share from 0 to 1, else all of them with a little room."""
    every = [*values, *(end for ends in intervals if ends is not None for end in ends)]
    numbers = [value for value in every if value is not None and math.isfinite(value)]
    if not numbers:
        return 0.0, 1.0
    low, high = min(numbers), max(numbers)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if (
        scale is not None
        and all(map(math.isfinite, scale))
        and low >= scale[0]
        and high <= scale[1]
    ):
        return scale
    room = (high - low or abs(high) or 1.0) * 0.08
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers that divide a range."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(
        (m * power for m in (1, 2, 5, 10) if (high - low) / (m * power) <= most), rough
    )
    found, at = [], math.ceil(low / step - 1e-9) * step
    while at <= high + step * 1e-9:
        found.append(float(f"{at:.12g}"))
        at += step
    return found


def short(value: float) -> str:
    """A number for an axis."""
    return (
        f"{float(f'{value / 1000:.3g}'):g}k"
        if abs(value) >= 10000
        else f"{float(f'{value:.4g}'):g}"
    )


def interval_words(ends: Ends | None) -> str:
    """An interval in words."""
    return (
        "no interval"
        if ends is None
        else f"{format_value(ends[0])} – {format_value(ends[1])}"
    )


def interval_marks(
    value: float | None, ends: Ends | None, domain: Ends, width: float
) -> list[Markup]:
    """A track, an interval and a dot, drawn to a scale."""

    def at(number: float) -> float:
        return 6 + (number - domain[0]) / (domain[1] - domain[0] or 1) * (width - 12)

    marks = [element("line", "track", x1=6, x2=width - 6, y1=11, y2=11)]
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, is_half = 6 + share * (width - 12), share % 0.5 == 0
        marks.append(
            element(
                "line",
                "track",
                x1=x,
                x2=x,
                y1=8 if is_half else 9.5,
                y2=14 if is_half else 12.5,
            )
        )
    if ends is not None:
        wide = max(1.5, at(ends[1]) - at(ends[0]))
        marks.append(
            element("rect", "ci", x=at(ends[0]), width=wide, y=7.5, height=7, rx=3.5)
        )
    if value is not None and math.isfinite(value):
        marks.append(element("circle", "dot", cx=at(value), cy=11, r=4.2))
    return marks


def interval_dot(
    value: float | None, ends: Ends | None, domain: Ends, width: float = 180
) -> Markup:
    """A value with its interval, drawn to a scale."""
    is_known = value is not None and math.isfinite(value)
    label = (
        f"{format_value(value)}, 95 % interval {interval_words(ends)}"
        if is_known
        else "no value"
    )
    return drawing(width, 22, label, interval_marks(value, ends, domain, width))


def outcome_strip(outcomes: Mapping[str, int], width: float = 120) -> Markup:
    """What became of the samples, as one strip."""
    entries = sorted(
        ((name, n) for name, n in outcomes.items() if n > 0),
        key=lambda entry: entry[0] != "scored",
    )
    total = sum(n for _, n in entries)
    marks, x = [element("rect", "bed", x=0, y=7, width=width, height=8)], 0.0
    for name, n in entries:
        wide = max(n / total * width, 1.5)
        visible = max(0.0, min(wide, width - x))
        title = f"{outcome_words(name)}: {n:,}"
        marks.append(
            titled("rect", outcome_look(name), title, x=x, y=7, width=visible, height=8)
        )
        x += wide
    words = ", ".join(f"{n:,} {outcome_words(name)}" for name, n in entries)
    return drawing(width, 22, words or "no samples", marks)


def histogram(
    values: Numbers,
    label: str,
    width: float = 360,
    height: float = 150,
    *,
    log: bool = False,
    unit: str = "",
) -> Markup | None:
    """How often values fall where; of few different ones, how often each comes."""
    finite = [
        v for v in values if v is not None and math.isfinite(v) and (not log or v > 0)
    ]
    numbers = [math.log10(v) for v in finite] if log else finite
    if not numbers:
        return None
    if not log and len(set(numbers[:5000])) <= 12:
        counted = Counter(numbers)
        rows = [
            Bar(short(value) + unit, counted[value])
            for value in sorted(set(numbers[:5000]))
        ]
        return bars(rows, label, width, height)
    low, high = min(numbers), max(numbers)
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts = [0] * BINS
    for value in numbers:
        counts[min(BINS - 1, math.floor((value - low) / (high - low) * BINS))] += 1
    top, inner, base = max(counts), width - 16, height - 20

    def back(value: float) -> str:
        return short(10**value if log else value) + unit

    marks = []
    for place, n in enumerate(counts):
        high_bar = n / top * (base - 8)
        title = f"{back(low + (high - low) * place / BINS)} to {back(low + (high - low) * (place + 1) / BINS)}: {n:,}"
        x, wide, tall = (
            8 + place * inner / BINS + 0.5,
            inner / BINS - 1,
            max(1.0 if n else 0.0, high_bar),
        )
        marks.append(
            titled(
                "rect",
                "col",
                title,
                x=x,
                width=wide,
                y=base - high_bar,
                height=tall,
                rx=1,
            )
        )
    marks.append(
        element("line", "axis", x1=8, x2=width - 8, y1=base + 0.5, y2=base + 0.5)
    )
    for mark in _decades(low, high) if log else ticks(low, high, 6):
        marks.append(
            tick(8 + (mark - low) / (high - low) * inner, height - 6, back(mark))
        )
    return drawing(
        width,
        height,
        f"{label}: {len(numbers):,} values from {back(low)} to {back(high)}",
        marks,
    )


def _decades(low: float, high: float) -> list[float]:
    """Logarithms of 1, 2 and 5 times powers of ten inside a range, or of the powers alone where these are many."""
    steps = [0.0] if high - low > 2.5 else [0.0, math.log10(2), math.log10(5)]
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [
        power + step
        for power in powers
        for step in steps
        if low <= power + step <= high
    ]
    return found if len(found) > 1 else [low, high]


def bars(
    rows: Sequence[Bar], label: str, width: float = 360, height: float = 150
) -> Markup:
    """Counts by name."""
    top, base, each = (
        max([1, *(row.n for row in rows)]),
        height - 20,
        (width - 16) / max(len(rows), 1),
    )
    wide = min(each * 0.72, 54)
    marks = []
    for place, row in enumerate(rows):
        x, high = 8 + each * (place + 0.5), row.n / top * (base - 24)
        tall = max(high, 1.0 if row.n else 0.0)
        marks.append(
            element(
                "rect",
                row.look,
                x=x - wide / 2,
                width=wide,
                y=base - high,
                height=tall,
                rx=2,
            )
        )
        marks.append(tick(x, base - high - 5, f"{row.n:,}", look="tick strong"))
        marks.append(tick(x, height - 6, row.name))
    marks.append(
        element("line", "axis", x1=8, x2=width - 8, y1=base + 0.5, y2=base + 0.5)
    )
    return drawing(
        width,
        height,
        f"{label}: {', '.join(f'{row.name} {row.n:,}' for row in rows)}",
        marks,
    )


def calibration(
    confidence: Numbers, right: Numbers, width: float = 260, height: float = 260
) -> Markup | None:
    """How often answers given with a certain confidence are right; nothing for fewer than ten of them."""
    bins = [[0, 0.0, 0.0] for _ in range(10)]
    total = 0
    for sure, value in zip(confidence, right, strict=False):
        if (
            sure is None
            or value is None
            or not (math.isfinite(sure) and math.isfinite(value))
        ):
            continue
        tally = bins[min(9, math.floor(sure * 10))]
        tally[0], tally[1], tally[2], total = (
            tally[0] + 1,
            tally[1] + sure,
            tally[2] + value,
            total + 1,
        )
    if total < 10:
        return None
    error = sum(abs(sure - value) / total for n, sure, value in bins if n)

    def at(value: float) -> float:
        return 30 + value * (width - 42)

    def up(value: float) -> float:
        return height - 30 - value * (height - 42)

    marks = []
    for value, name in ((0, "0"), (0.5, "0.5"), (1, "1")):
        marks += [
            tick(at(value), height - 14, name),
            tick(24, up(value) + 4, name, "end"),
        ]
    marks.append(
        element(
            "rect", "frame", x=at(0), y=up(1), width=at(1) - at(0), height=up(0) - up(1)
        )
    )
    marks.append(element("line", "diagonal", x1=at(0), y1=up(0), x2=at(1), y2=up(1)))
    most = max(n for n, _, _ in bins)
    for n, sure, value in bins:
        if n:
            title = f"sure {sure / n:.2f}, right {value / n:.2f}, n {n:,}"
            radius = 2.5 + 5 * math.sqrt(n / most)
            marks.append(
                titled(
                    "circle",
                    "dot soft",
                    title,
                    cx=at(sure / n),
                    cy=up(value / n),
                    r=radius,
                )
            )
    marks.append(tick(at(0.5), height - 1, "confidence"))
    marks.append(tick(at(0.03), up(0.94), f"ECE {error:.3f}", "start", "tick strong"))
    label = (
        f"Calibration: expected calibration error {error:.3f} over {total:,} samples"
    )
    return drawing(width, height, label, marks)


def scatter(
    points: Sequence[Point], width: float = 320, height: float = 320
) -> Markup | None:
    """Groups of two runs against each other; above the line the later run is higher."""
    if len(points) < 2:
        return None
    low, high = domain_of(
        [value for point in points for value in (point.before, point.after)]
    )

    def at(value: float) -> float:
        return 40 + (value - low) / (high - low or 1) * (width - 52)

    def up(value: float) -> float:
        return height - 34 - (value - low) / (high - low or 1) * (height - 46)

    marks = [
        element(
            "rect",
            "frame",
            x=at(low),
            y=up(high),
            width=at(high) - at(low),
            height=up(low) - up(high),
        ),
        element("line", "diagonal", x1=at(low), y1=up(low), x2=at(high), y2=up(high)),
    ]
    for value in ticks(low, high, 4):
        marks += [
            tick(at(value), height - 18, short(value)),
            tick(34, up(value) + 4, short(value), "end"),
        ]
    most = max(point.n or 1 for point in points)
    for point in points:
        title = f"{point.name}: {format_value(point.before)} → {format_value(point.after)}, n {point.n}"
        look = "dot up" if point.after >= point.before else "dot down"
        radius = 3 + 4 * math.sqrt((point.n or 1) / most)
        marks.append(
            titled(
                "circle", look, title, cx=at(point.before), cy=up(point.after), r=radius
            )
        )
    marks.append(tick(at((low + high) / 2), height - 3, "earlier run"))
    higher = sum(point.after > point.before for point in points)
    return drawing(
        width,
        height,
        f"Groups: {higher} of {len(points)} are higher in the later run",
        marks,
    )


def difference_dot(
    difference: float, ends: Ends | None, verdict: str, reach: float, width: float = 220
) -> Markup:
    """A difference with its interval, around nothing."""

    def at(value: float) -> float:
        return width / 2 + max(-reach, min(reach, value)) / (reach or 1) * (
            width / 2 - 8
        )

    way = {"better": " up", "worse": " down"}.get(verdict, "")
    marks = [
        element("line", "track", x1=8, x2=width - 8, y1=11, y2=11),
        element("line", "axis", x1=width / 2, x2=width / 2, y1=2, y2=20),
    ]
    if ends is not None:
        wide = max(1.5, at(ends[1]) - at(ends[0]))
        marks.append(
            element(
                "rect", f"ci{way}", x=at(ends[0]), width=wide, y=7.5, height=7, rx=3.5
            )
        )
    marks.append(element("circle", f"dot{way}", cx=at(difference), cy=11, r=4.2))
    label = (
        f"difference {format_value(difference)}, 95 % interval {interval_words(ends)}"
    )
    return drawing(width, 22, label, marks)


class Interval(NamedTuple):
    """A number with its name."""

    name: str
    value: float | None
    ends: Ends | None


def interval_rows(
    rows: Sequence[Interval],
    label: str,
    scale: Ends | None = None,
    width: float = 560,
    *,
    around_zero: bool = False,
) -> Markup:
    """Values with their intervals one under another, drawn to one scale; differences `around_zero`."""
    domain = domain_of([row.value for row in rows], [row.ends for row in rows], scale)
    names, numbers, track = 200.0, 150.0, width - 350.0
    marks = []
    if around_zero:
        every = [
            end
            for row in rows
            for end in (row.value, *(row.ends or ()))
            if end is not None
        ]
        reach = max([abs(end) for end in every if math.isfinite(end)] + [1e-9]) * 1.1
        domain = -reach, reach
        middle = names + track / 2
        marks.append(
            element("line", "axis", x1=middle, x2=middle, y1=0, y2=len(rows) * 24)
        )
    for place, row in enumerate(rows):
        y = place * 24.0
        inner = interval_marks(row.value, row.ends, domain, track)
        marks.append(
            element("g", children=inner, transform=f"translate({names:g} {y:g})")
        )
        marks.append(
            tick(
                names - 8,
                y + 15,
                row.name if len(row.name) <= 34 else f"{row.name[:33]}…",
                "end",
            )
        )
        between = (
            ""
            if row.ends is None
            else f" [{format_value(row.ends[0])}, {format_value(row.ends[1])}]"
        )
        text = format_value(row.value) + between
        marks.append(tick(width - numbers + 8, y + 15, text, "start", "tick strong"))
    base = len(rows) * 24.0 + 14
    for end, anchor in ((domain[0], "start"), (domain[1], "end")):
        marks.append(
            tick(
                names + (6 if anchor == "start" else track - 6),
                base,
                short(end),
                anchor,
            )
        )
    return drawing(width, base + 6, label, marks)
