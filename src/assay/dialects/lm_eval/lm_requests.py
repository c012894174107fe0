"""Convert requests of lm-eval to prompts of assay: contexts, continuations, generation options and media.

Continuations after one context become one prompt. A chat keeps its turns, so that the model's own template renders
them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Audio, Image, Message, Part, Prompt, Text, UsageError
from ..harness.generation_options import options_of
from ..harness.questions import Question, medium_of, with_media
from ..harness.task_yaml import as_list


class ChatText(str):
    """A chat as lm-eval passes it around: a string that also has the turns."""

    __slots__ = ("turns",)
    turns: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        history: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = True,
    ) -> "ChatText":
        """Make a `ChatText` of a chat history. The role of the last turn decides whether that turn is continued."""
        text = cls(json.dumps(list(history), ensure_ascii=False))
        turns = [
            Message(str(turn["role"]), (Text(turn["content"]),)) for turn in history
        ]
        text.turns = tuple(turns)
        return text


def questions_of(
    instances: Sequence[Any],
    changes: Mapping[str, Any],
    where: str,
) -> list[Question]:
    """Return the prompts of one document's requests. `changes` are generation options of the run."""
    questions: list[Question] = []
    by_context: dict[str, list[int]] = {}
    for position, instance in enumerate(instances):
        kind = instance.request_type
        arguments = instance.args
        if kind == "loglikelihood":
            key = _context_key(arguments)
            positions = by_context.setdefault(key, [])
            positions.append(position)
            continue
        if kind == "loglikelihood_rolling":
            messages = _messages(str(arguments[0]), ())
            prompt = Prompt(messages, rolling=True)
        elif kind == "generate_until":
            own_options = options_of(arguments[1], where)
            options = own_options.set(**changes)
            media = _media_of(arguments)
            messages = _messages(arguments[0], media)
            prompt = Prompt(messages, options=options)
        else:
            raise UsageError(
                f"requests of the type {kind!r} are not supported", where=where
            )
        question = Question(prompt, (position,))
        questions.append(question)
    for positions in by_context.values():
        question = _weighing(instances, positions)
        questions.append(question)
    return sorted(questions, key=lambda question: question.requests[0])


def _weighing(
    instances: Sequence[Any],
    positions: Sequence[int],
) -> Question:
    """Return the question that scores all continuations after one context."""
    arguments = instances[positions[0]].args
    media = _media_of(arguments)
    messages = _messages(arguments[0], media)
    continuations = []
    for position in positions:
        _, continuation, *_ = instances[position].args
        continuations.append(str(continuation))
    prompt = Prompt(messages, continuations=tuple(continuations))
    return Question(prompt, tuple(positions))


def _context_key(arguments: Sequence[Any]) -> str:
    kind = type(arguments[0]).__name__
    return f"{kind}\0{arguments[0]}"


def _messages(
    context: object,
    media: Sequence[Part],
) -> tuple[Message, ...]:
    if isinstance(context, ChatText):
        turns = context.turns
        return with_media(turns, media) if media else turns
    message = Message("", (Text(str(context)),))
    if media:
        return with_media((message,), media)
    return (message,)


def _media_of(arguments: Sequence[Any]) -> list[Part]:
    """Return the images and clips that lm-eval passes in the last argument of a request."""
    last = arguments[-1]
    if not isinstance(last, Mapping):
        return []
    media: list[Part] = []
    for value in as_list(last.get("visual")):
        image = medium_of(Image, value)
        media.append(image)
    for value in as_list(last.get("audio")):
        clip = medium_of(Audio, value)
        media.append(clip)
    return media
