"""What a user's function gave back, or raised, as an output; what is no answer is told how to become one."""

import inspect
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

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

WANTED = 'text, an Image, an Audio, {"text": …, "audio": …, "image": …}, a list of candidates or an Output'
ARRAYS = (
    "; for arrays: assay.media.image_from(array), assay.media.audio_from(array, rate)"
)


def as_answer(value: Any, request: Request, reference: str) -> Output:
    """What was returned for one request; a failure that says how to return it, where it is no answer."""
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
    for place, candidate in enumerate(output.candidates):
        media = candidate.media
        if media:
            try:
                output = _holding(output, place, request.prompt.media)
            except DataError as error:  # the model's fault: the data has no part in it
                hint = (
                    ARRAYS if any(_is_array(medium.source) for medium in media) else ""
                )
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


def _holding(output: Output, place: int, prompt_media: Sequence[Media]) -> Output:
    """The output with the media of a candidate held; of one that was given with the prompt, a copy is held.

    What the model makes may be written over, but what it was given is read again from its file, and never kept.
    """
    candidate = output.candidates[place]
    parts = tuple(
        copy(part) if any(part is medium for medium in prompt_media) else part
        for part in candidate.parts
    )
    for part in parts:
        if isinstance(part, Media):
            part.hold()
    if all(one is other for one, other in zip(parts, candidate.parts, strict=True)):
        return output
    candidates = list(output.candidates)
    candidates[place] = replace(candidate, parts=parts)
    return replace(output, candidates=tuple(candidates))


def as_weighed(value: Any, request: Request, reference: str) -> Output:
    """Likelihoods from an `Output`, or from a list of numbers, `(logprob, greedy)` pairs or `Likelihood`s."""
    try:
        output = (
            value
            if isinstance(value, Output)
            else Output(likelihoods=tuple(map(_likelihood, value)))
        )
    except (TypeError, ValueError, IndexError):
        message = f"{reference} returned {shorten(value)} for one request; {WEIGHED}"
        return Output.failed("exception", message, retryable=False)
    return output if output.error is not None else weighed(output, request, reference)


def _likelihood(entry: Any) -> Likelihood:
    if isinstance(entry, Likelihood):
        return entry
    if isinstance(entry, (tuple, list)):
        return Likelihood(float(entry[0]), bool(entry[1]))
    return Likelihood(float(entry))


def _read(value: Any, reference: str) -> Output:
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


def _advice(value: Any, reason: str) -> str:
    """How to give back what nobody can guess the meaning of, or why it could not be read."""
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return '; join the pieces first, as in "".join(pieces)'
    if isinstance(value, (bytes, bytearray)):
        return "; bytes of a file are given as assay.Image(data) or assay.Audio(data)"
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if isinstance(first, Mapping) and first.keys() & set(ANSWER_KINDS):
        return ARRAYS if any(map(_is_array, first.values())) else f"; {reason}"
    if isinstance(first, Mapping):
        return f"; {_inside(first)}"
    if _is_array(value) or (isinstance(value, tuple) and any(map(_is_array, value))):
        return ARRAYS
    return ""


def _is_array(value: Any) -> bool:
    """Whether it is an array, or one with its rate as `datasets` gives them."""
    return hasattr(value, "shape") or (isinstance(value, Mapping) and "array" in value)


def _inside(value: Mapping[str, Any]) -> str:
    """Where the answer may lie in a dictionary that was given back whole."""
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
        return f'return what stands under "{name}"'
    return "a structured answer is given as assay.core.Json(value)"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is a device's or the machine's way to say that the batch was too large."""
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return True
    return "out of memory" in str(error).lower()


def first_line(error: BaseException) -> str:
    """What an error says, in one line; its class where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def failure(error: Exception | SystemExit, reference: str) -> Output:
    """What was raised, as the failed output of one sample: `KeyError: 'x' (file.py:12)`."""
    if isinstance(error, AssayError):
        kind = "data" if isinstance(error, DataError) else "exception"
        return Output.failed(kind, str(error), retryable=False)
    kind = "oom" if is_out_of_memory(error) else "exception"
    return Output.failed(
        kind, blamed(ModelError, error, reference).what, retryable=False
    )
