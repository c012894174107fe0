"""Check the return value of a model: one output per request, with contents that can be stored and scored.

Any other value becomes a failed output that describes the fault, and only its own
sample fails. Numbers of other libraries are converted to plain ones first. An invalid
token count is removed.
"""

import inspect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
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
    Likelihood,
    Media,
    Output,
    Part,
    Reasoning,
    Request,
    Text,
    Token,
    ToolCall,
    Usage,
    shorten,
)
from .reasoning_marks import continue_reasoning

MOST_COUNTED = 2**53
"""The largest number accepted as a count or a price."""
COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost")


def fault_in(output: Output) -> str | None:
    """Return a description of what is wrong with an output, or None if nothing is."""
    error = output.error
    if error is not None:
        is_one = (
            isinstance(error, ErrorInfo)
            and isinstance(error.kind, str)
            and isinstance(error.message, str)
        )
        if is_one:
            return None
        return f"{shorten(error)} for an error; give ErrorInfo(kind, message)"
    usage = output.usage
    seconds = output.seconds
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
    """Return True for a number of any library, but not for a bool."""
    return type(value) in (float, int) or (
        isinstance(value, Real) and not isinstance(value, bool)
    )


def as_number(value: object) -> float | None:
    """Return the plain number for a numpy number, a decimal or an array with one element; None for anything else."""
    if type(value) is float or type(value) is int:
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        if isinstance(value, Integral):
            return int(value)
        return float(value)
    except (
        ValueError,
        OverflowError,
    ):  # a signalling NaN, or a fraction that is too large
        return None


def normalize_numbers(output: Output) -> Output:
    """Convert the numbers in an output's usage and token ids to plain ones.

    If nothing changes, return the same object.
    """
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
    if changes:
        return replace(output, **changes)
    return output


def _counted(usage: Usage) -> Usage:
    """Return the usage without invalid counts: negative ones, too large ones, and values that are not numbers."""
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
    """Convert an array, list or range of token ids to a tuple. Return anything else unchanged."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    if isinstance(ids, (list, range)):
        return tuple(ids)
    return ids


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
    """Return True if a value can be written as JSON.

    Values of unknown types are written as text, so only recursive structures fail.
    """
    try:
        json.dumps(
            value,
            default=str,
            skipkeys=True,
        )
    except (ValueError, RecursionError):
        return False
    return True


WEIGHED = "return one log-probability, (log-probability, is greedy) or Likelihood for each continuation"
BUILT = "return an Output with an answer, as in Output.of(text)"
ROUNDING = 1e-3
"""Largest positive log-probability that is accepted as a rounding error."""


class WrongShape(TypeError):
    """Raised if a model did not return exactly one value per request."""


def matched(
    values: object,
    requests: Sequence[Request],
    reference: str,
) -> Sequence[Any]:
    """Return the values if there is one per request. Otherwise raise a `WrongShape` that names the model."""
    if type(values) is list and len(values) == len(requests):
        return values
    if isinstance(values, Iterator):
        values = list(values)
    if (
        isinstance(values, Sequence)
        and not isinstance(values, (str, bytes))
        and len(values) == len(requests)
    ):
        return values
    if inspect.iscoroutine(values):
        values.close()
        raise WrongShape(
            f"{reference} returned a coroutine; declare it with `async def`"
        )
    if isinstance(values, Output):
        got = "one Output, not a list of them"
    else:
        got = described(values)
    if isinstance(values, (list, tuple)):
        if len(values) == 1:
            got = "1 answer"
        else:
            got = f"{len(values)} answers"
    advice = "one for each"
    if inspect.isasyncgen(values):
        advice += " in a list, as in [answer async for answer in …]"
    if len(requests) == 1:
        were = "1 request"
    else:
        were = f"{len(requests)} requests"
    raise WrongShape(
        f"{reference} was given {were} and returned {got}; return {advice}"
    )


def checked(
    value: object,
    request: Request,
    reference: str,
) -> Output:
    """Return a model's output for a request if it can be used, otherwise a failed output with the reason."""
    if not isinstance(value, Output):
        return _failed(
            f"{reference} returned {described(value)} for one request; {BUILT}"
        )
    if value.error is None:
        weighs = request.prompt.continuations is not None or request.prompt.rolling
        if weighs:
            shaped = weighed(value, request, reference)
        else:
            shaped = _answered(value, request, reference)
        if shaped.error is not None:
            return shaped
        value = continue_reasoning(normalize_numbers(shaped), request)
        value = value.separated(request.think_tags)
    fault = fault_in(value)
    if fault is None:
        return value
    return _failed(f"{reference} returned an Output with {fault}")


