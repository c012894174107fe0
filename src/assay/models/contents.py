"""Check the contents of an output: whether they can be counted, opened and stored.

A model may put anything there. An unusable value fails its own sample, not the run that stores it. Numbers of other
libraries are converted to plain ones first, and an invalid count is left out.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from ..core import (
    EMPTY,
    AssayError,
    Candidate,
    ErrorInfo,
    Json,
    Media,
    Output,
    Reasoning,
    Text,
    Token,
    ToolCall,
    Usage,
    shorten,
)

MOST_COUNTED = 2**53
"""The largest number accepted as a count or a price."""
COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost")


def fault_in(output: Output) -> str | None:
    """Describe what is wrong with an output, or return None if nothing is."""
    error = output.error
    if error is not None:
        is_one = (
            isinstance(error, ErrorInfo)
            and isinstance(error.kind, str)
            and isinstance(error.message, str)
        )
        return (
            None
            if is_one
            else f"{shorten(error)} for an error; give ErrorInfo(kind, message)"
        )
    usage, seconds = output.usage, output.seconds
    if usage is not None and not isinstance(usage, Usage):
        return (
            f"{shorten(usage)} for usage; give Usage(input_tokens=…, output_tokens=…)"
        )
    if seconds is not None and not (is_number(seconds) and math.isfinite(seconds)):
        return f"{shorten(seconds)} for seconds; give a finite number"
    if output.details is not EMPTY and not (
        isinstance(output.details, Mapping) and _is_plain(output.details)
    ):
        return f"{shorten(output.details)} for details; give a dictionary that JSON can hold"
    for candidate in output.candidates:
        if fault := _fault_of_candidate(candidate):
            return fault
    return None


def is_number(value: object) -> bool:
    """Return True for a number of any library; a bool is not a number."""
    return type(value) in (float, int) or (
        isinstance(value, Real) and not isinstance(value, bool)
    )


def as_number(value: Any) -> float | None:
    """Return the plain number for a numpy number, a decimal or an array with one element; None for anything else."""
    if type(value) in (float, int):
        return value  # type: ignore[no-any-return]
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        return int(value) if isinstance(value, Integral) else float(value)
    except (
        ValueError,
        OverflowError,
    ):  # a signalling NaN, or a fraction that is too large
        return None


def normalize_numbers(output: Output) -> Output:
    """Return the output with plain numbers in its usage and tuples of token ids; the same object if nothing changed."""
    changes: dict[str, Any] = {}
    if (
        isinstance(output.usage, Usage)
        and (usage := _counted(output.usage)) is not output.usage
    ):
        changes["usage"] = usage
    if (
        type(output.seconds) not in (float, int, type(None))
        and (seconds := as_number(output.seconds)) is not None
    ):
        changes["seconds"] = seconds
    if any(type(candidate.token_ids) is not tuple for candidate in output.candidates):
        changes["candidates"] = tuple(
            replace(candidate, token_ids=_listed(candidate.token_ids))
            for candidate in output.candidates
        )
    return replace(output, **changes) if changes else output


def _counted(usage: Usage) -> Usage:
    """Return the usage with only the counts that are valid."""
    counts = {
        name: count for name in COUNTS if (count := getattr(usage, name)) is not None
    }
    plain = {
        name: n
        for name, count in counts.items()
        if (n := as_number(count)) is not None and 0 <= n <= MOST_COUNTED
    }
    is_plain = len(plain) == len(counts) and all(
        plain[name] is counts[name] for name in plain
    )
    return usage if is_plain else Usage(**plain)  # type: ignore[arg-type]


def _listed(ids: object) -> Any:
    """Return the numbers of an array, a list or a range as a tuple, and anything else unchanged."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    return tuple(ids) if isinstance(ids, (list, range)) else ids


def _fault_of_candidate(candidate: Candidate) -> str | None:
    reason = candidate.stop_reason
    if reason is not None and not isinstance(reason, str):
        return f"{shorten(reason)} for a stop_reason; give text or None"
    for part in candidate.parts:
        if isinstance(part, (Text, Reasoning)):
            if not isinstance(part.text, str):
                return f"{type(part).__name__}({shorten(part.text)}); give it text, as in str(answer)"
        elif isinstance(part, Media):
            if fault := _fault_of_medium(part):
                return fault
        elif isinstance(part, ToolCall):
            if not (isinstance(part.name, str) and _is_plain(part.arguments)):
                return f"{shorten(part)}; a call has a name and arguments by name"
        elif isinstance(part, Json) and not _is_plain(part.value):
            return f"Json({shorten(part.value)}), which cannot be written"
    if candidate.tokens and not (
        isinstance(candidate.tokens, (tuple, list))
        and all(map(_is_token, candidate.tokens))
    ):
        wrong = next(
            (token for token in candidate.tokens if not _is_token(token)),
            candidate.tokens,
        )
        return f"{shorten(wrong)} for a token; give Token(text, logprob), a text and a number"
    if not isinstance(candidate.token_ids, (tuple, list)) or not all(
        map(is_number, candidate.token_ids)
    ):
        return f"{shorten(candidate.token_ids)} for token_ids; give whole numbers"
    return None


def _fault_of_medium(medium: Media) -> str | None:
    try:
        medium.digest  # noqa: B018 - opened for its fault; who keeps the medium asks for the same
    except AssayError as error:
        name = medium.name or shorten(medium.source)
        return f"an {medium.kind} that cannot be opened: {getattr(error, 'what', error)} ({name})"
    except Exception as error:  # noqa: BLE001 - a reader of the model's own: becomes a counted failure
        return (
            f"an {medium.kind} that cannot be opened: {type(error).__name__}: {error}"
        )
    return None


def _is_token(token: object) -> bool:
    if (
        not isinstance(token, Token)
        or not isinstance(token.text, str)
        or not is_number(token.logprob)
    ):
        return False
    try:
        return all(
            isinstance(text, str) and is_number(logprob) for text, logprob in token.top
        )
    except (TypeError, ValueError):
        return False


def _is_plain(value: object) -> bool:
    """Return True if JSON can hold the value. Unknown types are written as text, so only endless structures fail."""
    try:
        json.dumps(value, default=str, skipkeys=True)
    except (ValueError, RecursionError):
        return False
    return True
