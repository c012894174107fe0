"""Toolboxes: where the tools of a task come from, and how they run for one sample.

How to plug in a source of tools, such as the commands of a workspace, an MCP server or a simulated environment:

1. Write a class with the two methods of `Toolbox`. `tools` says what the model may call; `open` begins one sample and
   returns a `ToolSession`, whose `call` runs one call.
2. Give it to a task: `tools = [MyToolbox(...)]` in a Python file, together with functions and names. To make it
   available by name (`tools: [bash]` in YAML), add a line to `TOOLS` in `catalogue/`, or register it with
   `@assay.registry.tools.register("bash")`. The target is a toolbox, or a class or function that returns one.

The runner does the rest: it sends the tools with each prompt, gives unknown names and unreadable or wrong arguments
back to the model without calling `call`, limits the time of a call and the size of a result, writes results to the
journal before the next request, stops at the limits of a sample, and closes the session after scoring.

What survives a kill: after a restart, the runner opens a new session and repeats the
recorded calls (`call`, `begin`, `reply`) in their order. If one gives another result
than before, the sample starts again and the run reports it. Declare `is_stateful =
False` if a call does not depend on earlier ones; then nothing is repeated. Calls of one
sample never run at the same time, and calls of different samples may.

    class Shop:
        def tools(self, sample, turn=0):
            return (Tool("buy", "Buy an article.", {"type": "object", "properties": {"name": {"type": "string"}}}),)

        async def open(self, context):
            return ShopSession(stock=dict(context.sample.fields["stock"]))

    class ShopSession:
        def __init__(self, stock):
            self.state = stock               # scorers read it as output.state

        async def call(self, call):
            left = self.state[call.arguments["name"]] = self.state[call.arguments["name"]] - 1
            return text_result(call, f"{left} left")

        async def close(self):
            pass
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..core import EMPTY, Message, Output, Prompt, Sample, Text
from ..core.tools import Tool, ToolCall, ToolResult

T = TypeVar("T")


class Toolbox(Protocol):
    """The interface of a source of tools. A task has one object of it, which must not store the state of a sample.

    Optional members are listed in `ToolboxExtras`.
    """

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the tools that are offered to the model in the user turn with this number, counted from 0.

        `sample` is None when the task is checked before the run.
        """

    async def open(self, context: "SampleContext") -> "ToolSession":
        """Return an object that runs the calls of one sample. The runner awaits this before the first call."""


class ToolboxExtras(Protocol):
    """Optional members of a toolbox."""

    is_stateful: bool
    """False if the result of a call does not depend on earlier calls. The default is True."""
    needs: Sequence[str]
    """Roles of helper models in `SampleContext.models`, such as `user`; the run takes `--judge user=MODEL`."""
    is_free: bool
    """False if opening a session or calling a tool costs money, as with a paid service.

    Floors are then not measured by default.
    """
    begins: bool
    """True if sessions of the toolbox have a method `begin`, which writes the first prompt."""
    replies: bool
    """True if sessions of the toolbox have a method `reply`, which continues the conversation after an answer."""
    takes_any_call: bool
    """True if `call` also receives unknown names and invalid arguments, and reports the fault itself."""
    identity: Any
    """The values that determine results besides the code, such as options and versions.

    If they change, recorded answers are outdated.
    """

    def close(self) -> Awaitable[None] | None:
        """Release the resources of the toolbox. It is called after the last sample, and may be `async`.

        A later run may open the toolbox again.
        """

    def check(self) -> None:
        """Raise an `AssayError` if the tools cannot run on this machine. It is called before a model is loaded."""


class ToolSession(Protocol):
    """The interface of the tools of one sample. Optional members are listed in `ToolSessionExtras`."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call and return the result. Its tool exists, and its arguments match the schema.

        If an exception is raised, its text is the result that the model reads. The
        runner cancels a call that exceeds its time limit; cancelling must end the work.
        """

    async def close(self) -> None:
        """Release the resources of the session. It is called once, after the sample is scored."""


class ToolSessionExtras(Protocol):
    """Optional members of a session."""

    state: Any
    """The value of `output.state` for scorers, unless the task has a function `state`."""
    is_over: bool
    """True if the sample ends after these calls without another request, as after `submit`."""

    async def begin(self, prompt: Prompt) -> Prompt:
        """Return the first prompt, if the session and not the template begins the conversation.

        `prompt` is the one that the template wrote.
        """

    async def reply(
        self,
        messages: Sequence[Message],
        output: Output,
    ) -> Sequence[Message] | None:
        """Return the turns that follow an answer without tool calls, or None to end the sample.

        `messages` include the answer. Without this method, the scripted `turns` of the
        sample follow.
        """


class HelperModel(Protocol):
    """A model with a role, such as the judge of a scorer. Its answers are recorded and reused."""

    async def answer(
        self,
        prompt: Prompt,
        options: object = None,
    ) -> Output:
        """Return the answer to a prompt. If the model gave none, `error` of the output has the reason."""


@dataclass(eq=False)
class SampleContext:
    """The context of a sample that a toolbox gets in `open`."""

    sample: Sample
    epoch: int = 0
    state: Any = None
    """The return value of the task's function `state(sample)`."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Helper models by role: see `HelperModel`."""
    _resources: dict[str, Any] = field(default_factory=dict, init=False)

    async def resource(
        self,
        name: str,
        make: Callable[[], Awaitable[T]],
    ) -> T:
        """Return an object that the toolboxes of a sample share, such as its workspace.
        At the first use, `make` creates it.

        If the object has a method `close`, the method is called (and awaited) after the
        sample is scored.
        """
        if name not in self._resources:
            self._resources[name] = await make()
        resource: T = self._resources[name]
        return resource

    async def close(self) -> None:
        """Close the shared resources in the reverse order of their creation."""
        while self._resources:
            _, resource = self._resources.popitem()
            close = getattr(resource, "close", None)
            closing = close() if close is not None else None
            if inspect.isawaitable(closing):
                await closing


def text_result(
    call: ToolCall,
    text: str,
    error: str = "",
) -> ToolResult:
    """Return a result with a text. `error` names the kind of failure, such as `raised` or `timeout`."""
    return ToolResult(call.id, (Text(text),), error)
