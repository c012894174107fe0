"""Shapes of what a model gives back: one output for each request, and in each an answer or the weights asked for.

What has another shape is never taken for an answer, right or wrong: it becomes a failure that says what was returned.
"""

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..core import Candidate, Likelihood, Output, Part, Request, Text, shorten
from .contents import as_number, fault_in, settled

WEIGHED = "return one log-probability, (log-probability, is greedy) or Likelihood for each continuation"
BUILT = "return an Output with an answer, as in Output.of(text)"
ROUNDING = 1e-3
"""How far above 0 a log-probability may come out by rounding alone."""


class WrongShape(TypeError):
    """Raised where what a model returned is not one value for each request."""


def matched(values: Any, requests: Sequence[Request], reference: str) -> Sequence[Any]:
    """Values, one for each request; anything else is a `WrongShape` that names the model."""
    if type(values) is list and len(values) == len(requests):
        return values
    values = list(values) if isinstance(values, Iterator) else values
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
    got = (
        "one Output, not a list of them"
        if isinstance(values, Output)
        else described(values)
    )
    if isinstance(values, (list, tuple)):
        got = "1 answer" if len(values) == 1 else f"{len(values)} answers"
    advice = "one for each"
    if inspect.isasyncgen(values):
        advice += " in a list, as in [answer async for answer in …]"
    were = "1 request" if len(requests) == 1 else f"{len(requests)} requests"
    raise WrongShape(
        f"{reference} was given {were} and returned {got}; return {advice}"
    )


def checked(value: Any, request: Request, reference: str) -> Output:
    """What a model returned for one request, if it is an output one can work with; else the failure that says why."""
    if not isinstance(value, Output):
        return _failed(
            f"{reference} returned {described(value)} for one request; {BUILT}"
        )
    if value.error is None:
        weighs = request.prompt.continuations is not None or request.prompt.rolling
        shaped = (
            weighed(value, request, reference)
            if weighs
            else _answered(value, request, reference)
        )
        if shaped.error is not None:
            return shaped
        value = settled(shaped)
    fault = fault_in(value)
    return (
        value
        if fault is None
        else _failed(f"{reference} returned an Output with {fault}")
    )


def _answered(output: Output, request: Request, reference: str) -> Output:
    if not output.candidates:
        return _failed(f"{reference} returned {described(output)}; {BUILT}")
    for candidate in output.candidates:
        if not isinstance(candidate, Candidate) or not _has_parts(candidate):
            return _failed(
                f"{reference} returned an Output with {shorten(candidate)} for a candidate; {BUILT}"
            )
    return (
        output
        if len(output.candidates) >= request.options.n
        else too_few(output, request.options.n, reference)
    )


def too_few(output: Output, expected: int, reference: str) -> Output:
    """The failure of an output with fewer candidates than were asked for: pass@k would look worse than it is.

    A prompt that a content filter refused has refused all of them.
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


def weighed(output: Output, request: Request, reference: str) -> Output:
    """An output with one log-probability for each continuation; else the failure that says what is wrong with them."""
    expected = len(request.prompt.continuations or ("",))
    if len(output.likelihoods) != expected:
        return _failed(
            f"{reference} weighed {len(output.likelihoods)} of {expected} continuations"
        )
    plain = True
    for place, likelihood in enumerate(output.likelihoods, 1):
        logprob = (
            as_number(likelihood.logprob)
            if isinstance(likelihood, Likelihood)
            else None
        )
        if logprob is None:
            return _failed(
                f"{reference} returned {shorten(likelihood)} for continuation {place}; {WEIGHED}"
            )
        plain = plain and logprob is likelihood.logprob
        if math.isnan(logprob):
            message = f"{reference} returned nan for continuation {place} of {expected}"
            return _failed(
                f"{message}; a log-probability is a number up to 0, look for an overflow",
                "non_finite",
            )
        if logprob > ROUNDING:
            message = f"{reference} returned {logprob:g} for continuation {place} of {expected}"
            return _failed(
                f"{message}; a log-probability is at most 0: take math.log of a probability"
            )
    return (
        output
        if plain
        else replace(output, likelihoods=tuple(map(_plain, output.likelihoods)))
    )


def _plain(likelihood: Likelihood) -> Likelihood:
    """The same with a plain number for its log-probability, whatever library that is of."""
    number = as_number(likelihood.logprob)
    assert number is not None, "looked at before"
    return replace(likelihood, logprob=number, greedy=bool(likelihood.greedy))


def described(value: Any) -> str:
    """What was returned, in a few words."""
    if inspect.isasyncgen(value):
        return "an async generator"
    if isinstance(value, Output):
        return "an Output without candidates and without an error"
    if inspect.isgenerator(value):
        return "a generator"
    return (
        f"an array of shape {value.shape}"
        if hasattr(value, "shape")
        else shorten(value)
    )


def _has_parts(candidate: Candidate) -> bool:
    parts = candidate.parts
    # Most have one text and nothing else; the longer look would be the slower one.
    is_plain = len(parts) == 1 and type(parts[0]) is Text
    return is_plain or (
        isinstance(parts, (tuple, list))
        and all(isinstance(part, Part) for part in parts)
    )


def _failed(message: str, kind: str = "exception") -> Output:
    return Output.failed(kind, message, retryable=False)
