"""How a user's function of messages is called: what its parameters ask for, worked out once.

The first parameter says by its annotation or its name what it gets: `request`, `prompt`, `text`, a batch of
`requests`, or, whatever else it is called, the messages as plain dictionaries. `options` and `seed` are passed to those
who name them; every other parameter is an option of the model, given on the command line.
"""

import inspect
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ..core import Image, Message, Request, Text, UsageError, nearest
from ..core.errors import UnknownOption
from ..core.message import Part

PASSED = ("options", "seed")


@dataclass(frozen=True, slots=True)
class Call:
    """What a function takes."""

    takes: str
    """`messages`, `dicts`, `text`, `prompt`, `request` or, for a whole batch, `requests`."""
    passes: tuple[str, ...]
    """Which of `options` and `seed` it wants beside it."""
    settings: frozenset[str] | None
    """Names of its own options; `None` when it takes any."""
    needs: tuple[str, ...]
    """What it must be given beside the first, in order."""
    returns: Any
    """The annotation of what it gives back."""

    def caller(
        self, function: Callable[..., Any], options: Mapping[str, Any]
    ) -> Callable[[Request], Any]:
        """`function` as a function of one request, with its own options bound."""
        view = VIEWS[self.takes]
        if not self.passes:
            if not options:
                return lambda request: function(view(request))
            return lambda request: function(view(request), **options)
        sources = tuple((name, EXTRAS[name]) for name in self.passes)

        def call(request: Request) -> Any:
            return function(
                view(request),
                **{name: source(request) for name, source in sources},
                **options,
            )

        return call


def inspect_call(function: Callable[..., Any], what: str) -> Call:
    """How `function` wants to be called; `what` names it in the error when it takes nothing."""
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
    anything = any(p.kind is p.VAR_KEYWORD for p in rest)
    return Call(
        takes=_what_it_takes(positional[0]),
        passes=tuple(name for name in PASSED if name in named),
        settings=None if anything else frozenset(named - set(PASSED)),
        needs=tuple(
            p.name
            for p in rest
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ),
        returns=signature.return_annotation,
    )


def check_settings(
    options: Mapping[str, Any], names: Set[str] | None, what: str
) -> None:
    """Raises for an option that is not among the known ones; with `None` anything goes."""
    for name in options:
        if names is not None and name not in names:
            close = nearest(name, names)
            fix = (
                f"did you mean {close!r}?"
                if close
                else f"known options: {', '.join(sorted(names)) or 'none'}"
            )
            raise UnknownOption(what, name, fix=fix)


def check_needs(call: Call, options: Mapping[str, Any] | None, what: str) -> None:
    """Raises for a parameter without a default that nobody gives: every call would fail for it.

    `options` are what it was given on the command line; `None` where nothing can be, as for a method.
    """
    is_batch = call.takes == "requests"
    passed_names = {*(options or ()), *(() if is_batch else PASSED)}
    for name in call.needs:
        if name in passed_names:
            continue
        if is_batch and name in PASSED:
            fix = f"each request has its own: request.{name}"
        else:
            fix = (
                "give it a default"
                if options is None
                else f"-a {name}=VALUE, or give it a default"
            )
        raise UsageError(
            f"{what} needs a parameter {name!r} that nobody gives", fix=fix
        )


def _what_it_takes(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    type_name = (
        ""
        if annotation is parameter.empty
        else getattr(annotation, "__name__", str(annotation))
    )
    spelled = "" if annotation is parameter.empty else str(annotation)
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
    """The messages as `{"role", "content"}`; the place where the model writes is left out."""
    return [
        {"role": message.role, "content": _content(message)}
        for message in request.prompt.messages
        if message.parts is not None
    ]


def as_text(request: Request) -> str:
    """The prompt as text: of a single turn its words alone, of several each with its role."""
    messages = request.prompt.messages
    is_single = len(messages) == 1 or (len(messages) == 2 and messages[1].parts is None)
    return (
        messages[0].text
        if is_single and request.prompt.is_chat
        else request.prompt.text
    )


def _content(message: Message) -> str | list[dict[str, Any]]:
    parts = message.parts or ()
    if len(parts) == 1:
        only = parts[0]
        return only.text if type(only) is Text else [_part(only)]
    if all(type(part) is Text for part in parts):
        return message.text
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": part.kind, part.kind: part}


def made_kinds(returns: Any) -> frozenset[str]:
    """What a return annotation promises; all kinds where it says nothing."""
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
}
