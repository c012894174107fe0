"""Build a callable from the template of a task.

A template is a function, a class, Jinja text, messages, or a name with options. If it
is missing, the kind of the data decides.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..code.userfiles import is_reference, load_attribute
from ..core import (
    EMPTY,
    Message,
    Sample,
    Spec,
    UnknownName,
    UsageError,
    shorten,
)
from ..registry import construct, templates
from ..rendering.text import BLOCK_OPTIONS, block_options
from .built import TEXT_ONLY, BuiltTemplate, Finish, Hold
from .choices import ByRow, Choices
from .jinja import JinjaMessages, JinjaText, JinjaTurn
from .plain import Completion, Question, ready_messages

BY_KIND: Mapping[str, Any] = {
    "qa": Question(),
    "choice": Choices(),
    "mixed": ByRow(),
    "completion": Completion(),
    "dialogue": ready_messages,
}
_NAME = re.compile(r"[A-Za-z0-9_./:-]*[A-Za-z0-9_]")
SOLVED_NAMES = ("solved", "is_last")
"""Names of parameters that mark a template function as one that renders solved
examples. `is_last` is true for the question.
"""


@templates.register("variants")
@dataclass(frozen=True)
class Variants:
    """Several named templates for the same questions. The first one is used unless the user names another.

    In YAML: `{name: variants, use: cot, variants: {direct: "{{ question }}", cot:
    {name: cot}}}`.
    """

    variants: Mapping[str, Any]
    use: str = ""

    def __post_init__(self) -> None:
        if not self.variants:
            raise UsageError(
                "a template with variants needs at least one",
                fix="write variants: {name: template}",
            )
        if self.use:
            self.select(self.use)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in their order."""
        return tuple(self.variants)

    def select(self, name: str = "") -> object:
        """Return the template with this name; without a name, the one to use."""
        selected = name or self.use or self.names[0]
        if selected not in self.variants:
            hint = f"the variants are {', '.join(self.names)}"
            raise UnknownName("variant", selected, self.names, hint=hint)
        return self.variants[selected]


def build_template(
    template: object = None,
    *,
    kind: str = "qa",
    system: str | None = None,
    roles: Mapping[str, str] = EMPTY,
    produces: Sequence[str] = TEXT_ONLY,
    chat: bool | None = None,
    where: str = "",
    hold: Hold | None = None,
) -> BuiltTemplate:
    """Return a callable `(sample) -> Prompt` for any form of template in a task.

    If `template` is `None`, the default for `kind` (`qa`, `choice`, `mixed`,
    `completion`, `dialogue`) is used. The settings given here replace those of a
    template that was built before. `hold` opens the files that are named in a template
    from YAML or JSON; without it none is opened.

    Example: `build_template("Translate into French: {{ text }}")`
    """
    resolved = _resolve(template, kind, where)
    finish = Finish(system, roles, tuple(produces), chat)
    if isinstance(resolved, BuiltTemplate):
        return BuiltTemplate(
            resolved.bare,
            name=resolved.name,
            source=resolved.source,
            solve=resolved.solved,
            next_turn=resolved.next_turn,
            finish=finish,
            hold=hold,
        )
    function = resolved if callable(resolved) else getattr(resolved, "prompt", None)
    if not callable(function):
        raise _not_a_template(template, where)
    name = _name_of(function, where)
    make, solve = (
        _adapt(function, name, where)
        if inspect.isroutine(function)
        else (function, None)
    )
    return BuiltTemplate(
        make,
        name=name,
        source=_source_of(resolved, template),
        answer=getattr(resolved, "solution", None),
        solve=solve or getattr(resolved, "solved", None),
        next_turn=getattr(resolved, "next", None),
        finish=finish,
        hold=hold,
    )


