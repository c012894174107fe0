"""Registries: names for components, which are imported when first used.

A registry maps a name to a target `"module:attribute"` that is imported on demand, or
to a registered object. Two different objects with the same name are an error. The error
for an unknown name suggests the nearest known one. Names that assay does not have are
looked up among the plugins of installed packages (`catalogue.plugins`).
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .catalogue import (
    BENCHMARKS,
    DATASETS,
    EXPORTERS,
    MODEL_RECOGNISERS,
    MODELS,
    RECOGNISERS,
    SCORERS,
    SIGNPOSTS,
    SUMMARIZERS,
    TEMPLATES,
    TOOLS,
)
from .catalogue.plugins import PLUGIN_NAME, Plugin, installed_plugins
from .core.errors import (
    AssayError,
    ComponentError,
    NameTaken,
    UnknownName,
    UnknownOption,
    UsageError,
    blamed,
    suggest,
)
from .core.spec import Spec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered component or its `module:attribute`, with a one-line summary for `assay ls`."""

    target: Any
    summary: str = ""


class Registry(Generic[T]):
    """The components of one kind, such as scorers, by name."""

    def __init__(
        self,
        kind: str,
        targets: Mapping[str, tuple[str, str]] | None = None,
        *,
        group: str | None = None,
    ) -> None:
        """Create a registry of assay's names. `group` is the entry point group of its plugins."""
        self.kind = kind
        self.group = group
        self._entries = {
            name: Entry(target, summary)
            for name, (target, summary) in (targets or {}).items()
        }

    def register(
        self,
        name: str,
        summary: str = "",
    ) -> Callable[[T], T]:
        """Return a decorator that gives an object a name and returns it unchanged."""

        def add(thing: T) -> T:
            entry = self._entries.get(name)
            if entry is not None and not _same(entry.target, thing):
                raise NameTaken(
                    f"{self.kind} {name!r} is defined twice: {place_of(entry.target)} and {place_of(thing)}",
                    fix="choose another name",
                )
            if entry is None or not isinstance(entry.target, str):
                self._entries[name] = Entry(thing, summary or _first_line(thing))
            return thing

        return add

    def get(
        self,
        name: str,
        *,
        where: str | None = None,
    ) -> T:
        """Return the object with this name, importing it if necessary."""
        entry = self._entry(name, where)
        if isinstance(entry.target, Plugin):
            return _load_plugin(self.kind, entry.target)  # type: ignore[no-any-return]
        if not isinstance(entry.target, str):
            return entry.target  # type: ignore[no-any-return]
        module, _, attribute = entry.target.partition(":")
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]

    def build(
        self,
        spec: object,
        *,
        where: str | None = None,
    ) -> Any:
        """Build the component in a spec: call its class or function with the options of the spec."""
        spec = Spec.of(spec, where=where)
        component: Any = self.get(spec.name, where=where)
        return construct(component, spec, kind=self.kind, where=where)

    def names(self) -> list[str]:
        """Return the names of assay's components and of those in installed packages, sorted."""
        return sorted({*self._entries, *self.plugins()})

    def plugins(self) -> Mapping[str, tuple[Plugin, ...]]:
        """Return the plugins of installed packages by name, from their metadata.

        A plugin cannot replace one of assay's names.
        """
        if self.group is None:
            return {}
        plugins = installed_plugins(self.group)
        return {
            name: plugin
            for name, plugin in plugins.items()
            if name not in self._entries
        }

    def summary(self, name: str) -> str:
        """Return the line about a name that `assay ls` prints."""
        sharing = self.plugins().get(name, ())
        if len(sharing) > 1:
            packages = ", ".join(plugin.package for plugin in sharing)
            return f"cannot be used: {packages} all define it"
        return self._entry(name, None).summary

    def where(self, name: str) -> str:
        """Return the location of a definition as `file:line`. Its module is imported."""
        return place_of(self.get(name))

    def resolve(self, name: str) -> str | None:
        """Return the name as registered, ignoring case and `-`/`_`. Return None for an
        unknown name.

        A variant may be written with `@`: `mme@upstream` is `mme_upstream`.
        """
        if name in self._entries:
            return name
        folded = _fold(name)
        for other in self._entries:
            if _fold(other) == folded:
                return other
        if self.group is None or not PLUGIN_NAME.fullmatch(name):
            return None
        for other in self.plugins():
            if _fold(other) == folded:
                return other
        return None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.resolve(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def _entry(
        self,
        name: str,
        where: str | None,
    ) -> Entry:
        spelling = self.resolve(name)
        if spelling is None:
            raise UnknownName(self.kind, name, self.names(), where=where)
        if spelling in self._entries:
            return self._entries[spelling]
        plugin, *others = self.plugins()[spelling]
        if others:
            packages = ", ".join(other.package for other in (plugin, *others))
            raise NameTaken(
                f"{self.kind} {name!r} is defined by several installed packages: {packages}",
                where=where,
                fix="uninstall all but one of them",
            )
        return Entry(plugin, plugin.summary)


def _load_plugin(kind: str, plugin: Plugin) -> Any:
    """Import a component of an installed package. If the import fails, raise an error that names the package."""
    origin = f"{kind} {plugin.name!r} of the installed package {plugin.package}"
    module_name, _, path = plugin.target.partition(":")
    try:
        component: Any = importlib.import_module(module_name)
        for attribute in path.split(".") if path else ():
            component = getattr(component, attribute)
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        fault = blamed(ComponentError, error, f"{origin} ({plugin.target})")
        fault.fix = f"repair or uninstall the package {plugin.package}"
        raise fault from error
    return component


def _fold(name: str) -> str:
    return name.lower().replace("-", "_").replace("@", "_")


_PLAIN = (int, float, str, bool)
_TRUE_WORDS = ("true", "yes", "on", "1")
_FALSE_WORDS = ("false", "no", "off", "0")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?")


def construct(
    thing: Callable[..., Any],
    spec: Spec,
    *,
    kind: str,
    where: str | None = None,
) -> Any:
    """Build a component from its options. Raise for an unknown or a missing option; the error lists the known ones."""
    options = fit_options(thing, spec.options)
    if inspect.isclass(thing):
        check_options(thing, options, f"{kind} {spec.name!r}", where)
        try:
            return thing(**options)
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            raise blamed(
                ComponentError,
                error,
                f"{kind} {spec.name!r} could not be built",
            ) from error
    if options:
        check_options(thing, options, f"{kind} {spec.name!r}", where)
        return _with_options(thing, options)
    return thing


def check_options(
    thing: Callable[..., Any],
    options: Mapping[str, Any],
    what: str,
    where: str | None = None,
) -> None:
    """Raise for an option that `thing` does not have, and for a required one that is missing."""
    names, required = _parameters(thing)
    for name in options:
        if names is not None and name not in names:
            if names:
                fix = suggest(name, sorted(names), "known options:")
            else:
                fix = "it has none"
            raise UnknownOption(
                what,
                name,
                where=where,
                fix=fix,
            )
    if inspect.isclass(thing):
        lacking = [name for name in required if name not in options]
        if lacking:
            raise UsageError(
                f"{what} needs the option {lacking[0]!r}",
                where=where,
                fix=f"add {lacking[0]}: …",
            )


def _parameters(thing: Callable[..., Any]) -> tuple[set[str] | None, list[str]]:
    """Return the names of all parameters, and of the required ones.

    The first value is None if the component accepts parameters of any name.
    """
    if inspect.isclass(thing) and is_dataclass(thing):
        options = [f for f in fields(thing) if f.init]
        required = [
            f.name
            for f in options
            if f.default is MISSING and f.default_factory is MISSING
        ]
        return {f.name for f in options}, required
    signature = inspect.signature(thing)
    parameters = list(signature.parameters.values())
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None, []
    named = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"
    ]
    return {p.name for p in named}, [p.name for p in named if p.default is p.empty]


