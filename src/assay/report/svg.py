"""SVG as text, and the axes of charts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .grid import Markup, printable

INK, MUTED, LINE, BED, CARD = "#20262b", "#5a646d", "#e3e0da", "#eceae5", "#ffffff"
GOOD, BAD, MID, PURPLE, DOT, CI = (
    "#1c6b45",
    "#a8361f",
    "#7d5a06",
    "#6b4fa0",
    "#12605c",
    "#a9cfca",
)
FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
PAINT: Mapping[str, Mapping[str, str]] = {
    "track": {"stroke": LINE, "stroke-width": "1.2"},
    "axis": {"stroke": MUTED, "stroke-width": "1", "opacity": "0.6"},
    "ci": {"fill": CI},
    "ci up": {"fill": GOOD, "opacity": "0.32"},
    "ci down": {"fill": BAD, "opacity": "0.32"},
    "dot": {"fill": DOT, "stroke": CARD, "stroke-width": "1.5"},
    "dot up": {"fill": GOOD, "stroke": CARD, "stroke-width": "1.5"},
    "dot down": {"fill": BAD, "stroke": CARD, "stroke-width": "1.5"},
    "dot soft": {"fill": DOT, "stroke": CARD, "stroke-width": "1.5", "opacity": "0.85"},
    "col": {"fill": CI},
    "bed": {"fill": BED},
    "frame": {"fill": "none", "stroke": LINE},
    "diagonal": {"stroke": MUTED, "stroke-dasharray": "3 4", "opacity": "0.7"},
    "tick": {"fill": MUTED, "font-size": "11", "font-family": FONT},
    "tick tiny": {"fill": MUTED, "font-size": "9.5", "font-family": FONT},
    "tick strong": {
        "fill": INK,
        "font-size": "11",
        "font-family": FONT,
        "font-weight": "600",
    },
    "o-scored": {"fill": CI},
    "o-unparsed": {"fill": MID},
    "o-refused": {"fill": PURPLE},
    "o-error": {"fill": BAD},
    "o-none": {"fill": MUTED, "opacity": "0.5"},
}
"""SVG attributes for each style class, in the light colours of the viewer's style sheet."""


def element(
    tag: str,
    look: str = "",
    children: Sequence[str] = (),
    text: str = "",
    **attributes: object,
) -> Markup:
    """Return an SVG element. `_` in an attribute's name becomes `-`, and text is escaped."""
    named = {
        name.replace("_", "-"): _number(value) for name, value in attributes.items()
    }
    painted = {**named, **PAINT.get(look, {})}
    pairs = "".join(
        f' {name}="{escape(printable(value))}"' for name, value in painted.items()
    )
    inside = "".join(children) + escape(printable(text))
    return Markup(f"<{tag}{pairs}>{inside}</{tag}>" if inside else f"<{tag}{pairs}/>")


def drawing(
    width: float,
    height: float,
    label: str,
    children: Sequence[str],
) -> Markup:
    """Return a drawing with an accessible name."""
    viewBox = f"0 0 {_number(width)} {_number(height)}"
    return element(
        "svg",
        "",
        children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=viewBox,
        role="img",
        aria_label=label,
        width=width,
        height=height,
    )


def line(
    look: str,
    x1: float,
    y1: float,
    x2: float,
    y2: float,
) -> Markup:
    """Return a line between two points."""
    return element("line", look, x1=x1, x2=x2, y1=y1, y2=y2)


def circle(
    look: str,
    x: float,
    y: float,
    radius: float,
    title: str = "",
) -> Markup:
    """Return a circle around a point; `title` is its tooltip."""
    return element("circle", look, _tooltip(title), cx=x, cy=y, r=radius)


def rect(
    look: str,
    x: float,
    y: float,
    width: float,
    height: float,
    radius: float | None = None,
    title: str = "",
) -> Markup:
    """Return a rectangle, with rounded corners if it has a `radius`; `title` is its tooltip."""
    box: dict[str, Any] = {"x": x, "y": y, "width": width, "height": height}
    if radius is not None:
        box["rx"] = radius
    return element("rect", look, _tooltip(title), **box)


def _tooltip(title: str) -> list[Markup]:
    return [element("title", text=title)] if title else []


def tick(
    x: float,
    y: float,
    text: str,
    anchor: str = "middle",
    look: str = "tick",
) -> Markup:
    """Return a label of an axis."""
    return element(
        "text",
        look,
        text=text,
        x=x,
        y=y,
        text_anchor=anchor,
    )


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


Ends = tuple[float, float]
Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers from `low` to `high` to pixels from `start` to `end`. On a vertical axis, `start` is the bottom."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        share = (value - self.low) / (self.high - self.low or 1)
        return self.start + share * (self.end - self.start)


def domain_of(
    values: Sequence[float | None],
    intervals: Sequence[Ends | None] = (),
    scale: Ends | None = None,
) -> Ends:
    """Return the range of an axis.

    It is the metric's scale if that covers all values, or 0 to 1 if all values are in
    it. Otherwise it is the range of the values with a small margin.
    """
    numbers = finite(values)
    for ends in intervals:
        numbers += finite(ends or ())
    if not numbers:
        return 0.0, 1.0
    low = min(numbers)
    high = max(numbers)
    is_closed = scale is not None and all(map(math.isfinite, scale))
    if scale is not None and is_closed and scale[0] <= low and high <= scale[1]:
        return scale
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    margin = (high - low or abs(high) or 1.0) * 0.08
    bottom = low - margin
    if low >= 0:
        bottom = max(0.0, bottom)
    return bottom, high + margin


def finite(values: Numbers) -> list[float]:
    """Return the values that are finite numbers."""
    return [value for value in values if value is not None and math.isfinite(value)]


def ticks(
    low: float,
    high: float,
    most: int = 5,
) -> list[float]:
    """Return about `most` round numbers in a range, for the ticks of an axis."""
    if not high > low:
        return [low]
    step = _tick_step(high - low, most)
    marks = []
    mark = math.ceil(low / step - 1e-9) * step
    while mark <= high + step * 1e-9:
        marks.append(float(f"{mark:.12g}"))
        mark += step
    return marks


def _tick_step(length: float, most: int) -> float:
    """Return the smallest step of 1, 2, 5 or 10 times a power of ten that gives at most `most` ticks."""
    rough = length / most
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5, 10):
        step = factor * power
        if length / step <= most:
            return step
    return rough


def short(value: float) -> str:
    """Return a number as short text for the labels of an axis."""
    if abs(value) >= 10000:
        thousands = float(f"{value / 1000:.3g}")
        return f"{thousands:g}k"
    rounded = float(f"{value:.4g}")
    return f"{rounded:g}"


def decades(low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis: logarithms of 1, 2 and 5 times powers of ten, or of the powers only.

    Only the powers are used if there are many.
    """
    steps = [0.0]
    if high - low <= 2.5:
        steps.append(math.log10(2))
        steps.append(math.log10(5))
    first = math.floor(low)
    last = math.ceil(high)
    marks = []
    for power in range(first, last + 1):
        for step in steps:
            mark = power + step
            if low <= mark <= high:
                marks.append(mark)
    if len(marks) > 1:
        return marks
    return [low, high]
