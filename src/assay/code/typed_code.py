"""Code without a file: functions and classes of notebook cells, `python -c`, `python
-i` and stdin.

The digest of such code covers its bytecode, which comments and blank lines do not
change, and the values that it names: constants, globals, defaults, closure values, and
functions of the same session that it calls. For a value that is not JSON data, only the
class is used. Values whose names suggest a secret are left out.
"""

import dis
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..core import digest_of
from ..core.secrets import is_secret_name, without_keys
from .sources import is_users

_PLAIN = (str, int, float, bool, bytes, list, tuple, dict, set, frozenset)
BUILDING = ("__init__", "__post_init__", "__new__", "__setattr__")
MOST_VALUES = 100_000
"""Maximum number of values to inspect. After that, only the class and length of a container are used."""


def file_of(kind: Callable[..., Any]) -> str:
    """Return the file in which a function or class was written; empty if no such file exists."""
    try:
        file = inspect.getsourcefile(kind) or inspect.getfile(kind)
    except (TypeError, OSError):
        return ""
    return file if Path(file).is_file() else ""


def digest_of_code(thing: object) -> str:
    """Return the digest of a function or a class, and of the values it names."""
    return digest_of(_Described().of(thing))


def digest_of_state(thing: object) -> str:
    """Return the digest of the values in a closure, a method's object or a callable
    object; empty without such values.
    """
    values: Sequence[object]
    if isinstance(thing, FunctionType):
        values = list(_constant_closure(thing).values())
    else:
        values = _settings(getattr(thing, "__self__", thing))
    if values:
        return digest_of(_Described().of(values))
    return ""


_first_seen: dict[tuple[int, str], tuple[Any, str]] = {}
"""Digests of modules' data when first inspected, before a run could change them. Keys
are id and folder.

The data are also stored here, because an id is only valid while its object exists.
"""


def digest_of_globals(function: FunctionType) -> str:
    """Return the digest of the data that a function names.

    It includes the data named by functions in the same file that the function calls.
    The path of the file is not included.
    """
    values = function.__globals__
    folder = str(Path(function.__code__.co_filename).parent)
    functions = [function]
    digests = dict[str, str]()
    for current in functions:  # The list grows during the loop.
        named = {name for code in _codes(current.__code__) for name in code.co_names}
        for name in sorted(values.keys() & named - _assigned_names(current.__code__)):
            value = values[name]
            if isinstance(value, FunctionType) and value.__globals__ is values:
                functions += [value] if value not in functions else []
            elif (
                type(value) in _PLAIN
                and not is_secret_name(name)
                and not is_secret_name(name.rpartition("_")[2])
            ):
                if (id(value), folder) not in _first_seen:
                    text = json.dumps(_Described().of(value), sort_keys=True)
                    _first_seen[id(value), folder] = (
                        value,
                        digest_of(text.replace(json.dumps(folder)[1:-1], "")),
                    )
                digests[name] = _first_seen[id(value), folder][1]
    return digest_of(digests) if digests else ""


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _settings(owner: object) -> list[dict[str, Any]]:
    """Return the attributes of a method's object, except attributes that its methods change."""
    if (
        inspect.isclass(owner)
        or inspect.isroutine(owner)
        or isinstance(owner, ModuleType)
    ):
        return []
    file = file_of(type(owner))
    if file and not is_users(file):
        return []  # A library's object may hold anything.
    changing = _changed_attributes(type(owner))
    state = {
        name: value
        for name, value in getattr(owner, "__dict__", {}).items()
        if name not in changing
    }
    return [state] if state else []


def closure_of(function: FunctionType) -> dict[str, Any]:
    """Return the closure variables of a function with their values. Variables without a value are left out."""
    values = {}
    for name, cell in zip(
        function.__code__.co_freevars,
        function.__closure__ or (),
        strict=True,
    ):
        with suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _constant_closure(function: FunctionType) -> dict[str, Any]:
    """Return the closure variables that a function reads but never assigns to, with their values."""
    variables = _assigned_names(function.__code__)
    return {
        name: value
        for name, value in closure_of(function).items()
        if name not in variables
    }


def _assigned_names(code: CodeType, *kinds: str) -> set[str]:
    """Return the global and closure variables that code assigns to.

    With `kinds=STORE_ATTR`, return the attributes instead.
    """
    kinds = kinds or ("STORE_DEREF", "STORE_GLOBAL")
    steps = (step for inner in _codes(code) for step in dis.get_instructions(inner))
    return {str(step.argval) for step in steps if step.opname in kinds}