def fit_options(
    thing: Callable[..., Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Convert options to the annotation of their parameter, or to the type of its
    default.

    `revision=12` is the text "12" for `revision: str`; `temperature="1e-5"` is a number
    for `temperature: float`; `fast=no` is False for `fast: bool`. `fast=maybe` is an
    error, because Python treats any non-empty text as true.
    """
    fitted = dict(options)
    if not any(isinstance(value, (int, float, str)) for value in fitted.values()):
        return fitted
    types = _parameter_types(thing)
    for name, value in fitted.items():
        accepted = types.get(name)
        takes_none = accepted is None or NoneType in accepted
        if takes_none and isinstance(value, str) and value.lower() == "none":
            fitted[name] = None
        elif accepted and accepted <= {bool, NoneType}:
            fitted[name] = _as_bool(name, value)
        elif accepted:
            fitted[name] = _fit(value, accepted)
    return fitted


def _as_bool(name: str, value: object) -> object:
    """Convert a word such as `no`, or a number, to True or False. Raise for any other word."""
    word = str(value).lower()
    if word in _TRUE_WORDS:
        return True
    if word in _FALSE_WORDS:
        return False
    if not isinstance(value, (str, int, float)):
        return value
    raise UsageError(
        f"option {name!r} is {value!r}", fix=f"{name}=true or {name}=false"
    )


def _fit(
    value: object,
    types: frozenset[type],
) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and str in types and not types & {int, float}:
        return str(value)
    if not isinstance(value, str) or str in types:
        return value
    for kind in (int, float):
        if kind in types and _NUMBER.fullmatch(value):
            try:
                return kind(value)
            except ValueError:
                continue
    return value


def _parameter_types(thing: Callable[..., Any]) -> dict[str, frozenset[type]]:
    """Return the simple types that each parameter accepts. Parameters that accept anything are left out."""
    if inspect.isclass(thing):
        target = thing.__init__
    else:
        target = thing
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return {}
    try:
        hints = get_type_hints(target)
    except Exception:  # noqa: BLE001 - an annotation of a user's that cannot be resolved says nothing
        hints = {}
    types: dict[str, frozenset[type]] = {}
    for parameter in parameters:
        hint = hints.get(parameter.name)
        if hint is None and type(parameter.default) in _PLAIN:
            hint = type(parameter.default)
        accepted = _plain_types(hint)
        if accepted and parameter.default is None:
            accepted |= {NoneType}
        if accepted:
            types[parameter.name] = accepted
    return types


def _plain_types(hint: object) -> frozenset[type]:
    """Return the simple types in an annotation: int and NoneType for `int | None`, str and int for `Literal["a", 1]`.

    Return an empty set if the annotation has other types, because it may then accept
    anything.
    """
    origin = get_origin(hint)
    if origin is Literal:
        return frozenset(type(choice) for choice in get_args(hint))
    is_union = origin in (Union, UnionType)
    if is_union:
        members = get_args(hint)
    else:
        members = (hint,)
    plain = {member for member in members if member is not NoneType}
    if plain and plain <= set(_PLAIN):
        return frozenset(members)
    return frozenset()


def _with_options(
    function: Callable[..., Any],
    options: Mapping[str, Any],
) -> object:
    def configured(*args: object) -> object:
        return function(*args, **options)

    configured.__name__ = getattr(function, "__name__", "configured")
    configured.__doc__ = function.__doc__
    configured.__wrapped__ = function  # type: ignore[attr-defined]
    return configured


def _same(target: object, thing: object) -> bool:
    if isinstance(target, str):
        return (
            target
            == f"{getattr(thing, '__module__', '')}:{getattr(thing, '__qualname__', '')}"
        )
    return target is thing


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def place_of(thing: object) -> str:
    """Return `file:line` of an object's definition, or its module and name if that is unknown."""
    if isinstance(thing, str):
        return thing
    try:
        if inspect.isclass(thing) or inspect.isroutine(thing):
            target = thing
        else:
            target = type(thing)
        file = inspect.getsourcefile(target)
        _, line = inspect.getsourcelines(target)
        return f"{file}:{line}"
    except (TypeError, OSError):
        return f"{getattr(thing, '__module__', '?')}:{getattr(thing, '__qualname__', type(thing).__name__)}"


datasets: Registry[Any] = Registry("dataset", DATASETS)
templates: Registry[Any] = Registry("template", TEMPLATES, group="assay.templates")
models: Registry[Any] = Registry("model", MODELS, group="assay.models")
scorers: Registry[Any] = Registry("scorer", SCORERS, group="assay.scorers")
summarizers: Registry[Any] = Registry("summarizer", SUMMARIZERS)
tasks: Registry[Any] = Registry("task", BENCHMARKS, group="assay.tasks")
exporters: Registry[Any] = Registry("exporter", EXPORTERS, group="assay.exporters")
tools: Registry[Any] = Registry("tool", TOOLS, group="assay.tools")

ALL: dict[str, Registry[Any]] = {
    "tasks": tasks,
    "models": models,
    "scorers": scorers,
    "datasets": datasets,
    "templates": templates,
    "summarizers": summarizers,
    "exporters": exporters,
    "tools": tools,
}


def model_recognisers() -> Iterator[
    Callable[[str, Mapping[str, Any], str | None], Any]
]:
    """Yield functions that try to load a model reference: `(reference, arguments, dialect) -> model or None`."""
    return _resolved(MODEL_RECOGNISERS)


def recognisers() -> Iterator[Callable[[str, Any], Any]]:
    """Yield functions that try to load a task reference: `(reference, run options) -> tasks or None`."""
    return _resolved(RECOGNISERS)


def signposts() -> Iterator[Callable[[str], AssayError | None]]:
    """Yield functions that check whether an unknown task name belongs to another tool: `name -> error or None`."""
    return _resolved(SIGNPOSTS)


def _resolved(targets: tuple[str, ...]) -> Iterator[Any]:
    for target in targets:
        module, _, attribute = target.partition(":")
        yield getattr(importlib.import_module(module), attribute)
