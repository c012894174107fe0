"""Simulated users: a model with the role `user` that talks with the model under test.

A task with `user = "You want to …"` has one; the run needs `--judge user=MODEL`. The
text may be Jinja, with the columns of the row. For the model that plays the user, the
roles are exchanged: answers of the model under test are user turns. The user ends the
conversation with a mark such as `###STOP###`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ..core import (
    GenerateOptions,
    Message,
    ModelError,
    Output,
    Prompt,
    Sample,
    TemplateError,
    Text,
)
from ..core.tools import Tool, ToolCall, ToolResult
from ..rendering import Shown, variables_of, why_refused
from ..rendering.text import compiled_text
from .toolbox import HelperModel, SampleContext

USER = "user"
"""The role of the model that plays the user."""
STOP_MARKS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""Texts that end the conversation when the simulated user writes them, as in τ²."""
GUIDELINES = """\
You play a person who talks with an assistant. Say what this person would say, one message at a time, in your own \
words. Tell only what the description below gives you, and only when it is needed. When the matter is settled, or \
cannot be, write {stop} and nothing else.

{persona}"""
"""The system message of a simulated user."""
OPENING = "Begin the conversation with your first message."
MOST_EXCHANGES = 100
MOST_USER_CALLS = 30
"""Maximum number of rounds of calls that a user with tools may make before it writes a message."""
GREEDY = GenerateOptions(temperature=0.0)

RunCall = Callable[[ToolCall], Awaitable[ToolResult]]


class UserTalk:
    """The conversation as the simulated user's model sees it."""

    def __init__(
        self,
        model: HelperModel,
        system: str,
        opening: str,
        tools: tuple[Tool, ...] = (),
        run_call: RunCall | None = None,
    ) -> None:
        self.messages = [Message.of("system", system), Message.of("user", opening)]
        self.has_ended = False
        self.last = ""
        """The last message of the user, including its mark."""
        self._model = model
        self._tools = tools
        self._run_call = run_call

    def hear(self, text: str) -> None:
        """Add a message of the model under test to the conversation."""
        self.messages.append(Message("user", (Text(text),)))

    async def say(self) -> str | None:
        """Return the next message of the user, or None if the user ends the conversation."""
        for _ in range(MOST_USER_CALLS):
            prompt = Prompt(tuple(self.messages), tools=self._tools)
            output: Output = await self._model.answer(prompt, GREEDY)
            if output.error is not None:
                raise ModelError(f"the simulated user: {output.error.message}")
            calls = output.last_calls
            if not calls or self._run_call is None:
                return self._ended(output.text)
            self.messages.append(Message("assistant", (*_words(output), *calls)))
            for call in calls:
                result = await self._run_call(call)
                self.messages.append(Message("tool", (result,)))
        self.has_ended = True
        return None

    def _ended(self, text: str) -> str | None:
        self.last = text
        self.messages.append(Message("assistant", (Text(text),)))
        self.has_ended = any(mark in text for mark in STOP_MARKS)
        return None if self.has_ended else text


def _words(output: Output) -> tuple[Text, ...]:
    if output.text:
        return (Text(output.text),)
    return ()


@dataclass(frozen=True)
class SimulatedUser:
    """A user defined by a text, as a toolbox that offers no tools."""

    persona: str
    """A description of the user and of what they want; Jinja text with the columns of the row."""
    where: str = "user"
    begins = True
    replies = True
    needs = (USER,)

    @property
    def identity(self) -> list[str]:
        """Properties that identify this user: the texts that determine its messages."""
        return [self.persona, GUIDELINES, OPENING]

    def check(self) -> None:
        """Raise if the text is not valid Jinja."""
        compiled_text(self.persona, self.where)

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return no tools, because a simulated user only talks."""
        return ()

    async def open(self, context: SampleContext) -> "UserSession":
        """Return a new conversation with the simulated user, which begins without a message."""
        persona = self._render(context.sample)
        system = GUIDELINES.format(
            stop=STOP_MARKS[0],
            persona=persona,
        )
        return UserSession(UserTalk(context.models[USER], system, OPENING))

    def _render(self, sample: Sample) -> str:
        template, names = compiled_text(self.persona, self.where)
        marks = Shown(sample.media)
        try:
            return marks.words(template.render(variables_of(sample, names, marks)))
        except Exception as error:
            where = f"{self.where}, sample {sample.id}"
            refused: TemplateError = why_refused(error, where)
            raise refused from error


def _question_of(prompt: Prompt) -> str:
    """Return the text of the last user turn that has text; empty if there is none."""
    for message in reversed(prompt.messages):
        if message.role == "user" and message.text.strip():
            return message.text
    return ""


class UserSession:
    """A conversation with a simulated user."""

    def __init__(self, talk: UserTalk) -> None:
        self.talk = talk
        self._exchanges = 0

    async def begin(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the user's first message.

        This is the question of the row. If the row has no question, the model that
        plays the user writes the message.
        """
        question = _question_of(prompt)
        if question:
            self.talk.messages.append(Message("assistant", (Text(question),)))
            return prompt
        first = await self.talk.say()
        if first is None:
            words = self.talk.last
        else:
            words = first
        others = [m for m in prompt.messages if m.role != "user"]
        opening = Message("user", (Text(words),))
        return replace(prompt, messages=(*others, opening))

    async def reply(
        self,
        messages: Sequence[Message],
        output: Output,
    ) -> Sequence[Message] | None:
        """Return the user's reply to an answer; None if the conversation is over."""
        self._exchanges += 1
        self.talk.hear(output.text)
        if self.talk.has_ended or self._exchanges >= MOST_EXCHANGES:
            return None
        words = await self.talk.say()
        if words is None:
            return None
        return [Message("user", (Text(words),))]

    async def call(self, call: ToolCall) -> ToolResult:
        """Raise an error, because the user offers no tools."""
        raise NotImplementedError(call.name)

    async def close(self) -> None:
        """Do nothing, because the conversation has no resources to release."""