def _answered(
    output: Output,
    request: Request,
    reference: str,
) -> Output:
    """Return an output unchanged if it has as many candidates as requested, otherwise a failure."""
    if not output.candidates:
        return _failed(f"{reference} returned {described(output)}; {BUILT}")
    for candidate in output.candidates:
        if not isinstance(candidate, Candidate) or not _has_parts(candidate):
            return _failed(
                f"{reference} returned an Output with {shorten(candidate)} for a candidate; {BUILT}"
            )
    if len(output.candidates) >= request.options.n:
        return output
    return too_few(output, request.options.n, reference)


def too_few(
    output: Output,
    expected: int,
    reference: str,
) -> Output:
    """Return a failure for an output with too few candidates, because they would lower pass@k.

    If a content filter blocked every candidate, return the output itself.
    """
    if all(
        candidate.stop_reason == "content_filter" for candidate in output.candidates
    ):
        return output
    count = len(output.candidates)
    fix = f"use epochs={expected} instead of n={expected}"
    return _failed(
        f"asked for {expected} candidates, {reference} gave {count}; fix: {fix}",
        "bad_response",
    )


def weighed(
    output: Output,
    request: Request,
    reference: str,
) -> Output:
    """Return an output if it has one log-probability per continuation, otherwise a failure with the reason."""
    expected = len(request.prompt.continuations or ("",))
    if len(output.likelihoods) != expected:
        return _failed(
            f"{reference} returned likelihoods of {len(output.likelihoods)} of {expected} continuations"
        )
    plain = True
    for number, likelihood in enumerate(output.likelihoods, 1):
        if isinstance(likelihood, Likelihood):
            logprob = as_number(likelihood.logprob)
        else:
            logprob = None
        if logprob is None:
            return _failed(
                f"{reference} returned {shorten(likelihood)} for continuation {number}; {WEIGHED}"
            )
        plain = plain and logprob is likelihood.logprob
        if math.isnan(logprob):
            message = (
                f"{reference} returned nan for continuation {number} of {expected}"
            )
            return _failed(
                f"{message}; a log-probability is a number up to 0, look for an overflow",
                "non_finite",
            )
        if logprob > ROUNDING:
            message = f"{reference} returned {logprob:g} for continuation {number} of {expected}"
            return _failed(
                f"{message}; a log-probability is at most 0: take math.log of a probability"
            )
    if plain:
        return output
    return replace(output, likelihoods=tuple(map(_plain, output.likelihoods)))


def _plain(likelihood: Likelihood) -> Likelihood:
    """Return the likelihood with a plain number as its log-probability."""
    number = as_number(likelihood.logprob)
    assert number is not None, "looked at before"
    return replace(
        likelihood,
        logprob=number,
        greedy=bool(likelihood.greedy),
    )


def described(value: object) -> str:
    """Return a short description of a returned value."""
    if inspect.isasyncgen(value):
        return "an async generator"
    if isinstance(value, Output):
        return "an Output without candidates and without an error"
    if inspect.isgenerator(value):
        return "a generator"
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape}"
    return shorten(value)


def _has_parts(candidate: Candidate) -> bool:
    """Return True if all parts of a candidate have known types."""
    parts = candidate.parts
    # Most outputs have one text and nothing else, so check that first.
    is_plain = len(parts) == 1 and type(parts[0]) is Text
    return is_plain or (
        isinstance(parts, (tuple, list))
        and all(isinstance(part, Part) for part in parts)
    )


def _failed(message: str, kind: str = "exception") -> Output:
    """Return a failed output for a return value that is not an answer.

    It is not retried, because the same code would return the same value again.
    """
    return Output.failed(kind, message, retryable=False)
