"""Python functions as tools.

def add(x: int, y: int) -> int:
    "Add two numbers."
    return x + y

A function may be `async`. If it has a parameter `state`, it receives the state of the sample: what the task's function
`state(sample)` returned. It returns text, a number, plain data or an image, or raises: the model reads the error.
"""

import enum
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from ..core import Sample
from ..core.tools import Tool, ToolCall, ToolResult
from .call_threads import CallLoop, CallThreads
from .schemas import STATE, has_fields, tool_of
from .tool_results import as_result, collected, plain_arguments
from .toolbox import SampleContext


class FunctionTools:
    """The functions of a task as a toolbox."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.functions = tuple(functions)
        self._tools = tuple(tool_of(function) for function in functions)
        self._bound = {
            tool.name: _Bound(function)
            for tool, function in zip(self._tools, functions, strict=True)
        }
        self._threads = CallThreads()
        self._loop = CallLoop()

    @property
    def is_stateful(self) -> bool:
        """True if a function takes the state of the sample, or belongs to an object, which may hold one."""
        return any(
            bound.takes_state or bound.has_object for bound in self._bound.values()
        )

    @property
    def needs_state(self) -> tuple[str, ...]:
        """Names of the functions that cannot be called without a state."""
        return tuple(name for name, bound in self._bound.items() if bound.needs_state)

    @property
    def identity(self) -> object:
        """The functions, whose code determines the results."""
        return self.functions

    def tools(self, sample: Sample | None, turn: int = 0) -> tuple[Tool, ...]:
        """Return the descriptions of the functions for the model."""
        return self._tools

    def close(self) -> None:
        """Let the idle threads end."""
        self._threads.close()
        self._loop.close()

    async def open(self, context: SampleContext) -> "FunctionSession":
        """Begin a sample."""
        return FunctionSession(self._bound, self._threads, self._loop, context.state)


class FunctionSession:
    """The functions for one sample, with its state."""

    def __init__(
        self,
        bound: Mapping[str, "_Bound"],
        threads: CallThreads,
        loop: CallLoop,
        state: object,
    ) -> None:
        self._bound = bound
        self._threads = threads
        self._loop = loop
        self._state = state

    async def call(self, call: ToolCall) -> ToolResult:
        """Call the function in a thread, because it may block. Functions that are `async` share one."""
        bound = self._bound[call.name]
        values = bound.values(plain_arguments(call))
        if bound.takes_state:
            values[STATE] = self._state
        work = partial(bound.function, **values)
        if bound.is_async:
            value = await self._loop.run(work)
        else:
            value = await self._threads.run(_called, work)
        if inspect.isawaitable(value):
            pending = value
            value = await self._loop.run(lambda: pending)
        return as_result(call, value)

    async def close(self) -> None:
        """Do nothing, because functions have no resources to release."""


def _called(work: Callable[[], Any]) -> object:
    """Return what a function returns; what a generator yields."""
    value = work()
    if inspect.isgenerator(value):
        return collected(value)
    return value


class _Bound:
    """A function, with the conversion of a call's arguments to its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        subject = function
        if not inspect.isroutine(function):
            subject = type(function).__call__
        self.is_async = inspect.iscoroutinefunction(subject)
        self.has_object = (
            not inspect.isroutine(function)
            or getattr(function, "__self__", None) is not None
        )
        parameter = inspect.signature(function).parameters.get(STATE)
        self.takes_state = parameter is not None
        self.needs_state = (
            parameter is not None and parameter.default is parameter.empty
        )
        hints = get_type_hints(subject)
        self._hints = {
            name: hint for name, hint in hints.items() if needs_conversion(hint)
        }

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments converted to the types that the function names."""
        values = dict(arguments)
        for name, hint in self._hints.items():
            if name in values:
                values[name] = converted(values[name], hint)
        return values


def needs_conversion(hint: object) -> bool:
    """Return True if JSON values of this type must be converted to the Python type."""
    return hint not in (str, bool, Any, type(None), dict, list)


def converted(value: object, hint: object) -> object:
    """Return a JSON value converted to the type that a function names: enums, dataclasses, tuples, sets, integers."""
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return converted(value, arguments[0])
    if origin in (Union, types.UnionType):
        return _converted_to_one(value, arguments)
    if hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kind = origin or hint
    if not isinstance(kind, type):
        return value
    if issubclass(kind, enum.Enum):
        return kind(value)
    if isinstance(value, Mapping):
        return _converted_object(value, kind, arguments)
    if isinstance(value, list) and issubclass(kind, (list, tuple, set, frozenset)):
        return _converted_list(value, kind, arguments)
    return value


def _converted_object(
    value: Mapping[str, Any],
    kind: type,
    arguments: Sequence[Any],
) -> object:
    """Return a JSON object as a dataclass, a named tuple or a dictionary with converted members."""
    if has_fields(kind):
        hints = get_type_hints(kind)
        members = {name: converted(entry, hints[name]) for name, entry in value.items()}
        return kind(**members)
    if issubclass(kind, Mapping) and len(arguments) == 2:
        return {name: converted(entry, arguments[1]) for name, entry in value.items()}
    return value


def _converted_list(value: list[Any], kind: type, arguments: Sequence[Any]) -> object:
    """Return a JSON list as a list, a tuple or a set with converted members."""
    is_fixed = issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis
    if is_fixed:
        inner = arguments
    else:
        inner = [arguments[0] if arguments else Any] * len(value)
    return kind(
        converted(entry, hint) for entry, hint in zip(value, inner, strict=True)
    )


def _converted_to_one(value: object, hints: Sequence[Any]) -> object:
    """Return the value as the first type of a union that accepts it."""
    if value is None:
        return None
    for hint in hints:
        try:
            changed = converted(value, hint)
        except (TypeError, ValueError, KeyError):
            continue
        kind = get_origin(hint) or hint
        if isinstance(kind, type) and isinstance(changed, kind):
            return changed
    return value
