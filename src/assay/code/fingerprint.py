"""Fingerprints: digests of the code and the state of a component, and of the parts of a sample that a scorer may read.

A user's code is identified by the bytes of its file and of all the user's files it
imports (`sources`), so that every edit changes the digest. An object is identified by
its class and attributes, a partial by its arguments, a closure by its values. The order
of sets and mappings is ignored. A field with `compare=False` is left out, because it is
not part of the object's value.

The module also detects scores that are outdated because their sample changed. A scorer
may read all of a sample. So a corrected answer, tag or reference column makes the old
score outdated, although the question, and hence the model's answer, stays the same. A
score line has the scorer's digest followed by the sample's.
"""

import enum
import inspect
import os
import re
import sys
import uuid
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, cached_property, partial
from hashlib import blake2b, sha256
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import msgspec

from ..core import AssayError, DataError, Sample, canonical, digest_of
from ..core.media import Media
from .data_files import digest_of_data
from .sources import digest_behind, is_own, is_users, version_of
from .typed_code import closure_of, file_of

MOST_VALUES = 500_000
"""Maximum number of values that are hashed for one component.

A component with more values is treated as changed each time, because scoring again costs
less than hashing it.
"""
LARGEST_ARRAY = 1 << 28


def code_digest(thing: object) -> str:
    """Return the digest of a component's code, options and state. JSON data are hashed directly."""
    try:
        return digest_of(_Describing().of(thing))
    except _TooLarge:
        return digest_of(["too large", uuid.uuid4().hex])


class _TooLarge(Exception):
    """Raised if a component has too many values to hash."""


