"""Agents that do nothing, for floors: what a task with tools gives to a model without any skill.

`null` says "Hello." and calls nothing. `spam` calls each tool once with the smallest arguments that its schema
allows, and then says "Hello.".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Abilities, Candidate, Output, Request, Text
from ..core.tools import Tool, ToolCall
from .arguments import smallest_arguments

WORDS = "Hello."
ANY = frozenset({"text", "image", "audio", "video"})


@dataclass
class Null:
    """Says "Hello." and calls nothing."""

    @property
    def abilities(self) -> Abilities:
        """Everything: it reads nothing of the prompt."""
        return Abilities(accepts=ANY, produces=ANY, chat=True, tools=True)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its kind."""
        return {"floor": type(self).__name__.lower()}

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the same answer to every request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        return Output((Candidate((Text(WORDS),), "stop"),))


@dataclass
class Spam(Null):
    """Calls each tool once with the smallest arguments, and then says "Hello."."""

    def _answer(self, request: Request) -> Output:
        has_called = any(message.calls for message in request.messages)
        if has_called or not request.prompt.tools:
            return super()._answer(request)
        calls = (
            _smallest_call(number, tool)
            for number, tool in enumerate(request.prompt.tools, start=1)
        )
        return Output((Candidate(tuple(calls), "tool_calls"),))


def _smallest_call(number: int, tool: Tool) -> ToolCall:
    return ToolCall(f"spam_{number}", tool.name, smallest_arguments(tool.parameters))
