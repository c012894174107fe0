"""Call a model with as many requests as it accepts at once, and return one output per request.

If a batch raises, it is split in halves until the failing request is found. Only this
request gets a failed output. A request with a kind of media that the model does not
accept fails without being sent: the check before the run covers only the first row, and
a later one may have an image or audio.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core import (
    AssayError,
    DataError,
    Media,
    Model,
    ModelError,
    Output,
    Request,
    SizedByMemory,
    Text,
    UsageError,
    blamed,
)
from ...core.abilities import FEWER_IMAGES
from ...core.secrets import scrub
from ...models.answers import is_out_of_memory
from ...models.declared import fix_for_kind
from ...models.shapes import WrongShape, checked, matched
from ...models.tool_prompting import no_tools

AnswerMethod = Callable[[Sequence[Request]], Any]
"""The method `generate` or `likelihood` of a model. It returns outputs, or a coroutine that returns them."""
DEFAULT_WINDOW = 32
"""Maximum number of requests in flight at an endpoint, unless a setting gives one."""
HANDOVER_SECONDS = 0.02
LARGEST_HANDOVER = 256
MEDIA_HANDOVER = 16
CLEAN_BATCHES = 32
ENOUGH_TIMED = 32
"""Minimum number of timed requests before a model may be treated as instant."""
MOST_WAITING = 0.75
"""Largest fraction of a batch's duration that an instant model may spend waiting for CPU time.