class _Describing:
    """Converts one component to JSON data. A value that occurs several times is converted once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        """The described object and its description, by id. The object is kept alive, because Python reuses ids."""
        self._left = MOST_VALUES
        self._behind = cache(digest_behind)

    def of(self, thing: object) -> object:
        """Return an object as JSON data that represent its code and state."""
        self._left -= 1
        if self._left < 0:
            raise _TooLarge
        if thing is None or type(thing) in (str, int, float, bool):
            return thing
        if isinstance(thing, (bytes, bytearray, memoryview)):
            return {"bytes": digest_of(bytes(thing))}
        if id(thing) not in self._known:
            self._known[id(thing)] = thing, {"within itself": type(thing).__qualname__}
            describe = next(way for kind, way in self._ways if isinstance(thing, kind))
            described = describe(self, thing)
            is_container = isinstance(thing, (list, tuple, Mapping))
            self._known[id(thing)] = (
                thing,
                described if is_container else digest_of(described),
            )
        return self._known[id(thing)][1]

    def _sequence(self, thing: Sequence[Any]) -> object:
        listed = [self.of(value) for value in thing]
        if type(thing) in (list, tuple):
            return listed
        return {"kind": self.of(type(thing)), "values": listed}

    def _mapping(self, thing: Mapping[Any, Any]) -> dict[str, object]:
        if all(type(key) is str for key in thing):
            return {key: self.of(value) for key, value in thing.items()}
        pairs = [[self.of(key), self.of(value)] for key, value in thing.items()]
        return {"pairs": sorted(pairs, key=canonical)}

    def _set(self, thing: Collection[Any]) -> object:
        return {
            "set": sorted(
                canonical(self.of(value)).decode("utf-8", "replace") for value in thing
            )
        }

    def _function(self, thing: FunctionType) -> object:
        code = thing.__code__
        described: dict[str, Any] = {
            "name": thing.__qualname__,
            "line": code.co_firstlineno,
        }
        if Path(code.co_filename).is_file():
            described["code"] = self._behind(code.co_filename)
            if data := digest_of_data(thing):
                described["data"] = data
        else:
            described |= self._code(
                code, thing.__globals__
            )  # As in a notebook: there is no file to read.
        described["closure"] = [self.of(value) for value in closure_of(thing).values()]
        described["defaults"] = self.of([thing.__defaults__, thing.__kwdefaults__])
        described["attributes"] = self.of(thing.__dict__)
        return described

    def _code(
        self,
        code: CodeType,
        names: Mapping[str, Any],
    ) -> dict[str, Any]:
        inner = [
            constant for constant in code.co_consts if isinstance(constant, CodeType)
        ]
        return {
            "line": 0,
            "bytecode": digest_of(code.co_code),
            "constants": [
                self.of(c) for c in code.co_consts if not isinstance(c, CodeType)
            ],
            "inner": [self._code(each, names) for each in inner],
            "names": list(code.co_names),
            "globals": {
                name: self.of(names[name])
                for name in sorted(code.co_names)
                if name in names
            },
        }

    def _class(self, thing: type) -> dict[str, object]:
        file = _file_of(thing)
        if not file:
            return {"name": f"{thing.__module__}.{thing.__qualname__}"}
        described: dict[str, Any] = {
            "name": thing.__qualname__,
            "code": self._behind(file),
        }
        described["bases"] = [self.of(base) for base in thing.__bases__]
        if is_users(file):
            # Functions may create classes, and other files may change them.
            attributes = {
                name: value
                for name, value in vars(thing).items()
                if not _is_machinery(name, value)
            }
            described["attributes"] = self.of(attributes)
        return described

    def _built_in(self, thing: BuiltinFunctionType) -> object:
        owner = thing.__self__
        if owner is None or isinstance(owner, ModuleType):
            bound = None
        else:
            bound = self.of(owner)
        return {"name": thing.__qualname__, "of": bound, **_library(thing)}

    def _module(self, thing: ModuleType) -> dict[str, object]:
        file = getattr(thing, "__file__", None)
        if file and is_users(file):
            return {"module": self._behind(file)}
        return {"module": thing.__name__, **_library(thing)}

    def _descriptor(self, thing: object) -> object:
        functions = [
            getattr(thing, name, None)
            for name in ("__func__", "func", "fget", "fset", "fdel")
        ]
        return {
            "kind": type(thing).__name__,
            "functions": [self.of(function) for function in functions],
        }

    def _media(self, thing: Media) -> object:
        try:
            return {"media": thing.digest}
        except DataError as error:
            return {"media": str(error)}

    def _object(self, thing: object) -> object:
        kind = type(thing)
        file = _file_of(kind)
        described: dict[str, Any] = {"class": self.of(kind)}
        if not is_own(file):
            described["builders"] = self._builders(thing)
        if (wrapped := inspect.getattr_static(thing, "__wrapped__", None)) is not None:
            return {**described, "wrapped": self.of(wrapped)}
        if hasattr(kind, "tobytes") and hasattr(kind, "dtype"):
            return {**described, "array": self._array(thing)}
        for plain in (str, int, float):
            if isinstance(thing, plain):
                described["value"] = plain.__repr__(thing)
        if not file:
            return {**described, "state": self.of(_reduced_state(thing))}
        state = _state(thing)
        if is_dataclass(thing):
            counted = {f.name: f.compare for f in fields(thing)}
            if not is_users(file):
                state = {
                    name: value for name, value in state.items() if name in counted
                }
            state = {
                name: value for name, value in state.items() if counted.get(name, True)
            }
        return {**described, "state": self.of(state)}

    def _array(self, thing: Any) -> object:
        if getattr(thing, "nbytes", 0) > LARGEST_ARRAY:
            raise _TooLarge
        if str(thing.dtype) == "object":
            return self.of(thing.tolist())
        return [
            str(thing.dtype),
            list(getattr(thing, "shape", ())),
            digest_of(thing.tobytes()),
        ]

    @cached_property
    def _ids_of_globals(
        self,
    ) -> tuple[frozenset[int], list[tuple[str, frozenset[int]]]]:
        """Return the ids of all global values in users' modules: one set for all, and one for each file."""
        by_file = []
        every: set[int] = set()
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or not is_users(file):
                continue
            values = list(vars(module).values())
            ids = frozenset(map(id, values))
            by_file.append((file, ids))
            every |= ids
        return frozenset(every), by_file

    def _builders(self, thing: object) -> list[str]:
        """Return digests of the user's files in which the object is a global variable.

        These files may contain the code that created it.
        """
        every, by_file = self._ids_of_globals
        if id(thing) in every:
            files = {file for file, named in by_file if id(thing) in named}
        else:
            files = set()
        return sorted({self._behind(file) for file in files if Path(file).is_file()})

    _ways: tuple[tuple[Any, Callable[["_Describing", Any], Any]], ...] = (
        (enum.Enum, lambda d, it: {"enum": d.of(type(it)), "name": it.name}),
        (Mapping, _mapping),
        ((list, tuple), _sequence),
        ((set, frozenset), _set),
        (FunctionType, _function),
        (type, _class),
        (
            MethodType,
            lambda d, it: {"method": d.of(it.__func__), "of": d.of(it.__self__)},
        ),
        (
            partial,
            lambda d, it: {
                "partial": [
                    d.of(part) for part in (it.func, it.args, it.keywords, it.__dict__)
                ]
            },
        ),
        (BuiltinFunctionType, _built_in),
        (ModuleType, _module),
        ((staticmethod, classmethod, property, cached_property), _descriptor),
        (PurePath, lambda _, path: {"path": str(path)}),
        (
            re.Pattern,
            lambda d, it: {"pattern": d.of(it.pattern), "flags": int(it.flags)},
        ),
        (Media, _media),
        (object, _object),
    )
    """Pairs of a type and the function that converts its objects. The first matching type is used."""


