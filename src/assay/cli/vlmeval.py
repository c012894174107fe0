"""`assay vlmeval`: VLMEvalKit's own command line."""

import sys
from collections.abc import Sequence


def command(arguments: Sequence[str]) -> int:
    """Runs every model on every dataset; the exit code is that of the worst."""
    from ..dialects.vlmeval.command import evaluate, idle_flags
    from .display import finish, watcher
    from .run import _stdout_for_people

    is_json = "--json" in arguments
    codes = [0]
    with _stdout_for_people(is_json) as stdout:
        idle = idle_flags(arguments)
        if idle:
            print(f"note: {', '.join(idle)}: assay decides that by itself", file=sys.stderr)
        for result in evaluate(arguments, watcher(is_json)):
            finish(result, stdout, is_json)
            codes.append(result.exit_code)
    return next((code for code in (130, 1, 3) if code in codes), 0)
