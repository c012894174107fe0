"""Build a user's class, inspect the parameters of its function once, and call it.

The type annotation or the name of the first parameter decides what is passed:
`request`, `prompt`, `text`, a batch of `requests`, or otherwise the messages as plain
dictionaries. `options`, `seed` and `tools` are passed to functions that have these
parameters. Every other parameter is a model option that the user can set on the command
line.
"""

import inspect
import operator
import re
import threading
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ..core import (
    Abilities,
    ComponentError,
    Image,
    Message,
    ModelError,
    Request,
    Text,
    UsageError,
    blamed,
    nearest,
    shorten,
)
from ..core.errors import UnknownOption
from ..core.message import Part
from ..core.tools import ToolCall, ToolResult
from .chat_format import function_call, function_tool

DECLARED: Mapping[str, tuple[type, str]] = {
    "abilities": (Abilities, "Abilities(accepts=…, produces=…), from assay.core"),
    "identity": (Mapping, "a dictionary of what makes its answers its own"),
}

_MISSING = re.compile(r"missing \d+ required [a-z-]+ arguments?: (.+)")


class Builder:
    """Builds a user's class once. If that fails, the error is stored and not repeated for every sample."""

    def __init__(
        self,
        kind: type,
        args: Mapping[str, Any],
        reference: str,
    ) -> None:
        self.kind = kind
        self.args = dict(args)
        self.reference = reference
        self.built: Any = None
        self._error: ComponentError | None = None
        self._lock = threading.Lock()

    def build(self) -> object:
        """Return the instance, after building it if necessary."""
        if self.built is not None:
            return self.built
        with self._lock:
            if self._error is not None:
                raise self._error
            if self.built is None:
                try:
                    self.built = self.kind(**self.args)
                except Exception as error:
                    self._error = blamed(
                        ModelError,
                        error,
                        f"model {self.reference!r} could not be built",
                    )
                    self._error.fix = _missing_argument_fix(error)
                    raise self._error from error
        return self.built


def _missing_argument_fix(error: Exception) -> str | None:
    """Return advice to set the missing constructor argument of a class, or None for any other error."""
    match = _MISSING.search(str(error))
    if not isinstance(error, TypeError) or match is None:
        return None
    names = re.findall(r"'(\w+)'", match[1])
    options = ",".join(f"{name}=…" for name in names)
    return f"-a {options} of `assay run`, or give {', '.join(names)} a default in the class"


def method_of(
    target: object,
    name: str,
    builder: Builder | None,
    what: str,
) -> Callable[..., Any]:
    """Return a method of an object.

    For a class that is not built yet, return a function that builds it on the first call.
    """
    if builder is None:
        if name == "__call__":
            function = target
        else:
            function = getattr(target, name)
        if not callable(function):
            raise UsageError(
                f"{what} is of type {type(target).__name__}, not a function or a class with `generate`",
                fix="write def generate(messages): …",
            )
        return function  # type: ignore[no-any-return]
    declared = next(
        (vars(kind)[name] for kind in builder.kind.__mro__ if name in vars(kind)), None
    )
    if declared is None and hasattr(target, "generate_inner"):
        raise UsageError(
            f"{what} has `generate_inner`, and does not derive from VLMEvalKit's BaseModel",
            fix=f"write class {builder.kind.__name__}(BaseModel), with `from vlmeval.vlm.base import BaseModel`",
        )
    if declared is None:
        raise UsageError(
            f"{what} is a class without `generate`",
            fix="write def generate(self, messages): …",
        )
    plain = getattr(target, name)
    if not callable(plain):
        raise UsageError(
            f"`{name}` of {what} is not a method but {plain!r}",
            fix=f"write def {name}(self, messages): …",
        )

    def method(*values: object, **options: object) -> object:
        return getattr(builder.build(), name)(*values, **options)

    async def method_async(*values: object, **options: object) -> object:
        return await getattr(builder.build(), name)(*values, **options)

    chosen: Any = method_async if is_async(plain) else method
    signature = inspect.signature(plain)
    if inspect.isfunction(declared):
        parameters = list(signature.parameters.values())[1:]
        signature = signature.replace(parameters=parameters)
    chosen.__signature__ = signature
    return chosen  # type: ignore[no-any-return]