A model that calls a server waits longer than that.
"""


class BatchSize:
    """Determines the size of the next batch of one model from the results of earlier batches."""

    def __init__(self, declared: int | None) -> None:
        self.declared = declared
        self.handover = 1
        """Batch size for a model that declares none, adjusted so that a batch takes about `HANDOVER_SECONDS`."""
        self._fits: int | None = None
        """The batch size known to fit into memory, increased after each batch; None if no batch was too large yet."""
        self._too_large = 0
        """The smallest batch that did not fit into memory. It is retried after `CLEAN_BATCHES` smaller ones."""
        self._clean = 0

    def size(self) -> int:
        """Return the size of the next batch."""
        size = self.declared or self.handover
        if self._fits is None:
            return size
        return min(size, self._fits)

    def media_size(self) -> int | None:
        """Return the largest batch with media, which need more memory; None if the model declares its batch size."""
        if self.declared:
            return None
        return MEDIA_HANDOVER

    def learn(
        self,
        count: int,
        fits: int,
        seconds: float,
    ) -> None:
        """Adjust the size of the next batch, after a batch of `count` requests took `seconds`.

        `fits` is the number of requests that fit into memory, or 0 if all of them did.
        """
        self._learn_room(count, fits)
        if self.declared is None:
            in_time = int(count * HANDOVER_SECONDS / max(seconds, 1e-6))
            self.handover = max(1, min(in_time, 2 * self.handover, LARGEST_HANDOVER))

    def is_instant(
        self,
        count: int,
        seconds: float,
        worked: float,
    ) -> bool:
        """Return True if a model is so fast that calling it in a separate thread only costs time.

        `worked` is the model's CPU time for the batch, and `seconds` the wall time,
        which includes waiting for other threads and programs.
        """
        if self.handover == LARGEST_HANDOVER:
            return True
        is_quick = worked * LARGEST_HANDOVER <= count * HANDOVER_SECONDS
        return (
            is_quick
            and count >= ENOUGH_TIMED
            and worked >= (1 - MOST_WAITING) * seconds
        )

    def _learn_room(self, count: int, fits: int) -> None:
        """Adjust the batch size to the free memory.

        `fits` is how many of `count` requests fitted, or 0 if all did.
        """
        if fits:
            self._fits, self._too_large, self._clean = (
                fits,
                min(count, self._too_large or count),
                0,
            )
            return
        if self._fits is None:
            return
        self._clean += 1
        if self._fits + 1 < self._too_large:
            self._fits += 1
        elif self._clean >= CLEAN_BATCHES:
            self._too_large += 1
            self._clean = 0


def as_number(batch_size: int | str | None) -> int | None:
    """Return the batch size if it is a number. Return None for `auto`, which lets the model choose."""
    if isinstance(batch_size, int):
        return batch_size
    return None


def fit_batch(
    model: Model,
    window: int | None = None,
) -> str:
    """Let a loaded model choose the batch size that fits into memory, and return a description of the choice.

    `window` is the number of requests in flight at an endpoint.
    """
    if isinstance(model, SizedByMemory):
        return model.fit_memory()
    if inspect.iscoroutinefunction(model.generate):
        open_at_once = window or getattr(model, "concurrency", None) or DEFAULT_WINDOW
        return f"{open_at_once} requests open at once, as an endpoint has no batches (--concurrency N)"
    if declared := getattr(model, "batch_size", None):
        return f"{declared} at once, as the model declares"
    return "as many as the model answers in about 20 ms"


def call_model(
    model: Model,
    requests: Sequence[Request],
) -> list[Output]:
    """Send a batch to a model. A batch that fails is repeated in halves, so that only the faulty sample fails."""
    return call_in_halves(model, requests)[0]


def call_in_halves(
    model: Model,
    requests: Sequence[Request],
) -> tuple[list[Output], int]:
    """Call the model, and split the batch in halves if it fails. Return the outputs,
    and how many requests fit into memory.

    The number is 0 if the whole batch fitted.
    """
    refused = not_accepted(model, requests)
    if refused:
        return _call_accepted(model, requests, refused)
    want_likelihoods = [_wants_likelihoods(request) for request in requests]
    if any(want_likelihoods) and not all(want_likelihoods):
        return _call_by_kind(model, requests, want_likelihoods)
    try:
        return _call(model, requests), 0
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        if len(requests) == 1:
            return [_failure(error)], 0
        half = len(requests) // 2
        first, first_fits = call_in_halves(model, requests[:half])
        second, second_fits = call_in_halves(model, requests[half:])
        outputs = first + second
        if not is_out_of_memory(error) or any(map(_is_too_large, outputs)):
            # A sample that does not fit even alone gives no information about the others.
            return outputs, 0
        return outputs, max(first_fits or half, second_fits or half)


def _call_accepted(
    model: Model,
    requests: Sequence[Request],
    refused: Mapping[int, Output],
) -> tuple[list[Output], int]:
    """Call the model with the requests that it accepts. `refused` maps the indices of
    the others to their failures.
    """
    accepted = [
        request for index, request in enumerate(requests) if index not in refused
    ]
    if not accepted:
        return [refused[index] for index in range(len(requests))], 0
    outputs, fits = call_in_halves(model, accepted)
    answers = iter(outputs)
    merged = []
    for index in range(len(requests)):
        merged.append(refused[index] if index in refused else next(answers))
    return merged, fits


def _call_by_kind(
    model: Model,
    requests: Sequence[Request],
    want_likelihoods: Sequence[bool],
) -> tuple[list[Output], int]:
    """Call the model separately for text requests and for likelihood requests, because a call must not mix them."""
    pairs = list(zip(requests, want_likelihoods, strict=True))
    texts, text_fits = call_in_halves(
        model, [request for request, wants in pairs if not wants]
    )
    likelihoods, likelihood_fits = call_in_halves(
        model, [request for request, wants in pairs if wants]
    )
    next_texts = iter(texts)
    next_likelihoods = iter(likelihoods)
    outputs = []
    for wants in want_likelihoods:
        outputs.append(next(next_likelihoods if wants else next_texts))
    return outputs, max(text_fits, likelihood_fits)


def _is_too_large(output: Output) -> bool:
    """Return True if an output is an out-of-memory failure."""
    return output.error is not None and output.error.kind == "oom"


async def load_model(
    model: Model,
    what: str,
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
) -> None:
    """Load a model, if it has a `load` method. Error messages name the model as given in `what`."""
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


def interrupt_model(model: Model) -> None:
    """Call the `interrupt` method of a model, if it has one, because the user stopped the run."""
    interrupt = getattr(model, "interrupt", None)
    if interrupt is not None:
        interrupt()


async def close_model(model: Model) -> None:
    """Close a model, if it has a `close` method."""
    close = getattr(model, "close", None)
    if close is not None:
        done = close()
    else:
        done = None
    if inspect.isawaitable(done):
        await done


def _call(
    model: Model,
    requests: Sequence[Request],
) -> list[Output]:
    """Send a batch to a model, and check the type and number of its outputs."""
    started = time.perf_counter()
    values = _method(model, requests[0])(requests)
    name = type(model).__name__
    try:
        values = matched(values, requests, name)
    except WrongShape as error:
        # Halves would not help: it is not known which answer belongs to which request.
        return [Output.failed("exception", str(error), retryable=False)] * len(requests)
    outputs = [
        checked(value, request, name)
        for value, request in zip(values, requests, strict=True)
    ]
    seconds = (time.perf_counter() - started) / len(requests)
    for index, output in enumerate(outputs):
        if output.seconds is None:
            _set_seconds(output, seconds)
        if output.error is not None:
            outputs[index] = _scrubbed(output)
    return outputs


async def call_async(model: Model, request: Request) -> Output:
    """Send one request to a model whose methods are coroutines."""
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
    if output.error is None:
        return output
    return _scrubbed(output)


def _method(model: Model, request: Request) -> AnswerMethod:
    """Return the model's method for this request: `generate` or `likelihood`."""
    return model.likelihood if _wants_likelihoods(request) else model.generate  # type: ignore[attr-defined]


