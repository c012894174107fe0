"""Python functions as tools, and the threads in which they may block, hang or never return.

    def add(x: int, y: int) -> int:
        "Add two numbers."
        return x + y

A function may be `async`. If it has a parameter `state`, it receives the state of the
sample: the return value of the task's function `state(sample)`. It returns text, a
number, JSON data or an image, or raises: the model reads the error.

If a function exceeds its time limit, an exception is raised inside it, which ends a
loop in Python. Code that does not return to the interpreter, such as a sleep or a
system call, is abandoned: its thread is a daemon that is not used again.

`async` tools run in an event loop in a separate thread, so that one that blocks does
not stop the run.
"""

import asyncio
import contextvars
import enum
import inspect
import threading
import types
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ..core import Sample
from ..core.thread_exceptions import deliver_to, raise_in
from ..core.tools import Tool, ToolCall, ToolResult
from .schemas import STATE, has_fields, tool_of
from .tool_results import as_result, collect, plain_arguments
from .toolbox import SampleContext

T = TypeVar("T")
MOST_IDLE = 8
"""Maximum number of threads that are kept for later calls when they have no work."""
MOST_BUSY = 64
"""Maximum number of calls that run at the same time. Others wait."""


GRACE_SECONDS = 1.0
"""The time in seconds in which an `async` tool must end after it is cancelled."""


class CallOverrun(BaseException):
    """Raised inside a tool that exceeds its time limit. It is not an `Exception`, so that tools do not catch it."""


class _Worker:
    """A thread that runs one call after another."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_busy = False
        self._is_abandoned = False
        self._thread = threading.Thread(
            target=self._serve,
            name="tool",
            daemon=True,
        )
        self._thread.start()

    def run(self, call: Callable[[], None]) -> None:
        """Run this call in the thread."""
        self._is_busy = True
        self._calls.put(call)

    def stop(self) -> None:
        """End the thread as soon as it is idle."""
        self._calls.put(None)

    def abandon(self) -> None:
        """Raise an exception in the running call, and end the thread after the call."""
        with self._lock:
            self._is_abandoned = True
            if self._is_busy and self._thread.ident is not None:
                raise_in(self._thread.ident, CallOverrun)
        self.stop()

    def _serve(self) -> None:
        while not self._is_abandoned:
            call = self._calls.get()
            if call is None:
                return
            try:
                call()
            except CallOverrun:
                return
            with self._lock:
                self._is_busy = False


class CallThreads:
    """Runs blocking functions for one event loop, each within a time limit."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._slots: asyncio.Semaphore | None = None

    async def run(
        self,
        function: Callable[..., T],
        *values: object,
    ) -> T:
        """Call a function in a thread and return its result. If the caller is cancelled, end the function."""
        if self._slots is None:
            self._slots = asyncio.Semaphore(MOST_BUSY)
        async with self._slots:
            return await self._run(function, values)

    async def _run(
        self,
        function: Callable[..., T],
        values: tuple[Any, ...],
    ) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                value = context.run(function, *values)
            except CallOverrun:
                raise
            except BaseException as error:  # noqa: BLE001 - carried over to the caller
                deliver_to(
                    loop, future, future.set_exception, _as_ordinary_error(error)
                )
            else:
                deliver_to(loop, future, future.set_result, value)

        if self._idle:
            worker = self._idle.pop()
        else:
            worker = _Worker()
        worker.run(call)
        try:
            value = await future
        except asyncio.CancelledError:
            worker.abandon()
            raise
        except BaseException:
            self._keep(worker)
            raise
        self._keep(worker)
        return value

    def _keep(self, worker: _Worker) -> None:
        """Keep an idle thread for later calls, or end it if enough are idle."""
        if len(self._idle) < MOST_IDLE:
            self._idle.append(worker)
        else:
            worker.stop()

    def close(self) -> None:
        """End the idle threads."""
        while self._idle:
            self._idle.pop().stop()


