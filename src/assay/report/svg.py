"""SVG as text. Colours are written into the elements, so that a drawing looks the same everywhere."""

from collections.abc import Mapping, Sequence
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
"""The style of each kind of mark: the classes and the light colours of the app's style sheet."""


def element(
    tag: str,
    look: str = "",
    children: Sequence[str] = (),
    text: str = "",
    **attributes: object,
) -> Markup:
    """Return one element. `_` in an attribute's name becomes `-`, and text is escaped."""
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


def tick(
    x: float,
    y: float,
    text: str,
    anchor: str = "middle",
    look: str = "tick",
) -> Markup:
    """Return a label of an axis."""
    return element("text", look, text=text, x=x, y=y, text_anchor=anchor)


def titled(tag: str, look: str, title: str, **attributes: Any) -> Markup:
    """Return a mark with a tooltip."""
    return element(tag, look, [element("title", text=title)], **attributes)


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
