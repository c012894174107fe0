"""Dialogues: the prompts after the first answer.

A sample's `turns` are the later user turns of a scripted dialogue. A template with a
method `next(sample, turns)` creates them itself. The runner calls `rounds(sample,
prompt)` once, and `Dialogue.next` after each answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..core import (
    Message,
    Output,
    Part,
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
from .built import Hold, check_message_files

HISTORIES = ("model", "reference")
NextTurn = Callable[[Sample, tuple[Message, ...]], object]
"""Type of a template's method `next`: it returns the next turn of a dialogue, or None at the end."""


def has_rounds(sample: Sample, template: object = None) -> bool:
    """Return True if there may be another round after the first answer."""
    return bool(sample.turns) or getattr(template, "next_turn", None) is not None


def rounds(
    sample: Sample,
    prompt: Prompt,
    *,
    template: object = None,
    history: str = "model",
) -> "Dialogue":
    """Return the dialogue that begins with `prompt`.

    `history` decides which answers are in later prompts: those of the `model` or the
    `reference` answers.
    """
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
    """One dialogue. Apart from the number of the current round, it stores no state that changes."""

    def __init__(
        self,
        sample: Sample,
        prompt: Prompt,
        next_turn: NextTurn | None = None,
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

    def next(
        self,
        messages: Sequence[Message],
        answer: object,
    ) -> Prompt | None:
        """Return the prompt of the next round, or None at the end of the dialogue.

        `answer` is the answer to `messages`: text, a message or an output. The model's
        reasoning is left out of the history.
        """
        if self._uses_references:
            reply = self._reference()
        else:
            reply = answer
        history = with_reply(messages, reply)
        turn = self.next_turns(history)
        if turn is None:
            return None
        open_turns = tuple(
            message for message in self._first.messages if message.parts is None
        )
        return replace(
            self._first,
            messages=check_message_files((*history, *turn, *open_turns), self._hold),
        )

    def next_turns(self, history: tuple[Message, ...]) -> tuple[Message, ...] | None:
        """Return the turns after a conversation that ends with an answer; None at the end of the dialogue."""
        turn = self._turn(history)
        if turn is not None:
            self.round += 1
        return turn

    def _turn(self, history: tuple[Message, ...]) -> tuple[Message, ...] | None:
        """Return the messages of the next turn, from the template's `next` or the sample; None after the last one."""
        sample = self._sample
        if self._next_turn is not None:
            with blame(TemplateError, "template method `next`", sample.id):
                value = self._next_turn(sample, history)
                return None if value is None else as_messages(value)
        if self.round > len(sample.turns):
            return None
        where = f"turn {self.round + 1} of the dialogue"
        with blame(TemplateError, where, sample.id):
            scripted = sample.turns[self.round - 1]
            return as_messages(scripted)

    def _reference(self) -> object:
        """Return the reference answer of the round that was just answered."""
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
        if column is None:
            answers = self._sample.targets
        else:
            answers = column
        if len(answers) < self.round:
            raise TemplateError(
                f"there is no reference answer for round {self.round} of the dialogue",
                where=f"sample {shorten(self._sample.id)}",
                fix=f"give a column `{REFERENCE_COLUMNS[0]}` with one answer a round, or use history: model",
            )
        return answers[self.round - 1]


def with_reply(
    messages: Sequence[Message],
    answer: object,
) -> tuple[Message, ...]:
    """Return the messages followed by an answer, in the role in which the prompt asks the model to write."""
    role = generation_role(messages)
    complete_turns = [message for message in messages if message.parts is not None]
    parts = _answer_parts(answer, role)
    visible = tuple(part for part in parts if not isinstance(part, Reasoning))
    return (*complete_turns, Message(role, visible))


def _answer_parts(answer: object, role: str) -> Sequence[Part]:
    """Return the parts of an answer given as an output, a list of parts, a message or text."""
    if isinstance(answer, Output):
        if answer.candidates:
            return answer.candidates[0].parts
        return ()
    if isinstance(answer, (list, tuple)):
        return [as_part(piece) for piece in answer]
    return as_message(answer, default_role=role).parts or ()
