"""Dialogues: what comes after the first answer.

A sample's `turns` are the later user turns of a scripted dialogue; a template with a method `next(sample, turns)` leads
one by itself. The runner asks `rounds(sample, prompt)` once, and after each answer the `Dialogue` for the next prompt.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core import (
    Message,
    Output,
    Prompt,
    Reasoning,
    Sample,
    TemplateError,
    UsageError,
    as_message,
    as_messages,
    as_part,
    blame,
    generation_role,
    shorten,
)
from ..core.sample import REFERENCE_COLUMNS
from .built import Hold, held_messages

HISTORIES = ("model", "reference")


def has_rounds(sample: Sample, template: Any = None) -> bool:
    """Whether more may be asked after the first answer."""
    return bool(sample.turns) or getattr(template, "next_turn", None) is not None


def rounds(
    sample: Sample, prompt: Prompt, *, template: Any = None, history: str = "model"
) -> "Dialogue":
    """The dialogue that begins with `prompt`; `history` says whose answers it goes on from."""
    if history not in HISTORIES:
        raise UsageError(
            f"unknown history {history!r}", fix=f"use {' or '.join(HISTORIES)}"
        )
    return Dialogue(
        sample,
        prompt,
        getattr(template, "next_turn", None),
        history,
        getattr(template, "hold", None),
    )


class Dialogue:
    """One dialogue; counts its rounds, and holds nothing that the answers do not give again."""

    def __init__(
        self,
        sample: Sample,
        prompt: Prompt,
        next_turn: Any = None,
        history: str = "model",
        hold: Hold | None = None,
    ) -> None:
        self._sample = sample
        self._hold = hold
        self._first = prompt
        self._next_turn = next_turn
        self._uses_references = history == "reference"
        self.round = 1
        """The number of the round whose answer is awaited, from 1."""

    def next(self, messages: Sequence[Message], answer: Any) -> Prompt | None:
        """The prompt of the next round after `answer` to `messages`; `None` when the dialogue is over.

        The answer is text, a message or an output; what the model thought aloud does not become part of the history.
        """
        reply = self._reference() if self._uses_references else answer
        history = with_reply(messages, reply)
        turn = self._turn(history)
        if turn is None:
            return None
        self.round += 1
        place = tuple(
            message for message in self._first.messages if message.parts is None
        )
        return replace(
            self._first, messages=held_messages((*history, *turn, *place), self._hold)
        )

    def _turn(self, history: tuple[Message, ...]) -> tuple[Message, ...] | None:
        if self._next_turn is not None:
            with blame(TemplateError, "template method `next`", self._sample.id):
                value = self._next_turn(self._sample, history)
                return None if value is None else as_messages(value)
        if self.round > len(self._sample.turns):
            return None
        with blame(
            TemplateError, f"turn {self.round + 1} of the dialogue", self._sample.id
        ):
            return as_messages(self._sample.turns[self.round - 1])

    def _reference(self) -> Any:
        """The reference answer of the round that was just answered."""
        if self._next_turn is None and self.round > len(self._sample.turns):
            return ""
        row = self._sample.fields
        column = next(
            (
                row[name]
                for name in REFERENCE_COLUMNS
                if isinstance(row.get(name), (list, tuple))
            ),
            None,
        )
        answers = self._sample.targets if column is None else column
        if len(answers) < self.round:
            raise TemplateError(
                f"there is no reference answer for round {self.round} of the dialogue",
                where=f"sample {shorten(self._sample.id)}",
                fix=f"give a column `{REFERENCE_COLUMNS[0]}` with one answer a round, or use history: model",
            )
        return answers[self.round - 1]


def with_reply(messages: Sequence[Message], answer: Any) -> tuple[Message, ...]:
    """The messages with an answer where the model was to write, in the role it was to write in."""
    role = generation_role(messages)
    spoken = tuple(message for message in messages if message.parts is not None)
    if isinstance(answer, Output):
        parts = answer.candidates[0].parts if answer.candidates else ()
    elif isinstance(answer, (list, tuple)):
        parts = tuple(as_part(piece) for piece in answer)
    else:
        parts = as_message(answer, default_role=role).parts or ()
    spoken_parts = tuple(part for part in parts if not isinstance(part, Reasoning))
    return (*spoken, Message(role, spoken_parts))