def check_same_style(
    generate: Callable[..., Any],
    likelihood: object,
    what: str,
) -> None:
    """Raise if only one of `generate` and `likelihood` is `async`, because the runner calls both in the same way."""
    if callable(likelihood) and is_async(likelihood) != is_async(generate):
        raise UsageError(
            f"{what} has only one of `generate` and `likelihood` async",
            fix="make both alike",
        )


def check_declared(
    model: object,
    what: str,
    *,
    is_ready: bool = True,
) -> None:
    """Raise if an attribute that the model declares, such as `batch_size`, is invalid. Properties are not evaluated.

    With `is_ready=False`, the object will be wrapped later. Its `identity` is then not
    checked, because the wrapper replaces an unusable one.
    """
    for name in ("batch_size", "concurrency"):
        count = as_count(inspect.getattr_static(model, name, None))
        is_count = type(count) is int and count >= 1
        if count is not None and not is_count and not hasattr(count, "__get__"):
            raise UsageError(
                f"{name} must be a positive integer, got {shorten(count)}",
                where=what,
                fix="a whole number from 1 on",
            )
    for name, (kind, advice) in DECLARED.items():
        if name == "identity" and not is_ready:
            continue
        value = inspect.getattr_static(model, name, None)
        if (
            value is not None
            and not isinstance(value, kind)
            and not hasattr(value, "__get__")
        ):
            raise UsageError(
                f"`{name}` of {what} is {shorten(value)}",
                fix=f"write {name} = {advice}",
            )


def as_count(value: Any) -> Any:
    """Return an integer of any type as a plain int, and anything else unchanged."""
    if isinstance(value, bool):
        return value
    try:
        return operator.index(value)
    except TypeError:
        return value


def is_async(function: Callable[..., Any]) -> bool:
    """Return True if calling the function returns a coroutine."""
    method = getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)


PASSED = ("options", "seed", "tools")


@dataclass(frozen=True, slots=True)
class Call:
    """How to call a user's function: what to pass as its first argument, and which further arguments it takes."""

    takes: str
    """What to pass first: `messages`, `dicts`, `text`, `prompt` or `request`, or a batch of `requests`."""
    passes: tuple[str, ...]
    """Which of the parameters `options`, `seed` and `tools` the function has."""
    settings: frozenset[str] | None
    """Names of the options that the function declares; None if it accepts any."""
    needs: tuple[str, ...]
    """Names of the parameters without a default value, except for the first one, in order."""
    returns: Any
    """The return annotation of the function."""

    def caller(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
    ) -> Callable[[Request], Any]:
        """Wrap `function` as a function of one request, with the model's options already passed."""
        view = VIEWS[self.takes]
        if not self.passes:
            if not options:
                return lambda request: function(view(request))
            return lambda request: function(view(request), **options)
        sources = tuple((name, EXTRAS[name]) for name in self.passes)

        def call(request: Request) -> object:
            return function(
                view(request),
                **{name: source(request) for name, source in sources},
                **options,
            )

        return call


