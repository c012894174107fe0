"""A template as the runner calls it: whatever its author wrote, a `Prompt` comes out.

Here the task's system text, its map of roles and what it asks for are added, and here a template is asked for a
*solved* example, which few-shot prompts need.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..core import (
    AllOf,
    AssayError,
    Media,
    Message,
    Part,
    Prompt,
    Sample,
    TemplateError,
    Text,
    as_message,
    as_messages,
    blame,
    blamed,
    generation_role,
    render_text,
)
from ..core.sample import EMPTY

HEAD_ROLES = frozenset({"system", "developer", "instruction"})
TEXT_ONLY = ("text",)
Hold = Callable[[Media], Media]
"""The medium behind a file that data names, where it may be opened; raises where it may not."""


@dataclass(frozen=True, slots=True)
class Finish:
    """What a task adds to the prompt that its template makes."""

    system: str | None = None
    roles: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    produces: tuple[str, ...] = TEXT_ONLY
    chat: bool | None = None
    """Whether a completion is put as a user's turn (true), or turns are written out as text (false)."""

    def __bool__(self) -> bool:
        return bool(
            self.system
            or self.roles
            or self.produces != TEXT_ONLY
            or self.chat is not None
        )

    def __call__(self, prompt: Prompt) -> Prompt:
        """The prompt with the task's system text, roles and kinds of answer."""
        messages = prompt.messages
        if self.system:
            messages = with_system(messages, self.system)
        if self.roles:
            messages = rename_roles(messages, self.roles)
        if self.chat is not None:
            messages = as_chat(messages) if self.chat else as_text(messages)
        produces = self.produces if prompt.produces == TEXT_ONLY else prompt.produces
        if messages is prompt.messages and produces is prompt.produces:
            return prompt
        return Prompt(
            messages,
            produces,
            prompt.continuations,
            prompt.rolling,
            prompt.options,
            prompt.details,
        )


class BuiltTemplate:
    """Calls a template and finishes its prompt; faults name the template and the sample."""

    __slots__ = (
        "_answer",
        "_finishes",
        "_solve",
        "finish",
        "hold",
        "make",
        "name",
        "next_turn",
        "source",
    )

    def __init__(
        self,
        make: Callable[[Sample], Any],
        *,
        name: str,
        source: str = "",
        answer: Callable[[Sample], Any] | None = None,
        solve: Callable[[Sample], Any] | None = None,
        next_turn: Callable[..., Any] | None = None,
        finish: Finish,
        hold: Hold | None = None,
    ) -> None:
        self.make = make
        """The template's own callable."""
        self.hold = hold
        """Holds a file that a template names by plain data to the folders its data may come from."""
        self._answer = answer
        self._solve = solve
        self.name = name
        self.source = (source or name) + (
            "" if finish.chat is None else f"\nchat={finish.chat}"
        )
        """What the prompts depend on, as text: its digest says whether a saved run still fits."""
        self.next_turn = next_turn
        """`next(sample, turns)` of a template that leads a dialogue."""
        self.finish = finish
        self._finishes = bool(finish)

    def __call__(self, sample: Sample) -> Prompt:
        """The prompt of one sample."""
        prompt = self.bare(sample)
        return self.finish(prompt) if self._finishes else prompt

    def bare(self, sample: Sample) -> Prompt:
        """The prompt before system text, roles and kinds of answer are added."""
        try:
            prompt = self.make(sample)
            return held(
                prompt if type(prompt) is Prompt else as_prompt(prompt), self.hold
            )
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            raise blamed(TemplateError, error, self.name, sample.id) from error

    @property
    def solves_itself(self) -> bool:
        """Whether the template renders solved examples whole, so that it is not asked how they end."""
        return self._solve is not None

    def answer(self, sample: Sample) -> Any:
        """How a solved example ends: what the template says, else the target."""
        with blame(TemplateError, self.name, sample.id):
            return target_text(sample) if self._answer is None else self._answer(sample)

    def solved(self, sample: Sample) -> tuple[Message, ...]:
        """The turns of a solved example, its answer included and its system text left out."""
        if self._solve is None:
            return with_answer(
                split_head(self.bare(sample).messages)[1], self.answer(sample)
            )
        with blame(TemplateError, self.name, sample.id):
            return split_head(held(as_prompt(self._solve(sample)), self.hold).messages)[
                1
            ]


def held(prompt: Prompt, hold: Hold | None) -> Prompt:
    """The prompt with each file that plain data names held to the folders it may come from."""
    messages = held_messages(prompt.messages, hold)
    return prompt if messages is prompt.messages else replace(prompt, messages=messages)


def held_messages(
    messages: tuple[Message, ...], hold: Hold | None
) -> tuple[Message, ...]:
    """The same for messages; nearly all have nothing to hold, and stay the same object."""
    if hold is None or not _has_unheld(messages):
        return messages
    return tuple(
        Message(
            m.role,
            m.parts
            and tuple(cast(Part, hold(p)) if _is_unheld(p) else p for p in m.parts),
        )  # type: ignore[arg-type]
        for m in messages
    )


def _has_unheld(messages: tuple[Message, ...]) -> bool:
    # Written out: every prompt passes here, and most of its parts are text.
    for message in messages:
        for part in message.parts or ():
            if type(part) is not Text and _is_unheld(part):
                return True
    return False