def _resolve(
    template: object,
    kind: str,
    where: str,
) -> object:
    """Return the callable for a template in any form: a name, text, messages, a class, a function or variants.

    Of several variants, return the selected one.
    """
    resolved = template
    if not isinstance(template, Variants):
        resolved = _look_up(template, kind, where)
    if isinstance(resolved, Variants):
        return _resolve(resolved.select(), kind, where)
    return resolved


def _look_up(
    template: object,
    kind: str,
    where: str,
) -> object:
    if template is None:
        if kind not in BY_KIND:
            fix = f"known kinds: {', '.join(BY_KIND)}"
            raise UsageError(
                f"unknown kind of data {kind!r}",
                where=where,
                fix=fix,
            )
        return BY_KIND[kind]
    if isinstance(template, str):
        return _from_text(template, where)
    if isinstance(template, Spec):
        return _from_spec(template, where)
    if isinstance(template, Mapping):
        return _from_mapping(template, where)
    if isinstance(template, (list, tuple)):
        return _from_list(template, where)
    if inspect.isclass(template):
        return _resolve_class(template, where)
    if callable(template) or callable(getattr(template, "prompt", None)):
        return template
    raise _not_a_template(template, where)


def _not_a_template(template: object, where: str) -> UsageError:
    return UsageError(
        f"cannot use {shorten(template)} as a template",
        where=where,
        fix="give a function, Jinja text, messages or a template's name",
    )


def _from_text(text: str, where: str) -> object:
    if text in templates:
        return templates.build(text, where=where)
    if is_reference(text):
        return _resolve(load_attribute(text), "qa", where or text)
    if text.endswith((".jinja", ".j2")):
        return JinjaTurn(_read(text, where), where=text)
    # A text that cannot be a name is a prompt: "Transcribe the recording.", "Transcribe.", "请转写"
    if "{{" in text or "{%" in text or not _NAME.fullmatch(text):
        return JinjaTurn(text, where=where)
    hint = "a text needs {{ column }}, a blank or a mark at its end"
    raise UnknownName(
        "template",
        text,
        templates.names(),
        where=where or None,
        hint=hint,
    )


def _from_spec(spec: Spec, where: str) -> object:
    if is_reference(spec.name):
        thing = construct(
            load_attribute(spec.name),
            spec,
            kind="template",
            where=where or None,
        )
        return _resolve(thing, "qa", where)
    return templates.build(spec, where=where or None)


def _from_mapping(
    template: Mapping[str, Any],
    where: str,
) -> object:
    if "role" in template:
        return JinjaMessages([template], where=where)
    if "messages" in template or "prompt" in template:
        return _Written(template, where)
    return _from_spec(Spec.of(template, where=where or None), where)


def _from_list(
    template: Sequence[Any],
    where: str,
    blocks: Mapping[str, bool] = EMPTY,
) -> object:
    if not template:
        raise UsageError("the template has no messages", where=where)
    if all(isinstance(turn, Message) for turn in template):
        fixed = tuple(template)
        return lambda sample: fixed
    if any(isinstance(turn, Mapping) and "role" in turn for turn in template):
        return JinjaMessages(template, where=where, blocks=blocks)
    turn = {"role": "user", "content": list(template)}
    return JinjaMessages(
        [turn],
        where=where,
        blocks=blocks,
    )


def _resolve_class(template: type, where: str) -> object:
    instance = construct(
        template,
        Spec(template.__name__),
        kind="template",
        where=where or None,
    )
    if callable(instance) or callable(getattr(instance, "prompt", None)):
        return instance
    raise UsageError(
        f"the class {template.__name__} is not a template",
        where=where,
        fix="give it a method `prompt(self, sample)` or `__call__(self, sample)`",
    )


