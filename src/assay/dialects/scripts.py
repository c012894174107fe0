"""Run a user's own file as `__main__`."""

import sys
from types import CodeType, ModuleType

from .shapes import Record


def run_code(code: CodeType, scope: Record) -> None:
    """Run a user's script as `__main__`. Its global names are those in `scope`, to which it adds its own.

    By naming the script in the command, the user agreed to run it.
    """
    module = ModuleType("__main__")
    module.__dict__.update(scope)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - the user's script, named on the command line
    finally:
        sys.modules["__main__"] = before
        scope.update(module.__dict__)
