"""Runs `assay …` and kills its own process at one call of a function: `killed_at.py MODULE FUNCTION CALL -- run …`.

Where the function writes, half of what it was given is written first: the kill comes in the middle. Nothing is caught
and nothing is cleaned up: it is the kernel that ends the process. Without reaching that call the command just ends.
"""

import importlib
import os
import signal
import sys


def kill_at(module: str, name: str, call: int) -> None:
    """Takes the place of a function, or of a method: `assay.store.index:Index _add_output 3`."""
    path, _, owner = module.partition(":")
    holder = importlib.import_module(path)
    holder = getattr(holder, owner) if owner else holder
    real, calls = getattr(holder, name), 0

    def counted(*values, **more):
        nonlocal calls
        calls += 1
        if calls == call:
            if real is os.write:
                real(values[0], values[1][: len(values[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*values, **more)

    setattr(holder, name, counted)


if __name__ == "__main__":
    settings, arguments = (
        sys.argv[1 : sys.argv.index("--")],
        sys.argv[sys.argv.index("--") + 1 :],
    )
    kill_at(settings[0], settings[1], int(settings[2]))
    from assay.cli.main import main

    sys.exit(main(arguments))
