"""Runs inside a sandbox of its own: executes tests against a program that lives in another one.

Called by `inside`, or by `serving` in a fork, with `facts`: `tests` with `before` (code that is the benchmark's own),
`test`, `entry` (a name of the program that the code before also defines) and `call`; the descriptors to speak over; a
number. Names that the tests use and nobody here defines are the program's. Only this process has the verdict's pipe and
the number that makes a line on it count.
"""

import builtins
import posix
import sys

from values import Gone, Handles, Link, decoded, dumps, encoded, restore  # type: ignore[import-not-found]

_ONLY_TREE = 0x400
"""What makes `compile` stop at the syntax tree; the module `ast` would be imported for nothing else."""


class ProgramError(Exception):
    """The program raised something that has no name here, or ended."""


class Remote:
    """A thing of the program: calls and questions go to the other process."""

    _link: Link
    _where: dict  # type: ignore[type-arg]
    _kind: str

    def __init__(self, link: Link, where: dict, kind: str = "") -> None:  # type: ignore[type-arg]
        self.__dict__.update(_link=link, _where=where, _kind=kind)

    def _ask(self, verb: str, **more: object) -> dict:  # type: ignore[type-arg]
        return _asked(self._link, {"verb": verb, **self._where, **more})

    def _value(self, verb: str, **more: object) -> object:
        return _decoded(self._link, self._ask(verb, **more)["value"])

    def __call__(self, *args: object, **kwargs: object) -> object:
        handles = Handles()
        plain = [_encoded(one, handles) for one in args]
        reply = self._ask(
            "call",
            args=plain,
            kwargs={name: _encoded(one, handles) for name, one in kwargs.items()},
        )
        for one, before, after in zip(args, plain, reply.get("args", ()), strict=False):
            if before != after:
                restore(one, _decoded(self._link, after))
        return _decoded(self._link, reply["value"])

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._value("attribute", attribute=name)

    def __setattr__(self, name: str, value: object) -> None:
        self._ask("set", attribute=name, value=_encoded(value, Handles()))

    def __getitem__(self, key: object) -> object:
        return self._value("item", key=_encoded(key, Handles()))

    def __iter__(self) -> "Remote":
        return self._value("iter")  # type: ignore[return-value]

    def __next__(self) -> object:
        return self._value("next")

    def __len__(self) -> int:
        return int(str(self._value("len")))

    def __bool__(self) -> bool:
        return self._value("bool") is True

    def __str__(self) -> str:
        return str(self._value("str"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self._where == other._where

    def __hash__(self) -> int:
        return hash(tuple(self._where.items()))


def _encoded(value: object, handles: Handles) -> object:
    if isinstance(value, Remote):
        if "handle" not in value._where:
            raise TypeError("a function of the program cannot be handed to it by name")
        return {"handle": value._where["handle"], "type": value._kind}
    plain = encoded(value, handles)
    if isinstance(plain, dict) and "handle" in plain:
        raise TypeError(
            f"a {type(value).__name__} of the tests cannot be handed to the program"
        )
    return plain


def _decoded(link: Link, plain: object) -> object:
    return decoded(plain, lambda number, kind: Remote(link, {"handle": number}, kind))


def _asked(link: Link, message: dict) -> dict:  # type: ignore[type-arg]
    try:
        link.send(message)
        reply = link.receive()
    except Gone:
        raise ProgramError("the program ended") from None
    if "raised" in reply:
        kind = getattr(builtins, str(reply["raised"]), None)
        is_usual = isinstance(kind, type) and issubclass(kind, Exception)
        raise (kind if is_usual else ProgramError)(
            f"{reply['raised']}: {reply.get('message', '')}"
        )  # type: ignore[misc]
    return dict(reply)


def unknown_names(*codes: str) -> list:  # type: ignore[type-arg]
    """Names that some code reads, and neither it nor Python defines."""
    read: set = set()  # type: ignore[type-arg]
    bound = set(dir(builtins))
    for code in codes:
        for node in _nodes(compile(code, "tests.py", "exec", _ONLY_TREE)):
            kind = type(node).__name__
            if kind == "Name":
                (read if type(node.ctx).__name__ == "Load" else bound).add(node.id)
            elif kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
                bound.add(node.name)
            elif kind == "arg":
                bound.add(node.arg)
            elif kind == "alias":
                bound.add((node.asname or node.name).partition(".")[0])
            elif kind in ("ExceptHandler", "MatchAs", "MatchStar") and node.name:
                bound.add(node.name)
    return sorted(read - bound)


def _nodes(tree: object):  # type: ignore[no-untyped-def] # `typing` is not imported here
    """Every node of a syntax tree."""
    waiting: list = [tree]  # type: ignore[type-arg]
    while waiting:
        node = waiting.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            for one in value if isinstance(value, list) else (value,):
                if hasattr(one, "_fields"):
                    waiting.append(one)


def run(prepared: tuple, link: Link) -> str:  # type: ignore[type-arg]
    """Executes the tests; empty if all hold, else why they do not."""
    try:
        first = link.receive()
    except Gone:
        return "the program ended while it was loaded"
    if "raised" in first:
        return (
            f"the program does not load: {first['raised']}: {first.get('message', '')}"
        )
    scope, codes, names = prepared
    for name in names:
        scope[name] = Remote(link, {"name": name})
    for code in codes:
        exec(code, scope)  # noqa: S102
    return ""


def prepare(tests: dict) -> tuple:  # type: ignore[type-arg]
    """The names, the compiled tests and whose names they lack; raises where the tests themselves are at fault."""
    scope: dict = {"__name__": "tests", "__builtins__": builtins}  # type: ignore[type-arg]
    texts = [tests.get("before", ""), tests.get("test", ""), tests.get("call", "")]
    names = [*unknown_names(*texts), *([tests["entry"]] if tests.get("entry") else [])]
    before, *codes = [compile(text, "tests.py", "exec") for text in texts]
    exec(before, scope)  # noqa: S102 - the benchmark's own code
    return scope, codes, names


def main(facts: dict) -> None:  # type: ignore[type-arg]
    """Runs the tests and writes two lines: that the program's process stands, and the verdict."""
    getattr(sys, "set_int_max_str_digits", int)(0)  # not in every Python of an image
    verdict, nonce, link = (
        facts["verdict"],
        facts["nonce"],
        Link(facts["reading"], facts["writing"]),
    )
    posix.set_inheritable(verdict, False)
    try:
        link.receive()
    except Gone:
        return  # the other sandbox did not start: no verdict
    try:
        prepared = prepare(facts["tests"])
    except BaseException as error:  # noqa: BLE001 - no fault of the program, which has not been asked yet
        _say(verdict, {"nonce": nonce, "fault": _described(error)})
        return
    _say(verdict, {"nonce": nonce, "ready": True})
    reason, passed = "", False
    try:
        reason = run(prepared, link)
        passed = not reason
    except BaseException as error:  # noqa: BLE001 - a test that fails, in whatever way
        reason = _described(error)
    _say(
        verdict, {"nonce": nonce, "passed": passed, "reason": reason, "gone": link.gone}
    )


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:2000]
    except BaseException:  # noqa: BLE001 - its text may be the program's own doing
        return type(error).__name__


def _say(number: int, line: dict) -> None:  # type: ignore[type-arg]
    posix.write(number, dumps(line).encode("ascii") + b"\n")
