"""Requests of lm-eval as prompts of assay: contexts, continuations, generation options and media.

Continuations after one context become one prompt. A chat keeps its turns, so that the model's own template renders
them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Audio, Image, Message, Part, Prompt, Text, UsageError
from ..harness.generation_options import options_of
from ..harness.questions import Question, as_list, medium_of, with_media


class ChatText(str):
    """A chat in the form that lm-eval passes around: a text that remembers its turns."""

    __slots__ = ("turns",)
    turns: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        history: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = True,
    ) -> "ChatText":
        """Return the chat. The role of the last turn decides whether it is continued."""
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
    weighed: dict[str, list[int]] = {}
    for position, instance in enumerate(instances):
        kind, arguments = instance.request_type, instance.args
        if kind == "loglikelihood":
            weighed.setdefault(_context_key(arguments), []).append(position)
        elif kind == "loglikelihood_rolling":
            messages = _messages(str(arguments[0]), ())
            questions.append(Question(Prompt(messages, rolling=True), (position,)))
        elif kind == "generate_until":
            options = options_of(arguments[1], where).set(**changes)
            messages = _messages(arguments[0], _media_of(arguments))
            questions.append(Question(Prompt(messages, options=options), (position,)))
        else:
            raise UsageError(
                f"requests of the type {kind!r} are not supported", where=where
            )
    for positions in weighed.values():
        questions.append(_weighing(instances, positions))
    return sorted(questions, key=lambda question: question.requests[0])


def _weighing(instances: Sequence[Any], positions: Sequence[int]) -> Question:
    arguments = instances[positions[0]].args
    messages = _messages(arguments[0], _media_of(arguments))
    continuations = tuple(str(instances[position].args[1]) for position in positions)
    return Question(Prompt(messages, continuations=continuations), tuple(positions))


def _context_key(arguments: Sequence[Any]) -> str:
    kind = type(arguments[0]).__name__
    return f"{kind}\0{arguments[0]}"


def _messages(context: object, media: Sequence[Part]) -> tuple[Message, ...]:
    if isinstance(context, ChatText):
        turns = context.turns
        return with_media(turns, media) if media else turns
    message = Message("", (Text(str(context)),))
    return with_media((message,), media) if media else (message,)


def _media_of(arguments: Sequence[Any]) -> list[Part]:
    last = arguments[-1]
    if not isinstance(last, Mapping) or not {"visual", "audio"} & last.keys():
        return []
    images = [medium_of(Image, value) for value in as_list(last.get("visual"))]
    clips = [medium_of(Audio, value) for value in as_list(last.get("audio"))]
    return [*images, *clips]
