"""Convert the return value or the exception of a user's function to an output.

For a value that is not an answer, the error explains how to return one.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, SupportsFloat

from ..core import (
    AssayError,
    DataError,
    Json,
    Likelihood,
    Media,
    ModelError,
    Output,
    Reasoning,
    Request,
    Text,
    as_output,
    blamed,
    shorten,
)
from ..core.output import ANSWER_KINDS, is_mixed
from .shapes import WEIGHED, described, weighed

LikelihoodValue = Likelihood | tuple[Any, ...] | list[Any] | SupportsFloat
"""Types that a user's `likelihood` may return for one continuation: `(logprob, greedy)`, a number, a `Likelihood`."""
WANTED = 'text, an Image, an Audio, {"text": …, "audio": …, "image": …}, a list of candidates or an Output'
ARRAYS = (
    "; for arrays: assay.media.image_from(array), assay.media.audio_from(array, rate)"
)


def as_answer(
    value: object,
    request: Request,
    reference: str,
) -> Output:
    """Return the output for one request.

    A value that is not an answer becomes a failure whose message explains how to return one.
    """
    try:
        output = _read(value, reference)
    except TypeError as error:
        return failure(error, reference)
    if request.options.n > 1 and is_mixed(value):
        kinds = " and ".join(
            dict.fromkeys(part.kind for part in output.candidates[0].parts)
        )
        message = f"{reference} returned a list of {kinds} where {request.options.n} candidates are asked for"
        fix = 'return a list of {"text": …, "audio": …}, one for each candidate'
        return Output.failed("exception", f"{message}; fix: {fix}", retryable=False)
    wants_text = request.prompt.produces == ("text",)
    for index, candidate in enumerate(output.candidates):
        media = candidate.media
        if media:
            try:
                output = _hold_media(output, index, request.prompt.media)
            except DataError as error:  # the model's fault, not the data's
                if any(_is_array(medium.source) for medium in media):
                    hint = ARRAYS
                else:
                    hint = ""
                message = f"{reference} returned what cannot be read: {error}{hint}"
                return Output.failed("exception", message, retryable=False)
            except Exception as error:  # noqa: BLE001 - a reader of the user's: becomes the failure of one sample
                return failure(error, reference)
        if (
            media
            and wants_text
            and not any(
                isinstance(part, (Text, Reasoning, Json)) for part in candidate.parts
            )
        ):
            fix = f"return text, or give the task produces: [{media[0].kind}]"
            message = f"{reference} returned {media[0].kind} where the task asks for text; {fix}"
            return Output.failed("exception", message, retryable=False)
    return output


def _hold_media(
    output: Output,
    place: int,
    prompt_media: Sequence[Media],
) -> Output:
    """Read the media of one candidate into memory, and return the output with the loaded copies.

    The user's function may overwrite its files later. A medium that comes from the
    prompt is copied before loading, so that the prompt's object still opens its file
    only when needed.
    """
    candidate = output.candidates[place]
    parts = tuple(
        copy(part) if any(part is medium for medium in prompt_media) else part
        for part in candidate.parts
    )
    for part in parts:
        if isinstance(part, Media):
            part.hold()
    if all(part is old for part, old in zip(parts, candidate.parts, strict=True)):
        return output
    candidates = list(output.candidates)
    candidates[place] = replace(candidate, parts=parts)
    return replace(output, candidates=tuple(candidates))


def as_likelihoods(
    value: Output | Iterable[LikelihoodValue],
    request: Request,
    reference: str,
) -> Output:
    """Convert the value that a user's `likelihood` function returned for one request to an output.

    The value is an `Output`, or a list of numbers, `(logprob, greedy)` pairs or
    `Likelihood`s.
    """
    try:
        if isinstance(value, Output):
            output = value
        else:
            output = Output(likelihoods=tuple(map(_likelihood, value)))
    except (TypeError, ValueError, IndexError):
        message = f"{reference} returned {shorten(value)} for one request; {WEIGHED}"
        return Output.failed("exception", message, retryable=False)
    if output.error is not None:
        return output
    return weighed(output, request, reference)


def _likelihood(entry: LikelihoodValue) -> Likelihood:
    if isinstance(entry, Likelihood):
        return entry
    if isinstance(entry, (tuple, list)):
        return Likelihood(float(entry[0]), bool(entry[1]))
    return Likelihood(float(entry))


def _read(value: object, reference: str) -> Output:
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(
            f"{reference} returned a coroutine; declare it with `async def`"
        )
    reason = ""
    try:
        if not isinstance(value, (list, tuple)) or value:
            output = as_output(value)
            if output.candidates or output.error is not None:
                return output
    except (TypeError, ValueError, KeyError) as error:
        reason = str(error)
    raise TypeError(
        f"{reference} returned {described(value)}; it must return {WANTED}{_advice(value, reason)}"
    )


def _advice(value: object, reason: str) -> str:
    """Return advice on how to return an ambiguous value, or the reason why it could not be read."""
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return '; join the pieces first, as in "".join(pieces)'
    if isinstance(value, (bytes, bytearray)):
        return "; bytes of a file are given as assay.Image(data) or assay.Audio(data)"
    if isinstance(value, (list, tuple)) and value:
        first = value[0]
    else:
        first = value
    if isinstance(first, Mapping) and first.keys() & set(ANSWER_KINDS):
        if any(map(_is_array, first.values())):
            return ARRAYS
        return f"; {reason}"
    if isinstance(first, Mapping):
        return f"; {_inside(first)}"
    if _is_array(value) or (isinstance(value, tuple) and any(map(_is_array, value))):
        return ARRAYS
    return ""


def _is_array(value: object) -> bool:
    """Return True for an array, or for a `datasets` audio clip: a mapping with the key `array`."""
    return hasattr(value, "shape") or (isinstance(value, Mapping) and "array" in value)


def _inside(value: Mapping[str, Any]) -> str:
    """Return a hint on where the answer is in a returned dictionary, such as `return the value of "content"`."""
    if "choices" in value:
        return 'the words of a chat reply are reply["choices"][0]["message"]["content"]'
    name = next(
        (
            name
            for name in ("content", "generated_text", "answer", "response", "output")
            if name in value
        ),
        None,
    )
    if name is not None:
        return f'return the value of "{name}"'
    return "a structured answer is given as assay.core.Json(value)"


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that the batch did not fit into the memory of the device or the machine."""
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return True
    return "out of memory" in str(error).lower()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its class name if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def failure(
    error: Exception | SystemExit,
    reference: str,
) -> Output:
    """Convert an exception to the failed output of one sample, with a message such as
    `KeyError: 'x' (file.py:12)`.
    """
    if isinstance(error, AssayError):
        kind = "data" if isinstance(error, DataError) else "exception"
        return Output.failed(kind, str(error), retryable=False)
    kind = "oom" if is_out_of_memory(error) else "exception"
    return Output.failed(
        kind,
        blamed(ModelError, error, reference).what,
        retryable=False,
    )
