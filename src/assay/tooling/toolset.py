"""All tools of a task as one set, from functions, toolboxes and registered names, and their use in one sample."""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from ..core import (
    AssayError,
    Message,
    Output,
    Prompt,
    Sample,
    TemplateError,
    UsageError,
    as_messages,
    blamed,
    digest_of,
)
from ..core.message import part_to_plain
from ..core.secrets import scrub
from ..core.tools import Tool, ToolCall, ToolResult
from ..registry import tools as registered_tools
from .functions import FunctionTools
from .sample_limits import MOST_CALLS_IN_ANSWER, SampleLimits
from .schemas import NAME, find_faults
from .tool_results import spell_controls, within_limits
from .toolbox import SampleContext, Toolbox, ToolSession, text_result

LONGEST_ERROR = 2000
"""Maximum number of characters of an exception's text in a result for the model."""


class ToolSet:
    """The tools of one task."""

    def __init__(
        self,
        boxes: Sequence[Toolbox],
        state: Callable[[Sample], Any] | None = None,
        where: str = "",
    ) -> None:
        self.boxes = tuple(boxes)
        self.make_state = state
        self.where = where

    @classmethod
    def of(
        cls,
        entries: Sequence[Any],
        state: Callable[[Sample], Any] | None = None,
        where: str = "",
    ) -> "ToolSet":
        """Build the tools that a task lists: functions, registered names with options, and toolboxes."""
        functions: list[Callable[..., Any]] = []
        boxes: list[Toolbox] = []
        for entry in entries:
            built = _built(entry, where)
            if is_toolbox(built):
                boxes.append(built)
            elif callable(built):
                functions.append(built)
            else:
                raise UsageError(
                    f"a tool is a function, a name or a toolbox, got {built!r}",
                    where=where,
                    fix="see docs/tools.md",
                )
        if functions:
            boxes.insert(0, FunctionTools(functions))
        tool_set = cls(boxes, state, where)
        tool_set.check()
        return tool_set

    @property
    def is_stateful(self) -> bool:
        """True if calls must be repeated after a restart, because later ones depend on them."""
        return any(getattr(box, "is_stateful", True) for box in self.boxes)

    @property
    def are_functions(self) -> bool:
        """True if all tools are functions of the task."""
        return all(isinstance(box, FunctionTools) for box in self.boxes)

    @property
    def begins(self) -> bool:
        """True if a session writes the first prompt, as a simulated user does."""
        return any(getattr(box, "begins", False) for box in self.boxes)

    @property
    def replies(self) -> bool:
        """True if a session continues the conversation after an answer that contains no tool call."""
        return any(getattr(box, "replies", False) for box in self.boxes)

    @property
    def is_free(self) -> bool:
        """True if calls cost nothing: no toolbox charges for them and no helper model is called."""
        return not self.needs and all(getattr(b, "is_free", True) for b in self.boxes)

    @property
    def needs(self) -> tuple[str, ...]:
        """Roles of the helper models that the toolboxes use."""
        roles = [role for box in self.boxes for role in getattr(box, "needs", ())]
        return tuple(dict.fromkeys(roles))

    @property
    def identity(self) -> list[Any]:
        """Properties that identify these tools: the function that creates the state,
        and the identity of each toolbox.
        """
        parts: list[Any] = [self.make_state]
        for box in self.boxes:
            parts += [type(box), getattr(box, "identity", None)]
        return parts

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the tools that are offered to the model."""
        if len(self.boxes) == 1:
            return self.boxes[0].tools(sample, turn)
        return tuple(tool for box in self.boxes for tool in box.tools(sample, turn))

    async def close(self) -> None:
        """Release the resources of the toolboxes."""
        for box in self.boxes:
            close = getattr(box, "close", None)
            closing = None if close is None else close()
            if inspect.isawaitable(closing):
                await closing

    def check(self) -> None:
        """Raise if a tool cannot run on this machine, is defined twice, or has a schema that services refuse."""
        for box in self.boxes:
            check = getattr(box, "check", None)
            if check is not None:
                check()
            self._check_state(box)
        names: set[str] = set()
        for tool in self.tools(None):
            check_tool(tool, self.where)
            if tool.name in names:
                raise UsageError(
                    f"the tool {tool.name!r} is defined twice",
                    where=self.where,
                    fix="give each tool its own name",
                )
            names.add(tool.name)

    def _check_state(self, box: Toolbox) -> None:
        """Raise if a function needs a state, but neither the task nor a toolbox creates one."""
        if self.make_state is None and isinstance(box, FunctionTools):
            for name in box.needs_state:
                raise UsageError(
                    f"the tool {name!r} takes `state`, and there is no function that makes one",
                    where=self.where,
                    fix="write def state(sample): return …",
                )


def is_toolbox(thing: object) -> TypeGuard[Toolbox]:
    """Return True if an object has the methods of a toolbox."""
    if isinstance(thing, type):
        return False
    return callable(getattr(thing, "tools", None)) and callable(
        getattr(thing, "open", None)
    )


def _built(entry: object, where: str) -> object:
    """Return the tool function or toolbox that an entry of a task's `tools` stands for."""
    if isinstance(entry, (str, Mapping)):
        name: Any = entry
        if isinstance(entry, Mapping):
            name = entry.get("name", next(iter(entry), ""))
        target = registered_tools.get(str(name), where=where)
        is_plain = inspect.isfunction(target) and not isinstance(entry, Mapping)
        if is_toolbox(target) or (is_plain and not _is_factory(target)):
            return target
        built = registered_tools.build(_as_spec(entry), where=where)
        makes_one = isinstance(built, type) or (
            inspect.isfunction(built) and _is_factory(built)
        )
        return built() if makes_one else built
    if isinstance(entry, type):
        return entry()
    return entry


