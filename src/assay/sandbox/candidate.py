"""Runs inside a sandbox: executes a program that a model wrote, then answers calls of its functions.

Called by `inside`, or by `serving` in a fork. Whatever the program does to this process, it can only change what its
own functions return: the tests run in another sandbox, and the verdict goes over a pipe that is not open here.
"""

import builtins
import sys

from values import Gone, Handles, Link, decoded, encoded  # type: ignore[import-not-found]

MODULE = "program"
"""The program's name for itself: it is not `__main__`, as it is not in the official runners."""


def serve(program: bytes, link: Link) -> None:
    """Loads the program and answers until nobody asks any more."""
    handles, module = Handles(), type(sys)(MODULE)
    sys.modules[MODULE] = module
    scope = module.__dict__
    scope["__builtins__"] = builtins
    link.send(
        {"ready": True}
    )  # what goes wrong from here on is the program's own doing
    try:
        text = program.decode("utf-8", "surrogateescape")
        exec(compile(text, "program.py", "exec"), scope)  # noqa: S102 - what the sandbox is for
        link.send({"loaded": True})
    except BaseException as error:  # noqa: BLE001 - whatever it is, the other side is told
        link.send(_raised(error))
        return
    while True:
        request = link.receive()
        try:
            link.send(_answer(request, scope, handles))
        except Gone:
            raise
        except BaseException as error:  # noqa: BLE001
            link.send(_raised(error))


def _answer(request: dict, scope: dict, handles: Handles) -> dict:  # type: ignore[type-arg]
    thing_of = lambda number, _: handles[number]  # noqa: E731
    verb = request["verb"]
    if verb == "name":
        return {
            "value": encoded(scope[request["name"]], handles),
            "callable": callable(scope[request["name"]]),
        }
    thing = scope[request["name"]] if "name" in request else handles[request["handle"]]
    if verb == "call":
        args = [decoded(one, thing_of) for one in request["args"]]
        kwargs = {
            name: decoded(one, thing_of) for name, one in request["kwargs"].items()
        }
        value = thing(*args, **kwargs)
        return {
            "value": encoded(value, handles),
            "args": [encoded(one, handles) for one in args],
        }
    if verb == "set":
        setattr(thing, request["attribute"], decoded(request["value"], thing_of))
        value = None
    elif verb == "attribute":
        value = getattr(thing, request["attribute"])
    elif verb == "item":
        value = thing[decoded(request["key"], thing_of)]
    else:
        ways: dict = {"bool": bool, "len": len, "iter": iter, "next": next, "str": str}  # type: ignore[type-arg]
        value = ways[verb](thing)
    return {"value": encoded(value, handles)}


def _raised(error: BaseException) -> dict:  # type: ignore[type-arg]
    try:
        message = str(error)[:2000]
    except BaseException:  # noqa: BLE001 - its text is the program's own doing
        message = ""
    return {"raised": type(error).__name__, "message": message}


def main(facts: dict) -> None:  # type: ignore[type-arg]
    """Answers until nobody asks any more; `facts` has the program and the descriptors to speak over."""
    getattr(sys, "set_int_max_str_digits", int)(0)  # not in every Python of an image
    try:
        serve(facts["program"], Link(facts["reading"], facts["writing"]))
    except Gone:
        pass
