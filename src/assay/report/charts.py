"""Charts as SVG, for notebooks and files: the same shapes as in the viewer's `charts.js`.

Each function returns the same drawing as the function of the same name in the app; a
test compares them.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .grid import Markup
from .svg import (
    Ends,
    Numbers,
    Scale,
    circle,
    decades,
    domain_of,
    drawing,
    element,
    finite,
    line,
    rect,
    short,
    tick,
    ticks,
)
from .table import format_value

OUTCOME_LOOKS = {
    "scored": "o-scored",
    "unparsed": "o-unparsed",
    "truncated": "o-unparsed",
    "refused": "o-refused",
    "": "o-none",
}
BINS = 24
LOG_RATIO = 20
"""A logarithmic axis is used if the largest value divided by the smallest is at least this."""
NAMED_DOTS = 10
"""The maximum number of labelled dots in a scatter plot. The dots with the largest change get the labels."""
DOT_NAME_LENGTH = 24
DOT_ROOM = 8
"""Half the side of the square around a dot that labels must not cover, in pixels."""
LETTER_WIDTH = 6.5
MARGIN = 8.0
"""Empty pixels at both ends of a bar chart."""
ROW_HEIGHT = 24.0
DOT_MARGIN = 6.0
"""Empty pixels to the left and right of the line on which an interval is drawn."""


class Bar(NamedTuple):
    """A bar of a bar chart: a name and a count."""

    name: str
    n: int
    look: str = "col"


class Point(NamedTuple):
    """A dot of the scatter plot: the values of one group of samples in two runs."""

    name: str
    before: float
    after: float
    n: int


def outcome_look(name: str) -> str:
    """Return the style class of an outcome in charts."""
    return OUTCOME_LOOKS.get(name, "o-error")


def outcome_words(name: str) -> str:
    """Return an outcome in words."""
    return name.replace("_", " ") or "not judged"


def interval_words(ends: Ends | None) -> str:
    """Return an interval in words."""
    if ends is None:
        return "no interval"
    return f"{format_value(ends[0])} – {format_value(ends[1])}"


def interval_marks(
    value: float | None,
    ends: Ends | None,
    domain: Ends,
    width: float,
) -> list[Markup]:
    """Return the SVG elements of one value: the track with its scale marks, the bar of the interval and the dot."""
    first = DOT_MARGIN
    last = width - DOT_MARGIN
    scale = Scale(*domain, first, last)
    marks = [line("track", first, 11, last, 11)]
    for quarter in range(5):
        x = first + quarter / 4 * (last - first)
        half_height = 3 if quarter % 2 == 0 else 1.5
        top = 11 - half_height
        bottom = 11 + half_height
        marks.append(line("track", x, top, x, bottom))
    if ends is not None:
        marks.append(_interval_bar(ends, scale, "ci"))
    if value is not None and math.isfinite(value):
        marks.append(circle("dot", scale(value), 11, 4.2))
    return marks


def _interval_bar(
    ends: Ends,
    scale: Scale,
    look: str,
) -> Markup:
    """Return the bar of an interval, with a minimum width so that it is visible."""
    left = scale(ends[0])
    right = scale(ends[1])
    width = max(1.5, right - left)
    return rect(look, left, 7.5, width, 7, 3.5)


def interval_dot(
    value: float | None,
    ends: Ends | None,
    domain: Ends,
    width: float = 180,
) -> Markup:
    """Return the drawing of a value with its interval. The ends of the scale are printed below."""
    label = "no value"
    if value is not None and math.isfinite(value):
        label = f"{format_value(value)}, 95 % interval {interval_words(ends)}"
    marks = interval_marks(value, ends, domain, width)
    first = short(domain[0])
    last = short(domain[1])
    right = width - DOT_MARGIN
    marks.append(tick(DOT_MARGIN, 25, first, "start", "tick tiny"))
    marks.append(tick(right, 25, last, "end", "tick tiny"))
    return drawing(width, 28, label, marks)


def outcome_strip(
    outcomes: Mapping[str, int],
    width: float = 120,
) -> Markup:
    """Return a strip divided by the share of each outcome, scored samples first."""
    entries = [(name, n) for name, n in outcomes.items() if n > 0]
    entries.sort(key=lambda entry: entry[0] != "scored")
    total = sum(n for _, n in entries)
    marks = [rect("bed", 0, 7, width, 8)]
    labels = []
    x = 0.0
    for name, n in entries:
        words = outcome_words(name)
        wide = max(n / total * width, 1.5)
        visible = min(wide, width - x)
        look = outcome_look(name)
        title = f"{words}: {n:,}"
        marks.append(rect(look, x, 7, max(0.0, visible), 8, title=title))
        labels.append(f"{n:,} {words}")
        x += wide
    label = ", ".join(labels) or "no samples"
    return drawing(width, 22, label, marks)


def histogram(
    values: Numbers,
    label: str,
    width: float = 360,
    height: float = 166,
    *,
    log: bool = False,
    unit: str = "",
    axis: str = "",
) -> Markup | None:
    """Return a histogram. If values have only a few different labels, each label gets a bar.

    With `log`, the axis is logarithmic if the largest number is at least `LOG_RATIO`
    times the smallest.
    """
    numbers = finite(values)
    positive = [value for value in numbers if value > 0]
    log = log and bool(positive) and max(positive) >= LOG_RATIO * min(positive)
    if log:
        numbers = [math.log10(value) for value in positive]
        axis = f"{axis} (log scale)".strip()
    if not numbers:
        return None
    distinct = set(numbers[:5000])
    names = {short(value) for value in distinct}
    if not log and len(names) == len(distinct) <= 12:
        counted = Counter(numbers)
        rows = [Bar(short(v) + unit, counted[v]) for v in sorted(distinct)]
        return bars(rows, label, width, height, axis)
    low = min(numbers)
    high = max(numbers)
    if low == high:
        low = low - 0.5
        high = high + 0.5
    counts = [0] * BINS
    for value in numbers:
        position = math.floor((value - low) / (high - low) * BINS)
        counts[min(BINS - 1, position)] += 1

    def text_of(value: float) -> str:
        return short(10**value if log else value) + unit

    edges = []
    for number in range(BINS + 1):
        edges.append(low + (high - low) * number / BINS)
    edge_names = [text_of(edge) for edge in edges]
    marks = _columns(counts, edge_names, width, height)
    scale = Scale(low, high, MARGIN, width - MARGIN)
    for mark in decades(low, high) if log else ticks(low, high, 6):
        marks.append(tick(scale(mark), height - 22, text_of(mark)))
    most = max(counts)
    peak = f"{most:,} sample{'' if most == 1 else 's'}"
    marks.append(tick(MARGIN, 9, peak, "start", "tick tiny"))
    if axis:
        marks.append(tick(width / 2, height - 6, axis))
    span = f"from {text_of(low)} to {text_of(high)}"
    return drawing(width, height, f"{label}: {len(numbers):,} values {span}", marks)


def _columns(
    counts: Sequence[int],
    names: Sequence[str],
    width: float,
    height: float,
) -> list[Markup]:
    """Return the columns of a histogram above its axis; `names` are the labels of the bin edges."""
    base = height - 36
    inner = width - 2 * MARGIN
    step = inner / len(counts)
    most = max(counts)
    marks = []
    for number, n in enumerate(counts):
        tall = n / most * (base - 14)
        title = f"{names[number]} to {names[number + 1]}: {n:,}"
        x = MARGIN + number * inner / len(counts) + 0.5
        visible = max(1.0 if n else 0.0, tall)
        marks.append(rect("col", x, base - tall, step - 1, visible, 1, title))
    marks.append(_axis(width, base))
    return marks


def _axis(width: float, base: float) -> Markup:
    """Return the line under a bar chart."""
    y = base + 0.5
    return line("axis", MARGIN, y, width - MARGIN, y)


def bars(
    rows: Sequence[Bar],
    label: str,
    width: float = 360,
    height: float = 166,
    axis: str = "",
) -> Markup:
    """Return a bar chart with a bar for each count, and the name of the axis below."""
    base = height - 36
    each = (width - 2 * MARGIN) / max(len(rows), 1)
    wide = min(each * 0.72, 54)
    most = max([1, *(row.n for row in rows)])
    marks = []
    for number, row in enumerate(rows):
        middle = MARGIN + each * (number + 0.5)
        left = middle - wide / 2
        tall = row.n / most * (base - 24)
        top = base - tall
        visible = max(tall, 1.0 if row.n else 0.0)
        marks.append(rect(row.look, left, top, wide, visible, 2))
        count = f"{row.n:,}"
        marks.append(tick(middle, top - 5, count, look="tick strong"))
        marks.append(tick(middle, height - 22, row.name))
    marks.append(_axis(width, base))
    if axis:
        marks.append(tick(width / 2, height - 6, axis))
    counts = ", ".join(f"{row.name} {row.n:,}" for row in rows)
    return drawing(width, height, f"{label}: {counts}", marks)


@dataclass(slots=True)
class _ConfidenceBin:
    """A bin of the calibration chart: the answers whose confidence is in one of ten equal ranges."""

    n: int = 0
    confidence: float = 0.0
    right: float = 0.0


def calibration(
    confidence: Numbers,
    right: Numbers,
    width: float = 260,
    height: float = 260,
) -> Markup | None:
    """Return a calibration chart: how often answers of each confidence are right.

    Return None for fewer than ten answers.
    """
    bins = _confidence_bins(confidence, right)
    total = sum(bin.n for bin in bins)
    if total < 10:
        return None
    differences = (abs(bin.confidence - bin.right) for bin in bins)
    error = sum(differences) / total
    across = Scale(0, 1, 30, width - 12)
    up = Scale(0, 1, height - 30, 12)
    marks = []
    for value, name in ((0, "0"), (0.5, "0.5"), (1, "1")):
        x = across(value)
        y = up(value)
        marks.append(tick(x, height - 14, name))
        marks.append(tick(24, y + 4, name, "end"))
    marks += _frame(across, up)
    most = max(bin.n for bin in bins)
    for bin in bins:
        if not bin.n:
            continue
        sure = bin.confidence / bin.n
        share = bin.right / bin.n
        title = f"sure {sure:.2f}, right {share:.2f}, n {bin.n:,}"
        radius = 2.5 + 5 * math.sqrt(bin.n / most)
        marks.append(circle("dot soft", across(sure), up(share), radius, title))
    middle = across(0.5)
    marks.append(tick(middle, height - 1, "confidence"))
    text = f"ECE {error:.3f}"
    left = across(0.03)
    top = up(0.94)
    marks.append(tick(left, top, text, "start", "tick strong"))
    name = f"Calibration: expected calibration error {error:.3f}"
    return drawing(width, height, f"{name} over {total:,} samples", marks)


def _confidence_bins(confidence: Numbers, right: Numbers) -> list[_ConfidenceBin]:
    """Return ten bins of confidence, with the answers in each."""
    bins = [_ConfidenceBin() for _ in range(10)]
    for pair in zip(confidence, right, strict=False):
        numbers = finite(pair)
        if len(numbers) < 2:
            continue
        sure, value = numbers
        bin = bins[min(9, math.floor(sure * 10))]
        bin.n += 1
        bin.confidence += sure
        bin.right += value
    return bins


def _frame(across: Scale, up: Scale) -> list[Markup]:
    """Return the frame of a square chart and its diagonal."""
    left = across.start
    right = across.end
    bottom = up.start
    top = up.end
    return [
        rect("frame", left, top, right - left, bottom - top),
        line("diagonal", left, bottom, right, top),
    ]


def scatter(
    points: Sequence[Point],
    width: float = 460,
    height: float = 340,
    *,
    higher_is_better: bool = True,
) -> Markup | None:
    """Return a scatter plot of groups in two runs. For dots above the diagonal, the later run has the higher value."""
    if len(points) < 2:
        return None
    values = []
    for point in points:
        values += [point.before, point.after]
    low, high = domain_of(values)
    across = Scale(low, high, 40, width - 12)
    up = Scale(low, high, height - 34, 20)
    marks = _frame(across, up)
    for value in ticks(low, high, 4):
        name = short(value)
        marks.append(tick(across(value), height - 18, name))
        marks.append(tick(34, up(value) + 4, name, "end"))
    most = max(point.n or 1 for point in points)
    for point in points:
        if higher_is_better:
            is_good = point.after >= point.before
        else:
            is_good = point.after <= point.before
        marks.append(_scatter_dot(point, across, up, most, is_good))
    marks += _dot_names(points, across, up)
    middle = across((low + high) / 2)
    marks.append(tick(middle, height - 3, "earlier run"))
    marks.append(tick(40, 12, "later run", "start"))
    higher = sum(point.after > point.before for point in points)
    label = f"Groups: {higher} of {len(points)} are higher in the later run"
    return drawing(width, height, label, marks)


class _Box(NamedTuple):
    """A rectangle of a drawing."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        """Return True if both rectangles overlap."""
        is_beside = self.left >= other.right or other.left >= self.right
        is_above = self.top >= other.bottom or other.top >= self.bottom
        return not is_beside and not is_above


def _dot_names(
    points: Sequence[Point],
    across: Scale,
    up: Scale,
) -> list[Markup]:
    """Return labels for the dots with the largest change, each next to its dot.

    A label that would cover a dot or another label is shown only on hover.
    """
    boxes = [_dot_box(point, across, up) for point in points]
    moved = sorted(points, key=lambda point: -abs(point.after - point.before))
    marks = []
    for point in moved[:NAMED_DOTS]:
        name = point.name
        if len(name) > DOT_NAME_LENGTH:
            name = "…" + name[1 - DOT_NAME_LENGTH :]
        x = across(point.before)
        # The line of the frame would cross a label on it.
        y = min(up(point.after) + 4, up.start - 5)
        y = max(y, up.end + 12)
        length = len(name) * LETTER_WIDTH
        right_side = ("start", x + 10, x + 10)
        left_side = ("end", x - 10, x - 10 - length)
        for anchor, label_x, left in (right_side, left_side):
            box = _Box(left, left + length, y - 10, y + 2)
            is_inside = box.left >= across.start and box.right <= across.end
            if is_inside and not any(map(box.overlaps, boxes)):
                boxes.append(box)
                marks.append(tick(label_x, y, name, anchor))
                break
    return marks


def _dot_box(
    point: Point,
    across: Scale,
    up: Scale,
) -> _Box:
    """Return the rectangle around a dot that labels must not cover."""
    x = across(point.before)
    y = up(point.after)
    return _Box(x - DOT_ROOM, x + DOT_ROOM, y - DOT_ROOM, y + DOT_ROOM)


def _scatter_dot(
    point: Point,
    across: Scale,
    up: Scale,
    most: int,
    is_good: bool,
) -> Markup:
    """Return the dot of one group. Its area grows with the group's number of samples;
    `most` is the number of the largest group.
    """
    before = format_value(point.before)
    after = format_value(point.after)
    share = (point.n or 1) / most
    look = "dot up" if is_good else "dot down"
    radius = 3 + 4 * math.sqrt(share)
    title = f"{point.name}: {before} → {after}, n {point.n}"
    return circle(look, across(point.before), up(point.after), radius, title)


def difference_dot(
    difference: float,
    ends: Ends | None,
    verdict: str,
    reach: float,
    width: float = 220,
) -> Markup:
    """Draw a difference and its interval on a scale from -`reach` to `reach`."""
    scale = Scale(-reach, reach, MARGIN, width - MARGIN)

    def inside(value: float) -> float:
        return max(-reach, min(reach, value))

    way = {"better": " up", "worse": " down"}.get(verdict, "")
    middle = width / 2
    marks = [
        line("track", MARGIN, 11, width - MARGIN, 11),
        line("axis", middle, 2, middle, 20),
    ]
    if ends is not None:
        visible = inside(ends[0]), inside(ends[1])
        marks.append(_interval_bar(visible, scale, f"ci{way}"))
    x = scale(inside(difference)) if reach else middle
    marks.append(circle(f"dot{way}", x, 11, 4.2))
    interval = interval_words(ends)
    label = f"difference {format_value(difference)}, 95 % interval {interval}"
    return drawing(width, 22, label, marks)


class Interval(NamedTuple):
    """A row of `interval_rows`: a name, a value and the ends of its interval."""

    name: str
    value: float | None
    ends: Ends | None


NAMES_WIDTH, NUMBERS_WIDTH = 200.0, 150.0
"""The widths in pixels of two columns of `interval_rows`: the names on the left and the numbers on the right."""
LONGEST_NAME = 34


def interval_rows(
    rows: Sequence[Interval],
    label: str,
    scale: Ends | None = None,
    width: float = 560,
    *,
    around_zero: bool = False,
) -> Markup:
    """Return a chart of values with their intervals, one per row, on a common scale.

    With `around_zero`, 0 is in the middle of the scale.
    """
    track = width - NAMES_WIDTH - NUMBERS_WIDTH
    bottom = len(rows) * ROW_HEIGHT
    marks = []
    if around_zero:
        domain = _symmetric_domain(rows)
        middle = NAMES_WIDTH + track / 2
        marks.append(line("axis", middle, 0, middle, bottom))
    else:
        values = [row.value for row in rows]
        domain = domain_of(values, [row.ends for row in rows], scale)
    for number, row in enumerate(rows):
        marks += _interval_row(row, number * ROW_HEIGHT, domain, width)
    base = bottom + 14
    first = NAMES_WIDTH + DOT_MARGIN
    last = NAMES_WIDTH + track - DOT_MARGIN
    marks.append(tick(first, base, short(domain[0]), "start"))
    marks.append(tick(last, base, short(domain[1]), "end"))
    return drawing(width, base + 6, label, marks)


def _symmetric_domain(rows: Sequence[Interval]) -> Ends:
    """Return a symmetric range around 0 that contains all values and intervals."""
    largest = 1e-9
    for row in rows:
        numbers = finite([row.value, *(row.ends or ())])
        for number in numbers:
            largest = max(largest, abs(number))
    return -largest * 1.1, largest * 1.1


def _interval_row(
    row: Interval,
    y: float,
    domain: Ends,
    width: float,
) -> list[Markup]:
    """Return the name, the track and the numbers of one row."""
    track = width - NAMES_WIDTH - NUMBERS_WIDTH
    inner = interval_marks(row.value, row.ends, domain, track)
    name = row.name
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 1]}…"
    text = format_value(row.value)
    if row.ends is not None:
        text += f" [{format_value(row.ends[0])}, {format_value(row.ends[1])}]"
    move = f"translate({NAMES_WIDTH:g} {y:g})"
    x = width - NUMBERS_WIDTH + 8
    return [
        element("g", children=inner, transform=move),
        tick(NAMES_WIDTH - 8, y + 15, name, "end"),
        tick(x, y + 15, text, "start", "tick strong"),
    ]