def _is_unheld(part: Part) -> bool:
    return type(part) is not Text and isinstance(part, Media) and part.is_unheld


def turn(role: str, sample: Sample, text: str) -> Message:
    """One turn: the sample's media in their order, then the text."""
    return Message(role, (*cast(tuple[Part, ...], sample.media), Text(text)))


def as_prompt(value: Any) -> Prompt:
    """What a template returned, as a prompt: text, a message, parts, a list of turns, or a prompt as it is."""
    if isinstance(value, Prompt):
        return value
    if not isinstance(value, (str, Mapping, Message, Media)) and isinstance(
        value, Iterable
    ):
        value = list(value)
        if any(
            isinstance(item, Message) or (isinstance(item, Mapping) and "role" in item)
            for item in value
        ):
            return Prompt(tuple(as_message(item) for item in value))
    return Prompt(as_messages(value))


def with_system(messages: tuple[Message, ...], system: str) -> tuple[Message, ...]:
    """The messages after a system text, unless they begin with one of their own.

    A completion has no turns to put it in: there the text stands before the rest, set apart by a blank line.
    """
    if not messages or messages[0].role in HEAD_ROLES:
        return messages
    first = messages[0]
    if first.role == "" and first.parts is not None:
        return (
            Message("", merge_text((Text(f"{system}\n\n"), *first.parts))),
            *messages[1:],
        )
    return (Message("system", (Text(system),)), *messages)


def as_chat(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A completion as a turn of the user; turns stay as they are."""
    return tuple(
        Message("user", m.parts) if m.role == "" and m.parts is not None else m
        for m in messages
    )


def as_text(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Turns written out as one text to be continued, as `User: …` and `Assistant:`; a completion stays as it is."""
    if all(message.role == "" for message in messages):
        return messages
    return (Message("", merge_text(in_places(messages, render_text(messages)))),)


def in_places(messages: Sequence[Message], text: str) -> Iterator[Part]:
    """The parts of turns whose texts were joined to `text`, each medium where it stood."""
    for part in (part for message in messages for part in message.parts or ()):
        if isinstance(part, Text):
            # What stands before it, as the name of a turn, comes with it; blanks at its ends may be gone.
            words = part.text.strip()
            end = text.index(words) + len(words)
            yield Text(text[:end])
            text = text[end:]
        else:
            yield part
    yield Text(text)


def rename_roles(
    messages: Sequence[Message], roles: Mapping[str, str]
) -> tuple[Message, ...]:
    """The messages with free roles replaced by the chat roles they stand for."""
    return tuple(
        Message(roles[m.role], m.parts) if m.role in roles else m for m in messages
    )


def split_head(
    messages: Sequence[Message],
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The system text at the beginning, and the rest."""
    size = next(
        (i for i, m in enumerate(messages) if m.role.lower() not in HEAD_ROLES),
        len(messages),
    )
    return tuple(messages[:size]), tuple(messages[size:])


def with_answer(messages: tuple[Message, ...], answer: Any) -> tuple[Message, ...]:
    """The messages with the answer where the model would have written it.

    An answer that was begun for the model (a last turn in its own role) is continued, and so is a completion.
    """
    pieces = answer if isinstance(answer, (list, tuple)) else (answer,)
    for index, message in enumerate(messages):
        if message.parts is None:
            return (
                *messages[:index],
                Message.of(message.role, *pieces),
                *messages[index + 1 :],
            )
    role = generation_role(messages)
    last = messages[-1]
    if last.role in (role, "") and last.parts is not None:
        reply = Message.of(last.role, *pieces)
        return (
            *messages[:-1],
            Message(
                last.role, join_parts(last.parts, reply.parts or (), separator=" ")
            ),
        )
    return (*messages, Message.of(role, *pieces))


def join_parts(
    before: Sequence[Part], after: Sequence[Part], *, separator: str
) -> tuple[Part, ...]:
    """Two runs of parts as one; `separator` stands between them unless there is a blank already."""
    first, last = (after[0] if after else None), (before[-1] if before else None)
    ends_blank = isinstance(last, Text) and last.text[-1:].isspace()
    starts_blank = isinstance(first, Text) and first.text[:1].isspace()
    between = () if not before or ends_blank or starts_blank else (Text(separator),)
    return merge_text((*before, *between, *after))


def merge_text(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts with neighbouring texts joined, so that a text is one part however it was put together."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(last.text + part.text)
        else:
            merged.append(part)
    return tuple(merged)


def target_text(sample: Sample) -> Any:
    """The target as a model would write it: the first of several accepted ones, all of those that must be there."""
    target = sample.target
    if isinstance(target, (tuple, list)):
        target = target[0] if target else None
    if target is None or target == "":
        raise TemplateError(
            "this sample has no target, so it cannot be shown as a solved example",
            where=f"sample {sample.id!r}",
            fix="take the shots from data with answers, or give the template an `answer`",
        )
    if isinstance(target, AllOf):
        return ", ".join(
            part if isinstance(part, str) else part[0] for part in target.parts
        )
    return target if isinstance(target, Media) else str(target)