def _changed_attributes(kind: type) -> set[str]:
    """Return the attributes that an object's methods assign to after it was built."""
    methods = [
        value
        for base in kind.__mro__
        for name, value in vars(base).items()
        if name not in BUILDING
    ]
    functions = [method for method in methods if isinstance(method, FunctionType)]
    return set().union(
        *(_assigned_names(function.__code__, "STORE_ATTR") for function in functions)
    )


_accumulators: dict[int, Any] = {}
"""Containers that were empty when first inspected, such as logs and caches that fill up
during a run.

They are stored here, because an id is only valid while its object exists.
"""


class _Described:
    """Converts objects to JSON data, each object only once."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._left = MOST_VALUES

    def of(self, thing: object) -> object:
        """Return an object as JSON data."""
        if thing is None or type(thing) in (int, float, bool):
            return thing
        if type(thing) is str:
            return without_keys(thing)
        if isinstance(thing, (bytes, bytearray)):
            return {"bytes": digest_of(bytes(thing))}
        if isinstance(thing, (list, dict, set)) and not thing:
            _accumulators[id(thing)] = thing
        if id(thing) in _accumulators:
            return {"filled by a run": type(thing).__qualname__}
        if id(thing) in self._seen:
            return {"again": type(thing).__qualname__}
        self._seen[id(thing)] = thing
        self._left -= (
            len(thing)
            if isinstance(thing, (list, tuple, set, frozenset, Mapping))
            else 1
        )
        if self._left < 0:
            return {
                "large": [
                    type(thing).__qualname__,
                    len(thing) if hasattr(thing, "__len__") else 1,
                ]
            }
        describe = next(way for kind, way in self._ways if isinstance(thing, kind))
        return describe(self, thing)

    def _mapping(self, thing: Mapping[Any, Any]) -> dict[str, object]:
        return {
            str(key): self.of(value)
            for key, value in thing.items()
            if not is_secret_name(str(key))
        }

    def _function(self, thing: FunctionType) -> object:
        if file_of(thing):
            return {"function": f"{thing.__module__}.{thing.__qualname__}"}
        closure = {
            name: self.of(value) for name, value in _constant_closure(thing).items()
        }
        defaults = [self.of(thing.__defaults__), self.of(thing.__kwdefaults__)]
        return {
            "code": self._code(thing.__code__, thing.__globals__),
            "closure": closure,
            "defaults": defaults,
        }

    def _code(
        self,
        code: CodeType,
        names: Mapping[str, Any],
    ) -> dict[str, object]:
        variables = _assigned_names(code)
        return {
            "bytecode": digest_of(code.co_code),
            "constants": [
                self._code(constant, names)
                if isinstance(constant, CodeType)
                else self.of(constant)
                for constant in code.co_consts
            ],
            "names": list(code.co_names),
            "globals": {
                name: self.of(names[name])
                for name in code.co_names
                if name in names and name not in variables and not is_secret_name(name)
            },
        }

    def _class(self, thing: type) -> dict[str, object]:
        if file_of(thing) or thing.__module__ != "__main__":
            return {"class": f"{thing.__module__}.{thing.__qualname__}"}
        members = {
            name: self.of(value)
            for name, value in vars(thing).items()
            if not (name.startswith("__") and not callable(value))
            and not is_secret_name(name)
        }
        return {
            "class": thing.__qualname__,
            "bases": [self.of(base) for base in thing.__bases__],
            "members": members,
        }

    def _object(self, thing: object) -> object:
        kind = thing if inspect.isroutine(thing) else type(thing)
        return {"object": f"{kind.__module__}.{kind.__qualname__}"}

    _ways: tuple[tuple[Any, Callable[["_Described", Any], Any]], ...] = (
        (Mapping, _mapping),
        ((list, tuple), lambda d, it: [d.of(value) for value in it]),
        (
            (set, frozenset),
            lambda d, it: {"set": sorted(digest_of(d.of(value)) for value in it)},
        ),
        (FunctionType, _function),
        (type, _class),
        ((staticmethod, classmethod), lambda d, it: d.of(it.__func__)),
        (property, lambda d, it: [d.of(it.fget), d.of(it.fset)]),
        (ModuleType, lambda _, it: {"module": it.__name__}),
        (object, _object),
    )