def inspect_call(
    function: Callable[..., Any],
    what: str,
) -> Call:
    """Inspect the signature of `function`. `what` names it in the error if it has no positional parameter."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not positional:
        raise UsageError(
            f"{what} takes no messages", fix="write it as def generate(messages): …"
        )
    rest = [p for p in parameters if p is not positional[0]]
    named = {
        p.name for p in rest if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in rest)
    return Call(
        takes=_what_it_takes(positional[0]),
        passes=tuple(name for name in PASSED if name in named),
        settings=None if takes_any else frozenset(named - set(PASSED)),
        needs=tuple(
            p.name
            for p in rest
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ),
        returns=signature.return_annotation,
    )


def check_settings(
    options: Mapping[str, Any],
    names: Set[str] | None,
    what: str,
) -> None:
    """Raise for an option that is not among `names`; None accepts any option."""
    for name in options:
        if names is not None and name not in names:
            close = nearest(name, names)
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"known options: {', '.join(sorted(names)) or 'none'}"
            raise UnknownOption(what, name, fix=fix)


def check_needs(
    call: Call,
    options: Mapping[str, Any] | None,
    what: str,
) -> None:
    """Raise if a parameter has no default and no option sets it, since every call would fail.

    `options` are those of the command line; None for a method, which cannot receive any.
    """
    is_batch = call.takes == "requests"
    passed_names = {*(options or ()), *(() if is_batch else PASSED)}
    for name in call.needs:
        if name in passed_names:
            continue
        if is_batch and name in PASSED:
            fix = f"each request has its own: request.{name}"
        else:
            if options is None:
                fix = "give it a default"
            else:
                fix = f"-a {name}=VALUE, or give it a default"
        raise UsageError(
            f"{what} needs a parameter {name!r} that gets no value", fix=fix
        )


def _what_it_takes(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        type_name = ""
    else:
        type_name = getattr(annotation, "__name__", str(annotation))
    if annotation is parameter.empty:
        spelled = ""
    else:
        spelled = str(annotation)
    if parameter.name == "requests":
        return "requests"
    if (
        type_name == "Request"
        or spelled.endswith(".Request")
        or (parameter.name == "request" and not type_name)
    ):
        return "request"
    if type_name == "Prompt" or spelled.endswith(".Prompt"):
        return "prompt"
    if type_name == "str" or parameter.name in ("text", "prompt"):
        return "text"
    return "messages" if "Message" in spelled else "dicts"


def as_dicts(request: Request) -> list[dict[str, Any]]:
    """Return the messages as `{"role", "content"}` dictionaries, excluding the empty turn for the model's answer.

    Tool calls and their results have the form of OpenAI's chat API.
    """
    dicts: list[dict[str, Any]] = []
    for message in request.prompt.messages:
        if message.parts is None:
            continue
        if message.calls or message.results:
            dicts += _tool_dicts(message)
        else:
            dicts.append({"role": message.role, "content": _content(message)})
    return dicts


def _tool_dicts(message: Message) -> list[dict[str, Any]]:
    """Convert a message with tool calls or results to dictionaries: one per result, and one for its other parts."""
    dicts: list[dict[str, Any]] = []
    for result in message.results:
        content = _content(Message("tool", result.parts))
        result_dict = {
            "role": "tool",
            "tool_call_id": result.call_id,
            "content": content,
        }
        dicts.append(result_dict)
    rest = []
    for part in message.parts or ():
        if not isinstance(part, (ToolCall, ToolResult)):
            rest.append(part)
    if not rest and not message.calls:
        return dicts
    if rest:
        words = _content(Message(message.role, tuple(rest)))
    else:
        words = None
    turn: dict[str, Any] = {"role": message.role, "content": words}
    if message.calls:
        turn["tool_calls"] = list(map(function_call, message.calls))
    dicts.append(turn)
    return dicts


def as_text(request: Request) -> str:
    """Return the prompt as text: a single turn without its role, several turns with their roles."""
    messages = request.prompt.messages
    is_single = len(messages) == 1 or (len(messages) == 2 and messages[1].parts is None)
    if is_single and request.prompt.is_chat:
        return messages[0].text
    return request.prompt.text


def _content(message: Message) -> str | list[dict[str, Any]]:
    parts = message.parts or ()
    is_text_only = all(type(part) is Text for part in parts)
    if is_text_only:
        return message.text
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": part.kind, part.kind: part}


def produced_kinds(returns: object) -> frozenset[str]:
    """Return the output kinds from a return annotation: `str -> text`; all kinds if
    the annotation is anything else.
    """
    type_name = getattr(returns, "__name__", str(returns)).rpartition(".")[2].lower()
    if type_name == "str":
        return frozenset({"text"})
    if type_name in ("image", "audio"):
        return frozenset({type_name})
    return frozenset({"text", Image.kind, "audio"})


VIEWS: Mapping[str, Callable[[Request], Any]] = {
    "dicts": as_dicts,
    "messages": lambda request: request.prompt.messages,
    "text": as_text,
    "prompt": lambda request: request.prompt,
    "request": lambda request: request,
    "requests": lambda request: [request],
}
EXTRAS: Mapping[str, Callable[[Request], Any]] = {
    "options": lambda request: request.options,
    "seed": lambda request: request.seed,
    "tools": lambda request: [function_tool(tool) for tool in request.prompt.tools],
}
