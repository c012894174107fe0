"""A process that has imported what every worker needs, and forks one for each line of arguments it reads.

    python -m tools.guest_worlds.forks MODULE SECONDS

Imports cost more than most jobs do, so they are paid once. `MODULE` has `prepare()`, called before the first fork, and
`work(arguments)`, whose dictionary is printed as a line.
"""

import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
from typing import Any


def main() -> None:
    """Answers lines until there are no more."""
    module, seconds = importlib.import_module(sys.argv[1]), int(sys.argv[2])
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module.prepare()
    for line in sys.stdin:
        found = in_a_child(module, json.loads(line), seconds)
        os.write(
            out, (json.dumps(found, ensure_ascii=False, default=str) + "\n").encode()
        )


def in_a_child(module: Any, arguments: list[str], seconds: int) -> dict[str, Any]:
    """Return the result of `work` in a separate process. Kill it with all its children if it takes too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(module, arguments, writer)
    os.close(writer)
    text, end = b"", time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        piece = os.read(reader, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(reader)
    is_late = time.monotonic() >= end
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(child, 0)
    if is_late:
        return {"state": "FAILS", "detail": f"took longer than {seconds} s"}
    return (
        dict(json.loads(text))
        if text
        else {"state": "FAILS", "detail": "ended without a word"}
    )


def _work(module: Any, arguments: list[str], writer: int) -> None:
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        found = module.work(arguments)
    except BaseException:  # noqa: BLE001 - whatever it is, the survey goes on with the next file
        found = {"state": "FAILS", "detail": traceback.format_exc()[-300:]}
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        out.write(json.dumps(found, ensure_ascii=False, default=str))
    os._exit(0)


if __name__ == "__main__":
    main()
