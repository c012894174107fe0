"""Agents without any skill. Their score is the floor of a task with tools.

`null` answers "Hello." and calls nothing. `spam` calls each tool once with the smallest
arguments that its schema allows, and then answers "Hello.". `brief_user` plays a
simulated user in their runs, so that a floor costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Abilities, Candidate, Output, Request, Text
from ..core.tools import Tool, ToolCall
from .schemas import smallest_arguments
from .simulated_user import STOP_MARKS

WORDS = "Hello."
ANY = frozenset({"text", "image", "audio", "video"})


@dataclass
class Null:
    """Answers "Hello." and calls nothing."""

    @property
    def abilities(self) -> Abilities:
        """Return all abilities, because this model ignores the prompt."""
        return Abilities(
            accepts=ANY,
            produces=ANY,
            chat=True,
            tools=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model in request keys: the name of the agent."""
        return {"floor": type(self).__name__.lower()}

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the same answer to every request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        """Return the fixed answer, whatever the request."""
        candidate = Candidate((Text(WORDS),), "stop")
        return Output((candidate,))


@dataclass
class Spam(Null):
    """Calls each tool once with the smallest valid arguments, and then answers "Hello."."""

    def _answer(self, request: Request) -> Output:
        has_called = any(message.calls for message in request.messages)
        if has_called or not request.prompt.tools:
            return super()._answer(request)
        calls = (
            _smallest_call(number, tool)
            for number, tool in enumerate(request.prompt.tools, start=1)
        )
        candidate = Candidate(tuple(calls), "tool_calls")
        return Output((candidate,))


@dataclass
class BriefUser(Null):
    """A simulated user that writes "Hello.", and ends the conversation after the first answer."""

    def _answer(self, request: Request) -> Output:
        has_spoken = any(message.role == "assistant" for message in request.messages)
        words = STOP_MARKS[0] if has_spoken else WORDS
        candidate = Candidate((Text(words),), "stop")
        return Output((candidate,))


def _smallest_call(number: int, tool: Tool) -> ToolCall:
    """Return a call with the smallest arguments that the tool's schema accepts."""
    arguments = smallest_arguments(tool.parameters)
    call_id = f"spam_{number}"
    return ToolCall(call_id, tool.name, arguments)