class _Written:
    """A template in YAML or JSON: `{messages: […]}` or `{prompt: text}`, with an `answer` for solved examples."""

    def __init__(
        self,
        template: Mapping[str, Any],
        where: str,
    ) -> None:
        keys = ("messages", "prompt", "answer", *BLOCK_OPTIONS)
        unknown = [key for key in template if key not in keys]
        if unknown:
            raise UsageError(
                f"a template has no {unknown[0]!r}",
                where=where,
                fix="its keys are prompt or messages, answer, trim_blocks and lstrip_blocks",
            )
        blocks = block_options(template, where)
        body = template.get("messages")
        if body is None:
            body = str(template["prompt"])
        if isinstance(body, str):
            self._make: Any = JinjaTurn(body, where=where, blocks=blocks)
        else:
            self._make = _from_list(body, where, blocks)
        answer = template.get("answer")
        if answer is not None:
            where = f"{where or 'template'}, key `answer`"
            solution = JinjaText(
                str(answer),
                where=where,
                blocks=blocks,
            )
            self.solution: Callable[[Sample], str] = solution

    def __call__(self, sample: Sample) -> object:
        return self._make(sample)


Make = Callable[[Sample], Any]


def _adapt(
    function: Callable[..., Any],
    name: str,
    where: str,
) -> tuple[Make, Make | None]:
    """Convert a user's template function to two functions: one for questions, one for solved examples.

    The second is None if the user's function has no parameter `solved` or `is_last`.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return function, None
    flag = next((p.name for p in parameters if p.name in SOLVED_NAMES), None)
    needed = [
        p
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name != flag
    ]
    takes_sample = any(
        p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD for p in parameters
    )
    if (
        len(needed) > 1
        or not takes_sample
        or (needed and needed[0].kind is needed[0].KEYWORD_ONLY)
    ):
        raise UsageError(
            f"the template {name} takes ({', '.join(p.name for p in parameters)})",
            where=where,
            fix="write it as `def prompt(sample)` or `def prompt(sample, solved)`",
        )
    if flag is None:
        return function, None
    asks = {flag: flag == "is_last"}
    solves = {flag: flag == "solved"}
    return (lambda sample: function(sample, **asks)), (
        lambda sample: function(sample, **solves)
    )


def _name_of(function: object, where: str) -> str:
    if isinstance(function, (JinjaTurn, JinjaMessages, _Written)):
        return where or "template"
    name = getattr(function, "__name__", None) or type(function).__name__
    if where:
        return f"{where}, template {name!r}"
    return f"template {name!r}"


def _source_of(template: object, written_as: object) -> str:
    """Return a text with everything that determines the prompts: template data,
    options, and the code of user templates.
    """
    if isinstance(template, JinjaTurn):
        return template.render.text
    if isinstance(written_as, (str, list, tuple, Mapping, Spec)):
        lines = [_describe(written_as)]
    else:
        lines = []
    if is_dataclass(template):
        lines.append(type(template).__qualname__)
        lines += [
            f"{f.name}={_describe(getattr(template, f.name))}"
            for f in fields(template)
            if f.init
        ]
    lines.append(getattr(template, "source", ""))
    if not (getattr(template, "__module__", None) or "").startswith("assay."):
        lines.append(_code_of(template))
    return "\n".join(lines) or getattr(
        template,
        "__qualname__",
        type(template).__qualname__,
    )


def _describe(value: object) -> str:
    """Return `repr(value)`, but with the code of functions instead of their memory address."""
    if inspect.isroutine(value):
        return _code_of(value)
    if isinstance(value, Spec):
        return f"{value.name}{_describe(value.options)}"
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{key!r}: {_describe(inner)}" for key, inner in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_describe(inner) for inner in value) + "]"
    if isinstance(value, BuiltTemplate):
        return value.source
    return repr(value)


def _code_of(thing: object) -> str:
    target = thing if inspect.isroutine(thing) else type(thing)
    try:
        return inspect.getsource(target)
    except (OSError, TypeError):
        return f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', type(target).__name__)}"


def _read(path: str, where: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = f"cannot read the template {path}: {error.strerror}"
        raise UsageError(reason, where=where, fix="check the path") from error