def _as_spec(entry: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return an entry such as `bash` or `{"bash": {"network": true}}` as the spec that the registry expects."""
    if isinstance(entry, str) or "name" in entry:
        return entry
    [(name, options)] = entry.items()
    return {"name": name, **(options or {})}


def _is_factory(function: Callable[..., Any]) -> bool:
    """Return True if a registered function returns a toolbox. Other functions are tools themselves."""
    result = inspect.signature(function).return_annotation
    if isinstance(result, str):
        named = result
    else:
        named = getattr(result, "__name__", "")
    return named.endswith(("Toolbox", "Tools"))


def check_tool(tool: Tool, where: str) -> None:
    """Raise if services would refuse a tool: for its name, or for a schema that is not an object or not JSON."""
    if not NAME.fullmatch(tool.name):
        raise UsageError(
            f"a tool cannot be called {tool.name!r}",
            where=where,
            fix="use letters, digits, _ and -, at most 64",
        )
    kind = tool.parameters.get("type")
    if kind != "object":
        raise UsageError(
            f"the schema of the tool {tool.name!r} has the type {kind!r}, which no service accepts",
            where=where,
            fix='write {"type": "object", "properties": {…}}',
        )
    try:
        json.dumps(dict(tool.parameters))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the schema of the tool {tool.name!r} is not JSON: {error}",
            where=where,
            fix="use texts, numbers, lists and dictionaries only",
        ) from error


class SampleTools:
    """The tools of a task while one sample runs. Sessions are opened when they are first needed."""

    def __init__(
        self,
        tool_set: ToolSet,
        context: SampleContext,
        limits: SampleLimits,
    ) -> None:
        self._set = tool_set
        self._context = context
        self._limits = limits
        self._sessions: list[ToolSession] | None = None
        self.turn = 0
        """The number of the user turn, from 0."""
        self.hung = ""
        """Name of the last tool that was ended at its time limit."""

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools that are currently offered to the model."""
        return self._set.tools(self._context.sample, self.turn)

    @property
    def state(self) -> object:
        """The value of `output.state` for scorers."""
        if self._set.make_state is not None:
            return self._context.state
        for session in self._sessions or ():
            state = getattr(session, "state", None)
            if state is not None:
                return state
        return None

    @property
    def is_over(self) -> bool:
        """True if a session has ended the sample."""
        return any(
            getattr(session, "is_over", False) for session in self._sessions or ()
        )

    async def open(self) -> list[ToolSession]:
        """Open the sessions at the first call, and return them."""
        if self._sessions is None:
            self._sessions = []
            if self._set.make_state is not None:
                self._context.state = self._make_state()
            for box in self._set.boxes:
                self._sessions.append(await box.open(self._context))
        return self._sessions

    def _make_state(self) -> object:
        sample = self._context.sample
        assert self._set.make_state is not None
        try:
            return self._set.make_state(sample)
        except Exception as error:
            raise blamed(TemplateError, error, "function `state`", sample.id) from error

    async def begin(self, prompt: Prompt) -> Prompt:
        """Return the first prompt of the sample. Sessions may change the template's prompt."""
        for session in await self.open():
            begin = getattr(session, "begin", None)
            if begin is not None:
                prompt = await begin(prompt)
        return prompt

    async def reply(
        self,
        messages: Sequence[Message],
        output: Output,
    ) -> tuple[Message, ...] | None:
        """Return the turns that a session adds after an answer without tool calls; None if the sample ends here."""
        for session in await self.open():
            reply = getattr(session, "reply", None)
            if reply is not None:
                turns = await reply(messages, output)
                return None if turns is None else as_messages(turns)
        return None

    async def run(
        self,
        calls: Sequence[ToolCall],
        most: int | None = None,
    ) -> tuple[ToolResult, ...]:
        """Run the tool calls in an answer one after another, and return their results.

        Do not run more than `most` calls.
        """
        sessions = await self.open()
        owners: dict[str, tuple[Tool, ToolSession]] = {}
        lenient: ToolSession | None = None
        for box, session in zip(self._set.boxes, sessions, strict=True):
            if getattr(box, "takes_any_call", False):
                lenient = session
            for tool in box.tools(self._context.sample, self.turn):
                owners[tool.name] = (tool, session)
        results: list[ToolResult] = []
        for number, call in enumerate(calls):
            if most is not None and number >= most:
                break
            if number >= MOST_CALLS_IN_ANSWER:
                words = (
                    f"not run: an answer may hold at most {MOST_CALLS_IN_ANSWER} calls"
                )
                results.append(text_result(call, words, "too_many_calls"))
                continue
            result = await self._call(call, owners, lenient)
            results.append(within_limits(result))
        return tuple(results)

    async def _call(
        self,
        call: ToolCall,
        owners: Mapping[str, tuple[Tool, ToolSession]],
        lenient: ToolSession | None,
    ) -> ToolResult:
        """Run one call. If it is not valid, return a result with the reason.

        If a session takes any call, pass the call on to it instead.
        """
        _, owner = owners.get(call.name, (None, lenient))
        if owner is not None and owner is lenient:
            return await self._run(call, owner)
        if call.name not in owners:
            listed = ", ".join(owners) or "none"
            words = f"there is no tool {call.name!r}; the tools are: {listed}"
            return text_result(call, words, "unknown_tool")
        tool, session = owners[call.name]
        if isinstance(call.arguments, str):
            words = "the arguments are not a JSON object: send them as one, with the parameters by name"
            return text_result(call, words, "bad_arguments")
        faults = find_faults(call.arguments, tool.parameters)
        if faults:
            return text_result(call, "; ".join(faults), "bad_arguments")
        return await self._run(call, session)

    async def _run(self, call: ToolCall, session: ToolSession) -> ToolResult:
        """Run a call whose arguments are valid. An exception or a time-out becomes a result."""
        seconds = self._limits.call_seconds
        try:
            async with asyncio.timeout(seconds) as timer:
                return await session.call(call)
        except TimeoutError as error:
            if not timer.expired():
                return self._raised(call, error)
            self.hung = call.name
            words = f"{call.name} took more than {seconds:g} s and was ended"
            return text_result(call, words, "timeout")
        except AssayError:
            raise  # the tools themselves cannot work: this is no result for the model
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to tools: the model reads the error
            return self._raised(call, error)

    def _raised(self, call: ToolCall, error: BaseException) -> ToolResult:
        text = scrub(_words_of(error))
        return text_result(call, spell_controls(text[:LONGEST_ERROR]), "raised")

    async def close(self) -> None:
        """Close the sessions and their shared resources. It is called once, after scoring."""
        sessions = self._sessions or []
        self._sessions = None
        try:
            for session in reversed(sessions):
                await session.close()
        finally:
            await self._context.close()


def _words_of(error: BaseException) -> str:
    """Return the type of an error and its message."""
    kind = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the class is the user's
        return f"{kind} (its message cannot be read)"
    if message:
        return f"{kind}: {message}"
    return kind


def result_digest(results: Sequence[ToolResult]) -> str:
    """Return a digest of the contents of results, by which a repeated call is compared with the recorded one."""
    plain: list[Any] = []
    for result in results:
        members = part_to_plain(result)
        members.pop("call_id", None)
        plain.append(members)
    return digest_of(plain)[:16]
