"""Calling a model: an output for each request, whatever its code does.

What a model raises becomes the failure of one sample: a batch that raises is asked again in halves until the culprit is
found. What a model does not take is the failure of the sample that brings it, and never shown to the model: the plan
looks at the first row only, and a later one may bring an image or audio where the first had none.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...core import (
    AssayError,
    DataError,
    Media,
    Model,
    ModelError,
    Output,
    Request,
    Text,
    UsageError,
    blamed,
)
from ...core.secrets import scrub
from ...models.answers import is_out_of_memory
from ...models.declared import models_that
from ...models.shapes import WrongShape, checked, matched


def call_model(model: Model, requests: Sequence[Request]) -> list[Output]:
    """Asks a model for a batch: one that fails is asked again in halves, so that a sample fails alone."""
    return call_in_halves(model, requests)[0]


def call_in_halves(
    model: Model, requests: Sequence[Request]
) -> tuple[list[Output], int]:
    """The outputs; and, where memory had room for each but not for all, how many of them it had, else 0."""
    if refused := not_accepted(model, requests):
        accepted = [
            request for place, request in enumerate(requests) if place not in refused
        ]
        outputs, fits = call_in_halves(model, accepted) if accepted else ([], 0)
        answers = iter(outputs)
        return [
            refused[place] if place in refused else next(answers)
            for place in range(len(requests))
        ], fits
    weighed = [_weighs(request) for request in requests]
    if len(requests) > 1 and any(weighed) and not all(weighed):
        # One call of a model is of one kind, whatever rows or callers come together in a batch.
        kinds = [
            [r for r, weighs in zip(requests, weighed, strict=True) if weighs is kind]
            for kind in (False, True)
        ]
        (texts, fits), (likely, fits_weighed) = (
            call_in_halves(model, alike) for alike in kinds
        )
        turns = iter(texts), iter(likely)
        return [next(turns[weighs]) for weighs in weighed], max(fits, fits_weighed)
    try:
        return _call(model, requests), 0
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        if len(requests) == 1:
            return [_failure(error)], 0
        half = len(requests) // 2
        parts = [
            call_in_halves(model, part) for part in (requests[:half], requests[half:])
        ]
        outputs = parts[0][0] + parts[1][0]
        if not is_out_of_memory(error) or any(
            o.error is not None and o.error.kind == "oom" for o in outputs
        ):
            return (
                outputs,
                0,
            )  # a sample for which there is no room even alone says nothing of the others
        return outputs, max(more or half for _, more in parts)


async def load_model(
    model: Model, what: str, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
) -> None:
    """Lets a model get ready, if it has to; anything it raises is said of `what`."""
    load = getattr(model, "load", None)
    if load is None:
        return
    try:
        done = await in_thread(load)
        if inspect.isawaitable(done):
            await done
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        raise blamed(ModelError, error, what) from error


async def close_model(model: Model) -> None:
    """Lets a model close what it opened, if it can be closed at all."""
    close = getattr(model, "close", None)
    done = close() if close is not None else None
    if inspect.isawaitable(done):
        await done


def _call(model: Model, requests: Sequence[Request]) -> list[Output]:
    started = time.perf_counter()
    values = _method(model, requests[0])(requests)
    name = type(model).__name__
    try:
        values = matched(values, requests, name)
    except WrongShape as error:
        # Asking again in halves would give as little: which answer belongs to whom is not known.
        return [Output.failed("exception", str(error), retryable=False)] * len(requests)
    outputs = [
        checked(value, request, name)
        for value, request in zip(values, requests, strict=True)
    ]
    seconds = (time.perf_counter() - started) / len(requests)
    for place, output in enumerate(outputs):
        if output.seconds is None:
            _set_seconds(output, seconds)
        if output.error is not None:
            outputs[place] = _scrubbed(output)
    return outputs


async def call_async(model: Model, request: Request) -> Output:
    """Asks a model whose methods are coroutines for one answer."""
    if refused := not_accepted(model, [request]):
        return refused[0]
    started = time.perf_counter()
    try:
        name = type(model).__name__
        values = await _method(model, request)([request])
        output = checked(matched(values, [request], name)[0], request, name)
    except UsageError:
        raise
    except WrongShape as error:
        return Output.failed("exception", str(error), retryable=False)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        return _failure(error)
    if output.seconds is None:
        _set_seconds(output, time.perf_counter() - started)
    return output if output.error is None else _scrubbed(output)


def _method(model: Model, request: Request) -> Any:
    return model.likelihood if _weighs(request) else model.generate  # type: ignore[attr-defined]


def _weighs(request: Request) -> bool:
    return request.prompt.continuations is not None or request.prompt.rolling


def _failure(error: BaseException) -> Output:
    """What a model raised, as the failure of one sample; a lost connection or a timeout may pass."""
    kind, passes = "exception", False
    if isinstance(error, DataError):
        return Output.failed("data", scrub(str(error)), retryable=False)
    if is_out_of_memory(error):
        kind = "oom"
    elif isinstance(error, TimeoutError):
        kind, passes = "timeout", True
    elif isinstance(error, ConnectionError):
        kind, passes = "connection", True
    return Output.failed(
        kind, scrub(f"{type(error).__name__}: {error}"), retryable=passes
    )


def _scrubbed(output: Output) -> Output:
    """The same failure without passwords in its message: it may quote a URL or a header."""
    error = output.error
    if error is None or (message := scrub(error.message)) == error.message:
        return output
    return replace(output, error=replace(error, message=message))


def _set_seconds(output: Output, seconds: float) -> None:
    """Notes the time on an output that was just made; a copy would cost more than all else done here."""
    object.__setattr__(output, "seconds", seconds)


def not_accepted(model: Model, requests: Sequence[Request]) -> dict[int, Output]:
    """The failures of the requests with media that the model does not take, by their place; mostly none."""
    refused: dict[int, Output] = {}
    for place, request in enumerate(requests):
        for message in request.prompt.messages:
            for part in message.parts or ():
                # Text is by far the most common, and tells nothing that would need the model's abilities.
                if (
                    type(part) is Text
                    or not isinstance(part, Media)
                    or part.kind in model.abilities.accepts
                ):
                    continue
                line = _line(part.kind, frozenset(model.abilities.accepts))
                refused[place] = Output.failed("data", line, retryable=False)
    return refused


@lru_cache(maxsize=64)
def _line(kind: str, accepts: frozenset[str]) -> str:
    """One line, the same for all samples that bring the kind."""
    what = f"the sample sends {kind} and the model accepts only {', '.join(sorted(accepts))}"
    names = ", ".join([*models_that("accepts", kind), "or your own"])
    return str(DataError(what, fix=f"models that accept {kind}: {names}"))