class CallLoop:
    """Runs coroutines in a separate event loop, each within the time limit of its caller."""

    def __init__(self) -> None:
        self._lane: _Lane | None = None

    async def run(self, make: Callable[[], Awaitable[T]]) -> T:
        """Await the awaitable that `make` returns.

        If the caller is cancelled, the awaitable is cancelled too, but its end is not
        awaited.
        """
        if self._lane is None:
            self._lane = _Lane()
        lane = self._lane
        future = asyncio.run_coroutine_threadsafe(_await_call(make), lane.loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._check_later(lane, self._interrupt)
            raise

    def _check_later(
        self,
        lane: "_Lane",
        if_blocked: "Callable[[_Lane], None]",
    ) -> None:
        """Call `if_blocked(lane)` if the event loop has not reacted after a while, because a call blocks it."""
        is_alive = threading.Event()
        lane.loop.call_soon_threadsafe(is_alive.set)

        def check() -> None:
            if not is_alive.is_set():
                if_blocked(lane)

        asyncio.get_running_loop().call_later(GRACE_SECONDS, check)

    def _interrupt(self, lane: "_Lane") -> None:
        """Raise an exception in the code that blocks an event loop.

        It has no effect on code outside the interpreter.
        """
        if lane.thread.ident is not None:
            raise_in(lane.thread.ident, CallOverrun)
        self._check_later(lane, self._leave)

    def _leave(self, lane: "_Lane") -> None:
        """Abandon an event loop that stays blocked. The next call gets a new one."""
        lane.stop()
        if self._lane is lane:
            self._lane = None

    def close(self) -> None:
        """End the event loop."""
        if self._lane is not None:
            self._lane.stop()
            self._lane = None


class _Lane:
    """One event loop and its thread. `CallLoop` replaces it if it stays blocked."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self._serve,
            name="async tools",
            daemon=True,
        )
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        is_interrupted = True
        while is_interrupted:
            try:
                self.loop.run_forever()
                is_interrupted = False
            except CallOverrun:
                continue

    def stop(self) -> None:
        """End the event loop when it is idle. A coroutine that never ends keeps its loop until the process ends."""
        self.loop.call_soon_threadsafe(self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        if not asyncio.all_tasks(self.loop):
            self.loop.stop()


async def _await_call(make: Callable[[], Awaitable[T]]) -> T:
    """Await the result of a function. Convert an exception that would end the event loop to a `RuntimeError`."""
    try:
        return await make()
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, CallOverrun) or (task and task.cancelling()):
            raise
        raise RuntimeError(repr(error)) from error


def _as_ordinary_error(error: BaseException) -> BaseException:
    """Convert a tool's exception to one that a future accepts and that ends only the call."""
    is_plain = isinstance(error, (Exception, SystemExit))
    if is_plain and not isinstance(error, StopIteration):
        return error
    return RuntimeError(repr(error))


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
        """True if a function has a parameter for the state of the sample, or is a
        method of an object that may store state.
        """
        return any(
            bound.takes_state or bound.has_object for bound in self._bound.values()
        )

    @property
    def needs_state(self) -> tuple[str, ...]:
        """Names of the functions that cannot be called without a state."""
        return tuple(name for name, bound in self._bound.items() if bound.needs_state)

    @property
    def identity(self) -> object:
        """Properties that identify this toolbox: its functions.

        If their code changes, recorded answers are outdated.
        """
        return self.functions

    def tools(
        self,
        sample: Sample | None,
        turn: int = 0,
    ) -> tuple[Tool, ...]:
        """Return the descriptions of the functions for the model."""
        return self._tools

    def close(self) -> None:
        """End the idle threads and the event loop."""
        self._threads.close()
        self._loop.close()

    async def open(self, context: SampleContext) -> "FunctionSession":
        """Return a session with the functions and the state of this sample."""
        return FunctionSession(self._bound, self._threads, self._loop, context.state)


class FunctionSession:
    """The functions of a task for one sample, with the state of the sample."""

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
        """Call the function in a thread, because it may block. All `async` functions share one thread."""
        bound = self._bound[call.name]
        values = bound.values(plain_arguments(call))
        if bound.takes_state:
            values[STATE] = self._state
        work = partial(bound.function, **values)
        if bound.is_async:
            value = await self._loop.run(work)
        else:
            value = await self._threads.run(_call_function, work)
        if inspect.isawaitable(value):
            pending = value
            value = await self._loop.run(lambda: pending)
        return as_result(call, value)

    async def close(self) -> None:
        """Do nothing, because functions have no resources to release."""


def _call_function(work: Callable[[], Any]) -> object:
    """Call a tool function and return its result. If it is a generator, collect its values."""
    value = work()
    if inspect.isgenerator(value):
        return collect(value)
    return value


class _Bound:
    """A tool function that converts JSON arguments to the types of its parameters."""

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
        """Return the arguments of a call converted to the parameter types of the function."""
        values = dict(arguments)
        for name, hint in self._hints.items():
            if name in values:
                values[name] = convert_value(values[name], hint)
        return values


def needs_conversion(hint: object) -> bool:
    """Return True if JSON values of this type must be converted to the Python type."""
    return hint not in (str, bool, Any, type(None), dict, list)


def convert_value(value: object, hint: object) -> object:
    """Return a JSON value converted to a parameter's type: enums, dataclasses, tuples, sets, integers."""
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return convert_value(value, arguments[0])
    if origin in (Union, types.UnionType):
        return _convert_to_one(value, arguments)
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
        return _convert_object(value, kind, arguments)
    if isinstance(value, list) and issubclass(kind, (list, tuple, set, frozenset)):
        return _convert_list(value, kind, arguments)
    return value


def _convert_object(
    value: Mapping[str, Any],
    kind: type,
    arguments: Sequence[Any],
) -> object:
    """Return a JSON object as a dataclass, a named tuple or a dictionary with converted members."""
    if has_fields(kind):
        hints = get_type_hints(kind)
        members = {
            name: convert_value(entry, hints[name]) for name, entry in value.items()
        }
        return kind(**members)
    if issubclass(kind, Mapping) and len(arguments) == 2:
        return {
            name: convert_value(entry, arguments[1]) for name, entry in value.items()
        }
    return value


def _convert_list(
    value: list[Any],
    kind: type,
    arguments: Sequence[Any],
) -> object:
    """Return a JSON list as a list, a tuple or a set with converted members."""
    is_fixed = issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis
    if is_fixed:
        inner = arguments
    else:
        inner = [arguments[0] if arguments else Any] * len(value)
    return kind(
        convert_value(entry, hint) for entry, hint in zip(value, inner, strict=True)
    )


def _convert_to_one(
    value: object,
    hints: Sequence[Any],
) -> object:
    """Convert a value to the first type of a union that accepts it."""
    if value is None:
        return None
    for hint in hints:
        try:
            changed = convert_value(value, hint)
        except (TypeError, ValueError, KeyError):
            continue
        kind = get_origin(hint) or hint
        if isinstance(kind, type) and isinstance(changed, kind):
            return changed
    return value
