"""Limits of a template: how much it may write and how many steps it may take, so that none runs away.

Every piece of text a template makes, every step of a loop and every call is charged to one budget for each rendering;
operations that make much of little (`"x" * 10**9`, `center(10**9)`, `replace`) are charged before they are done.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import SecurityError

MAX_CHARACTERS = 20_000_000
"""Characters that one rendering may make, intermediate texts counted too: several million tokens."""
STEP = 16
"""What a call or a step of a loop costs, in characters."""
MAX_BITS = 20_000
"""Bits of a whole number."""
MAX_WIDTH = 100_000
"""Characters that a field of a format may be padded to."""

_PERCENT = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?")
_left: ContextVar[list[int] | None] = ContextVar(
    "characters left to the template", default=None
)


class RunawayTemplate(SecurityError):
    """A template that makes more than a prompt can hold."""

    def __init__(self) -> None:
        super().__init__(
            f"it makes more than {MAX_CHARACTERS:,} characters, or takes as many steps"
        )


def limited(render: Callable[[], str]) -> str:
    """What a rendering gives, within a budget of its own."""
    token = _left.set([MAX_CHARACTERS])
    try:
        return render()
    finally:
        _left.reset(token)


def spend(characters: int) -> None:
    """Charges the rendering that is under way; while a template is compiled, each operation by itself."""
    left = _left.get()
    if left is None:
        if characters > MAX_CHARACTERS:
            raise RunawayTemplate
        return
    left[0] -= characters
    if left[0] < 0:
        raise RunawayTemplate


def spend_on(value: Any) -> int:
    """Charges for a value written out, and returns its size; a list that holds one text often is as long as written."""
    if isinstance(value, str):
        size = len(value)
        spend(size)
        return size
    if isinstance(value, Mapping):
        spend(STEP * len(value))
        return sum(spend_on(key) + spend_on(inner) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        spend(STEP * len(value))
        return sum(map(spend_on, value))
    if isinstance(value, Undefined) and value._undefined_exception is SecurityError:
        value._fail_with_undefined_error()  # a list would write what may not be touched as a word
    spend(STEP)
    return STEP


def finalized(value: Any) -> Any:
    """A value as `{{ … }}` writes it, charged for."""
    spend_on(value)
    return value


def joined(pieces: Iterable[str]) -> str:
    """Pieces of a text as one; stops as soon as they are too many."""
    parts: list[str] = []
    for piece in pieces:
        spend(len(piece))
        parts.append(piece)
    return "".join(parts)


def concatenated(values: Sequence[Any]) -> str:
    """`a ~ b`."""
    spend_on(values)
    return "".join(map(str, values))


def stepped(values: Any) -> Any:
    """What a loop goes over, each step of it charged."""
    try:
        spend(STEP * len(values))
    except TypeError:
        return _counted(values) if isinstance(values, Iterator) else values
    return values


def _counted(values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        spend(STEP)
        yield value


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Charges for what an operator makes before it is made."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        _check_number(operator, left, right)
    elif operator == "%" and isinstance(left, str):
        check_percent(left, right)
    elif operator == "*":
        for value, times in ((left, right), (right, left)):
            if isinstance(value, (str, list, tuple)) and isinstance(times, int):
                spend(len(value) * max(times, 0))
    elif operator == "+" and isinstance(left, (str, list, tuple)):
        spend(len(left) + (len(right) if isinstance(right, (str, list, tuple)) else 0))


def _check_number(operator: str, left: float, right: float) -> None:
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = left.bit_length() + right.bit_length()
    if operator == "**" and abs(left) > 1:
        bits = left.bit_length() * max(right, 0)
    if operator in ("*", "**") and bits > MAX_BITS:
        raise RunawayTemplate


def check_percent(text: str, values: Any) -> None:
    """Charges for `text % values`: no field wider than the limit, each value as often as there are fields."""
    widths = [
        width for found in _PERCENT.finditer(text) for width in found.groups() if width
    ]
    if any(
        width == "*" or len(width) > 6 or int(width) > MAX_WIDTH for width in widths
    ):
        raise RunawayTemplate
    spend(
        len(text)
        + MAX_WIDTH * sum(len(width) > 3 for width in widths)
        + text.count("%") * spend_on(values)
    )


def check_format(text: str, values: Any) -> None:
    """The same of `text.format(…)`; a width that is itself a value must be a small number."""
    fields = 0
    for _, name, spec, _ in string.Formatter().parse(text):
        fields += name is not None
        if spec and any(len(digits) > 5 for digits in re.findall(r"\d+", spec)):
            raise RunawayTemplate
        if spec and "{" in spec and _largest(values) > MAX_WIDTH:
            raise RunawayTemplate
        if spec:
            spend(MAX_WIDTH // 100)
    spend(len(text) + fields * spend_on(values))


def _largest(values: Any) -> float:
    if isinstance(values, Mapping):
        return max(map(_largest, values.values()), default=0)
    if isinstance(values, (list, tuple)):
        return max(map(_largest, values), default=0)
    try:
        return abs(float(values)) if isinstance(values, (int, float, str)) else 0
    except ValueError:
        return 0


def replaced_size(text: str, old: str, new: str, count: int = -1) -> int:
    """How long a text is after `replace`."""
    times = len(text) + 1 if not old else text.count(old)
    return len(text) + (
        times if count is None or count < 0 else min(times, count)
    ) * len(new)
