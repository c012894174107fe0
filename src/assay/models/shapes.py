"""Check the shape of what a model returns: one output per request, with an answer or the requested likelihoods.

Any other shape is never scored as an answer. It becomes a failure that describes the returned value.
"""

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..core import Candidate, Likelihood, Output, Part, Request, Text, shorten
from .contents import as_number, fault_in, normalize_numbers

WEIGHED = "return one log-probability, (log-probability, is greedy) or Likelihood for each continuation"
BUILT = "return an Output with an answer, as in Output.of(text)"
ROUNDING = 1e-3
"""How far above 0 a log-probability may be because of rounding."""


class WrongShape(TypeError):
    """The model did not return one value for each request."""


def matched(
    values: object,
    requests: Sequence[Request],
    reference: str,
) -> Sequence[Any]:
    """Return the values if there is one for each request; otherwise raise a `WrongShape` that names the model."""
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


def checked(value: object, request: Request, reference: str) -> Output:
    """Return a model's output for one request if it is usable, else a failure that says why not."""
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
        value = normalize_numbers(shaped).separated(request.think_tags)
    fault = fault_in(value)
    return (
        value
        if fault is None
        else _failed(f"{reference} returned an Output with {fault}")
    )


def _answered(output: Output, request: Request, reference: str) -> Output:
    """Return an output with as many answers as were requested, or the failure of the sample."""
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
    """Return the failure of an output with too few candidates, which would lower pass@k.

    If a content filter refused the prompt, it refused all candidates, and the output is returned.
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
    """Return an output with one log-probability for each continuation, else a failure that says what is wrong."""
    expected = len(request.prompt.continuations or ("",))
    if len(output.likelihoods) != expected:
        return _failed(
            f"{reference} weighed {len(output.likelihoods)} of {expected} continuations"
        )
    plain = True
    for number, likelihood in enumerate(output.likelihoods, 1):
        logprob = (
            as_number(likelihood.logprob)
            if isinstance(likelihood, Likelihood)
            else None
        )
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
    return (
        output
        if plain
        else replace(output, likelihoods=tuple(map(_plain, output.likelihoods)))
    )


def _plain(likelihood: Likelihood) -> Likelihood:
    """Return the likelihood with a plain number as its log-probability."""
    number = as_number(likelihood.logprob)
    assert number is not None, "looked at before"
    return replace(likelihood, logprob=number, greedy=bool(likelihood.greedy))


def described(value: object) -> str:
    """Describe a returned value in a few words."""
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
    """Return True if all parts of a candidate are parts that assay knows."""
    parts = candidate.parts
    # Most outputs have one text and nothing else, so check that first.
    is_plain = len(parts) == 1 and type(parts[0]) is Text
    return is_plain or (
        isinstance(parts, (tuple, list))
        and all(isinstance(part, Part) for part in parts)
    )


def _failed(message: str, kind: str = "exception") -> Output:
    """Return the failure of a sample whose model returned something else.

    It is not retried, because the same code would return the same again.
    """
    return Output.failed(kind, message, retryable=False)