def _wants_likelihoods(request: Request) -> bool:
    """Return True if a request is for likelihoods."""
    return request.prompt.continuations is not None or request.prompt.rolling


def _failure(error: BaseException) -> Output:
    """Convert an exception to the failure of one sample. Lost connections and timeouts are retryable."""
    kind = "exception"
    passes = False
    if isinstance(error, DataError):
        return Output.failed("data", scrub(str(error)), retryable=False)
    if is_out_of_memory(error):
        kind = "oom"
    elif isinstance(error, TimeoutError):
        kind = "timeout"
        passes = True
    elif isinstance(error, ConnectionError):
        kind = "connection"
        passes = True
    return Output.failed(
        kind,
        scrub(f"{type(error).__name__}: {error}"),
        retryable=passes,
    )


def _scrubbed(output: Output) -> Output:
    """Remove secrets from a failed output, because its message may quote a URL or a header."""
    error = output.error
    if error is None or (message := scrub(error.message)) == error.message:
        return output
    return replace(output, error=replace(error, message=message))


def _set_seconds(output: Output, seconds: float) -> None:
    """Set the seconds of an output in place, because copying is slow. Nothing else may refer to the output."""
    object.__setattr__(output, "seconds", seconds)


def not_accepted(
    model: Model,
    requests: Sequence[Request],
) -> dict[int, Output]:
    """Return failures for the requests with a kind of media that the model does not accept, by index."""
    refused: dict[int, Output] = {}
    refusal = getattr(model, "refusal", None)
    abilities = model.abilities
    for index, request in enumerate(requests):
        if refusal is None:
            error = None
        else:
            error = refusal(request.prompt)
        if error is not None:
            refused[index] = Output.failed("data", str(error), retryable=False)
            continue
        if request.prompt.tools and not abilities.tools:
            refused[index] = Output.failed(
                "data",
                str(no_tools(model)),
                retryable=False,
            )
            continue
        for message in request.prompt.messages:
            for part in message.parts or ():
                # Text is by far the most common part.
                if (
                    type(part) is Text
                    or not isinstance(part, Media)
                    or part.kind in abilities.accepts
                ):
                    continue
                line = _line(model, part.kind)
                refused[index] = Output.failed("data", line, retryable=False)
        if abilities.images_per_prompt is None or index in refused:
            continue
        excess = abilities.excess_images(request.prompt.media)
        if excess:
            line = str(DataError(excess, fix=FEWER_IMAGES))
            refused[index] = Output.failed("data", line, retryable=False)
    return refused


def _line(model: Model, kind: str) -> str:
    """Return the error message for a sample with media that the model does not accept.

    The message contains no sample id, so that equal failures are counted together.
    """
    accepts = ", ".join(sorted(model.abilities.accepts))
    problem = f"the sample sends {kind} and the model accepts only {accepts}"
    return str(DataError(problem, fix=fix_for_kind(model, kind)))
