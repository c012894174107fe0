"""Simple templates: the question unchanged, a text to continue, ready-made messages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core import (
    Media,
    Message,
    Part,
    Prompt,
    Sample,
    TemplateError,
    Text,
    as_part,
)
from ..registry import templates
from .built import target_text, turn
from .jinja import compiled

_MEDIA_MARK = re.compile("<(image|audio|video)>")


def question_text(sample: Sample) -> str:
    """Return the question as text. Raise if the sample has none, so that no empty prompt is sent."""
    text = sample.input
    if isinstance(text, str):
        if text or sample.media or sample.choices:
            return text
        raise TemplateError(
            "the sample has no question",
            where=f"sample {sample.id!r}",
            fix="name the column that holds it, as in `columns: {input: prompt}`, or write a template",
        )
    return "\n".join(message.text for message in text if message.parts is not None)


def solution_of(
    sample: Sample,
    answer: str | None,
) -> object:
    """Return the answer that ends a solved example: the template's rendered `answer` if
    it has one, otherwise the target.
    """
    if answer is None:
        return target_text(sample)
    return compiled(answer, "template, key `answer`")(sample)


def place_media(
    messages: tuple[Message, ...],
    media: Sequence[Media],
) -> tuple[Message, ...]:
    """Return ready-made messages with media from other columns of the row inserted.

    Each medium replaces a mark such as `<image>`. Without marks, the media come before
    the first user turn. Messages that already contain media stay unchanged.
    """
    if not media or any(message.media for message in messages):
        return messages
    texts = [message.text for message in messages]
    marks = _MEDIA_MARK.findall("".join(texts))
    if not marks:
        roles = [message.role for message in messages]
        first = roles.index("user") if "user" in roles else 0
        question = messages[first]
        with_media = Message.of(question.role, *media, *(question.parts or ()))
        return (*messages[:first], with_media, *messages[first + 1 :])
    kinds = [medium.kind for medium in media]
    if sorted(marks) != sorted(kinds):
        raise TemplateError(
            f"the messages have {len(marks)} marks such as <{marks[0]}>, and the row has {len(media)} media",
            fix="write one mark for each medium, or none",
        )
    waiting = list(media)
    placed = []
    for message in messages:
        if message.parts is not None:
            message = Message(message.role, tuple(_at_marks(message.parts, waiting)))
        placed.append(message)
    return tuple(placed)


def _at_marks(
    parts: Sequence[Part],
    waiting: list[Media],
) -> Iterator[Part]:
    """Yield the parts of a turn, with each mark replaced by the next medium of its
    kind, which is removed from `waiting`.
    """
    for part in parts:
        if not isinstance(part, Text):
            yield part
            continue
        for index, piece in enumerate(_MEDIA_MARK.split(part.text)):
            if index % 2:
                medium = next(medium for medium in waiting if medium.kind == piece)
                waiting.remove(medium)
                yield as_part(medium)
            elif piece:
                yield Text(piece)


@templates.register("question")
@dataclass(frozen=True)
class Question:
    """The question as one user turn, media first; ready-made messages are passed on."""

    instruction: str = ""
    """Text after the question, separated by a blank line."""
    answer: str | None = None
    """Jinja text of the answer that ends a solved example; by default the target."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    def __call__(self, sample: Sample) -> Prompt:
        text = sample.input
        if not isinstance(text, str):
            return Prompt(place_media(text, sample.media))
        if not text:
            question_text(sample)
        if self.instruction:
            if text:
                text = f"{text}\n\n{self.instruction}"
            else:
                text = self.instruction
        if sample.media:
            return Prompt(
                (
                    turn("user", sample, text)
                    if text
                    else Message.of("user", *sample.media),
                )
            )
        return Prompt((Message("user", (Text(text),)),))

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example."""
        return solution_of(sample, self.answer)


@templates.register("completion")
@dataclass(frozen=True)
class Completion:
    """A text that the model continues. It is sent unchanged, without chat template or roles."""

    prefix: str = ""
    suffix: str = ""
    r"""Text after the question. `prefix="Q: ", suffix="\nA:"` turns a question into a text to continue."""
    answer: str | None = None
    """Jinja text of the answer that ends a solved example; by default the target."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt(
            (turn("", sample, f"{self.prefix}{question_text(sample)}{self.suffix}"),)
        )

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example."""
        return solution_of(sample, self.answer)


@templates.register("messages")
def ready_messages(sample: Sample) -> Prompt:
    """Return the messages of the row unchanged; a row with only text becomes one user turn."""
    return _QUESTION(sample)


_QUESTION = Question()