def _state(thing: object) -> dict[str, Any]:
    """Return the attributes of an object except cached properties."""
    state = object.__getstate__(thing)  # type: ignore[attr-defined] # not what the class would have copied instead
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    return {
        name: value
        for name, value in {**(attributes or {}), **(slots or {})}.items()
        if not isinstance(
            inspect.getattr_static(type(thing), name, None), cached_property
        )
    }


def _reduced_state(thing: object) -> object:
    """Return the state of a built-in object as `copy.copy` would copy it; None for locks and open files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = thing.__reduce_ex__(2)
    except (TypeError, AttributeError, ValueError, NotImplementedError):
        return None
    if isinstance(parts, str):
        return parts
    arguments, state, *listed = (*parts[1:], None, None)[:4]
    return [
        arguments,
        state,
        *(None if items is None else list(items) for items in listed),
    ]


def _file_of(kind: type) -> str:
    """Return the file that defines a class; empty for Python's own classes and those of compiled libraries."""
    is_pythons = kind.__module__.partition(".")[0] in sys.stdlib_module_names - {
        "__main__"
    }
    return "" if is_pythons else file_of(kind)


def _library(thing: object) -> dict[str, Any]:
    name = str(
        getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    ).partition(".")[0]
    if not name or name in sys.stdlib_module_names:
        return {}
    return {"library": name, "version": version_of(name)}


def _is_machinery(name: str, value: object) -> bool:
    """Return True for attributes that Python adds to every class."""
    if (
        name.startswith("_abc_")
        or inspect.isgetsetdescriptor(value)
        or inspect.ismemberdescriptor(value)
    ):
        return True
    return (
        name.startswith("__")
        and name.endswith("__")
        and not isinstance(value, FunctionType)
    )


DIGEST_BYTES = 6
LONGEST_NAME = 4096
"""Texts up to this length may be file names or URLs.

A longer text is the content of a medium, which the request key already covers.
"""


def _plain(value: object) -> object:
    """Convert a value that JSON does not support to one that it does.

    A large value is replaced with its digest instead of being copied as text.
    """
    if isinstance(value, Media):
        source = value.source
        if isinstance(source, (str, os.PathLike)) and len(str(source)) < LONGEST_NAME:
            # By name, because the request key already covers the bytes that the model sees.
            return [
                value.kind,
                source if isinstance(source, str) else os.path.abspath(source),
            ]
        return [value.kind, value.digest]
    if hasattr(value, "tobytes"):
        facts = [
            str(getattr(value, name, "")) for name in ("dtype", "shape", "mode", "size")
        ]
        return [facts, blake2b(value.tobytes(), digest_size=DIGEST_BYTES).hexdigest()]
    if hasattr(type(value), "row_digest"):
        # For rows that are looked up cell by cell.
        return getattr(value, "row_digest", None)
    if hasattr(value, "items"):
        return dict(value.items())
    if not {"__str__", "__repr__"} & {
        name for base in type(value).__mro__[:-1] for name in vars(base)
    }:
        return [type(value).__qualname__, getattr(value, "__dict__", None)]
    return str(value)


_encode = msgspec.json.Encoder(
    enc_hook=_plain,
    order="deterministic",
).encode


def _encode_row(value: object) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, AssayError):
        return repr(
            value
        ).encode()  # Lone surrogates, huge integers and unreadable media.


def rows_digest(rows: Sequence[Any]) -> str:
    """Return the digest of rows that a user's function returned.

    The digest covers the rows, because the function may read any data.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    for row in rows:
        digest.update(_encode_row(row))
    return digest.hexdigest()


def judged_digest(sample: Sample) -> str:
    """Return the digest of everything in a sample that a scorer may read or that a score line contains."""
    fields: Any = sample.fields
    if sample.media and isinstance(fields, dict):
        # An image in a cell is hashed once, as a medium.
        sources = {id(medium.source) for medium in sample.media}
        fields = {
            name: None if id(cell) in sources else cell for name, cell in fields.items()
        }
    read = (
        sample.input,
        sample.target,
        sample.choices,
        fields,
        sample.turns,
        sample.media,
    )
    # An empty mapping view would take the slow path of the encoder.
    parts: tuple[Any, ...] = (read, sample.tags or {}, sample.group, sample.cluster)
    if sample.weight is not None:
        parts = (*parts, sample.weight)
    return sha256(_encode_row(parts)).hexdigest()[: 2 * DIGEST_BYTES]
