"""Limits of a template: how much text it may produce and how many steps it may take.

Each rendering has a budget of characters. Every text, every step of a loop and every
call is charged to it. Operations that produce much from little (`"x" * 10**9`,
`center(10**9)`, `replace`) are charged before they run.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextvars import ContextVar
from typing import Any, TypeVar

from jinja2 import Undefined
from jinja2.exceptions import SecurityError

T = TypeVar("T")

MAX_CHARACTERS = 20_000_000
"""Maximum characters that one rendering may produce, intermediate texts included: several million tokens."""
STEP = 16
"""The cost of a call or a step of a loop, in characters."""
MAX_BITS = 20_000
"""Maximum size in bits of a whole number that a template computes."""
MAX_WIDTH = 100_000
"""Maximum width of a padded field in a format string, such as 10 in `%10d`."""

_PERCENT = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?")
_left: ContextVar[list[int] | None] = ContextVar(
    "characters left to the template", default=None
)


class RunawayTemplate(SecurityError):
    """Raised if a template produces more text than a prompt can have."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_CHARACTERS:,} characters, or as many steps")


def render_limited(render: Callable[[], str]) -> str:
    """Call a function that renders a template, with a new budget of characters."""
    token = _left.set([MAX_CHARACTERS])
    try:
        return render()
    finally:
        _left.reset(token)


def spend(characters: int) -> None:
    """Charge this number of characters to the budget of the current rendering. Raise if the budget is exceeded.

    Outside a rendering nothing is charged. Then raise only if this one operation
    exceeds the limit of a whole rendering.
    """
    left = _left.get()
    if left is None:
        if characters > MAX_CHARACTERS:
            raise RunawayTemplate
        return
    left[0] -= characters
    if left[0] < 0:
        raise RunawayTemplate


def spend_on(value: object) -> int:
    """Charge the budget for writing a value as text, and return the approximate length of the text.

    A text that occurs twice in a list is charged twice.
    """
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
        value._fail_with_undefined_error()  # Fail here, because a list would print a forbidden value as a word.
    spend(STEP)
    return STEP


def charge_output(value: object) -> object:
    """Charge for a value that `{{ … }}` writes to the output, and return the value."""
    spend_on(value)
    return value


def join_pieces(pieces: Iterable[str]) -> str:
    """Return pieces of text joined to one. Raise as soon as they exceed the limit."""
    parts: list[str] = []
    for piece in pieces:
        spend(len(piece))
        parts.append(piece)
    return "".join(parts)


def concatenate(values: Sequence[Any]) -> str:
    """Return the result of `a ~ b` in a template, after charging for it."""
    spend_on(values)
    return "".join(map(str, values))


def charge_steps(values: Iterable[T]) -> Iterable[T]:
    """Yield the values of a loop, and charge the budget for each step."""
    if isinstance(values, Sized):
        spend(STEP * len(values))
        return values
    if isinstance(values, Iterator):
        return _counted(values)
    return values


def _counted(values: Iterator[T]) -> Iterator[T]:
    for value in values:
        spend(STEP)
        yield value


def check_operator(
    operator: str,
    left: object,
    right: object,
) -> None:
    """Charge the budget for the output of an operator, before the operator runs."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        _check_number(operator, left, right)
    elif operator == "%" and isinstance(left, str):
        check_percent(left, right)
    elif operator == "*":
        _spend_on_repetition(left, right)
        _spend_on_repetition(right, left)
    elif operator == "+" and isinstance(left, (str, list, tuple)):
        size = len(left)
        if isinstance(right, (str, list, tuple)):
            size += len(right)
        spend(size)


def _spend_on_repetition(value: object, times: object) -> None:
    """Charge the budget for `value * times`, if this repeats a text or a list."""
    if isinstance(value, (str, list, tuple)) and isinstance(times, int):
        spend(len(value) * max(times, 0))


def _check_number(
    operator: str,
    left: float,
    right: float,
) -> None:
    if not isinstance(left, int) or not isinstance(right, int):
        return
    if operator not in ("*", "**"):
        return
    bits = left.bit_length() + right.bit_length()
    is_growing_power = operator == "**" and abs(left) > 1
    if is_growing_power:
        bits = left.bit_length() * max(right, 0)
    if bits > MAX_BITS:
        raise RunawayTemplate


def check_percent(text: str, values: object) -> None:
    """Charge the budget for `text % values`. Raise if a field is wider than the limit.

    All values are charged once for each `%` in the text.
    """
    widths = [
        width for match in _PERCENT.finditer(text) for width in match.groups() if width
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


def check_format(text: str, values: object) -> None:
    """Charge the budget for `text.format(…)`. Raise if a field is too wide.

    In a nested width such as `{:{n}}`, all values must be small numbers.
    """
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


def _largest(values: object) -> float:
    if isinstance(values, Mapping):
        return max(map(_largest, values.values()), default=0)
    if isinstance(values, (list, tuple)):
        return max(map(_largest, values), default=0)
    try:
        if isinstance(values, (int, float, str)):
            return abs(float(values))
        return 0
    except ValueError:
        return 0


def replaced_size(
    text: str,
    old: str,
    new: str,
    count: int = -1,
) -> int:
    """Return the length of a text after `replace`, without replacing anything."""
    if not old:
        times = len(text) + 1
    else:
        times = text.count(old)
    return len(text) + (
        times if count is None or count < 0 else min(times, count)
    ) * len(new)
