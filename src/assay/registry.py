"""Registries: names for the things people write, loaded when first asked for.

A registry maps a name to a target `"module:attribute"` that is imported on demand, or to an object that was registered.
Two different things under one name are an error; an unknown name is answered with the nearest known one.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from .catalogue import (
    BENCHMARKS,
    DATASETS,
    MODEL_RECOGNISERS,
    MODELS,
    RECOGNISERS,
    SCORERS,
    SUMMARIZERS,
    TEMPLATES,
)
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
    """Where a name leads, and a line about it that `assay ls` prints without importing anything."""

    target: Any
    summary: str = ""


class Registry(Generic[T]):
    """Names of one kind of component."""

    def __init__(
        self, kind: str, targets: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        self.kind = kind
        self._entries = {
            name: Entry(target, summary)
            for name, (target, summary) in (targets or {}).items()
        }

    def register(self, name: str, summary: str = "") -> Callable[[T], T]:
        """A decorator that gives an object a name and returns it untouched."""

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

    def get(self, name: str, *, where: str | None = None) -> T:
        """The object behind a name, imported if need be."""
        entry = self._entry(name, where)
        if not isinstance(entry.target, str):
            return entry.target  # type: ignore[no-any-return]
        module, _, attribute = entry.target.partition(":")
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]

    def build(self, spec: Any, *, where: str | None = None) -> Any:
        """The component a spec describes: a class is built from its options, a function takes them as keywords."""
        spec = Spec.of(spec, where=where)
        return construct(
            self.get(spec.name, where=where), spec, kind=self.kind, where=where
        )

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._entries)

    def summary(self, name: str) -> str:
        """The line `assay ls` prints."""
        return self._entry(name, None).summary

    def where(self, name: str) -> str:
        """Where a name is defined, as `file:line`; imports it."""
        return place_of(self.get(name))

    def resolve(self, name: str) -> str | None:
        """The registered spelling of a name, forgiving case and `-`/`_`; `None` if there is none.

        A variant may be written with `@`: `mme@upstream` is `mme_upstream`.
        """
        if name in self._entries:
            return name
        folded = _folded(name)
        return next(
            (other for other in self._entries if _folded(other) == folded), None
        )

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.resolve(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._entries)

    def _entry(self, name: str, where: str | None) -> Entry:
        spelling = self.resolve(name)
        if spelling is None:
            raise UnknownName(self.kind, name, self._entries, where=where)
        return self._entries[spelling]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_").replace("@", "_")


def construct(thing: Any, spec: Spec, *, kind: str, where: str | None = None) -> Any:
    """Builds a component from its options; an unknown or missing option is an error that names the known ones."""
    options = dict(spec.options)
    if inspect.isclass(thing):
        check_options(thing, options, f"{kind} {spec.name!r}", where)
        try:
            return thing(**options)
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            raise blamed(
                ComponentError, error, f"{kind} {spec.name!r} could not be built"
            ) from error
    if options:
        check_options(thing, options, f"{kind} {spec.name!r}", where)
        return _with_options(thing, options)
    return thing


def check_options(
    thing: Any, options: Mapping[str, Any], what: str, where: str | None = None
) -> None:
    """Raises for an option that `thing` does not have, and for one it needs and was not given."""
    names, required = _parameters(thing)
    for name in options:
        if names is not None and name not in names:
            fix = (
                suggest(name, sorted(names), "known options:")
                if names
                else "it has none"
            )
            raise UnknownOption(what, name, where=where, fix=fix)
    if inspect.isclass(thing):
        lacking = [name for name in required if name not in options]
        if lacking:
            raise UsageError(
                f"{what} needs the option {lacking[0]!r}",
                where=where,
                fix=f"add {lacking[0]}: …",
            )


def _parameters(thing: Any) -> tuple[set[str] | None, list[str]]:
    """Names that can be given, and those that must be; `None` when anything goes."""
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


def _with_options(function: Any, options: Mapping[str, Any]) -> Any:
    def configured(*args: Any) -> Any:
        return function(*args, **options)

    configured.__name__ = getattr(function, "__name__", "configured")
    configured.__doc__ = function.__doc__
    configured.__wrapped__ = function  # type: ignore[attr-defined]
    return configured


def _same(target: Any, thing: Any) -> bool:
    if isinstance(target, str):
        return (
            target
            == f"{getattr(thing, '__module__', '')}:{getattr(thing, '__qualname__', '')}"
        )
    return target is thing


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def place_of(thing: Any) -> str:
    """Where a thing is written, as `file:line`; else by its module and name."""
    if isinstance(thing, str):
        return thing
    try:
        target = (
            thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
        )
        file = inspect.getsourcefile(target)
        _, line = inspect.getsourcelines(target)
        return f"{file}:{line}"
    except (TypeError, OSError):
        return f"{getattr(thing, '__module__', '?')}:{getattr(thing, '__qualname__', type(thing).__name__)}"


datasets: Registry[Any] = Registry("dataset", DATASETS)
templates: Registry[Any] = Registry("template", TEMPLATES)
models: Registry[Any] = Registry("model", MODELS)
scorers: Registry[Any] = Registry("scorer", SCORERS)
summarizers: Registry[Any] = Registry("summarizer", SUMMARIZERS)
tasks: Registry[Any] = Registry("task", BENCHMARKS)

ALL: dict[str, Registry[Any]] = {
    "tasks": tasks,
    "models": models,
    "scorers": scorers,
    "datasets": datasets,
    "templates": templates,
    "summarizers": summarizers,
}


def model_recognisers() -> Iterator[
    Callable[[str, Mapping[str, Any], str | None], Any]
]:
    """Functions that may know a model in a user's file: `(reference, arguments, dialect) -> model or None`."""
    return _resolved(MODEL_RECOGNISERS)


def recognisers() -> Iterator[Callable[[str, Any], Any]]:
    """Functions that may know what a task reference stands for: `(reference, run options) -> tasks or None`."""
    return _resolved(RECOGNISERS)


def _resolved(targets: tuple[str, ...]) -> Iterator[Any]:
    for target in targets:
        module, _, attribute = target.partition(":")
        yield getattr(importlib.import_module(module), attribute)
