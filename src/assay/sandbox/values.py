"""Values between two processes that do not trust each other: plain data by content, everything else by a handle.

Both sides run this file; it imports nothing but the standard library. A value travels as the plain value of its base
type, so that a subclass with an `__eq__` of its own cannot compare as it likes on the other side.
"""

import posix
from _collections import deque  # type: ignore[import-not-found]

MYPY = False  # `typing` is a third of what starting to listen would cost
if MYPY:
    from typing import Any

LONGEST_MESSAGE = 64 << 20


class Gone(Exception):
    """The other side has closed the connection."""


class _Reading:
    """How the scanner of `json` reads; the package itself would take longer to import than all else here."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def _codec() -> "tuple[Any, Any]":
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner
    except ImportError:  # another Python than CPython
        import json

        return json.dumps, json.loads
    encoder = make_encoder(
        None, None, encode_basestring_ascii, None, ":", ",", False, False, True
    )  # type: ignore[arg-type]
    scanner = make_scanner(_Reading)  # type: ignore[arg-type]

    def written(value: "Any") -> str:
        return "".join(encoder(value, 0))

    def read(data: bytes) -> "Any":
        text = data.decode("ascii")
        try:
            value, end = scanner(text, 0)
        except StopIteration:
            raise ValueError("no JSON") from None
        if end != len(text):
            raise ValueError("more than JSON")
        return value

    return written, read


dumps, loads = _codec()


class Link:
    """Messages over two pipes."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self.gone = False
        """Whether the other side was found to have closed the connection."""

    def send(self, message: "dict[str, Any]") -> None:
        """Writes one message, whole."""
        data = dumps(message).encode("ascii")
        if len(data) > LONGEST_MESSAGE:
            raise ValueError("the value is too large to be handed over")
        view = memoryview(len(data).to_bytes(4, "big") + data)
        while view:
            try:
                view = view[posix.write(self._writing, view) :]
            except OSError as error:
                self.gone = True
                raise Gone from error

    def receive(self) -> "dict[str, Any]":
        """Reads one message, whole."""
        length = int.from_bytes(self._exactly(4), "big")
        if length > LONGEST_MESSAGE:
            raise Gone
        try:
            message = loads(self._exactly(length))
        except (ValueError, RecursionError) as error:
            raise Gone from error
        if not isinstance(message, dict):
            raise Gone
        return message

    def _exactly(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = posix.read(self._reading, min(count, 1 << 16))
            if not piece:
                self.gone = True
                raise Gone
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


class Handles:
    """The things of one side that the other knows by number."""

    def __init__(self) -> None:
        self._things: list[Any] = []

    def number(self, thing: "Any") -> int:
        """The number of a thing; the same thing keeps it."""
        for number, other in enumerate(self._things):
            if other is thing:
                return number
        self._things.append(thing)
        return len(self._things) - 1

    def __getitem__(self, number: int) -> "Any":
        return self._things[number]


_SEQUENCES: "tuple[tuple[str, Any], ...]" = (
    ("list", list),
    ("tuple", tuple),
    ("set", set),
    ("frozenset", frozenset),
)


def encoded(value: "Any", handles: Handles) -> "Any":
    """A value as JSON."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        return {"int": format(int.__index__(value), "x")}
    if isinstance(value, float):
        return {"float": float.__repr__(value)}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, complex):
        return {"complex": [float.__repr__(value.real), float.__repr__(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        kind = "bytes" if isinstance(value, bytes) else "bytearray"
        return {kind: bytes(value).hex()}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    for name, base in _SEQUENCES:
        if isinstance(value, base):
            return {name: [encoded(item, handles) for item in base.__iter__(value)]}
    if isinstance(value, dict):
        return {
            "dict": [
                [encoded(k, handles), encoded(v, handles)] for k, v in dict.items(value)
            ]
        }
    if isinstance(value, deque):
        return {"list": [encoded(item, handles) for item in deque.__iter__(value)]}
    return {"handle": handles.number(value), "type": type(value).__name__}


def decoded(plain: "Any", thing_of: "Any") -> "Any":
    """The value behind JSON; `thing_of(number, type)` gives what stands for a thing of the other side."""
    if not isinstance(plain, dict):
        return plain
    (kind, content), *_ = plain.items()
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(float(content[0]), float(content[1]))
    if kind in ("bytes", "bytearray"):
        return (bytes if kind == "bytes" else bytearray).fromhex(content)
    if kind == "range":
        return range(*content)
    if kind == "dict":
        return {decoded(k, thing_of): decoded(v, thing_of) for k, v in content}
    for name, build in _SEQUENCES:
        if kind == name:
            return build(decoded(item, thing_of) for item in content)
    return thing_of(content, plain.get("type", ""))


def restore(value: "Any", content: "Any") -> None:
    """Gives a mutable argument the content it has on the other side now."""
    if isinstance(value, (list, bytearray)):
        value[:] = content
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(content)
