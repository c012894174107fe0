"""A template in the form that the runner calls: it returns a `Prompt`, whatever the kind of template.

This module adds the task's system text, role names and requested kinds of answer, and
renders the *solved* examples that few-shot prompts need.
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
    Tool,
    as_message,
    as_messages,
    blame,
    blamed,
    generation_role,
)
from ..core.message import link_calls, render_parts, written_parts
from ..core.sample import EMPTY
from ..core.tools import check_tool_choice, read_tool_choice

HEAD_ROLES = frozenset({"system", "developer", "instruction"})
TEXT_ONLY = ("text",)
Hold = Callable[[Media], Media]
"""A function that opens a medium whose path is in the data. It raises if the data may not use this file."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The settings of a task, such as its system text, which are applied to each prompt of its template."""

    system: str | None = None
    roles: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    produces: tuple[str, ...] = TEXT_ONLY
    chat: bool | None = None
    """True turns a completion into a user turn. False turns a chat into plain text. None changes nothing."""
    tools: Callable[[Sample], tuple[Tool, ...]] | None = None
    """A function that returns the tools of the task for a sample. The tools of the row are added to them."""
    tool_choice: str | None = None
    parallel_calls: bool | None = None

    def __bool__(self) -> bool:
        return bool(
            self.system
            or self.roles
            or self.produces != TEXT_ONLY
            or self.chat is not None
        )

    def __call__(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the task's system text, role names and requested kinds of answer."""
        messages = prompt.messages
        if self.system:
            messages = with_system(messages, self.system)
        if self.roles:
            messages = rename_roles(messages, self.roles)
        if self.chat is not None:
            if self.chat:
                messages = as_chat(messages)
            else:
                messages = as_text(messages)
        continuations = prompt.continuations
        if self.chat and continuations and messages != prompt.messages:
            # The answer begins a new turn, so the space that joined it to the question is removed.
            continuations = tuple(text.removeprefix(" ") for text in continuations)
        if prompt.produces == TEXT_ONLY:
            produces = self.produces
        else:
            produces = prompt.produces
        if messages is prompt.messages and produces is prompt.produces:
            return prompt
        return Prompt(
            messages,
            produces,
            continuations,
            prompt.rolling,
            prompt.options,
            prompt.details,
            prompt.tools,
            prompt.tool_choice,
            prompt.parallel_calls,
        )

    def with_tools(self, prompt: Prompt, sample: Sample) -> Prompt:
        """Return the prompt with the tools of the task and of the row, unless the template set its own."""
        if prompt.tools:
            return prompt
        tools = () if self.tools is None else self.tools(sample)
        choice: Any = self.tool_choice
        parallel: Any = self.parallel_calls
        if sample.tools:
            choice = choice or sample.fields.get("tool_choice")
            column = sample.fields.get("parallel_tool_calls")
            if parallel is None and isinstance(column, bool):
                parallel = column
            else:
                parallel = parallel
            tools = (*tools, *sample.tools)
        chosen = prompt.tool_choice or read_tool_choice(choice)
        if tools and chosen is not None:
            check_tool_choice(chosen, tools)
        return replace(
            prompt,
            tools=tools,
            tool_choice=chosen,
            parallel_calls=parallel,
        )


class BuiltTemplate:
    """A template with the settings of its task. Errors name the template and the sample."""

    __slots__ = (
        "_answer",
        "_finishes",
        "_has_tools",
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
        """The template's own callable, which builds prompts without the settings of the task."""
        self.hold = hold
        """Checks each file that plain data in the template name. None checks nothing, and such files cannot be read."""
        self._answer = answer
        self._solve = solve
        self.name = name
        self.source = (source or name) + (
            "" if finish.chat is None else f"\nchat={finish.chat}"
        )
        """The data on which the prompts depend, as text. Its digest shows whether a saved run still matches."""
        self.next_turn = next_turn
        """`next(sample, turns)` of a template that leads a dialogue."""
        self.finish = finish
        self._finishes = bool(finish)
        self._has_tools = finish.tools is not None

    def offer_tools(
        self,
        tools: Callable[[Sample], tuple[Tool, ...]],
        choice: str | None,
    ) -> None:
        """Offer tools with each prompt from now on. `choice` determines whether the model must call one."""
        self.finish = replace(
            self.finish,
            tools=tools,
            tool_choice=choice,
        )
        self._has_tools = True

    def __call__(self, sample: Sample) -> Prompt:
        """Return the prompt of one sample."""
        return self.finished(self.bare(sample), sample)

    def finished(self, prompt: Prompt, sample: Sample) -> Prompt:
        """Return the prompt after applying the task's tools, system text, role names and requested kinds of answer."""
        if self._has_tools or sample.tools:
            with blame(TemplateError, "the tools of the prompt", sample.id):
                prompt = self.finish.with_tools(prompt, sample)
        if self._finishes:
            return self.finish(prompt)
        return prompt

    def bare(self, sample: Sample) -> Prompt:
        """Return the prompt without the task's system text, role names and requested kinds of answer."""
        try:
            prompt = self.make(sample)
            return check_files(
                prompt if type(prompt) is Prompt else as_prompt(prompt), self.hold
            )
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            raise blamed(TemplateError, error, self.name, sample.id) from error

    @property
    def solves_itself(self) -> bool:
        """True if the template itself renders solved examples with their answers. `answer` is then not used."""
        return self._solve is not None

    def answer(self, sample: Sample) -> object:
        """Return the answer that ends a solved example: the template's `answer` if it
        has one, otherwise the target.
        """
        with blame(TemplateError, self.name, sample.id):
            if self._answer is None:
                return target_text(sample)
            return self._answer(sample)

    def solved(self, sample: Sample) -> tuple[Message, ...]:
        """Return the turns of a solved example with its answer and without its system text."""
        if self._solve is None:
            return with_answer(
                split_head(self.bare(sample).messages)[1], self.answer(sample)
            )
        with blame(TemplateError, self.name, sample.id):
            return split_head(
                check_files(as_prompt(self._solve(sample)), self.hold).messages
            )[1]


def check_files(
    prompt: Prompt,
    hold: Hold | None,
) -> Prompt:
    """Return the prompt with its media files opened by `hold`, which raises if the data may not use a file."""
    messages = check_message_files(prompt.messages, hold)
    if messages is prompt.messages:
        return prompt
    return replace(prompt, messages=messages)


def check_message_files(
    messages: tuple[Message, ...],
    hold: Hold | None,
) -> tuple[Message, ...]:
    """Return the messages with their media files opened by `hold`; the same object if there are no such files."""
    if hold is None or not _has_unheld(messages):
        return messages
    result = []
    for message in messages:
        parts = message.parts
        if parts:
            parts = tuple(
                cast(Part, hold(part)) if _is_unheld(part) else part  # type: ignore[arg-type]
                for part in parts
            )
        result.append(Message(message.role, parts))
    return tuple(result)


def _has_unheld(messages: tuple[Message, ...]) -> bool:
    # These are loops for speed: this runs for every prompt, and most of its parts are text.
    for message in messages:
        for part in message.parts or ():
            if type(part) is not Text and _is_unheld(part):
                return True
    return False


def _is_unheld(part: Part) -> bool:
    return type(part) is not Text and isinstance(part, Media) and part.is_unheld


def turn(
    role: str,
    sample: Sample,
    text: str,
) -> Message:
    """Return one turn: the sample's media in order, then the text."""
    return Message(role, (*cast(tuple[Part, ...], sample.media), Text(text)))


def as_prompt(value: object) -> Prompt:
    """Convert the return value of a template to a prompt: text, a message, parts, a list of turns, or a prompt."""
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
            return Prompt(link_calls(tuple(as_message(item) for item in value)))
    return Prompt(as_messages(value))


def with_system(
    messages: tuple[Message, ...],
    system: str,
) -> tuple[Message, ...]:
    """Return the messages with a system text before them, unless they have one.

    A completion has no turns, so the text comes before the rest with a blank line between.
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
    """Return a completion as a user turn. Other prompts are unchanged."""
    return tuple(
        Message("user", m.parts) if m.role == "" and m.parts is not None else m
        for m in messages
    )


def as_text(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return turns as one text to continue. A completion is unchanged.

    One question, with or without a system text, becomes its bare text, as in
    lm-eval. Several turns are written as `User: …` and `Assistant:`, because nothing
    else would separate them.
    """
    if all(message.role == "" for message in messages):
        return messages
    spoken = [message for message in messages if message.parts is not None]
    questions = [message for message in spoken if message.role not in HEAD_ROLES]
    if len(questions) == 1 and questions[0].role == "user":
        return (Message("", merge_text(joined_turns(spoken, "\n\n"))),)
    return (Message("", merge_text(render_parts(messages))),)


def joined_turns(
    messages: Sequence[Message],
    separator: str,
) -> Iterator[Part]:
    """Yield the texts and media of several turns, with a separator between turns."""
    for position, message in enumerate(messages):
        if position:
            yield Text(separator)
        yield from written_parts(message)


def rename_roles(
    messages: Sequence[Message],
    roles: Mapping[str, str],
) -> tuple[Message, ...]:
    """Return the messages with custom roles replaced by chat roles."""
    return tuple(
        Message(roles[m.role], m.parts) if m.role in roles else m for m in messages
    )


def split_head(
    messages: Sequence[Message],
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the system messages at the beginning, and the other messages."""
    size = next(
        (i for i, m in enumerate(messages) if m.role.lower() not in HEAD_ROLES),
        len(messages),
    )
    return tuple(messages[:size]), tuple(messages[size:])


def with_answer(
    messages: tuple[Message, ...],
    answer: object,
) -> tuple[Message, ...]:
    """Return the messages with an answer at the place where the model would have written it.

    The answer continues a completion. It also continues a last turn in the model's
    role, which is the beginning of an answer. Otherwise it becomes a new turn.
    """
    if isinstance(answer, (list, tuple)):
        pieces = answer
    else:
        pieces = (answer,)
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
    before: Sequence[Part],
    after: Sequence[Part],
    *,
    separator: str,
) -> tuple[Part, ...]:
    """Join two sequences of parts, with `separator` between them unless there is white space already."""
    if not before:
        return merge_text(after)
    if _ends_with_space(before) or _starts_with_space(after):
        return merge_text((*before, *after))
    return merge_text((*before, Text(separator), *after))


def _ends_with_space(parts: Sequence[Part]) -> bool:
    last = parts[-1]
    return isinstance(last, Text) and last.text[-1:].isspace()


def _starts_with_space(parts: Sequence[Part]) -> bool:
    first = parts[0] if parts else None
    return isinstance(first, Text) and first.text[:1].isspace()


def merge_text(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with neighbouring texts joined."""
    merged: list[Part] = []
    for part in parts:
        if merged:
            last = merged[-1]
        else:
            last = None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(last.text + part.text)
        else:
            merged.append(part)
    return tuple(merged)


def target_text(sample: Sample) -> object:
    """Return the target as the model should write it. Of several alternatives this is the first.

    The parts of an `AllOf` are joined with commas.
    """
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
    if isinstance(target, Media):
        return target
    return str(target)
