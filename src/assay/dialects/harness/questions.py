"""Build prompts from the requests of a library's task, with their images and audio clips."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...core import (
    DataError,
    Image,
    Message,
    Output,
    Part,
    Prompt,
    Text,
    shorten,
)

Medium = TypeVar("Medium")
IMAGE_MARK = "<image>"
AUDIO_MARK = "<audio>"


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt for the model, and the library's requests that its answer completes."""

    prompt: Prompt
    requests: tuple[int, ...]
    """Indices in the document's list of requests. With continuations, there is one index for each."""

    def answers(self, output: Output) -> list[Any]:
        """Return the answer to each request, as lm-eval expects it.

        That is `(log-probability, is greedy)` for each continuation, a log-probability
        for the likelihood of a whole text, and otherwise the generated text.
        """
        if self.prompt.continuations is not None:
            return [(entry.logprob, entry.greedy) for entry in output.likelihoods]
        if self.prompt.rolling:
            return [output.likelihoods[0].logprob]
        return [output.candidates[0].text if output.candidates else ""]


def medium_of(kind: Callable[[Any], Medium], value: object) -> Medium:
    """Make an image or audio clip from a `datasets` value: bytes, a path, audio samples, or a Pillow image."""
    if isinstance(value, Mapping):
        if value.get("bytes"):
            return kind(value["bytes"])
        if value.get("array") is not None:
            return kind(_wav(value["array"], int(value["sampling_rate"])))
        if value.get("path"):
            return kind(value["path"])
        raise DataError(f"a medium without bytes or path: {shorten(dict(value))}")
    return kind(value)


def _wav(samples: object, rate: int) -> bytes:
    """Return mono samples between -1 and 1 as a WAV file."""
    import io
    import wave

    import numpy

    # Use the scale of 16-bit files, so that samples from such a file are written unchanged.
    numbers = numpy.asarray(samples, dtype="float64") * 32768
    numbers = numpy.clip(numbers.round(), -32768, 32767)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(numbers.astype("<i2").tobytes())
    return buffer.getvalue()


def with_media(
    turns: Sequence[Message],
    media: Sequence[Part],
) -> tuple[Message, ...]:
    """Replace the placeholders in the messages with the images and audio clips.

    Media without a placeholder go to the start of the last question.
    """
    waiting = list(media)
    placed: list[Message] = []
    for turn in turns:
        parts: list[Part] = []
        for part in turn.parts or ():
            parts += _split_at_marks(part, waiting)
        placed.append(Message(turn.role, tuple(parts)))
    if waiting:
        last = _last_question(placed)
        question = placed[last]
        with_media = (*waiting, *(question.parts or ()))
        placed[last] = Message(question.role, with_media)
    return tuple(placed)


def _last_question(turns: Sequence[Message]) -> int:
    for position in reversed(range(len(turns))):
        if turns[position].role in ("", "user"):
            return position
    return 0


def _split_at_marks(
    part: Part,
    waiting: list[Part],
) -> list[Part]:
    if not isinstance(part, Text):
        return [part]
    pieces: list[Part] = []
    rest = part.text
    while waiting:
        if isinstance(waiting[0], Image):
            mark = IMAGE_MARK
        else:
            mark = AUDIO_MARK
        before, found_mark, after = rest.partition(mark)
        if not found_mark:
            break
        if before:
            pieces.append(Text(before))
        pieces.append(waiting.pop(0))
        rest = after
    if rest or not pieces:
        pieces.append(Text(rest))
    return pieces
